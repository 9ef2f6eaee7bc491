"""Drawing sentences with a subordinate, object, relative or infinitive clause."""

from landmark.data.embedded.entry import word_pair
from landmark.data.embedded.sampler.clause import LOOSE_TENSES, ClauseSampler
from landmark.data.embedded.sampler.phrase import HUMAN_RELATIVES, THING_RELATIVES
from landmark.data.embedded.syntax import Clause, FixedPhrase, NounPhrase, Predicate

THAT, WHETHER = word_pair("that", "dass"), word_pair("whether", "ob")


class SubordinationSampler(ClauseSampler):
    """Draws main clauses that contain another clause."""

    def with_adjunct(self) -> Clause:
        """A main clause with because, when, if, although, while or before."""
        subjunction = self.inventory.subjunctions.draw(self.rng)
        main_tense, tense = self.rng.choice(subjunction.tenses)
        clause = self.simple_clause(main_tense, 0.3)
        adjunct = self.simple_clause(tense, 0.5)
        for part in (clause, adjunct):
            if part.predicate.aspect == "perfect":
                part.predicate.aspect = "simple"
        if subjunction.expression.english[0] in ("when", "if", "before"):
            adjunct.predicate.aspect = "simple"
        self.settle_tense(clause)
        self.settle_tense(adjunct)
        adjunct.kind = "subordinate"
        adjunct.subjunction = FixedPhrase(self.mark(3), subjunction.expression)
        clause.adjunct = adjunct
        clause.adjunct_first = self.happens(0.35)
        clause.adjunct_comma = subjunction.comma
        return clause

    def with_object_clause(self) -> Clause:
        """Somebody says that, or asks whether."""
        is_question = self.happens(0.25)
        choice = self.inventory.question_verbs if is_question else self.inventory.clause_verbs
        tense = "past" if self.happens(0.35) else "present"
        clause = self.clause(tense, 0.0, choice.draw(self.rng))
        inner = self.simple_clause("past" if tense == "past" else "", 0.5)
        inner.kind = "subordinate"
        inner.subjunction = FixedPhrase(self.mark(3), WHETHER if is_question else THAT)
        clause.predicate.clause = inner
        return clause

    def with_relative(self) -> Clause:
        """A clause whose subject or object has a relative clause."""
        clause = self.clause(richness=0.2)
        subject, item = clause.subject, clause.predicate.object
        if subject.noun is not None and (item is None or self.happens(0.5)):
            self.attach_relative(subject)
        elif item is not None and item.noun is not None and self.ends_with_object(clause.predicate):
            self.attach_relative(item)
        elif subject.noun is not None:
            self.attach_relative(subject)
        return clause

    def ends_with_object(self, predicate: Predicate) -> bool:
        """Whether a relative clause of the object would close the English sentence."""
        late = (predicate.time, predicate.place, predicate.manner, predicate.companion)
        return predicate.prepositional is None and all(part is None for part in late)

    def attach_relative(self, phrase: NounPhrase) -> None:
        """Give a noun phrase a relative clause in which it is the subject or the object."""
        noun = phrase.noun
        assert noun is not None
        if "bare" in noun.classes or phrase.possessor is not None:
            return
        if phrase.determiner not in ("definite", "indefinite", "this"):
            phrase.determiner, phrase.numeral = "definite", None
        relatives = HUMAN_RELATIVES if "human" in noun.classes else THING_RELATIVES
        pronoun = self.pronoun(relatives[3 if phrase.is_plural else noun.gender])
        verbs = self.inventory.verbs_with_object(noun)
        if "human" in noun.classes and self.happens(0.6):
            verbs = self.inventory.verbs_with_subject(noun)
            verb = verbs.draw(self.rng)
            predicate = self.predicate(verb, pronoun, LOOSE_TENSES.draw(self.rng), 0.3)
            clause = Clause(self.mark(1), pronoun, predicate, kind="relative")
        elif verbs:
            verb = verbs.draw(self.rng)
            subject = self.subject(verb, plain=True)
            predicate = Predicate(self.mark(3), LOOSE_TENSES.draw(self.rng), verb, object=pronoun)
            self.aspect(predicate)
            clause = Clause(self.mark(1), subject, predicate, kind="relative", front="object")
        else:
            return
        self.settle_tense(clause)
        phrase.relative = clause

    def with_infinitive(self) -> Clause:
        """Somebody tries to do something."""
        clause = self.clause("past" if self.happens(0.5) else "present", 0.0,
                             self.inventory.infinitive_verbs.draw(self.rng))  # fmt: skip
        verb = self.inventory.verbs.draw(self.rng)
        while "human" not in verb.subject or "stative" in verb.flags:
            verb = self.inventory.verbs.draw(self.rng)
        inner = Predicate(self.mark(3), verb=verb)
        self.arguments(inner, clause.subject)
        if self.happens(0.2) and verb.frame in ("transitive", "intransitive"):
            inner.place = self.place()
        clause.predicate.infinitive = inner
        return clause
