from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.data.shards import ShardWriter, TokenStore
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.data.translation import preparation
from landmark.data.translation.parallel_text import ParallelTextConfig
from landmark.data.translation.preparation import (
    data_digest,
    prepare_translation,
    training_parts,
    validation_parts,
)

PAIRS = [(f"sentence number {n}", f"Satz Nummer {n}") for n in range(95)]
VOCABULARY = TokenizerConfig(vocab_size=300)


@pytest.fixture
def files(tmp_path):
    """Write pairs as a table; the configuration that names it, with other settings."""

    def write(pairs=PAIRS, name="own.tsv", **settings):
        path = tmp_path / name
        path.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
        return ParallelTextConfig(corpus="files", source=(str(path),), **settings)

    return write


@pytest.fixture
def prepare(tmp_path):
    """Prepare a folder; the store of each split, and the records that were reported."""

    def call(config, tokenizer=VOCABULARY, max_length=64, folder="run"):
        records = []
        found = prepare_translation(
            config, tokenizer, tmp_path / folder, max_length, records.append
        )
        size = len(found)
        return size, tmp_path / folder, records

    return call


def training(config, form="plain"):
    """The training pairs of a configuration of one language."""
    (part,) = training_parts(config, form, Counter(), print)
    return list(part.pairs)


def validation(config, form="plain"):
    (part,) = validation_parts(config, form, print)
    return list(part.pairs)


def stored(folder, split):
    tokenizer = SubwordTokenizer.load(folder / "tokenizer.json")
    store = TokenStore(folder / "data" / split)
    sides = (
        tokenizer.decode([store[side, n].tolist() for n in range(len(store))])
        for side in store.sides
    )
    return list(zip(*sides, strict=True))


def test_everything_training_needs_is_in_the_folder(files, prepare):
    size, folder, records = prepare(files())
    assert size == len(SubwordTokenizer.load(folder / "tokenizer.json")) <= 300
    assert stored(folder, "train") + stored(folder, "valid") == [
        *(pair for n, pair in enumerate(PAIRS, 1) if n % 10),
        *PAIRS[9::10],
    ]
    assert records[-1] == {
        "kind": "data",
        "summary": f"86 pairs to train on, 9 to validate, {size} subwords",
        "pairs": 86,
        "valid_pairs": 9,
        "vocabulary": size,
        "left_out": {},
        "valid_left_out": {},
    }
    assert records[0] == {"kind": "note", "text": "training the tokenizer"}


def test_the_words_are_those_of_the_source_side_in_order(files, prepare):
    pairs = [("The cat, the CAT!", "Die Katze"), ("An éclair 7", "Ein Éclair")] * 5
    _, folder, _ = prepare(files(pairs))
    assert (folder / "words.txt").read_text(encoding="utf-8").split() == sorted(
        ["The", "cat", "the", "CAT", "An", "éclair"]
    )


@pytest.mark.parametrize(
    ("count", "valid_pairs", "held_out"),
    [(95, 500, 9), (95, 9, 9), (95, 5, 5), (95, 1, 1), (12, 500, 1), (4, 500, 1), (2, 500, 1)],
)
def test_as_many_pairs_are_held_out_as_asked_but_at_most_a_tenth(
    files, count, valid_pairs, held_out
):
    config = files(PAIRS[:count], f"{count}-{valid_pairs}.tsv", valid_pairs=valid_pairs)
    assert len(validation(config)) == held_out
    assert sorted(training(config) + validation(config)) == sorted(PAIRS[:count])


def test_one_pair_cannot_be_split(files, prepare):
    with pytest.raises(UserError, match=r"own\.tsv: one pair is too few"):
        prepare(files(PAIRS[:1]))


def test_given_validation_files_leave_all_pairs_for_training(files):
    valid = files([("hello", "hallo")], "valid.tsv").source
    config = files(valid_source=valid)
    assert training(config) == PAIRS
    assert validation(config) == [("hello", "hallo")]


def test_reverse_turns_training_and_validation_round(files):
    there, back = files(), files(reverse=True)
    for split in (training, validation):
        assert split(back) == [(b, a) for a, b in split(there)]


