"""Every flag of every task, given to a run or a recipe of every other task."""

import pytest

from landmark.cli.flags import flags_of
from landmark.cli.verb_command import offers
from landmark.core.configuration import as_yaml
from landmark.engine.run import Run
from landmark.tasks.card import CARDS, resolve
from landmark.tasks.catalog import RECIPES, load_catalog

# Those of the rooms: other modules register tasks of their own while they are tested.
TASKS = sorted(card.name for card in CARDS.values() if card.task.startswith("landmark.tasks."))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run folder of each task that has a recipe, without a checkpoint: nothing can be loaded."""
    load_catalog()
    folders = {}
    for entry in RECIPES.values():
        config = entry.build()
        if config.task in TASKS and config.task not in folders:
            folder = tmp_path_factory.mktemp("runs") / config.task
            folder.mkdir()
            Run(folder).write_recipe(as_yaml(config))
            folders[config.task] = folder
    assert sorted(folders) == TASKS
    return folders


def given(flag):
    """The words of a command line that name this flag, with a value of its kind."""
    if flag.kind is bool:
        return [flag.name]
    if getattr(flag.kind, "__args__", None):
        return [flag.name, flag.kind.__args__[0]]
    least = flag.minimum if flag.minimum is not None else 1
    return [flag.name, str(int(least) if flag.kind is int else least)]


ARGUMENTS = {"texts": ["a"], "images": ["a.png"], "pairs": [], "nothing": []}


@pytest.mark.parametrize("verb", sorted(offers()))
def test_a_verb_refuses_what_does_not_fit_its_runs_task_and_names_what_does(runs, mistake, verb):
    its = offers()[verb]
    every = {flag.name: flag for offer in its for flag in offer.flags().values()}
    every = {name: flag for name, flag in every.items() if not flag.positional}
    for offer in its:
        fitting = {flag.name for flag in offer.flags().values()}
        words = [verb, runs[offer.card.name], *ARGUMENTS[offer.verb.takes]]
        for name in sorted(set(every) - fitting):
            said = mistake(*words, *given(every[name]))
            assert said.startswith(f"{name} does not fit {runs[offer.card.name]}"), said
            assert said.endswith(", ".join(sorted(fitting))), said


def every_flag():
    """The flags of all verbs of all tasks."""
    return {
        flag.name: flag
        for its in offers().values()
        for offer in its
        for flag in offer.flags().values()
        if not flag.positional
    }


@pytest.mark.parametrize("verb", sorted(offers()))
def test_a_verb_refuses_the_flags_of_other_verbs_and_names_its_own(runs, mistake, verb):
    offer = offers()[verb][0]
    words = [verb, runs[offer.card.name], *ARGUMENTS[offer.verb.takes]]
    flags = [flag for each in offers()[verb] for flag in each.flags().values()]
    own = {flag.name for flag in flags if not flag.positional}
    shell = {"--file", "--output", "--resume", "--source", "--target", "--strict"}
    for name, flag in sorted(every_flag().items()):
        if name not in own | shell:
            said = mistake(*words, *given(flag))
            assert said.startswith(f"{name} does not fit `landmark {verb}`: it takes"), said
            assert set(said.rpartition("takes ")[2].split(", ")) >= own, said


@pytest.mark.parametrize("task", TASKS)
def test_training_refuses_the_data_options_of_other_tasks(mistake, tmp_path, monkeypatch, task):
    monkeypatch.chdir(tmp_path)
    load_catalog()
    recipe = next(name for name in RECIPES if RECIPES[name].build().task == task)
    options = {
        flag.name: flag
        for card in CARDS.values()
        for flag in flags_of(resolve(card.data_options)).values()
    }
    fitting = {flag.name for flag in flags_of(resolve(CARDS[task].data_options)).values()}
    for name in sorted(set(options) - fitting):
        said = mistake("train", recipe, *given(options[name]))
        assert said.startswith(f"{name} does not fit {recipe}, a recipe of task {task!r}"), said
        takes = ", ".join(sorted(fitting)) or "no options"
        assert said.partition("; recipes for ")[0].endswith(takes), said
    assert not list(tmp_path.iterdir())
