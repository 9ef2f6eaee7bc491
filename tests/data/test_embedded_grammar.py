"""Both languages written from hand-built trees, against pairs written by hand."""

import pytest

from landmark.data.embedded import english, german
from landmark.data.embedded.corpus import build_pair, example
from landmark.data.embedded.entry import Expression, Noun, Verb
from landmark.data.embedded.lexicon import embedded_lexicon
from landmark.data.embedded.sampler.coordination import AND, BUT
from landmark.data.embedded.sampler.phrase import (
    ADDRESSED,
    HUMAN_RELATIVES,
    INANIMATE,
    PERSONAL,
    THING_RELATIVES,
    WHAT,
    WHO,
)
from landmark.data.embedded.sampler.question import WHERE_TO, WHY
from landmark.data.embedded.sampler.subordination import THAT
from landmark.data.embedded.syntax import (
    AdjectivePhrase,
    Clause,
    FixedPhrase,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Pronoun,
    Sentence,
)

LEXICON = embedded_lexicon()
NOUNS = {noun.english: noun for noun in LEXICON.nouns}
VERBS: dict[str, Verb] = {}
for _verb in reversed(LEXICON.verbs):
    VERBS[_verb.english] = VERBS[f"{_verb.english}/{_verb.frame}"] = _verb
ADJECTIVES = {adjective.english: adjective for adjective in LEXICON.adjectives}
NAMES = {" ".join(name.english): name for name in LEXICON.names}
TIMES = {" ".join(time.english): time for time in LEXICON.times}
ADVERBS = {" ".join(adverb.english): adverb for adverb in LEXICON.adverbs}
MODALS = {modal.english: modal for modal in LEXICON.modals}
PREPOSITIONS = {(" ".join(p.english), p.role): p for p in LEXICON.prepositions}
SUBJUNCTIONS = {s.expression.german[0]: s.expression for s in LEXICON.subjunctions}
_next = [1]


def mark() -> int:
    _next[0] += 6
    return 1 << (_next[0] % 600)


def np(text: str, **parts: object) -> NounPhrase:
    """ "the/definite" phrases: "definite man", "indefinite apple", "none apples", "my brother"."""
    determiner, word = text.split(" ", 1)
    noun: Noun | None = NOUNS.get(word)
    is_plural = noun is None or not noun.has_singular
    if noun is None:
        noun = next(n for n in LEXICON.nouns if n.plural == word)
    phrase = NounPhrase(mark(), 5 if is_plural else 2, is_plural, noun, determiner)
    for name, value in parts.items():
        setattr(phrase, name, value)
    return phrase


def pn(pronoun: Pronoun) -> NounPhrase:
    return NounPhrase(mark(), pronoun.person, pronoun.person >= 3, pronoun=pronoun)


def who(name: str) -> NounPhrase:
    if name in PERSONAL:
        return pn(PERSONAL[name])
    return NounPhrase(mark(), name=NAMES[name])


def fixed(expression: Expression) -> FixedPhrase:
    return FixedPhrase(mark(), expression)


def pp(
    key: tuple[str, str] | Noun, phrase: NounPhrase, direction: bool = False
) -> PrepositionalPhrase:
    if isinstance(key, Noun):
        preposition = key.direction if direction else key.place
        assert preposition is not None
        return PrepositionalPhrase(mark(), preposition, phrase)
    return PrepositionalPhrase(mark(), PREPOSITIONS[key], phrase)


def vp(verb: str, tense: str = "present", **parts: object) -> Predicate:
    predicate = Predicate(mark(), tense, VERBS[verb] if verb != "be" else None)
    for name, value in parts.items():
        setattr(predicate, name, value)
    if predicate.verb is not None and predicate.verb.frame == "prepositional" and predicate.object:
        assert predicate.verb.preposition is not None
        predicate.prepositional = PrepositionalPhrase(
            mark(), predicate.verb.preposition, predicate.object
        )
        predicate.object = None
    return predicate


