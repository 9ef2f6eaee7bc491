"""Writing an abstract sentence in German.

A main clause is front field, finite verb, middle field, right bracket, end field; in a
subordinate clause the finite verb closes the right bracket. The order of the middle field is
pronouns, dative, time, frequency, definite object, "nicht", manner, indefinite object, company,
place, prepositional object, predicative.
"""

from landmark.data.embedded.morphology import (
    ACCUSATIVE,
    CONTRACTIONS,
    DATIVE,
    DETERMINERS,
    GENITIVE,
    HABEN_PAST,
    HABEN_PRESENT,
    NOMINATIVE,
    PLURAL,
    SEIN_PAST,
    SEIN_PRESENT,
    WERDEN_PRESENT,
)
from landmark.data.embedded.syntax import (
    COMMA,
    AdjectivePhrase,
    Adverbial,
    Clause,
    FixedPhrase,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Sentence,
    Token,
    finish,
    write_fixed,
)


def write_noun_phrase(
    out: list[Token],
    phrase: NounPhrase,
    case: int,
    negation: int = 0,
    late: list[Token] | None = None,
) -> None:
    """Append a noun phrase in a case.

    With `negation` bits its determiner becomes "kein"; a relative clause goes into `late`, the
    end field, where there is one.
    """
    mark = phrase.mark
    if phrase.pronoun is not None:
        out.append((phrase.pronoun.german[case], mark))
    elif phrase.name is not None:
        name = phrase.name.german if case == NOMINATIVE else phrase.name.oblique
        for position, word in enumerate(name):
            out.append((word, mark << position))
    else:
        write_noun(out, phrase, case, negation)
    if phrase.relative is not None:
        target = out if late is None else late
        target.append((COMMA, 0))
        write_clause(target, phrase.relative)
        target.append((COMMA, 0))
    if phrase.conjunct is not None and phrase.conjunction is not None:
        out.append((phrase.conjunction.german[0], mark << 5))
        write_noun_phrase(out, phrase.conjunct, case)


def write_noun(out: list[Token], phrase: NounPhrase, case: int, negation: int) -> None:
    """Append determiner, adjective, noun and a genitive possessor."""
    noun, mark = phrase.noun, phrase.mark
    assert noun is not None
    column = PLURAL if phrase.is_plural else noun.gender
    forms, endings = DETERMINERS["negative" if negation else phrase.determiner]
    if forms is not None:
        out.append((forms[case][column], mark | negation))
    if phrase.numeral is not None:
        out.append((phrase.numeral.german[0], mark << 4))
    if phrase.degree is not None:
        out.append((phrase.degree.german[0], mark << 3))
    if phrase.adjective is not None:
        out.append((phrase.adjective.stem + endings[case][column], mark << 1))
    out.append((noun.forms[case + 4 * phrase.is_plural], mark << 2))
    if phrase.possessor is not None:
        write_noun_phrase(out, phrase.possessor, GENITIVE)


def write_prepositional(
    out: list[Token], phrase: PrepositionalPhrase, late: list[Token] | None = None
) -> None:
    """Append a preposition, contracted with a definite article where German does so."""
    preposition = phrase.preposition
    out.append((preposition.german, phrase.mark))
    position = len(out)
    write_noun_phrase(out, phrase.phrase, preposition.case, late=late)
    if phrase.phrase.determiner == "definite":
        contracted = CONTRACTIONS.get((preposition.german, out[position][0]))
        if contracted is not None:
            out[position - 1 : position + 1] = [(contracted, phrase.mark | out[position][1])]


def write_adverbial(out: list[Token], adverbial: Adverbial) -> None:
    """Append a fixed or a prepositional phrase."""
    if isinstance(adverbial, FixedPhrase):
        expression = adverbial.expression
        write_fixed(out, expression.german, expression.german_bits, adverbial.mark)
    else:
        write_prepositional(out, adverbial)


