"""YAML and JSON by others: read as plain values, or refused in one line before they do harm."""

import json
import time

import pytest

from landmark.core.errors import DamagedError, UserError
from landmark.core.structured_text import (
    LONGEST_JSON,
    InvalidTextError,
    parse_json,
    parse_yaml,
    read_bounded,
    read_json,
)


def bomb(depth):
    """Ten aliases of ten aliases of ten aliases."""
    lines = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, depth)]
    return "\n".join(["a0: &a0 [x]", *lines])


def test_aliases_are_read_while_they_stand_for_little():
    values, _ = parse_yaml("base: &b {rate: 1}\none: *b\ntwo: {<<: *b, decay: 2}")
    assert values == {"base": {"rate": 1}, "one": {"rate": 1}, "two": {"rate": 1, "decay": 2}}
    assert parse_yaml(bomb(3))[0]["a2"] == [[["x"]] * 10] * 10


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        (bomb(30), "stands for more than", None),
        ("a: &a {b: &b {<<: [*a]}}", "contains itself", 1),
        ("x: 1\na: &a [*a]", "contains itself", 2),
        ("x: 1\na: " + "[" * 20_000, "nested more than 64 deep", 2),
        ("a: " + "{b: " * 20_000, "nested more than 64 deep", 1),
        ("a: 1" + "0" * 5_000, "a number of 5,001 characters", 1),
        ("a: 0x" + "f" * 100_000, "a number of 100,002 characters", 1),
        ("a: !!python/object/apply:os.system [x]", "is not supported", 1),
        ("a: !!set {b}", "is not supported", 1),
        ("? [a]\n: 1", "a key must be a word", 1),
        ('a: "\\ud800"', "half a character", 1),
        ("a: !!int two", "cannot be parsed", None),
        ("a: !!bool two", "cannot be parsed", None),
        ("a: 1\n" * 200_000, "longer than", None),
    ],
)
def test_hostile_yaml_is_refused_at_once(text, problem, line):
    begin = time.process_time()
    with pytest.raises(InvalidTextError, match=problem) as caught:
        parse_yaml(text)
    assert time.process_time() - begin < 10
    if line:
        assert caught.value.line == line


def test_what_json_writes_is_read_as_yaml_too():
    text = "a \N{GRINNING FACE} \x7f \u2028 'b' \"c\" # d: e"
    assert parse_yaml(json.dumps({"a": text}))[0] == {"a": text}


def test_json_of_anybody_is_bounded(tmp_path):
    assert parse_json(b'{"a": ["\\ud83d\\ude00"]}', "x") == {"a": ["\N{GRINNING FACE}"]}
    deep = "[" * 65 + "]" * 65
    for content in (b"{", b"\xff", b'"\\ud800"', b"1" * 5_000, b"[" * 100_000, deep):
        with pytest.raises(DamagedError, match=r"^x\.json: damaged: it is n") as caught:
            parse_json(content, "x.json")
        assert "\n" not in str(caught.value)
    path = tmp_path / "a.json"
    path.write_text("[]")
    with pytest.raises(DamagedError, match="holds no object"):
        read_json(path)
    with path.open("wb") as file:
        file.truncate(LONGEST_JSON + 1)
    with pytest.raises(UserError, match=r"a\.json: is longer than 67,108,864 bytes"):
        read_json(path)
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        read_bounded(tmp_path, 10)
