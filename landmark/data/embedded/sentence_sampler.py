"""Drawing whole sentences: one method for each phenomenon, and coordination of a given depth."""

from landmark.data.embedded.clause_sampler import ClauseSampler
from landmark.data.embedded.entry import Expression, Name
from landmark.data.embedded.inventory import Choice
from landmark.data.embedded.phrase_sampler import (
    HUMAN_RELATIVES,
    INANIMATE,
    THING_RELATIVES,
    WHAT,
    WHO,
)
from landmark.data.embedded.syntax import Clause, FixedPhrase, NounPhrase, Predicate, Sentence


def word_pair(english: str, german: str) -> Expression:
    """An English word and its German one."""
    return Expression((english,), (german,), (1,), (1,), "word")


AND, OR, BUT = word_pair("and", "und"), word_pair("or", "oder"), word_pair("but", "aber")
THAT, WHETHER = word_pair("that", "dass"), word_pair("whether", "ob")
WHERE, WHERE_TO = word_pair("where", "wo"), word_pair("where", "wohin")
WHEN, WHY = word_pair("when", "wann"), word_pair("why", "warum")
PLURAL_VOCATIVES = (
    Name(("children",), ("Kinder",), ("Kinder",), "person", 0),
    Name(("friends",), ("Freunde",), ("Freunde",), "person", 0),
    Name(("boys",), ("Jungen",), ("Jungen",), "person", 0),
)
SINGLE_PLANS = Choice(
    ("statement", "copula", "yes-no-question", "wh-question", "subordinate", "object-clause",
     "relative", "infinitive"),
    (46, 9, 8, 10, 11, 6, 8, 3),
)  # fmt: skip
COORDINATED_PLANS = Choice(("clauses", "phrases", "verbs", "antecedent"), (34, 32, 18, 16))
COORDINATED_SHARE = 0.16
VOCATIVE_SHARE = 0.06
LOOSE_TENSES = Choice(("present", "past", "future"), (4, 4, 1))