def verb_group(predicate: Predicate, person: int) -> tuple[str, list[Token], str]:
    """The finite form, the words of the right bracket, and a separable prefix left alone."""
    verb, lexical = predicate.verb, predicate.mark << 1
    infinitive = verb.infinitive if verb is not None else "sein"
    modal = predicate.modal
    if modal is not None:
        forms = modal.negative if predicate.negated else modal.german
        assert forms is not None
        return forms[person], [(infinitive, lexical)], ""
    if predicate.tense == "future":
        return WERDEN_PRESENT[person], [(infinitive, lexical)], ""
    is_past = predicate.tense == "past" or predicate.aspect == "perfect"
    if verb is None:
        return (SEIN_PAST if is_past else SEIN_PRESENT)[person], [], ""
    if not is_past:
        return verb.present[person], [], verb.prefix
    if "preterite" in verb.flags:
        return HABEN_PAST[person], [], ""
    auxiliary = SEIN_PRESENT if verb.auxiliary == "sein" else HABEN_PRESENT
    return auxiliary[person], [(verb.german_participle, lexical)], ""


def finite_bits(predicate: Predicate, bracket: list[Token]) -> int:
    """A finite verb stands for the whole verb unless the right bracket holds the lexical one."""
    return predicate.mark | (0 if bracket else predicate.mark << 1)


def object_case(predicate: Predicate) -> int:
    """The case of the verb's object."""
    return DATIVE if predicate.verb is not None and predicate.verb.frame == "dative" else ACCUSATIVE


def object_position(predicate: Predicate, front: str) -> str:
    """Where the object stands: a pronoun first, what is new late, Fußball and Deutsch last."""
    item = predicate.object
    if item is None or front == "object":
        return ""
    if item.pronoun is not None:
        return "pronoun"
    if item.noun is not None and "bare" in item.noun.classes and item.conjunct is None:
        return "bare"
    return "indefinite" if item.is_indefinite else "definite"


def write_middle(out: list[Token], predicate: Predicate, front: str, late: list[Token]) -> None:
    """Append the middle field after the subject; relative clauses of objects go into `late`."""
    negation = predicate.mark << 2 if predicate.negated else 0
    item, case = predicate.object, object_case(predicate)
    position = object_position(predicate, front)
    attribute = predicate.attribute
    negated_phrase = item if position in ("indefinite", "bare") else attribute
    is_kein = isinstance(negated_phrase, NounPhrase) and negated_phrase.is_indefinite
    kein = negation if is_kein else 0

    def write_object(here: str) -> None:
        if item is not None and position == here:
            write_noun_phrase(out, item, case, kein, late)

    write_object("pronoun")
    if predicate.dative is not None and front != "dative":
        write_noun_phrase(out, predicate.dative, DATIVE)
    if predicate.time is not None and front != "time":
        write_adverbial(out, predicate.time)
    if predicate.frequency is not None:
        write_adverbial(out, predicate.frequency)
    write_object("definite")
    if negation and not kein:
        out.append(("nicht", negation))
    if predicate.manner is not None:
        write_adverbial(out, predicate.manner)
    write_object("indefinite")
    if predicate.companion is not None:
        write_prepositional(out, predicate.companion)
    if predicate.place is not None and front != "place":
        write_adverbial(out, predicate.place)
    write_object("bare")
    if predicate.prepositional is not None:
        write_prepositional(out, predicate.prepositional, late)
    if isinstance(attribute, AdjectivePhrase):
        write_attribute(out, attribute)
    elif attribute is not None:
        write_noun_phrase(out, attribute, NOMINATIVE, kein)


def write_attribute(out: list[Token], phrase: AdjectivePhrase) -> None:
    """Append a predicative adjective, which takes no ending."""
    if phrase.degree is not None:
        out.append((phrase.degree.german[0], phrase.mark << 1))
    out.append((phrase.adjective.german, phrase.mark))


def write_infinitive(out: list[Token], predicate: Predicate) -> None:
    """Append a comma and an infinitive with "zu"."""
    assert predicate.verb is not None
    out.append((COMMA, 0))
    late: list[Token] = []
    write_middle(out, predicate, "", late)
    *zu, infinitive = predicate.verb.zu_infinitive
    out.extend((word, predicate.mark) for word in zu)
    own = predicate.mark << 1
    out.append((infinitive, own if zu else own | predicate.mark))
    out.extend(late)


def write_end(out: list[Token], predicate: Predicate, late: list[Token]) -> None:
    """Append the end field: infinitive, extraposed relative clause, object clause."""
    if predicate.infinitive is not None:
        write_infinitive(out, predicate.infinitive)
    out.extend(late)
    if predicate.clause is not None:
        out.append((COMMA, 0))
        write_clause(out, predicate.clause)
        out.append((COMMA, 0))


