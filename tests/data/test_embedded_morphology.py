"""German inflection against tables written out from the grammar book."""

import pytest

from landmark.data.embedded import german
from landmark.data.embedded.lexicon import embedded_lexicon
from landmark.data.embedded.morphology import conjugate_present, decline_noun
from landmark.data.embedded.syntax import NounPhrase, Token

LEXICON = embedded_lexicon()
NOUNS = {noun.english: noun for noun in LEXICON.nouns}
VERBS = {(verb.english, verb.frame): verb for verb in LEXICON.verbs}
ADJECTIVES = {adjective.english: adjective for adjective in LEXICON.adjectives}

# Nominative, accusative, dative, genitive of "the / a / this / my / cold ..." phrases.
DECLENSIONS = {
    ("man", "definite", "old"): "der alte Mann|den alten Mann|dem alten Mann|des alten Mannes",
    ("woman", "definite", "old"): "die alte Frau|die alte Frau|der alten Frau|der alten Frau",
    ("house", "definite", "old"): "das alte Haus|das alte Haus|dem alten Haus|des alten Hauses",
    ("man", "indefinite", "old"): "ein alter Mann|einen alten Mann|einem alten Mann"
    "|eines alten Mannes",
    ("woman", "indefinite", "old"): "eine alte Frau|eine alte Frau|einer alten Frau"
    "|einer alten Frau",
    ("house", "indefinite", "old"): "ein altes Haus|ein altes Haus|einem alten Haus"
    "|eines alten Hauses",
    ("wine", "none", "cold"): "kalter Wein|kalten Wein|kaltem Wein|kalten Weines",
    ("milk", "none", "cold"): "kalte Milch|kalte Milch|kalter Milch|kalter Milch",
    ("water", "none", "cold"): "kaltes Wasser|kaltes Wasser|kaltem Wasser|kalten Wassers",
    ("boy", "this", "young"): "dieser junge Junge|diesen jungen Jungen|diesem jungen Jungen"
    "|dieses jungen Jungen",
    ("student", "every", "young"): "jeder junge Student|jeden jungen Studenten"
    "|jedem jungen Studenten|jedes jungen Studenten",
    ("house", "your-ihr", "high"): "euer hohes Haus|euer hohes Haus|eurem hohen Haus"
    "|eures hohen Hauses",
    ("woman", "your-ihr", "tired"): "eure müde Frau|eure müde Frau|eurer müden Frau"
    "|eurer müden Frau",
    ("coat", "our", "expensive"): "unser teurer Mantel|unseren teuren Mantel"
    "|unserem teuren Mantel|unseres teuren Mantels",
    ("kitchen", "which", "dark"): "welche dunkle Küche|welche dunkle Küche"
    "|welcher dunklen Küche|welcher dunklen Küche",
    ("neighbour", "my", "nice"): "mein netter Nachbar|meinen netten Nachbarn"
    "|meinem netten Nachbarn|meines netten Nachbarn",
}
PLURAL_DECLENSIONS = {
    ("man", "definite", "old"): "die alten Männer|die alten Männer|den alten Männern"
    "|der alten Männer",
    ("woman", "none", "old"): "alte Frauen|alte Frauen|alten Frauen|alter Frauen",
    ("house", "many", "old"): "viele alte Häuser|viele alte Häuser|vielen alten Häusern"
    "|vieler alter Häuser",
    ("boy", "all", "young"): "alle jungen Jungen|alle jungen Jungen|allen jungen Jungen"
    "|aller jungen Jungen",
    ("car", "her", "new"): "ihre neuen Autos|ihre neuen Autos|ihren neuen Autos|ihrer neuen Autos",
    ("apple", "some", "red"): "einige rote Äpfel|einige rote Äpfel|einigen roten Äpfeln"
    "|einiger roter Äpfel",
    ("parents", "my", "old"): "meine alten Eltern|meine alten Eltern|meinen alten Eltern"
    "|meiner alten Eltern",
}


def decline(noun: str, determiner: str, adjective: str, is_plural: bool, negated: int = 0) -> str:
    phrase = NounPhrase(2, 2, is_plural, NOUNS[noun], determiner, adjective=ADJECTIVES[adjective])
    forms = []
    for case in range(4):
        out: list[Token] = []
        german.write_noun_phrase(out, phrase, case, negated)
        forms.append(" ".join(word for word, _ in out))
    return "|".join(forms)


@pytest.mark.parametrize(("key", "expected"), DECLENSIONS.items())
def test_singular_phrases_decline_as_in_the_grammar_book(
    key: tuple[str, str, str], expected: str
) -> None:
    assert decline(*key, is_plural=False) == expected


@pytest.mark.parametrize(("key", "expected"), PLURAL_DECLENSIONS.items())
def test_plural_phrases_decline_as_in_the_grammar_book(
    key: tuple[str, str, str], expected: str
) -> None:
    assert decline(*key, is_plural=True) == expected