class SentenceSampler(ClauseSampler):
    """Draws sentences with the name of what each exercises."""

    def sentence(self, depth: int, goal: str = "") -> tuple[Sentence, str] | None:
        """A sentence whose coordination has `depth` members, or nothing if the goal was missed."""
        self.start()
        self.goal = goal
        vocative = self.vocative() if self.happens(VOCATIVE_SHARE) else None
        if depth == 1:
            plan = SINGLE_PLANS.draw(self.rng)
            sentence, phenomenon = self.single(plan)
        elif depth == 2:
            sentence, phenomenon = self.coordinated(COORDINATED_PLANS.draw(self.rng))
        else:
            sentence, phenomenon = self.chain(depth), "deep-coordination"
        if self.goal:
            return None
        if vocative is not None:
            sentence.vocative = vocative
            sentence.vocative_comma = self.mark()
        return sentence, phenomenon

    def vocative(self) -> NounPhrase:
        """Someone addressed, who decides what "you" is in German."""
        chance = self.rng.random()
        if chance < 0.5:
            self.addressee, name = "du", self.inventory.first_names.draw(self.rng)
        elif chance < 0.75:
            self.addressee, name = "Sie", self.inventory.titles.draw(self.rng)
        else:
            self.addressee, name = "ihr", self.rng.choice(PLURAL_VOCATIVES)
        return NounPhrase(self.mark(), name=name)

    def single(self, plan: str) -> tuple[Sentence, str]:
        """A sentence without coordination."""
        if plan == "statement":
            clause = self.fronted(self.clause())
            return Sentence([clause]), describe(clause)
        if plan == "copula":
            return Sentence([self.fronted(self.copula_clause())]), "copula"
        if plan == "yes-no-question":
            return self.yes_no_question(), plan
        if plan == "wh-question":
            return self.wh_question(), plan
        if plan == "subordinate":
            return Sentence([self.with_adjunct()]), "subordinate-clause"
        if plan == "object-clause":
            return Sentence([self.with_object_clause()]), plan
        if plan == "relative":
            return Sentence([self.with_relative()]), "relative-clause"
        return Sentence([self.with_infinitive()]), "infinitive-clause"

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
        clause = Clause(self.mark(), subject, self.predicate(verb, subject, tense, 0.6))
        clause.predicate.negated = False
        self.settle_tense(clause)
        return clause

    def ask_which(self, phrase: NounPhrase) -> None:
        """Turn a noun phrase into a question for it."""
        phrase.determiner, phrase.numeral, phrase.possessor, phrase.degree = "which", None, None, None

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
        return Clause(self.mark(), subject, predicate, kind="question", front="object")

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
        setattr(predicate, clause.front, FixedPhrase(self.mark(), expression))
        if predicate.aspect == "perfect":
            predicate.aspect = "simple"
        return clause

    def with_adjunct(self) -> Clause:
        """A main clause with because, when, if, although, while or before."""
        subjunction = self.inventory.subjunctions.draw(self.rng)
        main_tense, tense = self.rng.choice(subjunction.tenses)
        clause = self.simple_clause(main_tense, 0.3)
        adjunct = self.simple_clause(tense, 0.5)
        for part in (clause, adjunct):
            if part.predicate.aspect == "perfect":
                part.predicate.aspect = "simple"
                self.settle_tense(part)
        adjunct.kind = "subordinate"
        adjunct.subjunction = FixedPhrase(self.mark(), subjunction.expression)
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
        inner.subjunction = FixedPhrase(self.mark(), WHETHER if is_question else THAT)
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
            clause = Clause(self.mark(), pronoun, predicate, kind="relative")
        elif verbs:
            verb = verbs.draw(self.rng)
            subject = self.subject(verb, plain=True)
            predicate = Predicate(self.mark(), LOOSE_TENSES.draw(self.rng), verb, object=pronoun)
            self.aspect(predicate)
            clause = Clause(self.mark(), subject, predicate, kind="relative", front="object")
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
        inner = Predicate(self.mark(), verb=verb)
        self.arguments(inner, clause.subject)
        if self.happens(0.2) and verb.frame in ("transitive", "intransitive"):
            inner.place = self.place()
        clause.predicate.infinitive = inner
        return clause

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
        clauses = [self.fronted(self.simple_clause()) for _ in range(depth)]
        joints = [
            FixedPhrase(self.mark(), AND if self.happens(0.65) else BUT) for _ in range(depth - 1)
        ]
        return Sentence(clauses, joints)

    def joined_phrases(self) -> Sentence:
        """A clause with two subjects or two objects."""
        clause = self.clause()
        subject, item = clause.subject, clause.predicate.object
        is_question = self.happens(0.15)
        if is_question:
            clause.kind = "question"
        can_join_object = item is not None and item.noun is not None and not clause.predicate.negated
        if can_join_object and item is not None and self.happens(0.5):
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
        first.person, first.is_plural = 5, first.is_plural
        clause.subject = first
        self.settle_tense(clause)

    def joined_predicates(self) -> Clause:
        """One subject with two predicates in the same tense."""
        clause = self.clause(LOOSE_TENSES.draw(self.rng), 0.2)
        first = clause.predicate
        verb = self.inventory.verbs.draw(self.rng)
        while "human" not in verb.subject or verb is first.verb:
            verb = self.inventory.verbs.draw(self.rng)
        second = self.predicate(verb, clause.subject, first.tense, 0.5)
        return self.join_predicate(clause, second)

    def join_predicate(self, clause: Clause, second: Predicate) -> Clause:
        """Add a second predicate that shares subject and tense."""
        first = clause.predicate
        first.negated = second.negated = False
        first.time = None
        if first.aspect == "perfect":
            first.aspect = "simple"
        if second.aspect == "perfect":
            second.aspect = "simple"
        clause.second = second
        clause.conjunction = FixedPhrase(self.mark(), AND)
        self.settle_tense(clause)
        return clause

    def with_antecedent(self) -> Clause:
        """Somebody buys a thing and uses it: German takes the pronoun's gender from the noun."""
        verb = self.inventory.transitive_verbs.draw(self.rng)
        while verb.frame != "transitive" or "human" not in verb.subject:
            verb = self.inventory.transitive_verbs.draw(self.rng)
        clause = self.clause(LOOSE_TENSES.draw(self.rng), 0.0, verb)
        item = clause.predicate.object
        assert item is not None
        noun = item.noun
        if noun is None or item.is_plural or noun.classes & ANIMATE or "bare" in noun.classes:
            return self.join_predicate(clause, self.plain_predicate(clause))
        following = self.inventory.verbs_with_object(noun).draw(self.rng)
        second = Predicate(self.mark(), clause.predicate.tense, following)
        if following is verb or following.frame != "transitive" or "human" not in following.subject:
            return self.join_predicate(clause, self.plain_predicate(clause))
        item.possessor = None
        second.object = self.pronoun(INANIMATE[noun.gender])
        return self.join_predicate(clause, second)

    def plain_predicate(self, clause: Clause) -> Predicate:
        """A second predicate without a pronoun."""
        verb = self.inventory.verbs.draw(self.rng)
        while "human" not in verb.subject or verb is clause.predicate.verb:
            verb = self.inventory.verbs.draw(self.rng)
        return self.predicate(verb, clause.subject, clause.predicate.tense, 0.3)


ANIMATE = frozenset(("human", "animal", "group"))


def describe(clause: Clause) -> str:
    """The phenomenon of a simple statement."""
    predicate = clause.predicate
    if predicate.negated:
        return "negation"
    if predicate.modal is not None:
        return "modal-verb"
    if clause.front:
        return "fronted-adverbial"
    return "statement"
