"""Text with a public home: Multi30k, WMT 2014 as the Transformer paper used it, and Shakespeare."""

import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import TypeVar

from landmark.core.configuration import fingerprint
from landmark.core.errors import UserError
from landmark.core.registry import Registry, nearest
from landmark.core.storage import replace_durably
from landmark.data.download import PublicFile, PublicSet, Report, fetch, unpack

_MULTI30K = (
    "https://raw.githubusercontent.com/multi30k/dataset/"
    "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/"
)
_MULTI30K_DIGESTS = {
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
}
_WMT = "https://www.statmt.org/"
_SHAKESPEARE = (
    "https://raw.githubusercontent.com/karpathy/char-rnn/"
    "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/"
)

PUBLIC_SETS: Registry[PublicSet] = Registry("data set")
PUBLIC_SETS.add(
    "multi30k",
    PublicSet(
        "multi30k",
        "29,000 image captions in English, German and French (Elliott et al. 2016, 2017)",
        "research and education, not commercial",
        tuple(
            PublicFile(name, _MULTI30K + name, digest) for name, digest in _MULTI30K_DIGESTS.items()
        ),
    ),
)
PUBLIC_SETS.add(
    "wmt14",
    PublicSet(
        "wmt14",
        "4.5 million English-German pairs: Europarl 7, Common Crawl, News Commentary 9",
        "see statmt.org/wmt14/translation-task.html",
        tuple(
            PublicFile(path.rpartition("/")[2], _WMT + path)
            for path in (
                "europarl/v7/de-en.tgz",
                "wmt13/training-parallel-commoncrawl.tgz",
                "wmt14/training-parallel-nc-v9.tgz",
                "wmt14/dev.tgz",
                "wmt14/test-full.tgz",
            )
        ),
    ),
)
PUBLIC_SETS.add(
    "tinyshakespeare",
    PublicSet(
        "tinyshakespeare",
        "a million characters of Shakespeare's plays in one file (Karpathy 2015)",
        "public domain",
        (
            PublicFile(
                "input.txt",
                _SHAKESPEARE + "input.txt",
                "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
            ),
        ),
    ),
)

Chosen = TypeVar("Chosen")
Sides = tuple[list[Path], list[Path]]
"""Source files and target files that correspond."""


def text_files(name: str, split: str, source: str, target: str, report: Report) -> Sides:
    """The files of one split of a public set for a pair of languages, fetched if need be."""
    if source == target:
        raise UserError(f"{name}: source and target are both {source!r}: name two languages")
    public = PUBLIC_SETS[name]
    if name not in _PARALLEL:
        raise UserError(f"{name}: is running text, not parallel: {nearest(name, _PARALLEL)}")
    side, files = _PARALLEL[name], fetch(public, report)
    return side(files, split, source), side(files, split, target)


def plain_files(name: str, report: Report) -> list[Path]:
    """The files of a public set of running text, fetched if need be."""
    return list(fetch(PUBLIC_SETS[name], report).values())


def text_digest(name: str) -> str:
    """A digest of what a set is: of its files' digests, or of its name where none is known."""
    facts = [(file.name, file.sha256) for file in PUBLIC_SETS[name].files]
    return fingerprint([name, facts])


_MULTI30K_SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}


def _multi30k_files(files: Mapping[str, Path], split: str, language: str) -> list[Path]:
    stem = _chosen("multi30k", "split", split, _MULTI30K_SPLITS)
    _chosen("multi30k", "language", language, {"en": "", "de": "", "fr": ""})
    return [files[f"{stem}.{language}.gz"]]


_WMT14_SPLITS = {
    "train": (
        ("de-en.tgz", "europarl-v7.de-en.{}"),
        ("training-parallel-commoncrawl.tgz", "commoncrawl.de-en.{}"),
        ("training-parallel-nc-v9.tgz", "training/news-commentary-v9.de-en.{}"),
    ),
    "valid": (("dev.tgz", "dev/newstest2013.{}"),),
    "test": (("test-full.tgz", "test-full/newstest2014-deen-{}.{}.sgm"),),
}


def _wmt14_files(files: Mapping[str, Path], split: str, language: str) -> list[Path]:
    members = _chosen("wmt14", "split", split, _WMT14_SPLITS)
    _chosen("wmt14", "language", language, {"en": "", "de": ""})
    found = []
    for archive, member in members:
        folder = unpack(files[archive], files[archive].with_suffix(""))
        if member.endswith(".sgm"):
            path = folder / member.format("src" if language == "en" else "ref", language)
            path = _plain(path)
        else:
            path = folder / member.format(language)
        if not path.is_file():
            raise UserError(f"{files[archive]}: does not hold {path.name}: is it the original?")
        found.append(path)
    return found


_PARALLEL = {"multi30k": _multi30k_files, "wmt14": _wmt14_files}
_SEGMENT = re.compile(r"<seg[^>]*>(.*?)</seg>", re.DOTALL)


def _plain(path: Path) -> Path:
    """The sentences of an .sgm file, a line each, as a file beside it."""
    lines = path.with_suffix(".txt")
    if path.is_file() and not lines.is_file():
        text = path.read_text(encoding="utf-8")
        sentences = [" ".join(unescape(found).split()) for found in _SEGMENT.findall(text)]
        replace_durably(lines, "".join(f"{sentence}\n" for sentence in sentences).encode())
    return lines


def _chosen(owner: str, kind: str, name: str, known: Mapping[str, Chosen]) -> Chosen:
    if name not in known:
        raise UserError(f"{owner}: has no {kind} {name!r}: {nearest(name, known)}")
    return known[name]
