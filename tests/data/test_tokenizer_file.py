"""Anybody's tokenizer.json: what could hang, grow without end or panic is refused in one line."""

import json
import time
from contextlib import suppress

import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from benchmarks.faults.fuzzing.tokenizer import good, hostile, read
from landmark.core.errors import UserError
from landmark.data.regular_expression import explosive
from landmark.data.tokenizer_file import build_backend, load_backend

IN_USE = (
    r" ?\p{L}[\p{L}\p{M}]*| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{M}]*[\p{Ll}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{M}]+[\p{Ll}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\s+",
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
    r" {2,}",
    "[一-龥぀-ゟ゠-ヿ]+",
)
EXPLOSIVE = (
    "(a+)+b", "(a|a)*b", "(.*)*x", "((a*)b*)*", "(a?){50}a{50}", "a?" * 30 + "a" * 30,
    "(?:a|a)" * 30, "a*a*a*a*b", "(?:a{1,99}){1,99}", "a**", "a{2}{3}", "a{1,9999}",
    "(a)\\1", "(?R)", "(?<n>a)\\g<n>", "(?~a)", "(", ")", "[a", "\\",
)  # fmt: skip


@pytest.mark.parametrize("pattern", IN_USE)
def test_regular_expressions_in_use_are_harmless(pattern):
    assert explosive(pattern) is None


@pytest.mark.parametrize("pattern", EXPLOSIVE)
def test_explosive_regular_expressions_are_known(pattern):
    assert explosive(pattern)


def split_by(pattern):
    backend = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
    return json.loads(backend.to_str())


def test_patterns_in_use_load_and_cut_alike(tmp_path):
    for pattern in IN_USE:
        backend = build_backend(split_by(pattern), tmp_path)
        plain = Tokenizer.from_str(json.dumps(split_by(pattern)))
        assert backend.encode("a b a.").tokens == plain.encode("a b a.").tokens


@pytest.mark.parametrize("pattern", ["a*a*b", r"\w+\w+x", "[ab]*c?d"])
def test_a_pattern_that_is_slow_on_long_words_is_found_by_trying(tmp_path, pattern):
    with pytest.raises(UserError, match="its regular expressions take too long on"):
        build_backend(split_by(pattern), tmp_path / "tokenizer.json")


def test_every_good_file_is_read_and_every_hostile_one_refused(tmp_path):
    path = tmp_path / "tokenizer.json"
    for content in good():
        path.write_bytes(content)
        assert read(path)
    refusals = []
    for content in hostile():
        path.write_bytes(content)
        begin = time.process_time()
        with suppress(UserError):
            read(path)
            continue
        assert time.process_time() - begin < 10
        with pytest.raises(UserError) as caught:
            read(path)
        refusals.append(str(caught.value))
    assert len(refusals) == len(hostile()) - 2  # padding and truncation are dropped
    assert all(its.startswith(f"{path}: ") and "\n" not in its for its in refusals)


def test_entries_without_numbers_of_their_own_are_refused(tmp_path):
    body = split_by("a+")
    path = tmp_path / "tokenizer.json"
    for numbers in ({"a": 0, "[UNK]": 0}, {"a": 0, "[UNK]": 2}, {"a": 0, "[UNK]": 4_000_000_000}):
        body["model"]["vocab"] = numbers
        path.write_text(json.dumps(body))
        with pytest.raises(UserError, match="are not numbered from 0 to"):
            load_backend(path)