def test_kein_declines_like_ein_and_has_a_plural() -> None:
    singular = decline("apple", "indefinite", "red", is_plural=False, negated=1)
    assert singular.startswith("kein roter Apfel|keinen roten Apfel|keinem roten Apfel")
    plural = decline("apple", "none", "red", is_plural=True, negated=1)
    assert plural.startswith("keine roten Äpfel|keine roten Äpfel|keinen roten Äpfeln")


def test_weak_nouns_end_in_n_everywhere_but_in_the_nominative() -> None:
    weak = {
        "boy": "Jungen",
        "student": "Studenten",
        "neighbour": "Nachbarn",
        "customer": "Kunden",
        "bear": "Bären",
        "policeman": "Polizisten",
        "farmer": "Bauern",
        "prince": "Prinzen",
    }
    for english, oblique in weak.items():
        assert NOUNS[english].forms[1:4] == (oblique,) * 3


def test_dative_plural_adds_n_except_after_n_and_s() -> None:
    for noun in LEXICON.nouns:
        plural, dative = noun.forms[4], noun.forms[6]
        if plural:
            assert dative[-1] in "ns"
            assert dative == plural or (dative == plural + "n" and plural[-1] not in "ns")


def test_feminine_nouns_never_change_in_the_singular() -> None:
    for noun in LEXICON.nouns:
        if noun.gender == 1:
            assert len(set(noun.forms[:4])) == 1


def test_a_missing_plural_stays_empty() -> None:
    assert decline_noun("Milch", "", "")[4:] == ("", "", "", "")


PRESENTS = {
    "kaufen": "kaufe kaufst kauft kaufen kauft kaufen",
    "arbeiten": "arbeite arbeitest arbeitet arbeiten arbeitet arbeiten",
    "öffnen": "öffne öffnest öffnet öffnen öffnet öffnen",
    "zeichnen": "zeichne zeichnest zeichnet zeichnen zeichnet zeichnen",
    "wohnen": "wohne wohnst wohnt wohnen wohnt wohnen",
    "lernen": "lerne lernst lernt lernen lernt lernen",
    "tanzen": "tanze tanzt tanzt tanzen tanzt tanzen",
    "schließen": "schließe schließt schließt schließen schließt schließen",
    "sammeln": "sammle sammelst sammelt sammeln sammelt sammeln",
    "füttern": "füttere fütterst füttert füttern füttert füttern",
    "reparieren": "repariere reparierst repariert reparieren repariert reparieren",
    "schwimmen": "schwimme schwimmst schwimmt schwimmen schwimmt schwimmen",
}
IRREGULAR_PRESENTS = {
    ("eat", "transitive"): "esse isst isst essen esst essen",
    ("give", "ditransitive"): "gebe gibst gibt geben gebt geben",
    ("take along", "transitive"): "nehme nimmst nimmt nehmen nehmt nehmen",
    ("drive", "motion"): "fahre fährst fährt fahren fahrt fahren",
    ("know", "clause"): "weiß weißt weiß wissen wisst wissen",
    ("like", "transitive"): "mag magst mag mögen mögt mögen",
    ("invite", "transitive"): "lade lädst lädt laden ladet laden",
    ("hold", "transitive"): "halte hältst hält halten haltet halten",
    ("have", "transitive"): "habe hast hat haben habt haben",
}


@pytest.mark.parametrize(("infinitive", "expected"), PRESENTS.items())
def test_regular_verbs_conjugate_by_rule(infinitive: str, expected: str) -> None:
    assert " ".join(conjugate_present(infinitive, ())) == expected


@pytest.mark.parametrize(("key", "expected"), IRREGULAR_PRESENTS.items())
def test_irregular_verbs_conjugate_as_the_lexicon_says(key: tuple[str, str], expected: str) -> None:
    assert " ".join(VERBS[key].present) == expected


def test_participles_follow_the_class_of_the_verb() -> None:
    for verb in LEXICON.verbs:
        participle, stem_verb = verb.german_participle, verb.infinitive[len(verb.prefix) :]
        if stem_verb.endswith("ieren") and stem_verb != "verlieren":
            assert participle == verb.infinitive[:-2] + "t"
        elif stem_verb.startswith(("be", "ver", "er", "zer", "unter", "über", "wieder")):
            assert not participle[len(verb.prefix) :].startswith("ge")
        elif verb.prefix:
            assert participle.startswith(verb.prefix + "ge")


def test_separable_verbs_put_zu_inside_the_infinitive() -> None:
    assert VERBS["call", "transitive"].zu_infinitive == ("anzurufen",)
    assert VERBS["go shopping", "intransitive"].zu_infinitive == ("einzukaufen",)
    assert VERBS["visit", "transitive"].zu_infinitive == ("zu", "besuchen")


def test_movement_takes_sein_in_the_perfect() -> None:
    for verb in LEXICON.verbs:
        if verb.frame == "motion":
            assert verb.auxiliary == "sein"
        if verb.frame in ("transitive", "ditransitive", "placement", "clause"):
            assert verb.auxiliary == "haben"
