"""What the grammar may choose from at each point, with Zipf's law inside each choice.

It also fixes which verb-object pairs are held out of training: a pure function of the two words.
"""

import random
import zlib
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from typing import Generic, TypeVar

from landmark.data.embedded.entry import (
    Adjective,
    Expression,
    Lexicon,
    Name,
    Noun,
    Preposition,
    Verb,
)
from landmark.data.embedded.lexicon import embedded_lexicon
from landmark.data.embedded.morphology import MASCULINE

Item = TypeVar("Item")

ZIPF_OFFSET = 10.0  # the weight of rank r is 1 / (r + offset)
HELD_OUT_SHARE = 12  # one verb-object pair of this many
FEWEST_OBJECTS = 8  # a verb with fewer objects loses none of them
NEVER_HELD_OUT = ("eat", "apple")  # the lecture's example must be learnable
OBJECT_FRAMES = frozenset(("transitive", "dative", "ditransitive", "prepositional", "placement"))
DWELLINGS = frozenset(("city", "village", "house", "flat", "hotel", "castle", "island"))
SCENES = frozenset(("building", "room", "place", "landscape", "vehicle", "structure"))
SIMPLE_FRAMES = OBJECT_FRAMES | {"intransitive", "located", "motion"}


class Choice(Generic[Item]):
    """Items drawn with the given weights."""

    def __init__(self, items: Sequence[Item], weights: Iterable[float]) -> None:
        self.items = tuple(items)
        self.cumulative = tuple(accumulate(weights))
        self.total = self.cumulative[-1] if self.cumulative else 0.0

    def __bool__(self) -> bool:
        return bool(self.items)

    def draw(self, rng: random.Random) -> Item:
        """One item."""
        return self.items[bisect(self.cumulative, rng.random() * self.total)]


def zipf_choice(ranked: Sequence[Item], chosen: Iterable[Item]) -> Choice[Item]:
    """The chosen items, each weighted by its rank in the whole list."""
    wanted = {id(item) for item in chosen}
    pairs = [(item, 1.0 / (rank + ZIPF_OFFSET)) for rank, item in enumerate(ranked, start=1)]
    kept = [(item, weight) for item, weight in pairs if id(item) in wanted]
    return Choice([item for item, _ in kept], [weight for _, weight in kept])


def hash_bucket(text: str, buckets: int) -> int:
    """A number below `buckets` that depends on the text alone."""
    return zlib.crc32(text.encode()) % buckets


