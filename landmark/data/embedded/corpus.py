"""The embedded corpus: sentence pairs of five splits, drawn from the grammar by a seed.

To which split a sentence belongs depends on the sentence alone, so the splits stay disjoint for
every seed and count.
"""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass

from landmark.core.errors import UserError
from landmark.data.embedded import english, german
from landmark.data.embedded.features import special_objects
from landmark.data.embedded.inventory import embedded_inventory, hash_bucket
from landmark.data.embedded.lexicon import lexicon_digest
from landmark.data.embedded.sampler.phrase import PERSONAL
from landmark.data.embedded.sampler.sentence import COORDINATED_SHARE, SentenceSampler
from landmark.data.embedded.syntax import Clause, NounPhrase, Predicate, Sentence

SPLITS = ("train", "valid", "test", "test-compositional", "test-structural")
GRAMMAR_VERSION = "1"
LARGEST_DEPTH = 6
DEEP = 3  # coordination of this depth is unseen in training
LARGEST_COUNT = {
    "train": 1_000_000,
    "valid": 50_000,
    "test": 50_000,
    "test-compositional": 50_000,
    "test-structural": 50_000,
}
GOAL_PHENOMENA = {"held-out": "held-out-pair", "subject-only": "noun-as-object"}
FEWEST_WORDS = 3
MOST_WORDS = 27  # without a depth asked for
MOST_FAILURES = 20_000  # draws in a row without a new sentence
# The lectures' example, "I ate an apple.", stays out of every split in any wording of this target.
EXAMPLE_TARGET = "Ich habe einen Apfel gegessen."


@dataclass(frozen=True)
class SentencePair:
    """An English sentence, its German translation and their gold word alignment."""

    source: str
    target: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]
    phenomenon: str


def draw(split: str, count: int, seed: int = 1, depth: int | None = None) -> Iterator[SentencePair]:
    """Distinct pairs of a split, always the same for the same arguments.

    With `depth` every sentence has a coordination of exactly so many members (1 is none).
    """
    check_request(split, count, depth)
    return generate(split, count, seed, depth)


def check_request(split: str, count: int, depth: int | None) -> None:
    """Refuse what cannot be drawn."""
    if split not in SPLITS:
        raise UserError(f"unknown split '{split}' (known: {', '.join(SPLITS)})")
    if not 0 <= count <= LARGEST_COUNT[split]:
        raise UserError(
            f"count {count} is out of range: '{split}' gives 0 to {LARGEST_COUNT[split]} pairs"
        )
    if depth is not None and not 1 <= depth <= LARGEST_DEPTH:
        raise UserError(f"depth {depth} is out of range (1 to {LARGEST_DEPTH})")


def generate(split: str, count: int, seed: int, depth: int | None) -> Iterator[SentencePair]:
    """The pairs themselves; a sentence of another split is skipped."""
    sampler = SentenceSampler(embedded_inventory(), random.Random(f"{split}/{seed}/{depth}"))
    seen: set[str] = set()
    failures = 0
    while len(seen) < count:
        if failures > MOST_FAILURES:
            raise UserError(f"'{split}' gives only {len(seen)} pairs with this seed and depth")
        failures += 1
        members, goal = plan(split, sampler.rng, depth)
        drawn = sampler.sentence(members, goal)
        if drawn is None:
            continue
        sentence, phenomenon = drawn
        words, bits = english.write_sentence(sentence)
        if depth is None and members < DEEP and not FEWEST_WORDS < len(words) <= MOST_WORDS:
            continue
        source = join_words(words)
        if source in seen or split_of(sentence, source) != split:
            continue
        pair = build_pair(sentence, words, bits, GOAL_PHENOMENA.get(goal, phenomenon))
        if pair.target == EXAMPLE_TARGET:
            continue
        seen.add(source)
        failures = 0
        yield pair


def plan(split: str, rng: random.Random, depth: int | None) -> tuple[int, str]:
    """How deep the next sentence is coordinated, and which kind of object it must have."""
    usual = depth or (2 if rng.random() < COORDINATED_SHARE else 1)
    if split == "test-compositional":
        return usual, "held-out"
    if split == "test-structural":
        if depth is None and rng.random() < 0.5:
            return DEEP, ""
        return usual, "" if usual >= DEEP else "subject-only"
    return usual, ""


def split_of(sentence: Sentence, source: str) -> str:
    """The split a sentence belongs to, by its objects, its depth and a hash; "" for none."""
    special = special_objects(sentence, embedded_inventory())
    if special:
        return {"held-out": "test-compositional", "subject-only": "test-structural"}.get(
            special, ""
        )
    bucket = hash_bucket(source, 40)
    if len(sentence.clauses) >= DEEP and bucket % 2:
        return "test-structural"
    share = bucket // 2
    return "valid" if share == 0 else "test" if share == 1 else "train"


def join_words(words: list[str]) -> str:
    """The words as running text."""
    return " ".join(words).replace(" ,", ",").replace(" .", ".").replace(" ?", "?")


def build_pair(
    sentence: Sentence, words: list[str], bits: list[int], phenomenon: str
) -> SentencePair:
    """Write the German side and align it with the English one."""
    target_words, target_bits = german.write_sentence(sentence)
    positions = list(enumerate(target_bits))
    alignment = [(i, j) for i, mine in enumerate(bits) for j, other in positions if mine & other]
    return SentencePair(
        source=join_words(words),
        target=join_words(target_words),
        source_words=tuple(words),
        target_words=tuple(target_words),
        alignment=tuple(alignment),
        phenomenon=phenomenon,
    )


def example() -> SentencePair:
    """The lectures' example, which the grammar can write but no split contains."""
    inventory = embedded_inventory()
    verb = next(verb for verb in inventory.lexicon.verbs if verb.english == "eat")
    noun = next(noun for noun in inventory.lexicon.nouns if noun.english == "apple")
    subject = NounPhrase(1 << 1, 0, pronoun=PERSONAL["I"])
    item = NounPhrase(1 << 7, noun=noun, determiner="indefinite")
    predicate = Predicate(1 << 13, "past", verb, object=item)
    sentence = Sentence([Clause(1 << 19, subject, predicate)])
    return build_pair(sentence, *english.write_sentence(sentence), "statement")


def digest() -> str:
    """A hex digest of the lexicon and the grammar's version."""
    text = f"{GRAMMAR_VERSION}/{lexicon_digest()}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
