"""Writing an abstract sentence in English."""

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

BE_PRESENT = ("am", "are", "is", "are", "are", "are")
BE_PAST = ("was", "were", "was", "were", "were", "were")
DETERMINERS = {
    "definite": ("the", "the"),
    "this": ("this", "these"),
    "every": ("every", ""),
    "which": ("which", "which"),
    "all": ("", "all"),
    "many": ("", "many"),
    "some": ("", "some"),
    "my": ("my", "my"),
    "his": ("his", "his"),
    "her": ("her", "her"),
    "our": ("our", "our"),
    "their": ("their", "their"),
    "your-du": ("your", "your"),
    "your-ihr": ("your", "your"),
    "your-Sie": ("your", "your"),
    "none": ("", ""),
}
CONSONANT_SOUND = ("uni", "use", "eu", "one")
VOWEL_SOUND = ("hour", "honest")


def indefinite_article(next_word: str) -> str:
    """The article "a" or "an", by the sound of the next word."""
    word = next_word.lower()
    if word.startswith(CONSONANT_SOUND):
        return "a"
    return "an" if word[0] in "aeiou" or word.startswith(VOWEL_SOUND) else "a"


def write_noun_phrase(out: list[Token], phrase: NounPhrase, is_subject: bool = False) -> None:
    """Append a noun phrase with its relative clause."""
    mark = phrase.mark
    if phrase.pronoun is not None:
        pronoun = phrase.pronoun
        out.append((pronoun.subject if is_subject else pronoun.object, mark))
    elif phrase.name is not None:
        for position, word in enumerate(phrase.name.english):
            out.append((word, mark << position))
    elif phrase.noun is not None:
        start = len(out)
        if phrase.determiner != "indefinite":
            determiner = DETERMINERS[phrase.determiner][phrase.is_plural]
            if determiner:
                out.append((determiner, mark))
                start += 1
        if phrase.numeral is not None:
            out.append((phrase.numeral.english[0], mark << 4))
        if phrase.degree is not None:
            out.append((phrase.degree.english[0], mark << 3))
        if phrase.adjective is not None:
            out.append((phrase.adjective.english, mark << 1))
        out.append((phrase.noun.plural if phrase.is_plural else phrase.noun.english, mark << 2))
        if phrase.determiner == "indefinite":
            out.insert(start, (indefinite_article(out[start][0]), mark))
        if phrase.possessor is not None:
            out.append(("of", phrase.possessor.mark))
            write_noun_phrase(out, phrase.possessor)
    if phrase.relative is not None:
        write_clause(out, phrase.relative)
    if phrase.conjunct is not None and phrase.conjunction is not None:
        out.append((phrase.conjunction.english[0], mark << 5))
        write_noun_phrase(out, phrase.conjunct, is_subject)


def write_prepositional(out: list[Token], phrase: PrepositionalPhrase) -> None:
    """Append a preposition and its noun phrase."""
    for word in phrase.preposition.english:
        out.append((word, phrase.mark))
    write_noun_phrase(out, phrase.phrase)


def write_adverbial(out: list[Token], adverbial: Adverbial) -> None:
    """Append a fixed or a prepositional phrase."""
    if isinstance(adverbial, FixedPhrase):
        expression = adverbial.expression
        write_fixed(out, expression.english, expression.english_bits, adverbial.mark)
    else:
        write_prepositional(out, adverbial)


def verb_group(
    predicate: Predicate, person: int, inverted: bool
) -> tuple[list[Token], list[Token]]:
    """The words before "not" and the subject of a question, and those after."""
    finite, lexical = predicate.mark, predicate.mark << 1
    verb, tense, modal = predicate.verb, predicate.tense, predicate.modal
    base = verb.base if verb is not None else "be"
    needs_support = predicate.negated or inverted
    if modal is not None:
        tail = [(word, finite) for word in modal.tail]
        if modal.is_auxiliary:
            return [(modal.english, finite)], [*tail, (base, lexical)]
        return modal_verb(predicate, person, needs_support, tail)
    if tense == "future":
        return [("will", finite)], [(base, lexical)]
    if verb is None:
        form = (BE_PAST if tense == "past" else BE_PRESENT)[person]
        return [(form, finite | lexical)], []
    if predicate.aspect == "progressive":
        return [(BE_PRESENT[person], finite)], [(verb.ing, lexical)]
    if predicate.aspect == "perfect":
        return [("has" if person == 2 else "have", finite)], [(verb.participle, lexical)]
    if needs_support:
        return [(support(tense, person), finite)], [(verb.base, lexical)]
    if tense == "past":
        return [], [(verb.past, finite | lexical)]
    return [], [(verb.third if person == 2 else verb.base, finite | lexical)]


def support(tense: str, person: int) -> str:
    """The form of "do" in questions and negations."""
    if tense == "past":
        return "did"
    return "does" if person == 2 else "do"


def modal_verb(
    predicate: Predicate, person: int, needs_support: bool, tail: list[Token]
) -> tuple[list[Token], list[Token]]:
    """The group of "want to" and "have to", which need "do" like full verbs."""
    assert predicate.modal is not None
    form, finite = predicate.modal.english, predicate.mark
    plain = {"wanted": "want", "had": "have"}.get(form, form)
    base = predicate.verb.base if predicate.verb is not None else "be"
    rest = [*tail, (base, predicate.mark << 1)]
    if needs_support:
        tense = "past" if predicate.modal.is_past else "present"
        return [(support(tense, person), finite)], [(plain, finite), *rest]
    if not predicate.modal.is_past and person == 2:
        form = "has" if form == "have" else form + "s"
    return [], [(form, finite), *rest]


