"""Drawing whole sentences: which phenomenon, how deep a coordination, who is addressed."""

from landmark.data.embedded.entry import Name
from landmark.data.embedded.inventory import Choice
from landmark.data.embedded.sampler.coordination import CoordinationSampler
from landmark.data.embedded.sampler.question import QuestionSampler
from landmark.data.embedded.sampler.subordination import SubordinationSampler
from landmark.data.embedded.syntax import Clause, NounPhrase, Sentence

PLURAL_VOCATIVES = (
    Name(("children",), ("Kinder",), ("Kinder",), "person", 0),
    Name(("friends",), ("Freunde",), ("Freunde",), "person", 0),
    Name(("girls",), ("Mädchen",), ("Mädchen",), "person", 0),
)
SINGLE_PLANS = Choice(
    ("statement", "copula", "yes-no-question", "wh-question", "subordinate", "object-clause",
     "relative", "infinitive"),
    (46, 9, 8, 10, 11, 6, 8, 3),
)  # fmt: skip
COORDINATED_PLANS = Choice(("clauses", "phrases", "verbs", "antecedent"), (34, 32, 18, 16))
COORDINATED_SHARE = 0.16
VOCATIVE_SHARE = 0.06


class SentenceSampler(QuestionSampler, SubordinationSampler, CoordinationSampler):
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
            sentence.vocative_comma = self.mark(1)
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
