"""The docs show commands that exist, results that are up to date, and links that lead somewhere."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from landmark.cli import training
from landmark.cli.main import build_app, complete_resume
from landmark.tasks.catalog import NETWORKS, load_catalog
from landmark.tasks.training import resolve

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))
import results  # noqa: E402
from docs_commands import PAGES, blocks, commands, inline  # noqa: E402

NAMED_PAGES = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
WILDCARD = re.compile(r"\s*(…|\.\.\.)\s*")


@pytest.fixture(scope="module")
def application() -> Iterator[Any]:
    """The command; a training ends when its recipe is resolved with all settings."""
    load_catalog()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            training, "run_training", lambda name, run, given, *_, **__: resolve(name, given)
        )
        yield typer.main.get_command(build_app())


def parse(application: Any, words: list[str], partial: bool = False) -> None:
    """Parse a command line, and look up the recipe, network and settings that it names.

    `partial`: a command that is only mentioned may lack what it needs.
    """
    command, path = application, "landmark"
    words = complete_resume(words)
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        assert words[0] in command.commands, f"{path} has no command {words[0]!r}"
        command, path = command.commands[words[0]], f"{path} {words[0]}"
        words = words[1:]
    if hasattr(command, "commands"):
        return
    try:
        context = command.make_context(path, words)
    except typer.Exit:  # --help
        return
    except Exception as error:
        if partial and type(error).__name__ == "MissingParameter":
            return
        raise
    look_up(command, context)


def look_up(command: Any, context: Any) -> None:
    """That a recipe or network of this name exists, and takes these settings and data options."""
    name = context.params.get("recipe") or context.params.get("name")
    settings = context.params.get("overrides") or []
    if name is None or name.isupper() or re.search(r"[./]", str(name)):  # a placeholder, a file
        return
    match context.info_name:
        case "landmark train":
            with context:
                command.invoke(context)
        case "landmark recipe" | "landmark race":
            resolve(name, settings)
        case "landmark show":
            assert name in NETWORKS, f"no network {name!r}"


@NAMED_PAGES
def test_commands_that_a_page_shows_exist(page, application):
    for command in commands(page):
        for words in command.landmark_words():
            try:
                parse(application, words)
            except Exception as error:
                raise AssertionError(f"{command.place}: {command.line}: {error}") from error


@NAMED_PAGES
def test_commands_in_running_text_exist(page, application):
    for number, words in inline(page):
        try:
            parse(application, words, partial=True)
        except Exception as error:
            raise AssertionError(f"{page.name}:{number}: {' '.join(words)}: {error}") from error


def test_every_command_is_on_the_page_of_commands(application):
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert application.commands.keys() - set(re.findall(r"`landmark ([\w-]+)", page)) == set()


def test_a_stale_command_is_noticed(application):
    for line in ("nonsense", "train no-such-recipe", "translate RUN --nonsense", "show vgg-z",
                 "train gpt trainer.max_step=3", "figure nonsense"):  # fmt: skip
        with pytest.raises(Exception, match=r"nonsense|no-such|vgg-z|max_step"):
            parse(application, line.split())


RUN = [c for page in PAGES for c in commands(page) if c.mark == "run"]


@pytest.mark.parametrize("shown", RUN, ids=lambda c: f"{c.page.name}-{c.line}")
def test_a_command_prints_what_its_page_shows(shown, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in shown.landmark_words():
        answer = command(*words)
        assert answer.code == 0, answer.err
        assert_shown(shown.shown, [*answer.err.splitlines(), *answer.out.splitlines()])


def assert_shown(shown: list[str], printed: list[str]) -> None:
    """Lines as printed, in order; a line of … stands for any number of them."""
    rest, skipping = [line.rstrip() for line in printed], False
    for line in shown:
        if WILDCARD.fullmatch(line) or not line.strip():
            skipping = skipping or bool(line.strip())
            continue
        assert line.rstrip() in rest, f"not printed: {line}"
        place = rest.index(line.rstrip())
        assert skipping or not any(rest[:place]), f"left out before {line!r}: {rest[:place]}"
        rest, skipping = rest[place + 1 :], False


def test_output_that_is_not_printed_so_is_noticed():
    printed = ["one", "two", "three"]
    assert_shown(["one", "…", "three"], printed)
    for shown in (["four"], ["one", "three"], ["three", "one"]):
        with pytest.raises(AssertionError):
            assert_shown(shown, printed)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(m == "run" for m, *_ in blocks(p, "python"))]
)
def test_python_that_a_page_shows_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for mark, number, lines in blocks(page, "python"):
        if mark == "run":
            exec(compile("\n".join(lines), f"{page.name}:{number}", "exec"), {})


def test_tables_of_results_are_up_to_date():
    for path, text in results.pages(results.read()).items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name}: python benchmarks/results.py"
        )


def test_rows_of_results_have_known_keys_and_names_of_their_own():
    data = results.read()
    keys = {"section", "name", "system", "year", "on", "data", "metric", "unit", "figure", "more",
            "published", "parameters", "minutes", "threads", "seed", "date", "settings",
            "commands"}  # fmt: skip
    for row in data["result"]:
        assert row.keys() <= keys, row["name"]
        assert row.keys() >= {"section", "name", "system", "data", "commands"}, row["name"]
        assert ("figure" in row) <= ({"date", "seed"} <= row.keys()), row["name"]
    names = [row["name"] for row in data["result"]]
    assert len(names) == len(set(names))


@NAMED_PAGES
def test_links_lead_to_files_and_headings(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, heading = target.partition("#")
        path = page.parent / name if name else page
        assert path.exists(), f"{page.name}: {target}"
        if heading:
            assert heading in headings(path), f"{page.name}: {target}"


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_readme_is_a_front_door():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 160


@NAMED_PAGES
def test_options_that_a_page_names_exist(page, application):
    """`--beam` and the like in running text are options of some command or script."""
    scripts = [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "examples").glob("*.py")]
    known = options(application).union(
        *(re.findall(r"--[a-z][\w-]*", path.read_text(encoding="utf-8")) for path in scripts)
    )
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    named = {name for code in re.findall(r"`(.*?)`", text) for name in re.findall(OPTION, code)}
    assert named - known <= FOREIGN_OPTIONS, sorted(named - known - FOREIGN_OPTIONS)


OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
FOREIGN_OPTIONS = {
    "--max-restarts",
    "--nproc-per-node",
    "--run-path",
    "--no-deps",
    "--help",
    "--logdir",
}


def options(command: Any) -> set[str]:
    own = {name for p in command.params for name in [*p.opts, *p.secondary_opts]}
    return own.union(*map(options, getattr(command, "commands", {}).values()))