class Inventory:
    """All choices of a lexicon, computed once."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        nouns = lexicon.nouns
        self.numerals = zipf_choice(lexicon.numerals, lexicon.numerals)
        self.modals = zipf_choice(lexicon.modals, lexicon.modals)
        self.subjunctions = zipf_choice(lexicon.subjunctions, lexicon.subjunctions)
        self.verbs = self._by_frame(SIMPLE_FRAMES)
        self.clause_verbs = self._by_frame(frozenset(("clause",)))
        self.question_verbs = self._by_frame(frozenset(("question",)))
        self.infinitive_verbs = self._by_frame(frozenset(("infinitive",)))
        self.transitive_verbs = self._by_frame(frozenset(("transitive", "dative")))
        self.free_nouns = tuple(noun for noun in nouns if not noun.subject_only)
        self.place_nouns = self.nouns_where(lambda noun: noun.place is not None)
        self.scene_nouns = self.nouns_where(
            lambda noun: noun.place is not None and bool(noun.classes & SCENES)
        )
        self.direction_nouns = self.nouns_where(lambda noun: noun.direction is not None)
        self.far_nouns = self.nouns_where(
            lambda noun: noun.direction is not None and bool(noun.classes & {"place", "landscape"})
        )
        self.dwellings = self.nouns_where(
            lambda noun: noun.place is not None and bool(noun.classes & DWELLINGS)
        )
        self.professions = self.nouns_where(
            lambda noun: "profession" in noun.classes and noun.gender == MASCULINE
        )
        self.described = zipf_choice(nouns, [noun for noun in nouns if self.adjectives(noun)])
        self._prepare_objects()
        self._prepare_expressions()

    def nouns_where(self, accepts: Callable[[Noun], bool]) -> Choice[Noun]:
        """The nouns outside the subject's role that a test accepts."""
        chosen = [noun for noun in self.free_nouns if accepts(noun)]
        return zipf_choice(self.lexicon.nouns, chosen)

    def _by_frame(self, frames: frozenset[str]) -> Choice[Verb]:
        verbs = self.lexicon.verbs
        return zipf_choice(verbs, [verb for verb in verbs if verb.frame in frames])

    def _prepare_objects(self) -> None:
        """The objects of each verb: for training, held out, and nouns known only as subjects."""
        nouns = self.lexicon.nouns
        self.objects: dict[Verb, Choice[Noun]] = {}
        self.held_out_objects: dict[Verb, Choice[Noun]] = {}
        self.subject_only_objects: dict[Verb, Choice[Noun]] = {}
        self.held_out: dict[Verb, frozenset[Noun]] = {}
        for verb in self.lexicon.verbs:
            possible = [noun for noun in nouns if noun.classes & verb.object]
            free = [noun for noun in possible if not noun.subject_only]
            held_out = [noun for noun in free if self.is_held_out(verb, noun)]
            kept = [noun for noun in free if not self.is_held_out(verb, noun)]
            late = [n for n in possible if n.subject_only and not self.is_held_out(verb, n)]
            self.held_out[verb] = frozenset(n for n in possible if self.is_held_out(verb, n))
            self.objects[verb] = zipf_choice(nouns, kept)
            self.held_out_objects[verb] = zipf_choice(nouns, held_out)
            self.subject_only_objects[verb] = zipf_choice(nouns, late)

    def _prepare_expressions(self) -> None:
        """Adverbs, times, prepositions and names by what they are used for."""
        lexicon = self.lexicon
        self.frequencies = self._adverbs("frequency")
        self.past_frequencies = self._adverbs("frequency", "frequency-past")
        self.manners = self._adverbs("manner")
        self.plural_manners = self._adverbs("manner", "manner-plural")
        self.degrees = self._adverbs("degree")
        self.predicate_degrees = self._adverbs("degree", "degree-predicate")
        self.people = self._names("person", "title")
        self.first_names = self._names("person")
        self.titles = self._names("title")
        self.towns = self._names("town")
        self.prepositions = {
            role: zipf_choice(
                lexicon.prepositions, [p for p in lexicon.prepositions if p.role == role]
            )
            for role in sorted({p.role for p in lexicon.prepositions})
        }

    def _adverbs(self, *kinds: str) -> Choice[Expression]:
        adverbs = self.lexicon.adverbs
        return zipf_choice(adverbs, [adverb for adverb in adverbs if adverb.kind in kinds])

    def _names(self, *kinds: str) -> Choice[Name]:
        names = self.lexicon.names
        return zipf_choice(names, [name for name in names if name.kind in kinds])

    def is_held_out(self, verb: Verb, noun: Noun) -> bool:
        """Whether this verb never meets this object in train, valid and test."""
        if (verb.english, noun.english) == NEVER_HELD_OUT:
            return False
        return (
            hash_bucket(f"{verb.english}|{noun.english}", HELD_OUT_SHARE) == 0
            and self._number_of_objects(verb) >= FEWEST_OBJECTS
        )

    @cache  # noqa: B019 -- one inventory lives as long as the process
    def _number_of_objects(self, verb: Verb) -> int:
        return sum(1 for noun in self.lexicon.nouns if noun.classes & verb.object)

    @cache  # noqa: B019
    def subjects(self, classes: frozenset[str]) -> Choice[Noun]:
        """Nouns of the classes, in the subject's role."""
        nouns = self.lexicon.nouns
        return zipf_choice(nouns, [noun for noun in nouns if noun.classes & classes])

    @cache  # noqa: B019
    def others(self, classes: frozenset[str]) -> Choice[Noun]:
        """Nouns of the classes, outside the subject's role."""
        return self.nouns_where(lambda noun: bool(noun.classes & classes))

    @cache  # noqa: B019
    def adjectives(self, noun: Noun) -> Choice[Adjective]:
        """Adjectives that describe a noun."""
        adjectives = self.lexicon.adjectives
        chosen = [a for a in adjectives if a.classes & noun.classes]
        return zipf_choice(adjectives, chosen)

    @cache  # noqa: B019
    def verbs_with_object(self, noun: Noun) -> Choice[Verb]:
        """Transitive verbs that meet a noun as their object in training."""
        verbs = self.transitive_verbs.items
        chosen = [verb for verb in verbs if noun in self.objects[verb].items]
        return zipf_choice(self.lexicon.verbs, chosen)

    @cache  # noqa: B019
    def verbs_with_subject(self, noun: Noun) -> Choice[Verb]:
        """Verbs that take a noun as their subject."""
        verbs = self.verbs.items
        return zipf_choice(
            self.lexicon.verbs, [verb for verb in verbs if noun.classes & verb.subject]
        )

    @cache  # noqa: B019
    def times(self, kinds: frozenset[str]) -> Choice[Expression]:
        """Expressions of time of some kinds."""
        times = self.lexicon.times
        return zipf_choice(times, [time for time in times if time.kind in kinds])

    @cache  # noqa: B019
    def after_preposition(self, preposition: Preposition) -> Choice[Noun]:
        """Nouns that follow a free preposition."""
        return self.others(preposition.classes)


@lru_cache(maxsize=1)
def embedded_inventory() -> Inventory:
    """The inventory of the lexicon that ships with the package."""
    return Inventory(embedded_lexicon())