def test_several_target_languages_are_told_by_a_tag(tmp_path, prepare):
    sides = {"en": "one {}", "de": "eins {}", "fr": "un {}"}
    for language, line in sides.items():
        text = "".join(line.format(n) + "\n" for n in range(30))
        (tmp_path / f"own.{language}").write_text(text, encoding="utf-8")
    names = [str(tmp_path / f"own.{language}") for language in ("en", "en", "de", "fr")]
    config = ParallelTextConfig(
        corpus="files",
        source=tuple(names[:2]),
        target=tuple(names[2:]),
        target_languages=("de", "fr"),
        valid_pairs=2,
    )
    _, folder, _ = prepare(config)
    tokenizer = SubwordTokenizer.load(folder / "tokenizer.json")
    store = TokenStore(folder / "data/train")
    targets = tokenizer.decode([store["target", n].tolist() for n in range(len(store))])
    tags = {tokenizer.tag("de"): "eins", tokenizer.tag("fr"): "un"}
    assert len(store) > 50
    for number, target in enumerate(targets):
        assert target.split()[0] == tags[int(store["source", number][0])]
    with pytest.raises(UserError, match="no tag for the language 'it'"):
        tokenizer.tag("it")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target_languages": ()}, "name at least one"),
        ({"target_languages": ("de", "fr"), "reverse": True}, "cannot be reversed"),
        ({"target_languages": ("de", "fr")}, "need data.target"),
        ({"target_languages": ("de", "fr"), "target": ("a",)}, "2 target languages for 1 files"),
        ({"corpus": "embedded", "source": (), "target_languages": ("fr",)}, "English-German"),
        ({"corpus": "multi30k"}, "data.corpus is 'multi30k'"),
    ],
)
def test_languages_that_fit_no_files_are_refused(settings, message):
    values = {"corpus": "files", "source": ["own.en"], **settings}
    with pytest.raises(UserError, match=message):
        build(ParallelTextConfig, values, Provenance("test"))


def test_moses_form_is_what_the_model_sees_on_both_sides(files):
    config = files([("The man's dog, it barks.", "Der Hund „bellt“."), ("x", "y")] * 10)
    pairs = training(config, "moses-lowercase")
    assert pairs[0] == ("the man 's dog , it barks .", 'der hund " bellt " .')


def test_cleaning_is_on_request_and_counted(files, prepare):
    pairs = [*PAIRS[:20], ("", "leer"), PAIRS[0], ("a b c d e f g h", "x"), ("z", "z")]
    pairs += [("the last is held out", "das letzte")]
    assert len(stored(prepare(files(pairs, valid_pairs=1))[1], "train")) == 24
    _, folder, records = prepare(files(pairs, valid_pairs=1, clean=True), folder="clean")
    assert records[-1]["left_out"] == {"empty": 1, "repeated": 1, "lopsided": 1}
    assert stored(folder, "train") == [*PAIRS[:20], ("z", "z")]


def test_pairs_too_long_on_either_side_are_left_out_and_counted(files, prepare):
    long = "word " * 40
    pairs = [*PAIRS[:30], (long, "kurz"), ("short", long), ("last", "letztes")]
    _, folder, records = prepare(files(pairs, valid_pairs=1), max_length=20)
    assert records[-1]["left_out"] == {"longer than 19 tokens": 2}
    assert stored(folder, "train") == PAIRS[:30]


def test_a_pair_that_just_fits_is_kept(files, prepare):
    config = files()
    _, folder, _ = prepare(config)
    store = TokenStore(folder / "data" / "train")
    longest = int(max(store.lengths["source"].max(), store.lengths["target"].max()))
    # One place is for </s>.
    assert not prepare(config, max_length=longest + 1, folder="fits")[2][-1]["left_out"]
    assert prepare(config, max_length=longest, folder="tight")[2][-1]["left_out"]


def test_when_nothing_is_left_the_reasons_are_given(files, prepare):
    with pytest.raises(UserError, match=r"no training pair is left \(86 longer than 1 tokens\)"):
        prepare(files(), max_length=2)
    valid = files([("far too long " * 9, "zu lang")], "valid.tsv").source
    with pytest.raises(UserError, match="no validation pair is left"):
        prepare(files(valid_source=valid), max_length=20)


def test_faults_show_before_any_work_is_done(files, prepare, tmp_path):
    config = files()
    with (tmp_path / "own.tsv").open("ab") as file:
        file.write(b"one column only\n")
    with pytest.raises(UserError, match=r"own\.tsv:96: 1 tab-separated columns"):
        prepare(config)
    assert list((tmp_path / "run").iterdir()) == []


def test_files_may_change_between_two_trainings_of_one_process(files, prepare):
    prepare(files(PAIRS[:20], valid_pairs=2))
    _, folder, _ = prepare(files(PAIRS, valid_pairs=2), folder="second")
    assert stored(folder, "valid") == PAIRS[46::47]
    with pytest.raises(UserError, match="is empty"):
        prepare(files([]), folder="third")


