"""Drawing coordination: of clauses, of noun phrases and of predicates."""

from landmark.data.embedded.entry import Verb, word_pair
from landmark.data.embedded.sampler.clause import LOOSE_TENSES, TENSES, ClauseSampler
from landmark.data.embedded.sampler.phrase import INANIMATE
from landmark.data.embedded.syntax import Clause, FixedPhrase, Predicate, Sentence

AND, OR, BUT = word_pair("and", "und"), word_pair("or", "oder"), word_pair("but", "aber")
LIVELY = frozenset(("human", "animal", "pet"))
ANIMATE = frozenset(("human", "animal", "group"))


class CoordinationSampler(ClauseSampler):
    """Draws sentences with one coordination."""

    def coordinated(self, plan: str) -> tuple[Sentence, str]:
        """A sentence with one coordination of two members."""
        if plan == "clauses":
            return self.chain(2), "clause-coordination"
        if plan == "phrases":
            return self.joined_phrases(), "noun-phrase-coordination"
        if plan == "verbs":
            return Sentence([self.joined_predicates()]), "verb-phrase-coordination"
        return Sentence([self.with_antecedent()]), "pronoun-antecedent"

    def chain(self, depth: int) -> Sentence:
        """Main clauses in a row."""
        tense = TENSES.draw(self.rng)
        clauses = [self.fronted(self.simple_clause(tense)) for _ in range(depth)]
        joints = [
            FixedPhrase(self.mark(3), AND if self.happens(0.65) else BUT) for _ in range(depth - 1)
        ]
        return Sentence(clauses, joints)

    def joined_phrases(self) -> Sentence:
        """A clause with two subjects or two objects."""
        clause = self.clause()
        item = clause.predicate.object
        is_question = self.happens(0.15)
        if is_question:
            clause.kind = "question"
        is_noun = item is not None and item.noun is not None
        if is_noun and item is not None and not clause.predicate.negated and self.happens(0.5):
            verb = clause.predicate.verb
            assert verb is not None
            noun = self.object_noun(verb)
            if noun is not item.noun:
                item.conjunct = self.noun_phrase(noun, simple=True)
                item.conjunction = OR if is_question else AND
        if item is None or item.conjunct is None:
            self.join_subject(clause)
        if not is_question:
            self.fronted(clause)
        return Sentence([clause], is_question=is_question)

    def join_subject(self, clause: Clause) -> None:
        """Add a second subject of the third person, which makes the verb plural."""
        subject, verb = clause.subject, clause.predicate.verb
        assert verb is not None
        first = self.noun_phrase(self.inventory.subjects(verb.subject).draw(self.rng), simple=True)
        second = self.noun_phrase(self.inventory.subjects(verb.subject).draw(self.rng), simple=True)
        if subject.name is not None or subject.noun is not None:
            first = subject
        for phrase in (first, second):
            if phrase.determiner in ("every", "none"):
                phrase.determiner = "definite"
        if first.noun is second.noun and second.noun is not None:
            second = self.name()
        first.conjunct, first.conjunction = second, AND
        first.person = 5
        clause.subject = first
        self.settle_tense(clause)

    def joined_predicates(self) -> Clause:
        """One subject with two predicates in the same tense."""
        clause = self.clause(LOOSE_TENSES.draw(self.rng), 0.2, self.human_verb())
        return self.join_predicate(clause, self.another_predicate(clause, 0.5))

    def join_predicate(self, clause: Clause, second: Predicate) -> Clause:
        """Add a second predicate that shares subject and tense."""
        first = clause.predicate
        first.negated = second.negated = False
        first.time = None
        first.aspect = second.aspect = "simple"
        clause.second = second
        clause.conjunction = FixedPhrase(self.mark(3), AND)
        self.settle_tense(clause)
        return clause

    def with_antecedent(self) -> Clause:
        """Somebody buys a thing and uses it: German takes the pronoun's gender from the noun."""
        verb = self.human_verb()
        while verb.frame != "transitive":
            verb = self.human_verb()
        clause = self.clause(LOOSE_TENSES.draw(self.rng), 0.0, verb)
        item = clause.predicate.object
        assert item is not None
        noun = item.noun
        if noun is None or item.is_plural or noun.classes & ANIMATE or "bare" in noun.classes:
            return self.join_predicate(clause, self.another_predicate(clause, 0.3))
        following = self.inventory.verbs_with_object(noun).draw(self.rng)
        second = Predicate(self.mark(3), clause.predicate.tense, following)
        if following is verb or following.frame != "transitive" or "human" not in following.subject:
            return self.join_predicate(clause, self.another_predicate(clause, 0.3))
        item.possessor = None
        second.object = self.pronoun(INANIMATE[noun.gender])
        return self.join_predicate(clause, second)

    def human_verb(self) -> Verb:
        """A verb that people do, so that a second one can follow."""
        verb = self.inventory.verbs.draw(self.rng)
        while "human" not in verb.subject or not verb.subject <= LIVELY:
            verb = self.inventory.verbs.draw(self.rng)
        return verb

    def another_predicate(self, clause: Clause, richness: float) -> Predicate:
        """A predicate that fits the clause's subject and tense, with another verb."""
        verb = self.human_verb()
        while verb is clause.predicate.verb or not fits(clause, verb):
            verb = self.human_verb()
        return self.predicate(verb, clause.subject, clause.predicate.tense, richness)


def fits(clause: Clause, verb: Verb) -> bool:
    """Whether a verb takes the subject of a clause."""
    noun = clause.subject.noun
    return "human" in verb.subject if noun is None else bool(noun.classes & verb.subject)
