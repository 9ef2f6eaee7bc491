"""tokenizer.json of anybody's: as a user names it, and as a run holds it."""

import json
from pathlib import Path
from typing import Any

from benchmarks.faults.fuzzing.target import Target
from landmark.core.errors import UserError

TEXT = "The café's 2 naïve tests, don't (fail)!\n\tBe <pad> [MASK] 中 \U0001f600 aaaaaaaa"


def good() -> list[bytes]:
    from tokenizers import (
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    from landmark.data.running_text.character import ForeignSubwords
    from landmark.data.running_text.wordpiece import WordPieceConfig, WordPieceTokenizer
    from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
    from landmark.data.translation.vocabulary import SeparateTokenizer

    lines = ["a test of tests", "the tests are attested"]
    ours = SubwordTokenizer.train(lines, TokenizerConfig(vocab_size=270))
    bert = WordPieceTokenizer.train(lambda: lines, WordPieceConfig(vocab_size=40))
    entries = {"a": 0, "b": 1, "ab": 2, "[UNK]": 3, "</s>": 4}
    steps = Tokenizer(models.BPE(entries, [("a", "b")], unk_token="[UNK]"))
    steps.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    )
    steps.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(r"\p{N}{1,3}|\s+(?!\S)"), "isolated"), pre_tokenizers.Digits()]
    )
    steps.post_processor = processors.TemplateProcessing("$A </s>", "$A $B", [("</s>", 4)])
    steps.decoder = decoders.Sequence([decoders.Replace("_", " "), decoders.Fuse()])
    unigram = Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0), ("ab", -2.5)], unk_id=0))
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    foreign = ForeignSubwords(steps, {"end": "</s>"})
    texts = [its.to_text() for its in (ours, bert, foreign, SeparateTokenizer(ours, ours))]
    return [its.encode() for its in (*texts, steps.to_str(), unigram.to_str())]


def hostile() -> list[bytes]:
    """Regular expressions of exponential cost, texts that grow, merges of nothing, huge numbers."""
    bodies: list[Any] = []
    for pattern in (
        "(a+)+$",
        "(a|a)*b",
        "(.*)*x",
        "a?" * 40 + "a" * 40,
        "(?R)",
        "(a)\\1*",
        "[a-",
        "(" * 9_000,
    ):
        bodies.append(_body(pre_tokenizer=_split(pattern)))
        bodies.append(_body(normalizer=_replace({"Regex": pattern}, "b")))
    chain = [_replace({"String": "a"}, "a" * 10)] * 30
    bodies += [
        _body(normalizer={"type": "Sequence", "normalizers": chain}),
        _body(normalizer=_replace({"Regex": ""}, "a" * 1_000_000)),
        _body(normalizer=_replace({"String": ""}, "b")),
        _body(normalizer={"type": "Prepend", "prepend": "a" * 10_000_000}),
        _body(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        _body(normalizer={"type": "Precompiled", "precompiled_charsmap": "/////wAAAAA="}),
        _body(decoder={"type": "Strip", "content": "a", "start": 10**18, "stop": -1}),
        _body(padding={"strategy": {"Fixed": 10**12}, "direction": "Right", "pad_id": 0}),
        _body(truncation={"max_length": 1, "stride": 5, "strategy": "LongestFirst"}),
        _body(model={"type": "BPE", "vocab": {"a": 0}, "merges": [["b", "c"]]}),
        _body(model={"type": "BPE", "vocab": {"a": 2**32}, "merges": []}),
        _body(model={"type": "BPE", "vocab": {"a": 4_000_000_000}, "merges": []}),
        _body(model={"type": "WordPiece", "vocab": {"": 0}, "unk_token": "[UNK]"}),
        _body(model={"type": "Unigram", "vocab": [["a", 1e999]], "unk_id": 5}),
        _body(model={"type": "Unigram", "vocab": [], "unk_id": 0}),
        _body(added_tokens=[{"id": 10**9, "content": "", "special": True}]),
        _body(added_tokens=[{"id": "x", "content": 3}]),
        {"kind": "foreign", "roles": {"end": ["a"]}, "tokenizer": _body()},
        {"kind": "foreign", "roles": [], "tokenizer": []},
        {"kind": "separate", "source": {"kind": "separate"}},
        {"kind": "characters", "characters": [1]},
        {"kind": "sentencepiece", "source": "AAAA", "target": "!", "vocabulary": [], "roles": {}},
        [],
        3,
    ]
    return [*(json.dumps(body).encode() for body in bodies), b"[" * 200_000, b'{"model":' * 50_000]


def _body(**parts: Any) -> dict[str, Any]:
    model = {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"}
    return {"version": "1.0", "added_tokens": [], "model": model, **parts}


def _split(pattern: str) -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }


def _replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def read(path: Path) -> object:
    """As each of the tasks loads it, and then uses it."""
    from landmark.data.running_text.character import load_tokenizer
    from landmark.data.running_text.wordpiece import WordPieceTokenizer
    from landmark.data.tokenizer_file import load_backend
    from landmark.data.translation.vocabulary import load_subwords

    read: list[Any] = []
    refusal = UserError("no reader")
    try:
        read.append(backend := load_backend(path))  # as an import does
        backend.decode(backend.encode(TEXT).ids)
    except UserError as error:
        refusal = error
    for load in (load_tokenizer, load_subwords, WordPieceTokenizer.load):
        try:
            tokenizer: Any = load(path)  # type: ignore[operator]
            numbers = tokenizer.encode([TEXT, "a" * 3_000])
            tokenizer.decode([row[:200] for row in numbers])
            read.append(tokenizer)
        except UserError as error:
            refusal = error
    if not read:
        raise refusal
    return read


TOKENS = (
    b'"type":"Sequence",', b'"type":"Replace",', b'"Regex":', b'"String":', b"null", b"[]", b"{}",
    b"-1", b"99999999999", b'""', b'"a+"', b"true", b"0.5", b'"(a*)*"', b"[[", b"\\ud800",
)  # fmt: skip
TARGETS = [Target("tokenizer", ".json", good, read, hostile, TOKENS)]