def write_negation(out: list[Token], finite: list[Token], predicate: Predicate) -> None:
    """Append "not", joined to "can" when the two stand together."""
    negation = predicate.mark << 2
    if out and finite and out[-1] is finite[-1] and out[-1][0] == "can":
        out[-1] = ("cannot", out[-1][1] | negation)
    else:
        out.append(("not", negation))


def write_complements(out: list[Token], predicate: Predicate, front: str = "") -> None:
    """Append what follows the verb: particle, objects, adverbials, then clauses."""
    verb = predicate.verb
    tail = [(word, predicate.mark << 1) for word in verb.tail] if verb is not None else []
    is_late = (
        verb is not None
        and "particle" in verb.flags
        and predicate.object is not None
        and predicate.object.pronoun is not None
        and front != "object"
    )
    if not is_late:
        out.extend(tail)
    if predicate.dative is not None and front != "dative":
        write_noun_phrase(out, predicate.dative)
    if predicate.object is not None and front != "object":
        write_noun_phrase(out, predicate.object)
    if is_late:
        out.extend(tail)
    if predicate.prepositional is not None:
        write_prepositional(out, predicate.prepositional)
    if isinstance(predicate.attribute, AdjectivePhrase):
        write_attribute(out, predicate.attribute)
    elif predicate.attribute is not None:
        write_noun_phrase(out, predicate.attribute)
    if predicate.manner is not None:
        write_adverbial(out, predicate.manner)
    if predicate.companion is not None:
        write_prepositional(out, predicate.companion)
    if predicate.place is not None and front != "place":
        write_adverbial(out, predicate.place)
    if predicate.time is not None and front != "time":
        write_adverbial(out, predicate.time)
    if predicate.infinitive is not None:
        write_infinitive(out, predicate.infinitive)
    if predicate.clause is not None:
        write_clause(out, predicate.clause)


def write_attribute(out: list[Token], phrase: AdjectivePhrase) -> None:
    """Append a predicative adjective."""
    if phrase.degree is not None:
        out.append((phrase.degree.english[0], phrase.mark << 1))
    out.append((phrase.adjective.english, phrase.mark))


def write_infinitive(out: list[Token], predicate: Predicate) -> None:
    """Append a predicate after "to"."""
    assert predicate.verb is not None
    out.append(("to", predicate.mark))
    out.append((predicate.verb.base, predicate.mark << 1))
    write_complements(out, predicate)


def write_predicate(out: list[Token], predicate: Predicate, person: int, front: str = "") -> None:
    """Append a predicate after its subject."""
    finite, rest = verb_group(predicate, person, inverted=False)
    write_group(out, predicate, finite, rest)
    write_complements(out, predicate, front)


def write_group(
    out: list[Token], predicate: Predicate, finite: list[Token], rest: list[Token]
) -> None:
    """Append finite verb, "not", adverb of frequency and the rest of the verb group."""
    out.extend(finite)
    if predicate.negated:
        write_negation(out, finite, predicate)
    if predicate.frequency is not None:
        write_adverbial(out, predicate.frequency)
    out.extend(rest)


def write_front(out: list[Token], clause: Clause) -> None:
    """Append the part that stands before the subject."""
    if not clause.front:
        return
    part = getattr(clause.predicate, clause.front)
    if isinstance(part, NounPhrase):
        write_noun_phrase(out, part)
    else:
        write_adverbial(out, part)


def write_second(out: list[Token], clause: Clause, person: int) -> None:
    """Append the second predicate; a shared auxiliary is not repeated."""
    second = clause.second
    if second is None or clause.conjunction is None:
        return
    write_adverbial(out, clause.conjunction)
    finite, rest = verb_group(second, person, inverted=False)
    is_shared = second.modal is not None or second.tense == "future"
    if is_shared:
        finite, rest = [], rest[-1:]
    write_group(out, second, finite, rest)
    write_complements(out, second)


def write_clause(out: list[Token], clause: Clause) -> None:
    """Append a clause with its subordinate clause before or after it."""
    adjunct = clause.adjunct
    if adjunct is not None and clause.adjunct_first:
        write_clause(out, adjunct)
        out.append((COMMA, clause.mark))
    if clause.subjunction is not None:
        write_adverbial(out, clause.subjunction)
    write_front(out, clause)
    subject, predicate = clause.subject, clause.predicate
    wh_subject = subject.pronoun is not None and subject.pronoun.subject == "who"
    if clause.kind == "question" and not wh_subject and subject.determiner != "which":
        finite, rest = verb_group(predicate, subject.person, inverted=True)
        out.extend(finite)
        write_noun_phrase(out, subject, is_subject=True)
        write_group(out, predicate, [], rest)
        write_complements(out, predicate, clause.front)
    else:
        write_noun_phrase(out, subject, is_subject=True)
        write_predicate(out, predicate, subject.person, clause.front)
    write_second(out, clause, subject.person)
    if adjunct is not None and not clause.adjunct_first:
        if clause.adjunct_comma:
            out.append((COMMA, clause.mark))
        write_clause(out, adjunct)


def write_sentence(sentence: Sentence) -> tuple[list[str], list[int]]:
    """The English words and their alignment bits."""
    out: list[Token] = []
    if sentence.vocative is not None:
        write_noun_phrase(out, sentence.vocative)
        out.append((COMMA, sentence.vocative_comma))
    for position, clause in enumerate(sentence.clauses):
        if position:
            conjunction = sentence.conjunctions[position - 1]
            if conjunction.expression.english[0] == "but":
                out.append((COMMA, conjunction.mark << 1))
            write_adverbial(out, conjunction)
        write_clause(out, clause)
    return finish(out, sentence.is_question, 1)
