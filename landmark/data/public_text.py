"""Public text data sets: for translation, language models and text classification."""

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
from landmark.data.text_file import read_text

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

_GITHUB = "https://raw.githubusercontent.com/"
_SST2 = _GITHUB + "forest-snow/alps/3c7ef2c98249fc975a897b27f275695f97d5b7a9/data/SST-2/"
_COLA = (
    _GITHUB + "nyu-mll/CoLA-baselines/dd095d3646ed05a315280aaa8ed4ec84ba435b3e/"
    "acceptability_corpus/cola_public/raw/"
)
_MRPC = _GITHUB + "Pzeyang/Paraphrase_Identification/dc1755eb1a4755ca310f97209391f1f5c06e2fd1/"

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
        (
            PublicFile("de-en.tgz", _WMT + "europarl/v7/de-en.tgz"),
            # As TensorFlow Datasets has it (url_checksums/wmt14_translate.txt).
            PublicFile(
                "training-parallel-commoncrawl.tgz",
                _WMT + "wmt13/training-parallel-commoncrawl.tgz",
                "c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
            ),
            PublicFile(
                "training-parallel-nc-v9.tgz",
                _WMT + "wmt14/training-parallel-nc-v9.tgz",
                "cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
            ),
            PublicFile("dev.tgz", _WMT + "wmt14/dev.tgz"),
            # As sacrebleu has it (wmt14/full).
            PublicFile(
                "test-full.tgz",
                _WMT + "wmt14/test-full.tgz",
                md5="a8cd784e006feb32ac6f3d9ec7eb389a",
            ),
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
PUBLIC_SETS.add(
    "sst2",
    PublicSet(
        "sst2",
        "67,349 phrases of film reviews, good or bad (Socher et al. 2013): GLUE's training set in "
        "two parts, train.tsv and dev.tsv",
        "research, no formal licence",
        (
            PublicFile(
                "train.tsv",
                _SST2 + "train.tsv",
                "920e317b2c52e12cd22db1da2c6708312bd7dc4f3712b9bbf1b50ee6c2c792ba",
            ),
            PublicFile(
                "dev.tsv",
                _SST2 + "dev.tsv",
                "92353770071a2a889f75d000a38a9e541ea8f0a5499e50f040b17917a5cbf66f",
            ),
        ),
    ),
)
PUBLIC_SETS.add(
    "glue-sst2",
    PublicSet(
        "glue-sst2",
        "SST-2 as GLUE has it, with its own development set of 872 sentences (Wang et al. 2018)",
        "research, no formal licence",
        (
            PublicFile(
                "SST-2.zip",
                "https://dl.fbaipublicfiles.com/glue/data/SST-2.zip",
                # As TensorFlow Datasets has it (url_checksums/glue.txt).
                "d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa",
            ),
        ),
    ),
)
PUBLIC_SETS.add(
    "cola",
    PublicSet(
        "cola",
        "9,078 sentences of linguistics, acceptable or not (Warstadt et al. 2018; in domain)",
        "published sentences, for research",
        (
            PublicFile(
                "in_domain_train.tsv",
                _COLA + "in_domain_train.tsv",
                "f320a10f92d3bce6b29152fde322a362eac39238e50d8de0c8815457fdf4fc12",
            ),
            PublicFile(
                "in_domain_dev.tsv",
                _COLA + "in_domain_dev.tsv",
                "77176f6a03faa5a1c4f23c69971fc1bff565931112fb65af47b2d6e24b7f42f7",
            ),
        ),
    ),
)
PUBLIC_SETS.add(
    "mrpc",
    PublicSet(
        "mrpc",
        "5,801 pairs of sentences from the news, paraphrases or not (Dolan and Brockett 2005)",
        "Microsoft Research, for research",
        (
            PublicFile(
                "msr_paraphrase_train.txt",
                _MRPC + "msr_paraphrase_train.txt",
                "8ce2b3a2f391f24534f38242d429510f8837eb4d3c4f4e8ff7b56d3678b4bb5c",
            ),
            PublicFile(
                "msr_paraphrase_test.txt",
                _MRPC + "msr_paraphrase_test.txt",
                "51a1f197d8786712d2f0d97700f5be653b7488a96cde00e158159350d23e3d90",
            ),
        ),
    ),
)
PUBLIC_SETS.add(
    "war-and-peace",
    PublicSet(
        "war-and-peace",
        "Tolstoy's novel in the translation of Louise and Aylmer Maude, three million characters",
        "public domain",
        # A copy that stays: Project Gutenberg mends its texts from time to time.
        (
            PublicFile(
                "warandpeace.txt",
                _GITHUB + "timbmg/RNNLM/e26dff5d8f4b5d07ee459f192ee2131923d7584f/data/"
                "warandpeace.txt",
                "bf5b273d9246268f96663c43c00a1055ae2e42c2262be32f7e43b48dd123451a",
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
        raise UserError(f"{name}: is not parallel text: {nearest(name, _PARALLEL)}")
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
        text = "".join(read_text(path))
        sentences = [" ".join(unescape(found).split()) for found in _SEGMENT.findall(text)]
        replace_durably(lines, "".join(f"{sentence}\n" for sentence in sentences).encode())
    return lines


def _chosen(owner: str, kind: str, name: str, known: Mapping[str, Chosen]) -> Chosen:
    if name not in known:
        raise UserError(f"{owner}: has no {kind} {name!r}: {nearest(name, known)}")
    return known[name]