def test_an_existing_tokenizer_is_taken_over(files, prepare, tmp_path):
    _, folder, _ = prepare(files())
    given = TokenizerConfig(file=str(folder / "tokenizer.json"))
    _, second, records = prepare(files([("ü", "ö")] * 20), given, folder="second")
    assert (second / "tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()
    assert [record["kind"] for record in records] == ["data"]
    with pytest.raises(UserError, match="there is no tokenizer here"):
        prepare(files(), TokenizerConfig(file=str(tmp_path / "no.json")), folder="third")


def test_preparing_twice_gives_the_same_files(files, prepare):
    first, second = (prepare(files(), folder=name)[1] for name in ("one", "two"))
    names = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert len(names) == 12
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


# Corpora larger than memory


def test_at_most_a_chunk_of_pairs_is_held_at_a_time(files, prepare, monkeypatch):
    monkeypatch.setattr(preparation, "_CHUNK", 10)
    read, encoded = [], []
    reading, encoding = preparation.read_pairs, SubwordTokenizer.encode

    def count_pairs(*arguments):
        for pair in reading(*arguments):
            read.append(pair)
            yield pair

    def watch(tokenizer, texts):
        encoded.append((len(texts), len(read)))
        return encoding(tokenizer, texts)

    monkeypatch.setattr(preparation, "read_pairs", count_pairs)
    monkeypatch.setattr(SubwordTokenizer, "encode", watch)
    prepare(files())
    assert max(size for size, _ in encoded) == 10
    # Both sides of each chunk are encoded before the next pairs are read.
    places = [place for _, place in encoded]
    assert places[::2] == places[1::2]
    training = places[: 2 * 9 : 2]
    # Of every ten pairs that are read, nine are for training.
    assert all(later - earlier <= 12 for earlier, later in pairwise(training))


def test_the_tokenizer_learns_from_a_stream(files, prepare, monkeypatch):
    learn = SubwordTokenizer.train
    seen = []

    def watch(lines, config, tags):
        assert iter(lines) is lines, "a list would hold the whole corpus"
        seen.extend(lines)
        return learn(iter(seen), config, tags)

    monkeypatch.setattr(SubwordTokenizer, "train", watch)
    prepare(files())
    held_out = {side for pair in PAIRS[9::10] for side in pair}
    assert len(seen) == 2 * 86
    assert not held_out & set(seen)


def test_a_large_corpus_is_cut_into_shards_and_read_back_whole(files, prepare, monkeypatch):
    monkeypatch.setattr(preparation, "ShardWriter", partial(ShardWriter, shard_tokens=100))
    _, folder, _ = prepare(files())
    assert len(list((folder / "data" / "train").glob("*.source.tokens"))) > 3
    assert stored(folder, "train") == [pair for n, pair in enumerate(PAIRS, 1) if n % 10]


# Extra pairs


@pytest.fixture
def extra(tmp_path):
    """Two files with extra pairs, as settings."""

    def write(pairs):
        for side, lines in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            (tmp_path / f"extra.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        paths = str(tmp_path / "extra.en"), str(tmp_path / "extra.de")
        return {"extra_source": paths[:1], "extra_target": paths[1:]}

    return write


def test_extra_pairs_are_trained_on_beside_the_others_and_never_held_out(files, extra, prepare):
    made_up = [(f"made up {n}", f"erfunden {n}") for n in range(40)]
    _, folder, _ = prepare(files(**extra(made_up)))
    kept = [pair for n, pair in enumerate(PAIRS, 1) if n % 10]
    assert stored(folder, "train") == kept + made_up
    assert stored(folder, "valid") == PAIRS[9::10]


def test_extra_pairs_join_the_embedded_corpus_too(extra, prepare):
    config = ParallelTextConfig(train_pairs=40, valid_pairs=10, **extra([("made up", "erfunden")]))
    _, folder, _ = prepare(config, max_length=500)
    assert len(stored(folder, "train")) == 41
    assert stored(folder, "train")[-1] == ("made up", "erfunden")


def test_an_extra_pair_that_is_there_already_is_left_out_and_counted(files, extra, prepare):
    half_new = (PAIRS[0][0], "ein anderer Satz")
    pairs = [PAIRS[0], half_new, half_new, PAIRS[1]]
    _, folder, records = prepare(files(**extra(pairs)))
    assert stored(folder, "train")[86:] == [half_new]
    assert records[-1]["left_out"] == {"extra, but there already": 3}


def test_extra_pairs_are_compared_in_the_models_form(files, extra, prepare):
    pytest.importorskip("sacremoses")
    lowercase = TokenizerConfig(vocab_size=300, form="moses-lowercase")
    config = files([("A dog.", "Ein Hund."), ("A cat.", "Eine Katze.")] * 10)
    config = replace(config, **extra([("a dog.", "ein hund ."), ("a dog.", "ein tier.")]))
    _, folder, records = prepare(config, tokenizer=lowercase)
    assert stored(folder, "train")[18:] == [("a dog .", "ein tier .")]
    assert records[-1]["left_out"] == {"extra, but there already": 1}


def test_extra_pairs_are_turned_round_with_the_others(files, extra, prepare):
    _, folder, _ = prepare(files(reverse=True, **extra([("made up", "erfunden")])))
    assert stored(folder, "train")[-1] == ("erfunden", "made up")


def test_extra_pairs_can_be_marked_on_the_side_that_is_translated(files, extra, prepare):
    made_up = extra([("made up", "erfunden"), PAIRS[0]])
    _, folder, records = prepare(files(extra_mark="^", **made_up), folder="there")
    assert stored(folder, "train")[86:] == [("^ made up", "erfunden")]
    assert records[-1]["left_out"] == {"extra, but there already": 1}
    _, folder, _ = prepare(files(extra_mark="^", reverse=True, **made_up), folder="back")
    assert stored(folder, "train")[86:] == [("^ erfunden", "made up")]


def test_the_tokenizer_does_not_learn_from_extra_pairs(files, extra, prepare):
    prepare(files(), folder="without")
    _, folder, _ = prepare(files(**extra([("zzzz zzzz", "zzzz zzzz")] * 99)))
    before = (folder.parent / "without" / "tokenizer.json").read_text()
    assert (folder / "tokenizer.json").read_text() == before


def test_the_digest_follows_the_extra_pairs(files, extra):
    for config in (files(), ParallelTextConfig()):
        digests = {
            data_digest(config),
            data_digest(replace(config, **extra([("one", "eins")]))),
            data_digest(replace(config, **extra([("one", "zwei")]))),
        }
        assert len(digests) == 3


def test_faulty_extra_files_are_named_before_any_work(files, extra, prepare, tmp_path):
    settings = extra([("one", "eins"), ("two", "zwei")])
    (tmp_path / "extra.de").write_text("eins\n")
    with pytest.raises(UserError, match=r"extra\.en has 2 lines but .*extra\.de has 1"):
        prepare(files(**settings))
    assert not (tmp_path / "run" / "tokenizer.json").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"extra_target": ("b",)}, "without data.extra_source"),
        ({"extra_source": ("a",), "target_languages": ("de", "fr")}, "for one target language"),
    ],
)
def test_extra_pairs_that_cannot_be_used_are_refused(settings, said):
    with pytest.raises(UserError, match=said):
        build(ParallelTextConfig, {"corpus": "multi30k", **settings}, Provenance("recipe"))


