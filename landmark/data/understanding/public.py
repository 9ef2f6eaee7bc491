"""Public data sets for fine-tuning (SST-2, CoLA, MRPC), split without overlap.

SST-2 (Socher et al. 2013) is GLUE's (Wang et al. 2018, arXiv 1804.07461). GLUE's training set holds
phrases beside the sentences that they are cut from. The train.tsv and dev.tsv of the set `sst2` are
two parts of that training set: nine tenths of this dev.tsv stand inside a phrase of train.tsv. So
whole sentences are held out here, and every phrase that is part of one is taken out of training.
GLUE's own development set, 872 whole sentences, is the split `glue-dev`, from the set `glue-sst2`.
CoLA: Warstadt et al. 2018, arXiv 1805.12471, in domain.
MRPC: Dolan and Brockett 2005, "Automatically Constructing a Corpus of Sentential Paraphrases".
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.data.download import Report, fetch, local_folder, unpack
from landmark.data.hold_out import draw, split
from landmark.data.public_text import PUBLIC_SETS
from landmark.data.text_file import read_lines
from landmark.data.understanding.example import LabeledText

Splits = Mapping[str, Sequence[LabeledText]]
_TEST_SENTENCES, _VALIDATION_SENTENCES = 1000, 500
GLUE_DEV = "glue-dev"
_GLUE_SST2 = "glue-sst2"
_DESCRIPTIONS = {
    ("sst2", "test"): "whole sentences held out of GLUE's training set",
    ("sst2", "valid"): "whole sentences held out of GLUE's training set",
    ("sst2", GLUE_DEV): "GLUE's development set",
    ("sst2", "dev"): "dev.tsv, phrases of GLUE's training set; it is not GLUE's development set",
}
_HELD_OUT = 0.1  # the share of a training set that is validated on where there is no other
_WORD = re.compile(r"\S+")


def read_split(name: str, split: str, report: Report) -> list[LabeledText]:
    """The examples of one split of a public set, fetched if need be."""
    if (name, split) == ("sst2", GLUE_DEV):
        return _glue_dev(report)
    splits = public_splits(name, report)
    if split not in splits:
        known = [*splits, GLUE_DEV] if name == "sst2" else splits
        raise UserError(f"{name}: has no split {split!r}: {nearest(split, known)}")
    return list(splits[split])


def describe_split(name: str, split: str) -> str:
    """What a split is made of, where its name does not say it."""
    return _DESCRIPTIONS.get((name, split), "")


def splits_to_score(name: str) -> list[str]:
    """The splits of a public set to score where none is named: what training has not seen.

    GLUE's development set of SST-2 is one, unless the folder that LANDMARK_DATA names has `sst2`
    without it: then nothing is downloaded.
    """
    if name != "sst2":
        return ["test"]
    return ["test", GLUE_DEV, "dev"] if _may_have_glue_dev() else ["test", "dev"]


def _may_have_glue_dev() -> bool:
    """Whether GLUE's development set is here, or sets come from their public homes."""
    (archive,) = PUBLIC_SETS[_GLUE_SST2].files
    given = os.environ.get("LANDMARK_DATA")
    is_local = given is not None and local_folder("sst2") == Path(given) / "sst2"
    return not is_local or (local_folder(_GLUE_SST2) / archive.name).is_file()


def _glue_dev(report: Report) -> list[LabeledText]:
    """GLUE's development set of SST-2, out of its archive."""
    (archive,) = fetch(PUBLIC_SETS[_GLUE_SST2], report).values()
    path = unpack(archive, archive.with_suffix("")) / "SST-2" / "dev.tsv"
    if not path.is_file():
        raise UserError(f"{archive}: does not hold SST-2/dev.tsv: is it the original?")
    return _phrases(path)


def training_texts(name: str, report: Report) -> list[str]:
    """All texts of a set's training split, each once: nothing that is held out is among them."""
    examples = read_split(name, "train", report)
    return list(dict.fromkeys(text for example in examples for text in example.texts))


def public_splits(name: str, report: Report) -> Splits:
    """All splits of a set by their names."""
    if name not in _READERS:
        raise UserError(f"{name}: is not a set of labelled texts: {nearest(name, _READERS)}")
    files = fetch(PUBLIC_SETS[name], report)
    return _read(name, tuple(sorted(files.items())))


