import json

import pytest

import landmark
from landmark import call
from landmark.core.errors import UserError

PAIRS = [("The dog sees a cat.", "Der Hund sieht eine Katze."), ("A bird sings.", "Ein Vogel.")]
TEXTS = ["The dog sees a cat.", "A bird sings."]


@pytest.fixture(scope="module")
def runs(tiny_run, digits_run, pretrained_runs):
    return {"translation": tiny_run, "digits": digits_run, **pretrained_runs}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, digit_files):
    """Of each kind: what Python gets, and the words of the same command."""
    table = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    table.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    images = [digit_files / "0/0-0.png", digit_files / "3/3-1.png"]
    return {
        "texts": (TEXTS, TEXTS),
        "blanks": (["a [MASK] man"], ["a [MASK] man"]),
        "pairs": (PAIRS, ["--source", table]),
        "images": (images, images),
        "nothing": ([], []),
    }


@pytest.mark.parametrize(
    ("run", "verb", "kind", "options"),
    [
        ("translation", "translate", "texts", {"n_best": 2}),
        ("translation", "score", "pairs", {"per_token": True}),
        ("translation", "align", "pairs", {"layer": 1}),
        ("translation", "evaluate", "nothing", {"split": ("valid",), "bootstrap": 0}),
        ("gpt", "generate", "texts", {"length": 4, "samples": 2, "seed": 5}),
        ("gpt", "embed", "texts", {"pooling": "last"}),
        ("gpt", "evaluate", "nothing", {}),
        ("bert", "fill", "blanks", {"top_k": 3}),
        ("bert", "embed", "texts", {"words": True}),
        ("bert", "evaluate", "nothing", {}),
        ("lstm", "generate", "nothing", {"length": 4}),
        ("digits", "classify", "images", {"top": 2}),
        ("digits", "features", "images", {}),
        ("digits", "evaluate", "nothing", {"split": ("valid",)}),
    ],
)
def test_each_line_of_json_is_the_record_of_python(runs, inputs, command, run, verb, kind, options):
    given, words = inputs[kind]
    records = [record.json() for record in call(landmark.load(runs[run]), verb, given, **options)]
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, tuple) else [value]:
            words = [*words, flag, *([] if one is True else [one])]
    answer = command(verb, runs[run], *words, "--json")
    assert answer.code == 0, answer.err
    assert [json.loads(line) for line in answer.lines] == json.loads(json.dumps(records))
    assert len(records) >= len(given)


def test_what_does_not_fit_is_refused(tiny_run):
    pipeline = landmark.load(tiny_run)
    with pytest.raises(UserError, match="has no classify: it has evaluate, translate"):
        call(pipeline, "classify", ["a.png"])
    with pytest.raises(UserError, match="unknown key 'beams'"):
        call(pipeline, "translate", TEXTS, beams=3)
    with pytest.raises(UserError, match="evaluate takes no inputs, but 2 are given"):
        call(pipeline, "evaluate", TEXTS)