def cl(subject: NounPhrase, predicate: Predicate, **parts: object) -> Clause:
    clause = Clause(mark(), subject, predicate)
    for name, value in parts.items():
        setattr(clause, name, value)
    return clause


def adjective(name: str) -> AdjectivePhrase:
    return AdjectivePhrase(mark(), ADJECTIVES[name])


def statement(*clauses: Clause, joints: tuple[Expression, ...] = ()) -> Sentence:
    return Sentence(list(clauses), [fixed(joint) for joint in joints])


def question(clause: Clause) -> Sentence:
    clause.kind = "question"
    return Sentence([clause], is_question=True)


def sub(word: str, subject: NounPhrase, predicate: Predicate) -> Clause:
    expression = THAT if word == "dass" else SUBJUNCTIONS[word]
    return cl(subject, predicate, kind="subordinate", subjunction=fixed(expression))


PARK, HOUSE, STATION = NOUNS["park"], NOUNS["house"], NOUNS["station"]

SENTENCES: list[tuple[Sentence, str, str]] = [
    (
        statement(cl(np("definite woman"), vp("buy", "past", object=np("indefinite book"),
                  time=fixed(TIMES["yesterday"])), front="time")),
        "Yesterday the woman bought a book.",
        "Gestern hat die Frau ein Buch gekauft.",
    ),
    (
        statement(cl(who("he"), vp("drive", "past", place=pp(NOUNS["city"], np("definite city"),
                  direction=True), time=fixed(TIMES["on Monday"])))),
        "He drove to the city on Monday.",
        "Er ist am Montag in die Stadt gefahren.",
    ),
    (
        statement(cl(who("she"), vp("call", object=np("definite neighbour")))),
        "She calls the neighbour.",
        "Sie ruft den Nachbarn an.",
    ),
    (
        statement(cl(who("we"), vp("call", "past", object=np("definite boys")))),
        "We called the boys.",
        "Wir haben die Jungen angerufen.",
    ),
    (
        statement(cl(who("I"), vp("get up", "past", time=fixed(TIMES["at eight o'clock"])))),
        "I got up at eight o'clock.",
        "Ich bin um acht Uhr aufgestanden.",
    ),
    (
        statement(cl(np("my brother"), vp("repair", "past", object=np("definite car")))),
        "My brother repaired the car.",
        "Mein Bruder hat das Auto repariert.",
    ),
    (
        statement(cl(np("definite man"), vp("give", object=np("indefinite flower"),
                  dative=np("definite woman"), time=fixed(TIMES["today"])))),
        "The man gives the woman a flower today.",
        "Der Mann gibt der Frau heute eine Blume.",
    ),
    (
        statement(cl(np("definite man"), vp("help", "past", object=np("definite children")))),
        "The man helped the children.",
        "Der Mann hat den Kindern geholfen.",
    ),
    (
        statement(cl(who("I"), vp("wait for", object=np("definite bus"),
                  place=pp(STATION, np("definite station"))))),
        "I wait for the bus at the station.",
        "Ich warte am Bahnhof auf den Bus.",
    ),
    (
        statement(cl(who("she"), vp("eat", negated=True, object=np("indefinite apple")))),
        "She does not eat an apple.",
        "Sie isst keinen Apfel.",
    ),
    (
        statement(cl(who("she"), vp("eat", "past", negated=True, object=np("definite apple")))),
        "She did not eat the apple.",
        "Sie hat den Apfel nicht gegessen.",
    ),
    (
        statement(cl(who("they"), vp("go", negated=True,
                  place=pp(PARK, np("definite park"), direction=True)))),
        "They do not go to the park.",
        "Sie gehen nicht in den Park.",
    ),
    (
        statement(cl(np("definite soup"), vp("be", negated=True, attribute=adjective("hot")))),
        "The soup is not hot.",
        "Die Suppe ist nicht heiß.",
    ),
    (
        statement(cl(who("he"), vp("be", "past", negated=True, attribute=np("indefinite teacher",
                  adjective=ADJECTIVES["good"])))),
        "He was not a good teacher.",
        "Er war kein guter Lehrer.",
    ),
    (
        statement(cl(who("he"), vp("sleep", modal=MODALS["can"], negated=True))),
        "He cannot sleep.",
        "Er kann nicht schlafen.",
    ),
    (
        statement(cl(np("definite dog"), vp("sleep", modal=MODALS["must"], negated=True,
                  place=pp(HOUSE, np("definite house"))))),
        "The dog must not sleep in the house.",
        "Der Hund darf nicht im Haus schlafen.",
    ),
    (
        statement(cl(who("she"), vp("work", modal=MODALS["have"], negated=True))),
        "She does not have to work.",
        "Sie muss nicht arbeiten.",
    ),
    (
        statement(cl(who("I"), vp("drink", modal=MODALS["would"], object=np("none tea")))),
        "I would like to drink tea.",
        "Ich möchte Tee trinken.",
    ),
    (
        statement(cl(who("he"), vp("go shopping", modal=MODALS["want"]))),
        "He wants to go shopping.",
        "Er will einkaufen.",
    ),
    (
        statement(cl(who("we"), vp("visit", "future", object=np("our aunt"),
                  time=fixed(TIMES["tomorrow"])), front="time")),
        "Tomorrow we will visit our aunt.",
        "Morgen werden wir unsere Tante besuchen.",
    ),
    (
        question(cl(np("definite girl"), vp("see", object=np("definite dog")))),
        "Does the girl see the dog?",
        "Sieht das Mädchen den Hund?",
    ),
    (
        question(cl(pn(WHO), vp("help", "past", object=np("definite boy")))),
        "Who helped the boy?",
        "Wer hat dem Jungen geholfen?",
    ),
    (
        question(cl(np("definite boy"), vp("help", object=pn(WHO)), front="object")),
        "Who does the boy help?",
        "Wem hilft der Junge?",
    ),
    (
        question(cl(np("definite boy"), vp("see", "past", object=pn(WHO)), front="object")),
        "Who did the boy see?",
        "Wen hat der Junge gesehen?",
    ),
    (
        question(cl(who("she"), vp("read", object=pn(WHAT)), front="object")),
        "What does she read?",
        "Was liest sie?",
    ),
    (
        question(cl(who("he"), vp("read", "past", object=np("which book")), front="object")),
        "Which book did he read?",
        "Welches Buch hat er gelesen?",
    ),
    (
        question(cl(who("they"), vp("go", "past", place=fixed(WHERE_TO)), front="place")),
        "Where did they go?",
        "Wohin sind sie gegangen?",
    ),
    (
        question(cl(np("definite baby"), vp("cry", aspect="progressive", time=fixed(WHY)),
                 front="time")),
        "Why is the baby crying?",
        "Warum weint das Baby?",
    ),
    (
        statement(cl(who("I"), vp("sleep"), adjunct=sub("weil", who("I"),
                  vp("be", attribute=adjective("tired"))))),
        "I sleep because I am tired.",
        "Ich schlafe, weil ich müde bin.",
    ),
    (
        statement(cl(np("definite woman"), vp("laugh", "past"), adjunct_first=True,
                  adjunct=sub("als", np("definite man"), vp("fall asleep", "past")))),
        "When the man fell asleep, the woman laughed.",
        "Als der Mann eingeschlafen ist, hat die Frau gelacht.",
    ),
    (
        statement(cl(who("she"), vp("know/clause", clause=sub("dass", who("he"),
                  vp("invite", object=np("definite guests")))))),
        "She knows that he invites the guests.",
        "Sie weiß, dass er die Gäste einlädt.",
    ),
    (
        statement(cl(np("definite man", relative=cl(pn(HUMAN_RELATIVES[0]), vp("buy", "past",
                  object=np("definite house")), kind="relative")), vp("be",
                  attribute=adjective("rich")))),
        "The man who bought the house is rich.",
        "Der Mann, der das Haus gekauft hat, ist reich.",
    ),
    (
        statement(cl(who("I"), vp("know/transitive", object=np("definite children",
                  relative=cl(np("definite teacher"), vp("help", object=pn(HUMAN_RELATIVES[3])),
                  kind="relative", front="object"))))),
        "I know the children whom the teacher helps.",
        "Ich kenne die Kinder, denen der Lehrer hilft.",
    ),
    (
        statement(cl(who("she"), vp("find", "past", object=np("definite key",
                  relative=cl(who("he"), vp("look for", object=pn(THING_RELATIVES[0])),
                  kind="relative", front="object"))))),
        "She found the key that he looks for.",
        "Sie hat den Schlüssel gefunden, den er sucht.",
    ),
    (
        statement(cl(who("he"), vp("try", "past", infinitive=vp("call", object=np("his wife"))))),
        "He tried to call his wife.",
        "Er hat versucht, seine Ehefrau anzurufen.",
    ),
    (
        statement(cl(who("she"), vp("buy", "past", object=np("indefinite hat")),
                  conjunction=fixed(AND), second=vp("wear", "past", object=pn(INANIMATE[0])))),
        "She bought a hat and wore it.",
        "Sie hat einen Hut gekauft und ihn getragen.",
    ),
    (
        statement(cl(who("he"), vp("get up", "past"), conjunction=fixed(AND),
                  second=vp("drink", "past", object=np("none coffee")))),
        "He got up and drank coffee.",
        "Er ist aufgestanden und hat Kaffee getrunken.",
    ),
    (
        statement(cl(who("he"), vp("laugh")), cl(who("she"), vp("cry")), joints=(BUT,)),
        "He laughs, but she cries.",
        "Er lacht, aber sie weint.",
    ),
    (
        statement(cl(who("Anna"), vp("turn on", object=pn(INANIMATE[1])))),
        "Anna turns it on.",
        "Anna schaltet sie ein.",
    ),
    (
        statement(cl(who("I"), vp("thank", "past", object=who("Mr Meyer")))),
        "I thanked Mr Meyer.",
        "Ich habe Herrn Meyer gedankt.",
    ),
    (
        statement(cl(np("definite car", possessor=np("definite neighbour")),
                  vp("be", attribute=adjective("expensive")))),
        "The car of the neighbour is expensive.",
        "Das Auto des Nachbarn ist teuer.",
    ),
    (
        statement(cl(who("she"), vp("lay", object=np("definite letter"), prepositional=
                  PrepositionalPhrase(mark(), VERBS["lay"].preposition,  # type: ignore[arg-type]
                  np("definite table"))))),
        "She lays the letter onto the table.",
        "Sie legt den Brief auf den Tisch.",
    ),
    (
        statement(cl(who("he"), vp("read", "past", frequency=fixed(ADVERBS["often"]),
                  object=np("indefinite newspaper"), place=pp(PARK, np("definite park"))))),
        "He often read a newspaper in the park.",
        "Er hat oft eine Zeitung im Park gelesen.",
    ),
    (
        statement(cl(np("definite children"), vp("play/transitive", object=np("none football"),
                  place=pp(PARK, np("definite park"))))),
        "The children play football in the park.",
        "Die Kinder spielen im Park Fußball.",
    ),
    (
        statement(cl(who("he"), vp("drink", object=np("none milk"),
                  manner=fixed(ADVERBS["slowly"])))),
        "He drinks milk slowly.",
        "Er trinkt langsam Milch.",
    ),
    (
        statement(cl(who("he"), vp("drink", "past", object=np("definite milk"),
                  manner=fixed(ADVERBS["slowly"]), time=fixed(TIMES["today"])))),
        "He drank the milk slowly today.",
        "Er hat heute die Milch langsam getrunken.",
    ),
    (
        statement(cl(who("I"), vp("speak", negated=True, object=np("none German")))),
        "I do not speak German.",
        "Ich spreche kein Deutsch.",
    ),
    (
        statement(cl(who("she"), vp("have", "past", object=np("indefinite cat")))),
        "She had a cat.",
        "Sie hatte eine Katze.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "source", "target"), SENTENCES, ids=[source for _, source, _ in SENTENCES]
)
def test_a_tree_is_written_in_both_languages(sentence: Sentence, source: str, target: str) -> None:
    pair = build_pair(sentence, *english.write_sentence(sentence), "test")
    assert (pair.source, pair.target) == (source, target)


@pytest.mark.parametrize(
    ("vocative", "pronoun", "target"),
    [
        ("Anna", "du", "Anna, du siehst mich."),
        ("Mrs Schmidt", "Sie", "Frau Schmidt, Sie sehen mich."),
    ],
)
def test_the_vocative_decides_what_you_means(vocative: str, pronoun: str, target: str) -> None:
    clause = cl(pn(ADDRESSED[pronoun]), vp("see", object=who("I")))
    sentence = Sentence([clause], vocative=who(vocative), vocative_comma=mark())
    pair = build_pair(sentence, *english.write_sentence(sentence), "test")
    assert pair.source == f"{vocative}, you see me."
    assert pair.target == target


CONTRACTIONS = [
    ("park", False, "im Park"),
    ("park", True, "in den Park"),
    ("hospital", True, "ins Krankenhaus"),
    ("station", False, "am Bahnhof"),
    ("station", True, "zum Bahnhof"),
    ("bridge", True, "zur Brücke"),
    ("school", False, "in der Schule"),
]


@pytest.mark.parametrize(("noun", "direction", "expected"), CONTRACTIONS)
def test_prepositions_contract_with_the_article(noun: str, direction: bool, expected: str) -> None:
    out: list[tuple[str, int]] = []
    german.write_prepositional(out, pp(NOUNS[noun], np(f"definite {noun}"), direction))
    assert " ".join(word for word, _ in out) == expected


def test_prepositions_do_not_contract_with_other_words() -> None:
    for determiner, expected in (("this", "in diesem Park"), ("indefinite", "in einem Park")):
        out: list[tuple[str, int]] = []
        german.write_prepositional(out, pp(PARK, np(f"{determiner} park")))
        assert " ".join(word for word, _ in out) == expected


def test_von_and_bei_contract() -> None:
    for key, noun, expected in (
        (("from", "source"), "father", "vom Vater"),
        (("near", "place"), "lake", "beim See"),
    ):
        out: list[tuple[str, int]] = []
        german.write_prepositional(out, pp(key, np(f"definite {noun}")))
        assert " ".join(word for word, _ in out) == expected


def test_the_lectures_example_is_written_and_aligned() -> None:
    pair = example()
    assert pair.source == "I ate an apple."
    assert pair.target == "Ich habe einen Apfel gegessen."
    assert pair.alignment == ((0, 0), (1, 1), (1, 4), (2, 2), (3, 3), (4, 5))


def test_not_and_the_article_align_with_kein() -> None:
    sentence = next(s for s, source, _ in SENTENCES if source == "She does not eat an apple.")
    pair = build_pair(sentence, *english.write_sentence(sentence), "test")
    # She does not eat an apple . / Sie isst keinen Apfel .
    assert pair.alignment == ((0, 0), (1, 1), (2, 2), (3, 1), (4, 2), (5, 3), (6, 4))


def test_the_indefinite_article_follows_the_sound() -> None:
    cases = {"apple": "an", "house": "a", "university": "a", "honest": "an", "useful": "a"}
    assert {word: english.indefinite_article(word) for word in cases} == cases
