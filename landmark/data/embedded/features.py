"""Reading off a sentence what decides its split: its verb-object pairs and its object nouns."""

from collections.abc import Iterator

from landmark.data.embedded.entry import Noun, Verb
from landmark.data.embedded.inventory import Inventory
from landmark.data.embedded.syntax import (
    AdjectivePhrase,
    Clause,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Sentence,
)


def objects(sentence: Sentence) -> Iterator[tuple[Verb | None, Noun]]:
    """Every noun outside the subject's role, with the verb whose object it is, if any.

    A pronoun counts as its antecedent: in "the apple that I ate" and in "I buy an apple and eat
    it" the apple is the object of "eat".
    """
    for clause in sentence.clauses:
        yield from clause_objects(clause, None)


def clause_objects(clause: Clause, antecedent: Noun | None) -> Iterator[tuple[Verb | None, Noun]]:
    """The objects of a clause; `antecedent` is what its relative pronoun stands for."""
    yield from inner_objects(clause.subject)
    is_object = clause.kind == "relative" and clause.front == "object"
    yield from predicate_objects(clause.predicate, antecedent if is_object else None)
    if clause.second is not None:
        first = clause.predicate.object
        yield from predicate_objects(clause.second, None if first is None else first.noun)
    if clause.adjunct is not None:
        yield from clause_objects(clause.adjunct, None)


def predicate_objects(
    predicate: Predicate, antecedent: Noun | None
) -> Iterator[tuple[Verb | None, Noun]]:
    """The objects of a predicate; a relative pronoun or "it" counts as its antecedent."""
    verb, item = predicate.verb, predicate.object
    if item is not None:
        is_reference = item.pronoun is not None and item.pronoun.object in ("it", "that", "whom")
        if is_reference and antecedent is not None:
            yield verb, antecedent
        yield from phrase_objects(item, verb)
    if predicate.prepositional is not None:
        is_argument = verb is not None and verb.frame == "prepositional"
        yield from phrase_objects(predicate.prepositional.phrase, verb if is_argument else None)
    for part in (predicate.companion, predicate.place, predicate.time):
        if isinstance(part, PrepositionalPhrase):
            yield from phrase_objects(part.phrase, None)
    if predicate.dative is not None:
        yield from phrase_objects(predicate.dative, None)
    attribute = predicate.attribute
    if attribute is not None and not isinstance(attribute, AdjectivePhrase):
        yield from phrase_objects(attribute, None)
    if predicate.infinitive is not None:
        yield from predicate_objects(predicate.infinitive, None)
    if predicate.clause is not None:
        yield from clause_objects(predicate.clause, None)


def phrase_objects(phrase: NounPhrase, verb: Verb | None) -> Iterator[tuple[Verb | None, Noun]]:
    """The noun of a phrase outside the subject's role, and what is inside the phrase."""
    if phrase.noun is not None:
        yield verb, phrase.noun
    yield from inner_objects(phrase)
    if phrase.conjunct is not None:
        yield from phrase_objects(phrase.conjunct, verb)


def inner_objects(phrase: NounPhrase) -> Iterator[tuple[Verb | None, Noun]]:
    """The objects inside a noun phrase: its possessor and its relative clause."""
    if phrase.possessor is not None:
        yield from phrase_objects(phrase.possessor, None)
    if phrase.relative is not None:
        yield from clause_objects(phrase.relative, phrase.noun)


def special_objects(sentence: Sentence, inventory: Inventory) -> str:
    """ "held-out", "subject-only", both joined by a plus sign, or nothing."""
    kinds = set()
    for verb, noun in objects(sentence):
        if noun.subject_only:
            kinds.add("subject-only")
        if verb is not None and noun in inventory.held_out[verb]:
            kinds.add("held-out")
    return "+".join(sorted(kinds))
