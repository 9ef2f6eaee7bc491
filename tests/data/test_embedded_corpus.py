"""The corpus: splits, determinism, size, Zipf's law, one German side for each English one."""

import itertools
import os
import random
import subprocess
import sys
from collections import Counter
from functools import cache

import pytest

from landmark.core.errors import UserError
from landmark.data.embedded import english, german
from landmark.data.embedded.corpus import (
    EXAMPLE_TARGET,
    SPLITS,
    SentencePair,
    digest,
    draw,
    join_words,
    split_of,
)
from landmark.data.embedded.features import objects
from landmark.data.embedded.inventory import ZIPF_OFFSET, embedded_inventory
from landmark.data.embedded.sampler.sentence import SentenceSampler
from landmark.data.embedded.syntax import Sentence

INVENTORY = embedded_inventory()
LEXICON = INVENTORY.lexicon
COUNTS = {
    "train": 8_000,
    "valid": 250,
    "test": 250,
    "test-compositional": 800,
    "test-structural": 800,
}


@cache
def pairs(split: str, seed: int = 1) -> tuple[SentencePair, ...]:
    return tuple(draw(split, COUNTS[split], seed))


@cache
def trees(goal: str, count: int) -> tuple[tuple[str, Sentence], ...]:
    """Sentences as drawn, before any split, with their English side."""
    sampler = SentenceSampler(INVENTORY, random.Random(f"trees {goal}"))
    found: list[tuple[str, Sentence]] = []
    while len(found) < count:
        drawn = sampler.sentence(sampler.rng.choice((1, 1, 1, 2)), goal)
        if drawn is not None:
            found.append((join_words(english.write_sentence(drawn[0])[0]), drawn[0]))
    return tuple(found)


def test_german_is_a_function_of_english() -> None:
    sampler = SentenceSampler(INVENTORY, random.Random("function"))
    german_side: dict[str, str] = {}
    for _ in range(200_000):
        drawn = sampler.sentence(2 if sampler.rng.random() < 0.16 else 1)
        assert drawn is not None
        source = " ".join(english.write_sentence(drawn[0])[0])
        target = " ".join(german.write_sentence(drawn[0])[0])
        assert german_side.setdefault(source, target) == target, source
    # Two halves of a sample meet rarely: there are far more than a million sentences.
    assert len(german_side) > 150_000


def test_there_are_more_than_a_million_pairs() -> None:
    first = {pair.source for pair in pairs("train", seed=1)}
    second = {pair.source for pair in pairs("train", seed=2)}
    # Capture and recapture; frequent short sentences make it an underestimate.
    assert len(first) * len(second) / max(1, len(first & second)) > 1_000_000


def test_the_count_of_simple_sentences_alone_exceeds_a_million() -> None:
    subjects = {verb: len(INVENTORY.subjects(verb.subject).items) for verb in LEXICON.verbs}
    definite_subject_and_object = sum(
        subjects[verb] * len(INVENTORY.objects[verb].items)
        for verb in LEXICON.verbs
        if verb.frame == "transitive"
    )
    tenses_of_a_statement = 3
    assert definite_subject_and_object * tenses_of_a_statement > 1_000_000


@pytest.mark.parametrize("split", SPLITS)
def test_a_split_repeats_itself_and_no_sentence(split: str) -> None:
    first = list(draw(split, 100, seed=1))
    assert first == list(pairs(split)[:100])
    assert len({pair.source for pair in first}) == 100
    assert first != list(draw(split, 100, seed=4))


def test_a_smaller_count_is_a_prefix_of_a_larger_one() -> None:
    assert list(draw("train", 50)) == list(itertools.islice(draw("train", 500), 50))


def test_the_corpus_does_not_depend_on_the_process() -> None:
    program = (
        "import hashlib\n"
        "from landmark.data.embedded.corpus import draw, digest\n"
        "text = ''.join(f'{p}' for p in draw('train', 1000))\n"
        "print(hashlib.blake2b(text.encode()).hexdigest(), digest())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "4242")
    }
    assert len(outputs) == 1
    assert digest() in outputs.pop()


