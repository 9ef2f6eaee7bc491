"""`landmark translate` and `evaluate`: prefix, glossary, ensembles, documents, languages."""

import json
import shutil

import pytest

import landmark
from landmark.data.embedded import corpus
from landmark.tasks.training import train
from landmark.tasks.translation import evaluation

SENTENCES = sorted((pair.source for pair in corpus.draw("train", 50)), key=len)[:4]


@pytest.fixture(scope="module")
def another_run(tmp_path_factory, tiny_run, tiny):
    """A run of the same vocabulary and other weights."""
    settings = [*tiny, "seed=2", f"tokenizer.file={tiny_run / 'tokenizer.json'}"]
    return train("transformer-embedded", tmp_path_factory.mktemp("runs") / "other", settings).folder


@pytest.fixture
def copied_run(tiny_run, tmp_path):
    return shutil.copytree(tiny_run, tmp_path / "run")


def test_every_translation_begins_with_the_prefix(command, tiny_run):
    for words in ([], ["--beam", 1], ["--sample"]):
        answer = command("translate", tiny_run, *SENTENCES, "--prefix", "Der alte", *words)
        assert answer.code == 0
        assert len(answer.lines) == 4
        assert all(line.startswith("Der alte") for line in answer.lines)


def test_a_prefix_longer_than_the_limit_is_refused(mistake, tiny_run):
    said = mistake("translate", tiny_run, SENTENCES[0], "--prefix", "der " * 40)
    assert said.startswith("sentence 1: the prefix has 40 tokens, but its translation may have")


def test_a_glossary_is_honoured(command, tiny_run, tmp_path):
    glossary = tmp_path / "terms.tsv"
    word = SENTENCES[0].split()[1]
    glossary.write_text(f"{word}\tDampfschiff\n", encoding="utf-8")
    plain = command("translate", tiny_run, *SENTENCES[:2]).lines
    for words in ([], ["--beam", 1]):
        answer = command("translate", tiny_run, *SENTENCES[:2], "--glossary", glossary, *words)
        assert "Dampfschiff" in answer.lines[0]
        assert word in SENTENCES[1].split() or "Dampfschiff" not in answer.lines[1]
    assert "Dampfschiff" not in plain[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("one\n", r"terms.tsv:1: 1 columns, but a glossary has two"),
        ("a\tb\n\tc\n", "terms.tsv:2: the source term is empty"),
        ("a\tb\na\tc\n", "terms.tsv:2: 'a' must be 'c' here, but 'b' in line 1"),
        ("", "has no terms"),
    ],
)
def test_an_impossible_glossary_names_its_line(mistake, tiny_run, tmp_path, content, message):
    glossary = tmp_path / "terms.tsv"
    glossary.write_text(content, encoding="utf-8")
    assert message in mistake("translate", tiny_run, SENTENCES[0], "--glossary", glossary)


def test_a_term_too_long_for_the_model_names_its_line(mistake, tiny_run, tmp_path):
    glossary = tmp_path / "terms.tsv"
    word = SENTENCES[0].split()[1]
    glossary.write_text(f"{word}\t{'sehr ' * 80}lang\n", encoding="utf-8")
    said = mistake("translate", tiny_run, SENTENCES[0], "--glossary", glossary)
    assert "terms.tsv:1: " in said
    assert "shorten it" in said
    glossary.write_text(f"{word}\t{'a ' * 50}b\n", encoding="utf-8")
    said = mistake("translate", tiny_run, SENTENCES[0], "--glossary", glossary)
    assert said.startswith("sentence 1: prefix and glossary ask for")
    assert "not by sampling" in mistake(
        "translate", tiny_run, SENTENCES[0], "--glossary", glossary, "--sample"
    )


def test_an_ensemble_of_one_model_twice_is_that_model(command, tiny_run):
    alone = command("translate", tiny_run, *SENTENCES).lines
    assert command("translate", tiny_run, *SENTENCES, "--ensemble", tiny_run).lines == alone


def test_an_ensemble_is_none_of_its_models(command, tiny_run, another_run):
    scores = [
        [json.loads(line)["score"] for line in command("translate", *words, "--json").lines]
        for words in (
            [tiny_run, *SENTENCES],
            [another_run, *SENTENCES],
            [tiny_run, *SENTENCES, "--ensemble", another_run],
        )
    ]
    assert scores[0] != scores[1]
    assert scores[2] not in scores[:2]


def test_an_ensemble_is_scored_and_tested_against_its_members(
    command, mistake, tiny_run, another_run, monkeypatch, tmp_path
):
    monkeypatch.setattr(evaluation, "EMBEDDED_TEST_PAIRS", 4)
    both, output = ["--ensemble", another_run], tmp_path / "out.txt"
    answer = command(
        "evaluate", tiny_run, *both, "--against", tiny_run, "--output", output, "--json"
    )
    assert answer.code == 0
    assert f"{tiny_run} + {another_run}" in answer.out
    sources = [pair.source for pair in corpus.draw("test", 4, 1)]
    wanted = landmark.load(tiny_run, ensemble=[another_run]).translate(sources)
    assert output.read_text().splitlines() == [result.text for result in wanted]
    said = mistake("evaluate", tiny_run, *both, "--engine", "onnx")
    assert said == "an ensemble is searched with torch: leave out --engine"
    assert "is given twice" in mistake("evaluate", tiny_run, "--against", tiny_run)


def test_an_ensemble_of_different_vocabularies_is_refused(mistake, tiny_run, tmp_path, tiny):
    other = train("transformer-embedded", tmp_path / "o", [*tiny, "tokenizer.vocab_size=400"])
    said = mistake("translate", tiny_run, "Hello", "--ensemble", other.folder)
    assert f"{other.folder}: has another vocabulary than {tiny_run}" in said