@lru_cache(maxsize=3)
def _read(name: str, files: tuple[tuple[str, Path], ...]) -> Splits:
    """A set is cut once a process."""
    return _READERS[name](dict(files))


def leakage(texts: Iterable[str], training: Iterable[str]) -> float:
    """The share of texts that stand, word for word, inside a training text."""
    asked = [_spaced(text) for text in texts]
    known = contained_phrases(map(_spaced, training), set(asked))
    return sum(text in known for text in asked) / len(asked) if asked else 0.0


def contained_phrases(texts: Iterable[str], phrases: set[str]) -> set[str]:
    """Those of the phrases that stand in one of the texts, word for word; words are spaced once.

    Longer texts first: one that was found inside another has no phrase that the other has not.
    """
    given = set(texts)
    known, found = given | phrases, set[str]()
    for text in sorted(given, key=len, reverse=True):
        if text not in found:
            found.update(run for run in _runs(text) if run in known)
    return found & phrases


def _runs(text: str) -> Iterator[str]:
    """Every run of consecutive words."""
    words = [match.span() for match in _WORD.finditer(text)]
    for first, (start, _) in enumerate(words):
        for _, end in words[first:]:
            yield text[start:end]


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _sst2(files: Mapping[str, Path]) -> Splits:
    """Sentences that no other phrase contains are held out, with all that is inside them."""
    given, dev = (_phrases(files[name]) for name in ("train.tsv", "dev.tsv"))
    sentences = _outermost(example.texts[0] for example in (*given, *dev))
    first = {example.texts[0]: example for example in reversed(given)}
    candidates = [example for text, example in sorted(first.items()) if text in sentences]
    wanted = min(_TEST_SENTENCES + _VALIDATION_SENTENCES, len(candidates) // 2)
    _, held_out = split(candidates, draw(len(candidates), wanted, "held out", "sst2"))
    cut = wanted * _TEST_SENTENCES // (_TEST_SENTENCES + _VALIDATION_SENTENCES)
    inside = contained_phrases(
        (example.texts[0] for example in held_out), {example.texts[0] for example in given}
    )
    train = [example for example in given if example.texts[0] not in inside]
    return {"train": train, "valid": held_out[cut:], "test": held_out[:cut], "dev": dev}


def _outermost(texts: Iterable[str]) -> set[str]:
    """The texts that no other text contains."""
    phrases = set(texts)
    inside: set[str] = set()
    outermost: set[str] = set()
    for text in sorted(phrases, key=len, reverse=True):
        if text not in inside:
            outermost.add(text)
            inside.update(run for run in _runs(text) if run in phrases)
    return outermost


def _phrases(path: Path) -> list[LabeledText]:
    """Lines of phrase and label below a header; words are spaced once."""
    rows = list(_rows(path, 2))[1:]
    return [LabeledText(place, (_spaced(text),), label) for place, (text, label) in rows]


def _cola(files: Mapping[str, Path]) -> Splits:
    given, dev = (
        [
            LabeledText(place, (fields[3],), fields[1])
            for place, fields in _rows(files[f"in_domain_{split}.tsv"], 4)
        ]
        for split in ("train", "dev")
    )
    train, valid = _hold_out("cola", given)
    return {"train": train, "valid": valid, "dev": dev, "test": dev}


def _mrpc(files: Mapping[str, Path]) -> Splits:
    given, test = (
        [
            LabeledText(place, (fields[3], fields[4]), fields[0])
            for place, fields in list(_rows(files[f"msr_paraphrase_{split}.txt"], 5))[1:]
        ]
        for split in ("train", "test")
    )
    train, valid = _hold_out("mrpc", given)
    return {"train": train, "valid": valid, "test": test}


_READERS: dict[str, Callable[[Mapping[str, Path]], Splits]] = {
    "sst2": _sst2,
    "cola": _cola,
    "mrpc": _mrpc,
}


def _rows(path: Path, columns: int) -> Iterator[tuple[str, list[str]]]:
    """The fields of each line, and where it is."""
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split("\t")
        if len(fields) != columns:
            raise UserError(
                f"{path}:{number}: has {len(fields)} columns, not {columns}: is it the original?"
            )
        yield f"{path.name}:{number}", fields


def _hold_out(
    name: str, given: Sequence[LabeledText]
) -> tuple[list[LabeledText], list[LabeledText]]:
    """A training set in two: to train on, and to validate on."""
    return split(given, draw(len(given), round(_HELD_OUT * len(given)), "held out", name))
