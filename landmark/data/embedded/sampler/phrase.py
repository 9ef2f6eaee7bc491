"""Drawing noun phrases, adverbials and adjectives from the inventory."""

import random

from landmark.data.embedded.entry import Noun, Preposition
from landmark.data.embedded.inventory import Choice, Inventory
from landmark.data.embedded.morphology import DATIVE, PLURAL, RELATIVE
from landmark.data.embedded.syntax import (
    NOUN_PHRASE_BITS,
    AdjectivePhrase,
    Adverbial,
    FixedPhrase,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
)

PERSONAL = {
    "I": Pronoun("I", "me", ("ich", "mich", "mir"), 0),
    "he": Pronoun("he", "him", ("er", "ihn", "ihm"), 2),
    "she": Pronoun("she", "her", ("sie", "sie", "ihr"), 2),
    "we": Pronoun("we", "us", ("wir", "uns", "uns"), 3),
    "they": Pronoun("they", "them", ("sie", "sie", "ihnen"), 5),
}
ADDRESSED = {
    "du": Pronoun("you", "you", ("du", "dich", "dir"), 1),
    "ihr": Pronoun("you", "you", ("ihr", "euch", "euch"), 4),
    "Sie": Pronoun("you", "you", ("Sie", "Sie", "Ihnen"), 5),
}
INANIMATE = (
    Pronoun("it", "it", ("er", "ihn", "ihm"), 2),
    Pronoun("it", "it", ("sie", "sie", "ihr"), 2),
    Pronoun("it", "it", ("es", "es", "ihm"), 2),
)
WHO = Pronoun("who", "who", ("wer", "wen", "wem"), 2)
WHAT = Pronoun("what", "what", ("was", "was", "was"), 2)
SUBJECT_PRONOUNS = Choice(tuple(PERSONAL.values()), (30, 24, 20, 14, 12))
THIRD_PERSON = Choice([PERSONAL[name] for name in ("he", "she", "they")], (4, 4, 2))
ANY_OBJECT = Choice([PERSONAL[name] for name in ("I", "we", "he", "she", "they")], (3, 2, 3, 3, 2))
POSSESSIVES = Choice(("my", "his", "her", "our", "their"), (32, 20, 20, 14, 12))
SINGULAR = Choice(("definite", "indefinite", "possessive", "this", "every"), (54, 24, 13, 6, 3))
RELATED = Choice(("possessive", "definite", "indefinite", "this"), (60, 24, 12, 4))
MASS = Choice(("definite", "none", "possessive", "this"), (42, 42, 10, 6))
SEVERAL = Choice(
    ("definite", "none", "possessive", "numeral", "this", "many", "some", "all"),
    (38, 18, 12, 12, 6, 6, 4, 4),
)
# Under negation every, many, some, all and numerals would have two readings.
PLAIN = {"every": "definite", "many": "none", "some": "none", "all": "definite", "numeral": "none"}
TO_TOWN = Preposition(("to",), "nach", DATIVE, "direction", frozenset())
IN_TOWN = Preposition(("in",), "in", DATIVE, "place", frozenset())


def relative_pronouns(is_human: bool) -> tuple[Pronoun, ...]:
    """The relative pronouns of the three genders and the plural."""
    english = ("who", "whom") if is_human else ("that", "that")
    return tuple(
        Pronoun(*english, (RELATIVE[0][g], RELATIVE[1][g], RELATIVE[2][g]), 5 if g == PLURAL else 2)
        for g in range(4)
    )


HUMAN_RELATIVES = relative_pronouns(is_human=True)
THING_RELATIVES = relative_pronouns(is_human=False)