def test_splits_are_disjoint_for_different_seeds_and_depths() -> None:
    owner: dict[str, str] = {}
    for split, seed in itertools.product(SPLITS, (1, 2)):
        for pair in pairs(split, seed):
            assert owner.setdefault(pair.source, split) == split
    for split, depth in itertools.product(SPLITS, (1, 3)):
        for pair in draw(split, 30, 7, depth):
            assert owner.setdefault(pair.source, split) == split


def test_the_lectures_example_is_in_no_split() -> None:
    for split in SPLITS:
        for pair in pairs(split):
            assert pair.source.rstrip(".?").lower() != "i ate an apple"
            assert pair.target != EXAMPLE_TARGET


def test_eating_and_apples_meet_in_train() -> None:
    sources = [pair.source for pair in pairs("train")]
    assert any(source.startswith("I ate ") for source in sources)
    assert any(" eat" in source and " apple" in source for source in sources)


def test_held_out_pairs_never_occur_in_training() -> None:
    held_out = 0
    for source, sentence in trees("", 5_000):
        special = any(v is not None and n in INVENTORY.held_out[v] for v, n in objects(sentence))
        assert split_of(sentence, source) in ("train", "valid", "test")
        held_out += special
    assert held_out == 0
    for source, sentence in trees("held-out", 1_000):
        if split_of(sentence, source) == "test-compositional":
            held_out += 1
            assert any(v is not None and n in INVENTORY.held_out[v] for v, n in objects(sentence))
    assert held_out > 500


def test_the_words_of_held_out_pairs_occur_in_training() -> None:
    held_out = [(verb, noun) for verb in LEXICON.verbs for noun in INVENTORY.held_out[verb]]
    assert len(held_out) > 300
    for verb, noun in held_out:
        assert INVENTORY.objects[verb]
        assert noun.subject_only or INVENTORY.verbs_with_object(noun) or noun.place


def test_some_nouns_are_only_subjects_in_training_and_objects_in_the_structural_test() -> None:
    for _, sentence in trees("", 5_000):
        assert not any(noun.subject_only for _, noun in objects(sentence))
    for source, sentence in trees("subject-only", 500):
        if split_of(sentence, source) == "test-structural":
            assert any(noun.subject_only for _, noun in objects(sentence))
    subject_only = {noun.english for noun in LEXICON.nouns if noun.subject_only}
    train = Counter(word for pair in pairs("train") for word in pair.source_words)
    assert all(train[noun] for noun in subject_only)


def test_the_structural_split_names_both_of_its_kinds() -> None:
    kinds = Counter(pair.phenomenon for pair in pairs("test-structural"))
    assert set(kinds) == {"noun-as-object", "deep-coordination"}
    assert min(kinds.values()) > 200


def test_training_shows_every_phenomenon() -> None:
    kinds = Counter(pair.phenomenon for pair in pairs("train"))
    assert len(kinds) >= 15
    assert min(kinds.values()) > 100


def conjunctions(pair: SentencePair) -> int:
    return sum(word in ("and", "but", "or") for word in pair.source_words)


def test_depth_counts_the_coordinated_parts_and_lengthens_steadily() -> None:
    lengths = []
    for depth in range(1, 7):
        drawn = list(draw("test", 30, depth=depth))
        assert all(conjunctions(pair) == depth - 1 for pair in drawn)
        lengths.append(sum(len(pair.source_words) for pair in drawn) / len(drawn))
    assert lengths == sorted(lengths)
    assert 40 <= lengths[-1] <= 60


def test_training_coordinates_at_most_two_parts() -> None:
    assert all(conjunctions(pair) <= 1 for pair in pairs("train"))


def test_sentences_have_a_fitting_length_a_capital_and_a_closing_mark() -> None:
    lengths = []
    for pair in pairs("train"):
        words = [word for word in pair.source_words if word not in (",", ".", "?")]
        assert 3 <= len(words) <= 26
        lengths.append(len(pair.source_words))
        for text, final in ((pair.source, pair.source_words), (pair.target, pair.target_words)):
            assert text[0].isupper()
            assert text[-1] == final[-1]
            assert final[-1] in (".", "?")
            assert "  " not in text
            assert ",," not in text
            assert ",." not in text
    assert 9 <= sum(lengths) / len(lengths) <= 10.5


