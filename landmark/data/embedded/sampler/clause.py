"""Drawing predicates and clauses: tense, modality, negation, arguments and adverbials."""

import random

from landmark.data.embedded.entry import Noun, Verb
from landmark.data.embedded.inventory import Choice, Inventory
from landmark.data.embedded.morphology import MASCULINE
from landmark.data.embedded.sampler.phrase import HUMAN, PhraseSampler
from landmark.data.embedded.syntax import (
    Adverbial,
    Clause,
    FixedPhrase,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
)

LOOSE_TENSES = Choice(("present", "past", "future"), (4, 4, 1))
TENSES = Choice(("past", "present", "future", "modal"), (38, 36, 12, 14))
TIME_KINDS = {
    "past": frozenset(("past", "habit", "any")),
    "present": frozenset(("habit", "any")),
    "progressive": frozenset(("now", "any")),
    "future": frozenset(("future", "any")),
    "past-modal": frozenset(("past", "any")),
    "modal": frozenset(("future", "any")),
}
PLACE_FRAMES = frozenset(("intransitive", "transitive", "dative", "prepositional"))


class ClauseSampler(PhraseSampler):
    """Draws clauses; `goal` asks for one object that is held out, or known only as a subject.

    The first object that can be so resets the goal; a sentence that leaves it set is discarded.
    """

    def __init__(self, inventory: Inventory, rng: random.Random) -> None:
        super().__init__(inventory, rng)
        self.goal = ""

    def object_noun(self, verb: Verb) -> Noun:
        """An object that this verb may have in the current split."""
        if self.goal:
            table = (
                self.inventory.held_out_objects
                if self.goal == "held-out"
                else self.inventory.subject_only_objects
            )
            if table[verb]:
                self.goal = ""
                return table[verb].draw(self.rng)
        return self.inventory.objects[verb].draw(self.rng)

    def subject(self, verb: Verb, plain: bool = False) -> NounPhrase:
        """A subject that the verb takes."""
        if "human" in verb.subject:
            phrase = self.human_subject()
            if phrase is not None:
                return phrase
        return self.noun_phrase(self.inventory.subjects(verb.subject).draw(self.rng), plain)

    def tense_and_modal(self, predicate: Predicate, tense: str) -> None:
        """Set the tense; "modal" draws a modal verb, which a stative verb does not take."""
        verb = predicate.verb
        if tense != "modal" or (verb is not None and "stative" in verb.flags):
            predicate.tense = "present" if tense == "modal" else tense
            return
        predicate.modal = self.inventory.modals.draw(self.rng)
        predicate.tense = "past" if predicate.modal.is_past else "present"

    def predicate(self, verb: Verb, subject: NounPhrase, tense: str, richness: float) -> Predicate:
        """A predicate of a verb for a subject; richness scales the chance of adverbials."""
        predicate = Predicate(self.mark(3), verb=verb)
        self.tense_and_modal(predicate, tense)
        is_plain = subject.determiner in ("definite", "this", "none") and subject.numeral is None
        if self.rng.random() < 0.13 and is_plain:
            predicate.negated = predicate.modal is None or predicate.modal.negative is not None
        self.aspect(predicate)
        self.arguments(predicate, subject)
        self.adverbials(predicate, subject, richness)
        return predicate

    def aspect(self, predicate: Predicate) -> None:
        """Choose between the English simple, progressive and perfect forms."""
        verb = predicate.verb
        if predicate.modal is not None or verb is None:
            return
        if predicate.tense == "present" and "stative" not in verb.flags and self.happens(0.36):
            predicate.aspect = "progressive"
        elif predicate.tense == "past" and "preterite" not in verb.flags and self.happens(0.06):
            predicate.aspect = "perfect"

    def arguments(self, predicate: Predicate, subject: NounPhrase) -> None:
        """Draw what the verb's frame asks for."""
        verb = predicate.verb
        assert verb is not None
        frame = verb.frame
        if frame in ("transitive", "dative", "ditransitive", "placement"):
            predicate.object = self.object(verb, subject, predicate.negated)
        if frame == "ditransitive":
            predicate.dative = self.receiver(subject, predicate.negated)
        elif frame == "prepositional":
            assert verb.preposition is not None
            phrase = self.object(verb, subject, predicate.negated)
            predicate.prepositional = PrepositionalPhrase(self.mark(1), verb.preposition, phrase)
        elif frame == "located":
            predicate.place = self.dwelling() if "dwelling" in verb.flags else self.place()
        elif frame == "motion":
            is_jump = "jump" in verb.flags
            predicate.place = self.by_role("jump") if is_jump else self.direction(verb.flags)
        elif frame == "placement":
            predicate.prepositional = self.target(verb)

    def object(self, verb: Verb, subject: NounPhrase, negated: bool) -> NounPhrase:
        """An object different from the subject."""
        if "human" in verb.object and not self.goal:
            phrase = self.human_object(subject)
            if phrase is not None:
                return phrase
        noun = self.object_noun(verb)
        if noun is subject.noun:
            noun = self.inventory.objects[verb].draw(self.rng)
        return self.noun_phrase(noun, plain=negated)

    def receiver(self, subject: NounPhrase, negated: bool) -> NounPhrase:
        """The person to whom something is given."""
        phrase = self.human_object(subject)
        if phrase is not None:
            return phrase
        phrase = self.noun_phrase(self.inventory.others(HUMAN).draw(self.rng), True, simple=True)
        if phrase.determiner == "none" or (negated and phrase.determiner == "indefinite"):
            phrase.determiner = "definite"
        return phrase

    def target(self, verb: Verb) -> PrepositionalPhrase:
        """Where a thing is put: the accusative of a two-way preposition."""
        assert verb.preposition is not None
        places = {"onto": ONTO_CLASSES, "into": INTO_CLASSES}[verb.preposition.english[0]]
        noun = self.inventory.others(places).draw(self.rng)
        return self.prepositional(verb.preposition, noun)

    def adverbials(self, predicate: Predicate, subject: NounPhrase, richness: float) -> None:
        """Draw time, place, manner, company and frequency."""
        verb = predicate.verb
        assert verb is not None
        if "stative" in verb.flags:
            richness *= 0.4
        chance = self.rng.random() / richness if richness else 1.0
        if chance < 0.34:
            predicate.time = self.fitting_time(predicate)
        elif predicate.negated:
            pass
        elif chance < 0.44 and "stative" not in verb.flags and verb.frame != "located":
            manners = self.inventory.plural_manners if subject.is_plural else self.inventory.manners
            predicate.manner = FixedPhrase(self.mark(3), manners.draw(self.rng))
        elif chance < 0.54 and predicate.modal is None:
            self.frequency(predicate)
        chance = self.rng.random() / richness if richness else 1.0
        if verb.frame not in PLACE_FRAMES or "stative" in verb.flags:
            return
        if chance < 0.2:
            predicate.place = self.place()
        elif chance < 0.28 and not predicate.negated:
            predicate.companion = self.company(verb)

    def frequency(self, predicate: Predicate) -> None:
        """Draw "often" and its like for a simple or perfect form."""
        if predicate.aspect == "progressive" or predicate.tense == "future":
            return
        is_past = predicate.tense == "past"
        choice = self.inventory.past_frequencies if is_past else self.inventory.frequencies
        predicate.frequency = FixedPhrase(self.mark(3), choice.draw(self.rng))

    def company(self, verb: Verb) -> PrepositionalPhrase:
        """With, without, for or from whom."""
        if "benefit" in verb.flags and self.happens(0.5):
            return self.by_role("beneficiary")
        if "source" in verb.flags:
            return self.by_role("source")
        return self.by_role("companion")

    def fitting_time(self, predicate: Predicate) -> Adverbial | None:
        """An expression of time that the tense allows; the English perfect allows none."""
        if predicate.aspect == "perfect":
            return None
        if predicate.modal is not None:
            return self.time(TIME_KINDS["past-modal" if predicate.modal.is_past else "modal"])
        key = "progressive" if predicate.aspect == "progressive" else predicate.tense
        return self.time(TIME_KINDS[key])

    def settle_tense(self, clause: Clause) -> None:
        """Keep "read" and "put" apart from their past: a form that could be both is not used."""
        for predicate in (clause.predicate, clause.second):
            if predicate is None or predicate.verb is None or predicate.modal is not None:
                continue
            if predicate.verb.past != predicate.verb.base or predicate.aspect != "simple":
                continue
            is_inverted = clause.kind == "question" and predicate is clause.predicate
            if clause.subject.person == 2 or predicate.negated or is_inverted:
                continue
            if predicate.tense == "past":
                predicate.aspect, predicate.time = "perfect", None
                clause.front = "" if clause.front == "time" else clause.front
            elif predicate.tense == "present":
                predicate.aspect, predicate.frequency = "progressive", None

    def clause(self, tense: str = "", richness: float = 1.0, verb: Verb | None = None) -> Clause:
        """A clause with a full verb."""
        verb = verb or self.inventory.verbs.draw(self.rng)
        subject = self.subject(verb)
        predicate = self.predicate(verb, subject, tense or TENSES.draw(self.rng), richness)
        clause = Clause(self.mark(1), subject, predicate)
        self.settle_tense(clause)
        return clause

    def copula_clause(self, tense: str = "", richness: float = 1.0) -> Clause:
        """A clause that says what somebody or something is like, or where it is."""
        tense = tense or TENSES.draw(self.rng)
        predicate = Predicate(self.mark(3), tense="present" if tense == "modal" else tense)
        subject = self.human_subject() if self.happens(0.5) else None
        noun = self.inventory.described.draw(self.rng) if subject is None else self.person_noun()
        phrase = subject or self.noun_phrase(noun)
        is_plain = phrase.determiner in ("definite", "this", "none") and phrase.numeral is None
        predicate.negated = is_plain and self.happens(0.15)
        if "human" in noun.classes and is_masculine(phrase) and self.happens(0.25):
            predicate.attribute = self.profession(phrase.is_plural)
        elif subject is None and noun.classes & LOCATED_CLASSES and self.happens(0.3):
            predicate.place = self.place(of_thing=True)
        else:
            predicate.attribute = self.adjective_phrase(noun, predicate.negated)
        if richness and self.happens(0.15 * richness):
            predicate.time = self.fitting_time(predicate)
        return Clause(self.mark(1), phrase, predicate)

    def fronted(self, clause: Clause) -> Clause:
        """Perhaps move time or place before the subject."""
        predicate = clause.predicate
        if predicate.time is not None and self.happens(0.35):
            clause.front = "time"
        elif (
            predicate.place is not None
            and predicate.verb is not None
            and predicate.verb.frame not in ("motion", "located")
            and self.happens(0.2)
        ):
            clause.front = "place"
        return clause

    def simple_clause(self, tense: str = "", richness: float = 0.6) -> Clause:
        """A clause with a full verb or the copula."""
        if self.happens(0.2):
            return self.copula_clause(tense, richness)
        return self.clause(tense, richness)

    def person_noun(self) -> Noun:
        """A noun whose adjectives suit a pronoun or a name."""
        return self.inventory.professions.items[0]

    def profession(self, is_plural: bool) -> NounPhrase:
        """What somebody is, with an adjective, so that German keeps the article."""
        noun = self.inventory.professions.draw(self.rng)
        adjective = self.inventory.adjectives(noun).draw(self.rng)
        determiner = "none" if is_plural else "indefinite"
        person = 5 if is_plural else 2
        return NounPhrase(self.mark(), person, is_plural, noun, determiner, adjective=adjective)


def is_masculine(phrase: NounPhrase) -> bool:
    """Whether a masculine noun can be said of somebody: our professions have one gender each."""
    if phrase.name is not None:
        return phrase.name.gender == MASCULINE
    if phrase.noun is not None:
        return phrase.is_plural or phrase.noun.gender == MASCULINE
    return phrase.pronoun is not None and phrase.pronoun.subject != "she"


ONTO_CLASSES = frozenset(("table", "chair", "bed", "sofa", "desk", "shelf", "carpet", "bench"))
INTO_CLASSES = frozenset(("room", "building", "car", "garden", "river", "lake"))
LOCATED_CLASSES = frozenset(("thing", "animal", "clothing", "vehicle"))
