import json
import random
from pathlib import Path

import pytest

from landmark.core.errors import UserError
from landmark.data.running_text.character import (
    CharacterTokenizer,
    RunningSubwords,
    UnknownCharacterError,
    load_tokenizer,
)
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig

TEXT = "Größe: 漢字\x00 👩‍👧\n\ttab\U0010ffff."


def test_characters_are_numbered_as_they_first_appear() -> None:
    tokenizer = CharacterTokenizer("hello")
    assert tokenizer.characters == ("h", "e", "l", "o")
    assert tokenizer.encode(["hello", "", "oh"]) == [[0, 1, 2, 2, 3], [], [3, 0]]
    assert tokenizer.decode([[0, 1, 2, 2, 3], [], [3, 0]]) == ["hello", "", "oh"]


def test_decoding_undoes_encoding_of_any_characters() -> None:
    draw = random.Random(0)
    planes = (range(0xD800), range(0xE000, 0x110000))
    text = TEXT + "".join(chr(draw.choice(draw.choice(planes))) for _ in range(500))
    tokenizer = CharacterTokenizer(text)
    assert len(tokenizer) == len(set(text))
    (numbers,) = tokenizer.encode([text])
    assert max(numbers) == len(tokenizer) - 1
    assert tokenizer.decode([numbers]) == [text]


@pytest.mark.parametrize(
    ("text", "character", "offset"),
    [
        ("hellö", "ö", 4),
        ("a hello", "a", 0),
        ("he\x00llo", "\x00", 2),
        ("hello\U0010ffff", "\U0010ffff", 5),
        ("hel\ud800", "\ud800", 3),
    ],
)
def test_a_character_never_seen_is_named_with_its_place_and_what_to_do(
    text: str, character: str, offset: int
) -> None:
    with pytest.raises(UnknownCharacterError) as caught:
        CharacterTokenizer("hello").encode([text])
    assert (caught.value.character, caught.value.offset) == (character, offset)
    message = str(caught.value)
    assert message.startswith(f"character {offset + 1}: {character!r} (U+{ord(character):04X})")
    assert "tokenizer.kind=subwords" in message
    assert str(caught.value.at("own.txt:7")).startswith(f"own.txt:7: {character!r}")


def test_both_kinds_are_saved_and_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    CharacterTokenizer(TEXT).save(path)
    loaded = load_tokenizer(path)
    assert isinstance(loaded, CharacterTokenizer)
    assert loaded.characters == CharacterTokenizer(TEXT).characters
    SubwordTokenizer.train([TEXT], TokenizerConfig(vocab_size=300)).save(path)
    subwords = load_tokenizer(path)
    assert isinstance(subwords, RunningSubwords)
    assert subwords.decode(subwords.encode([TEXT])) == [TEXT]


def test_subwords_of_running_text_have_no_space_put_before_them() -> None:
    backend = SubwordTokenizer.train(["to be or not to be"] * 5, TokenizerConfig(vocab_size=300))
    running = RunningSubwords(backend.backend)
    whole = "to be\nor not to be"
    for cut in range(len(whole)):
        pieces = running.encode([whole[:cut], whole[cut:]])
        assert running.decode([pieces[0] + pieces[1]]) == [whole]
    assert running.decode(running.encode([" to", "to"])) == [" to", "to"]
    assert running.encode(["to"]) != running.encode([" to"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not a tokenizer file"),
        (json.dumps({"kind": "characters"}), "not a vocabulary of characters"),
        (json.dumps({"kind": "characters", "characters": ""}), "not a vocabulary of characters"),
        (json.dumps({"kind": "characters", "characters": "abca"}), "one is there twice"),
    ],
)
def test_a_file_that_is_no_vocabulary_is_refused(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(UserError, match="there is no tokenizer here"):
        load_tokenizer(path)
    path.write_text(content)
    with pytest.raises(UserError, match=said) as caught:
        load_tokenizer(path)
    assert str(caught.value).startswith(str(path))