def test_every_english_word_is_aligned_within_the_sentence() -> None:
    for pair in pairs("train"):
        assert {i for i, _ in pair.alignment} == set(range(len(pair.source_words)))
        assert max(j for _, j in pair.alignment) == len(pair.target_words) - 1
        unaligned = set(range(len(pair.target_words))) - {j for _, j in pair.alignment}
        assert all(pair.target_words[j] == "," for j in unaligned)


def test_words_follow_the_law_of_zipf() -> None:
    nouns = [noun for noun in LEXICON.nouns if "human" in noun.classes]
    counts: Counter[str] = Counter()
    rng = random.Random(5)
    choice = INVENTORY.subjects(frozenset(("human",)))
    for _ in range(40_000):
        counts[choice.draw(rng).english] += 1
    rank = {noun.english: position for position, noun in enumerate(LEXICON.nouns, start=1)}
    weights = {noun.english: 1 / (rank[noun.english] + ZIPF_OFFSET) for noun in nouns}
    total = sum(weights.values())
    for name, weight in weights.items():
        expected = 40_000 * weight / total
        assert abs(counts[name] - expected) < 5 * expected**0.5
    train = Counter(word for pair in pairs("train") for word in pair.source_words)
    assert train["man"] > train["boy"] > train["baker"] > train["chemist"] > 0


def test_subordinate_clauses_put_the_finite_verb_last() -> None:
    finite = {form for verb in LEXICON.verbs for form in verb.present}
    finite |= {verb.prefix + form for verb in LEXICON.verbs for form in verb.present}
    finite |= {
        form for modal in LEXICON.modals for form in (*modal.german, *(modal.negative or ()))
    }
    finite |= {"bin", "bist", "ist", "sind", "seid", "war", "warst", "waren", "wart"}
    finite |= {"habe", "hast", "hat", "haben", "habt", "hatte", "hattest", "hatten", "hattet"}
    finite |= {"werde", "wirst", "wird", "werden", "werdet"}
    seen = 0
    for pair in pairs("train"):
        words = pair.target_words
        for start, word in enumerate(words):
            if word.lower() in ("weil", "dass", "obwohl", "wenn", "als", "während", "bevor", "ob"):
                end = next(i for i in range(start, len(words)) if words[i] in (",", ".", "?"))
                assert words[end - 1] in finite, pair.target
                seen += 1
    assert seen > 1_000


def test_participles_close_a_simple_statement() -> None:
    participles = {verb.german_participle for verb in LEXICON.verbs}
    seen = 0
    for pair in pairs("train"):
        words = pair.target_words
        if pair.phenomenon == "statement" and words[-2] in participles:
            seen += 1
        if pair.phenomenon == "fronted-adverbial" and "," not in words:
            inner = [word for word in words[1:-2] if word in participles and word.startswith("ge")]
            assert not inner, pair.target
    assert seen > 500


def test_bad_requests_name_the_choices() -> None:
    with pytest.raises(UserError, match=r"unknown split 'dev' .*train, valid, test"):
        draw("dev", 1)
    with pytest.raises(UserError, match="count 2000000 is out of range"):
        draw("train", 2_000_000)
    with pytest.raises(UserError, match="count -1"):
        draw("train", -1)
    with pytest.raises(UserError, match="depth 7 is out of range"):
        draw("train", 1, depth=7)


def test_the_command_prints_tab_separated_pairs() -> None:
    command = [sys.executable, "-m", "landmark.data.embedded", "--split", "test", "--count", "3"]
    result = subprocess.run([*command, "--alignment"], capture_output=True, text=True, check=True)
    lines = result.stdout.splitlines()
    expected = [f"{pair.source}\t{pair.target}\t" for pair in draw("test", 3)]
    assert all(line.startswith(start) for line, start in zip(lines, expected, strict=True))
    command += ["--depth", "9"]
    wrong = subprocess.run(command, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: depth 9")