# The embedded corpus


def test_the_embedded_corpus_needs_no_files(prepare):
    config = ParallelTextConfig(train_pairs=40, valid_pairs=10, corpus_seed=3)
    _, folder, _ = prepare(config, max_length=500)
    for split, count in (("train", 40), ("valid", 10)):
        drawn = [(p.source, p.target) for p in corpus.draw(split, count, 3)]
        assert stored(folder, split) == drawn


def test_the_digest_follows_the_content_of_the_data(files):
    before = data_digest(files())
    assert data_digest(files()) == before
    assert data_digest(files(PAIRS[:-1])) != before
    moved = files(name="moved.tsv")
    assert data_digest(moved) == before
    embedded = data_digest(ParallelTextConfig())
    assert embedded == data_digest(ParallelTextConfig()) != before
    with pytest.raises(UserError, match="cannot be read"):
        data_digest(ParallelTextConfig(corpus="files", source=("no/such/file",)))


@pytest.mark.parametrize(
    "pairs", [[("", "")] * 20, [("  ", "Satz")] * 20, [("sentence", "\u00a0")] * 20]
)
def test_files_without_words_on_both_sides_are_refused_before_any_work(files, prepare, pairs):
    with pytest.raises(UserError, match=r"own\.tsv: no pair has words on both sides"):
        prepare(files(pairs))
    config = files(valid_source=files(pairs, "valid.tsv").source)
    with pytest.raises(UserError, match=r"valid\.tsv: no pair has words on both sides"):
        prepare(config)


def test_the_record_of_the_data_has_a_summary_for_the_reader(files, prepare):
    pairs = [*PAIRS, ("", ""), PAIRS[0], ("w " * 80, "w " * 80)]
    size, _, records = prepare(files(pairs, clean=True))
    (record,) = [record for record in records if record["kind"] == "data"]
    first, *warnings = record["summary"].split("\n")
    kept, held_out = record["pairs"], record["valid_pairs"]
    assert first == f"{kept} pairs to train on, {held_out} to validate, {size} subwords"
    assert warnings[0].startswith("warning: left out: ")
    assert "1 empty" in warnings[0]
