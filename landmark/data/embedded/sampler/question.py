"""Drawing questions: yes or no, who, what, which, where, when and why."""

from landmark.data.embedded.entry import word_pair
from landmark.data.embedded.sampler.clause import LOOSE_TENSES, ClauseSampler
from landmark.data.embedded.sampler.phrase import WHAT, WHO
from landmark.data.embedded.syntax import Clause, FixedPhrase, NounPhrase, Sentence

WHERE, WHERE_TO = word_pair("where", "wo"), word_pair("where", "wohin")
WHEN, WHY = word_pair("when", "wann"), word_pair("why", "warum")


class QuestionSampler(ClauseSampler):
    """Draws questions."""

    def yes_no_question(self) -> Sentence:
        """A question that opens with the verb."""
        clause = self.simple_clause(richness=0.8)
        clause.kind = "question"
        item = clause.predicate.object
        if item is not None and item.determiner in ("many", "some"):
            item.determiner = "none"
        return Sentence([clause], is_question=True)

    def wh_question(self) -> Sentence:
        """A question with who, what, which, where, when or why."""
        chance = self.rng.random()
        if chance < 0.25:
            clause = self.subject_question()
        elif chance < 0.6:
            clause = self.object_question()
        else:
            clause = self.adverbial_question()
        clause.kind = "question"
        return Sentence([clause], is_question=True)

    def subject_question(self) -> Clause:
        """Who does it, or which one."""
        verb = self.inventory.verbs.draw(self.rng)
        if "human" in verb.subject and self.happens(0.6):
            subject = self.pronoun(WHO)
        else:
            subject = self.noun_phrase(self.inventory.subjects(verb.subject).draw(self.rng), True)
            self.ask_which(subject)
        tense = LOOSE_TENSES.draw(self.rng)
        clause = Clause(self.mark(1), subject, self.predicate(verb, subject, tense, 0.6))
        clause.predicate.negated = False
        self.settle_tense(clause)
        return clause

    def ask_which(self, phrase: NounPhrase) -> None:
        """Turn a noun phrase into a question for it."""
        phrase.determiner = "which"
        phrase.numeral = phrase.possessor = phrase.degree = None

    def object_question(self) -> Clause:
        """Whom, what or which one somebody sees."""
        verb = self.inventory.transitive_verbs.draw(self.rng)
        subject = self.subject(verb)
        predicate = self.predicate(verb, subject, LOOSE_TENSES.draw(self.rng), 0.6)
        predicate.negated = False
        item = predicate.object
        assert item is not None
        if item.noun is None or ("human" in item.noun.classes and self.happens(0.6)):
            predicate.object = self.pronoun(WHO)
        elif "bare" in item.noun.classes or (verb.frame == "transitive" and self.happens(0.5)):
            predicate.object = self.pronoun(WHAT)
        else:
            self.ask_which(item)
        return Clause(self.mark(1), subject, predicate, kind="question", front="object")

    def adverbial_question(self) -> Clause:
        """Where, when or why."""
        clause = self.clause(richness=0.3)
        predicate = clause.predicate
        verb = predicate.verb
        assert verb is not None
        predicate.time = None
        chance = self.rng.random()
        if chance < 0.4 and "stative" not in verb.flags and verb.frame != "placement":
            expression, clause.front = WHERE, "place"
            if verb.frame == "motion":
                expression = WHERE_TO
        elif chance < 0.7 and predicate.aspect != "progressive":
            expression, clause.front = WHEN, "time"
            predicate.frequency = None
        else:
            expression, clause.front = WHY, "time"
        setattr(predicate, clause.front, FixedPhrase(self.mark(3), expression))
        if predicate.aspect == "perfect":
            predicate.aspect = "simple"
        return clause