class PhraseSampler:
    """Draws the parts of one sentence; `start` begins a new one.

    `addressee` says what "you" means (du, ihr or Sie), or that it may not occur.
    """

    def __init__(self, inventory: Inventory, rng: random.Random) -> None:
        self.inventory = inventory
        self.rng = rng
        self.next_mark = 2
        self.addressee = ""

    def start(self) -> None:
        """Forget the previous sentence; bit 0 belongs to the closing mark."""
        self.next_mark = 2
        self.addressee = ""

    def mark(self, bits: int = NOUN_PHRASE_BITS) -> int:
        """The first bit of a new node that owns so many; few bits keep the alignment fast."""
        mark = self.next_mark
        self.next_mark = mark << bits
        return mark

    def happens(self, probability: float) -> bool:
        """A weighted coin."""
        return self.rng.random() < probability

    def pronoun(self, pronoun: Pronoun) -> NounPhrase:
        """A phrase that is only a pronoun."""
        return NounPhrase(self.mark(1), pronoun.person, pronoun.person >= 3, pronoun=pronoun)

    def name(self) -> NounPhrase:
        """A person's name."""
        return NounPhrase(self.mark(), name=self.inventory.people.draw(self.rng))

    def human_subject(self) -> NounPhrase | None:
        """A pronoun or a name, or nothing when it should be a noun."""
        chance = self.rng.random()
        if self.addressee and chance < 0.6:
            return self.pronoun(ADDRESSED[self.addressee])
        if chance < 0.32:
            return self.pronoun(SUBJECT_PRONOUNS.draw(self.rng))
        return self.name() if chance < 0.44 else None

    def human_object(self, subject: NounPhrase) -> NounPhrase | None:
        """A pronoun or a name different from the subject, or nothing."""
        chance = self.rng.random()
        if chance < 0.17:
            if self.addressee and subject.person not in (1, 4, 5) and chance < 0.1:
                return self.pronoun(ADDRESSED[self.addressee])
            is_first = subject.person in (0, 3)
            return self.pronoun((THIRD_PERSON if is_first else ANY_OBJECT).draw(self.rng))
        if chance < 0.27 and subject.name is None and not self.addressee:
            return self.name()
        return None

    def determiner(self, noun: Noun, is_plural: bool, plain: bool) -> str:
        """A determiner; "numeral" stands for a number before the noun."""
        if "bare" in noun.classes:
            return "none"
        if is_plural:
            chosen = SEVERAL.draw(self.rng)
        elif not noun.has_plural:
            chosen = MASS.draw(self.rng)
        elif "relation" in noun.classes:
            chosen = RELATED.draw(self.rng)
        else:
            chosen = SINGULAR.draw(self.rng)
        if plain:
            chosen = PLAIN.get(chosen, chosen)
        if chosen == "possessive":
            if self.addressee and self.happens(0.5):
                return f"your-{self.addressee}"
            return POSSESSIVES.draw(self.rng)
        return chosen

    def noun_phrase(self, noun: Noun, plain: bool = False, simple: bool = False) -> NounPhrase:
        """A noun with number, determiner and perhaps an adjective and a possessor."""
        is_plural = not noun.has_singular or (noun.has_plural and self.rng.random() < 0.27)
        determiner = self.determiner(noun, is_plural, plain)
        phrase = NounPhrase(self.mark(), 5 if is_plural else 2, is_plural, noun)
        if determiner == "numeral":
            phrase.numeral = self.inventory.numerals.draw(self.rng)
        else:
            phrase.determiner = determiner
        if simple or "bare" in noun.classes:
            return phrase
        adjectives = self.inventory.adjectives(noun)
        if adjectives and self.rng.random() < 0.32:
            phrase.adjective = adjectives.draw(self.rng)
            if self.rng.random() < 0.08 and determiner in ("indefinite", "none"):
                phrase.degree = self.inventory.degrees.draw(self.rng)
        elif determiner == "definite" and self.rng.random() < 0.05:
            phrase.possessor = self.possessor(noun)
        return phrase

    def possessor(self, noun: Noun) -> NounPhrase | None:
        """The owner of a thing or the relative of a person, in the genitive."""
        if not noun.classes & POSSESSED:
            return None
        owner = self.inventory.others(HUMAN).draw(self.rng)
        if owner is noun or not owner.has_singular:
            return None
        determiner = "definite" if "relation" not in owner.classes else POSSESSIVES.draw(self.rng)
        return NounPhrase(self.mark(), 2, False, owner, determiner)

    def adjective_phrase(self, noun: Noun, negated: bool) -> AdjectivePhrase:
        """A predicative adjective for a noun; after "not" only very and too go before it."""
        phrase = AdjectivePhrase(self.mark(2), self.inventory.adjectives(noun).draw(self.rng))
        if self.happens(0.3):
            degree = self.inventory.predicate_degrees.draw(self.rng)
            if not negated or degree.english[0] in ("very", "too"):
                phrase.degree = degree
        return phrase

    def prepositional(self, preposition: Preposition, noun: Noun) -> PrepositionalPhrase:
        """A preposition with a short noun phrase."""
        mark = self.mark(1)
        phrase = self.noun_phrase(noun, plain=True, simple=self.happens(0.8))
        if noun.has_plural and phrase.determiner == "none":
            phrase.determiner = "definite"
        return PrepositionalPhrase(mark, preposition, phrase)

    def by_role(self, role: str) -> PrepositionalPhrase:
        """A free prepositional phrase of a role."""
        preposition = self.inventory.prepositions[role].draw(self.rng)
        noun = self.inventory.after_preposition(preposition).draw(self.rng)
        return self.prepositional(preposition, noun)

    def place(self, of_thing: bool = False) -> Adverbial:
        """Where something happens, or where a thing is."""
        chance = self.rng.random()
        if chance < 0.12:
            return self.town(IN_TOWN)
        if chance < 0.32:
            return self.by_role("place")
        nouns = self.inventory.place_nouns if of_thing else self.inventory.scene_nouns
        noun = nouns.draw(self.rng)
        assert noun.place is not None
        return self.prepositional(noun.place, noun)

    def dwelling(self) -> Adverbial:
        """Where somebody lives."""
        if self.happens(0.4):
            return self.town(IN_TOWN)
        noun = self.inventory.dwellings.draw(self.rng)
        assert noun.place is not None
        return self.prepositional(noun.place, noun)

    def direction(self, flags: frozenset[str]) -> Adverbial:
        """Where somebody goes; nobody walks to a town, and only towns and such are far."""
        chance = self.rng.random()
        is_far = "far" in flags
        if chance < (0.6 if is_far else 0.15) and "foot" not in flags:
            return self.town(TO_TOWN)
        if chance < 0.45 and not is_far:
            return self.by_role("direction")
        nouns = self.inventory.far_nouns if is_far else self.inventory.direction_nouns
        noun = nouns.draw(self.rng)
        assert noun.direction is not None
        return self.prepositional(noun.direction, noun)

    def town(self, preposition: Preposition) -> PrepositionalPhrase:
        """A town after a preposition."""
        town = NounPhrase(self.mark(), name=self.inventory.towns.draw(self.rng))
        return PrepositionalPhrase(self.mark(1), preposition, town)

    def time(self, kinds: frozenset[str]) -> Adverbial:
        """When something happens."""
        if self.happens(0.07):
            return self.by_role("time")
        return FixedPhrase(self.mark(3), self.inventory.times(kinds).draw(self.rng))


HUMAN = frozenset(("human",))
POSSESSED = frozenset(("thing", "property", "relation", "clothing", "pet", "idea"))