def test_a_second_run_after_the_option_is_no_sentence(mistake, command, tiny_run, another_run):
    said = mistake("translate", tiny_run, "--ensemble", another_run, tiny_run)
    assert said.startswith(f"{tiny_run}: is a folder, not a text; repeat an option")
    words = ["translate", tiny_run, "--ensemble", another_run, "--ensemble", tiny_run]
    assert len(command(*words, *SENTENCES).lines) == 4


def test_an_export_that_is_not_there_names_the_command(mistake, tiny_run):
    said = mistake("translate", tiny_run, "Hello", "--engine", "ctranslate2")
    assert "there is no export yet: landmark export" in said
    assert "no engine 'warp'" in mistake("translate", tiny_run, "Hello", "--engine", "warp")


def test_running_text_is_cut_into_sentences_and_nothing_is_lost(command, tiny_run, tmp_path):
    paragraph = " ".join(SENTENCES)
    endless = "the dog " * 100
    file = tmp_path / "in.txt"
    file.write_text(f"{paragraph}\n\n{endless}\n", encoding="utf-8")
    answer = command("translate", tiny_run, "--file", file, "--document")
    assert answer.code == 0
    one, blank, long = answer.lines
    sentences = landmark.load(tiny_run).translate(SENTENCES)
    assert one == " ".join(result.text for result in sentences)
    assert blank == ""
    assert long
    (record, _, cut) = map(
        json.loads, command("translate", tiny_run, "--file", file, "--document", "--json").lines
    )
    assert [piece["source"] for piece in record["sentences"]] == SENTENCES
    assert " ".join(piece["source"] for piece in cut["sentences"]) == endless.strip()
    assert len(cut["sentences"]) > 3


def test_a_cut_translation_is_told(command, tiny_run, tmp_path, thrice):
    long = "the dog " * 20
    file = tmp_path / "in.txt"
    file.write_text(f"{SENTENCES[0]}\n{long}\n", encoding="utf-8")
    told = (
        "the translation was truncated at 64 tokens, the model's maximum: split it, "
        "or give --document"
    )
    for words, place in (([SENTENCES[0], long], "sentence 2"), (["--file", file], f"{file}:2")):
        answer = command("translate", tiny_run, *words, "--json")
        (warning,) = answer.err.splitlines()
        assert warning == f"warning: {place}: {told} ({long[:40]!r}…)"
        assert [json.loads(line)["ended"] for line in answer.lines] == [True, False]
    whole = command("translate", tiny_run, "--file", file, "--document", "--json")
    assert whole.err == ""
    assert all(piece["ended"] for piece in json.loads(whole.lines[1])["sentences"])


def test_what_is_cut_also_in_a_document_is_told(command, copied_run, rewrite_recipe, thrice):
    rewrite_recipe(copied_run, "max_extra: 20", "max_extra: 1")
    answer = command("translate", copied_run, f"{SENTENCES[0]} {SENTENCES[1]}", "--document")
    assert len(answer.err.splitlines()) == 2
    for warning, sentence in zip(answer.err.splitlines(), SENTENCES[:2], strict=True):
        assert warning.startswith("warning: sentence 1: the translation was truncated at ")
        assert warning.endswith(
            f"tokens, the maximum for such a short source: reword it ({sentence[:40]!r}…)"
        )


def test_documents_have_one_translation(mistake, tiny_run):
    for words in (["--n-best", 2], ["--prefix", "Der"]):
        assert "--document goes with none" in mistake("translate", tiny_run, "--document", *words)


def test_a_model_of_several_languages_is_told_which(command, mistake, tmp_path, tiny):
    for language, word in (("en", "one"), ("de", "eins"), ("fr", "un")):
        text = "".join(f"{word} {n}\n" for n in range(60))
        (tmp_path / f"own.{language}").write_text(text, encoding="utf-8")
    paths = {language: str(tmp_path / f"own.{language}") for language in ("en", "de", "fr")}
    settings = [
        *tiny,
        "data.corpus=files",
        f"data.source={[paths['en'], paths['en']]}",
        f"data.target={[paths['de'], paths['fr']]}",
        "data.target_languages=[de, fr]",
        "tokenizer.vocab_size=300",
    ]
    run = train("translation", tmp_path / "run", settings).folder
    into = {to: command("translate", run, "one 7", "--to", to, "--json").out for to in ("de", "fr")}
    assert into["de"] != into["fr"]
    assert "translates into de, fr: name one by --to" in mistake("translate", run, "one 7")
    assert "does not translate into 'it': only de, fr" in mistake(
        "translate", run, "one 7", "--to", "it"
    )


def test_a_lower_cased_model_writes_ordinary_text(command, tmp_path, tiny):
    own = tmp_path / "own.tsv"
    own.write_text("The dog's bone, here.\tDer Knochen, hier.\n" * 60, encoding="utf-8")
    settings = [
        *tiny,
        "data.corpus=files",
        f"data.source=['{own}']",
        "tokenizer.form=moses-lowercase",
        "tokenizer.vocab_size=300",
        "model.dropout=0",
        "trainer.max_steps=80",
        "schedule.rate=0.02",
        "schedule.warmup_steps=5",
    ]
    run = train("translation", tmp_path / "run", settings).folder
    (result,) = landmark.load(run).translate(["THE DOG'S BONE, here."])
    assert result.said == "der knochen , hier ."
    assert command("translate", run, "The dog's bone, here.").lines == ["der knochen, hier."]
    shutil.rmtree(run)