def write_front(out: list[Token], clause: Clause, person_subject: NounPhrase) -> None:
    """Append the front field: the named part of the predicate, else the subject."""
    if not clause.front:
        write_noun_phrase(out, person_subject, NOMINATIVE)
        return
    part = getattr(clause.predicate, clause.front)
    if isinstance(part, NounPhrase):
        case = DATIVE if clause.front == "dative" else object_case(clause.predicate)
        write_noun_phrase(out, part, case)
    else:
        write_adverbial(out, part)


def write_main(out: list[Token], clause: Clause, verb_first: bool) -> None:
    """Append a clause with its finite verb first or second."""
    predicate, subject = clause.predicate, clause.subject
    finite, bracket, prefix = verb_group(predicate, subject.person)
    if not verb_first:
        write_front(out, clause, subject)
    out.append((finite, finite_bits(predicate, bracket)))
    if verb_first or clause.front:
        write_noun_phrase(out, subject, NOMINATIVE)
    late: list[Token] = []
    write_middle(out, predicate, clause.front, late)
    out.extend(bracket)
    if prefix:
        out.append((prefix, predicate.mark << 1))
    write_end(out, predicate, late)
    if clause.second is not None:
        write_second(out, clause, finite)


def write_second(out: list[Token], clause: Clause, first_finite: str) -> None:
    """Append the second predicate; an auxiliary equal to the first is not repeated."""
    second = clause.second
    assert second is not None
    assert clause.conjunction is not None
    write_adverbial(out, clause.conjunction)
    finite, bracket, prefix = verb_group(second, clause.subject.person)
    own_bits = finite_bits(second, bracket)
    if not (bracket and finite == first_finite):
        out.append((finite, own_bits))
    late: list[Token] = []
    write_middle(out, second, "", late)
    out.extend((word, bits | second.mark) for word, bits in bracket)
    if prefix:
        out.append((prefix, second.mark << 1))
    write_end(out, second, late)


def write_last(out: list[Token], clause: Clause) -> None:
    """Append a clause with its finite verb last."""
    predicate, subject = clause.predicate, clause.subject
    finite, bracket, prefix = verb_group(predicate, subject.person)
    if clause.front:
        write_front(out, clause, subject)
    write_noun_phrase(out, subject, NOMINATIVE)
    late: list[Token] = []
    write_middle(out, predicate, clause.front, late)
    out.extend(bracket)
    out.append((prefix + finite, finite_bits(predicate, bracket)))
    write_end(out, predicate, late)


def write_clause(out: list[Token], clause: Clause, verb_first: bool = False) -> None:
    """Append a clause with its subordinate clause before or after it."""
    adjunct = clause.adjunct
    if adjunct is not None and clause.adjunct_first:
        write_clause(out, adjunct)
        out.append((COMMA, clause.mark))
    if clause.subjunction is not None:
        write_adverbial(out, clause.subjunction)
    if clause.kind in ("subordinate", "relative"):
        write_last(out, clause)
    else:
        is_open = clause.kind == "question" and not clause.front and not is_interrogative(clause)
        takes_front = adjunct is not None and clause.adjunct_first
        write_main(out, clause, verb_first or is_open or takes_front)
    if adjunct is not None and not clause.adjunct_first:
        out.append((COMMA, clause.mark if clause.adjunct_comma else 0))
        write_clause(out, adjunct)
        out.append((COMMA, 0))


def is_interrogative(clause: Clause) -> bool:
    """Whether the subject is who or which, so that it opens the question."""
    subject = clause.subject
    if subject.determiner == "which":
        return True
    return subject.pronoun is not None and subject.pronoun.subject == "who"


def write_sentence(sentence: Sentence) -> tuple[list[str], list[int]]:
    """The German words and their alignment bits."""
    out: list[Token] = []
    if sentence.vocative is not None:
        write_noun_phrase(out, sentence.vocative, NOMINATIVE)
        out.append((COMMA, sentence.vocative_comma))
    for position, clause in enumerate(sentence.clauses):
        if position:
            conjunction = sentence.conjunctions[position - 1]
            if conjunction.expression.german[0] == "aber":
                out.append((COMMA, conjunction.mark << 1))
            write_adverbial(out, conjunction)
        write_clause(out, clause)
    return finish(out, sentence.is_question, 1)
