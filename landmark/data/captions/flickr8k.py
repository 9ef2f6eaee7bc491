"""Flickr8k: 8,091 photographs with five captions each, and its usual splits.

M. Hodosh, P. Young and J. Hockenmaier 2013, "Framing Image Description as a Ranking Task". A local
folder may hold the photographs in a smaller form, with a shorter side of 96 pixels; else the
originals are fetched. Five captions name a picture that does not exist, and 91 pictures are in no
split; both are left out.
"""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from landmark.core.configuration import fingerprint
from landmark.core.errors import UserError
from landmark.data.captions.files import Report, captioned_files, read_captions
from landmark.data.captions.source import CaptionedSource
from landmark.data.captions.text import caption_text
from landmark.data.download import PublicFile, PublicSet, fetch, local_folder
from landmark.data.images.archive import Zip
from landmark.data.text_file import read_lines

_COMMIT = "tnagire1/flickr8k_dataset/{}96af7783addda138e1f739f24b20fb3bb8619a34"
_TEXTS = "https://raw.githubusercontent.com/" + _COMMIT.format("") + "/Flicker8k_text/"
_ORIGINALS = "https://codeload.github.com/" + _COMMIT.format("zip/")
_TOKENS = "Flickr8k.token.txt"
_LISTS = {
    "train": "Flickr_8k.trainImages.txt",
    "valid": "Flickr_8k.devImages.txt",
    "test": "Flickr_8k.testImages.txt",
}
_DIGESTS = {
    _TOKENS: "1e1f3a371ba1a1bf742e6930521c037e046b2bf3fcc2390ba8405e0301ed7689",
    _LISTS["train"]: "e330ddd5156a4c2d2e2b67bc587e70e588f2d132bd8a10dc54dcb71e58115d8e",
    _LISTS["valid"]: "18ba829f47f6df1cb830bf7f0506e2ddf333818925299babbd1bbcaf50fdc504",
    _LISTS["test"]: "c0924146c131458ceba45da59670fe9520eadce1e5cafffa16a817672a9b1f17",
}
_SMALL = "images96.zip"
_SMALL_DIGEST = "e685b346ba4835be3f00b5af7ea7d84d39d1053b310d387b73f949f51da42694"
_WHOLE = "flickr8k_dataset.zip"
_TEXT_FILES = tuple(PublicFile(name, _TEXTS + name, digest) for name, digest in _DIGESTS.items())

FLICKR8K = PublicSet(
    "flickr8k",
    "8,091 photographs with five captions each (Hodosh et al. 2013)",
    "non-commercial research and education; the photographs belong to their authors",
    (*_TEXT_FILES, PublicFile(_WHOLE, _ORIGINALS)),
)


def flickr8k_here() -> PublicSet:
    """The set as it is here: the smaller photographs if a folder holds them."""
    if not (local_folder(FLICKR8K.name) / _SMALL).is_file():
        return FLICKR8K
    files = (*_TEXT_FILES, PublicFile(_SMALL, _ORIGINALS, _SMALL_DIGEST))
    return PublicSet(FLICKR8K.name, FLICKR8K.summary, FLICKR8K.licence, files)


def flickr8k_digest() -> str:
    """A digest of what the set is here."""
    return fingerprint([[file.name, file.sha256] for file in flickr8k_here().files])


def flickr8k_splits(report: Report) -> dict[str, CaptionedSource]:
    """Training, validation and test of the set, fetched if need be."""
    return splits_of(fetch(flickr8k_here(), report), report)


def splits_of(files: Mapping[str, Path], report: Report) -> dict[str, CaptionedSource]:
    """The splits of the set's files, by their names."""
    archive = files[_SMALL] if _SMALL in files else files[_WHOLE]
    collection = Zip(archive)
    pictures = {PurePosixPath(name).name: name for name in collection.files}
    captions = read_captions(files[_TOKENS])
    missing = [name for name in captions if name not in pictures]
    if missing:
        count = sum(len(captions[name].texts) for name in missing)
        text = f"{count} captions left out, of pictures that do not exist: {', '.join(missing)}"
        report({"kind": "note", "text": text})
    splits = {}
    for split, listed in _LISTS.items():
        chosen = {}
        for number, name in enumerate(filter(None, read_lines(files[listed])), 1):
            if name not in captions or name not in pictures:
                raise UserError(
                    f"{files[listed]}:{number}: {name} has no "
                    f"{'picture' if name in captions else 'captions'}: is this the original set?"
                )
            texts = map(caption_text, captions[name].texts)
            chosen[pictures[name]] = tuple(text for text in texts if text)
        splits[split] = captioned_files(collection, chosen)
    return splits
