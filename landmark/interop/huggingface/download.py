"""A model's folder from the Hugging Face Hub: only the files we read, each checked by its digest.

HF_ENDPOINT names another server with the same interface (a mirror), HF_TOKEN is sent along if it
is set. A download that broke off goes on where it stopped; the folder appears when it is whole.
"""

import hashlib
import http.client
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from landmark.core.errors import UserError
from landmark.core.storage import beside, is_plain_name, make_folder, sync_folder
from landmark.core.structured_text import LONGEST_JSON, parse_json
from landmark.data.download import local_folder
from landmark.interop.huggingface.folder import CONFIG, GENERATION, INDEX, PICKLE, SAFETENSORS

Report = Callable[[Mapping[str, Any]], None]
HUB = "https://huggingface.co"
ATTEMPTS = 5
NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_PATIENCE = 30.0  # seconds without a byte
_PAUSE = 0.5  # seconds before the second attempt; four times as long before the third, and so on
_PIECE = 1 << 16
_LARGEST = 1 << 50  # bytes of a file
_SETTINGS = (
    CONFIG,
    GENERATION,
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "source.spm",
    "target.spm",
)
_SHARD = r"-\d+-of-\d+"


@dataclass(frozen=True)
class HubFile:
    """A file of a model, as the Hub lists it."""

    name: str
    size: int
    sha256: str | None
    """Of a large file."""
    blob: str | None
    """Of any other: the SHA-1 that git knows it by."""


def fetch_model(name: str, report: Report, revision: str = "main") -> Path:
    """The folder of a model on this machine; what is missing is downloaded."""
    if not NAME.fullmatch(name) or ".." in name:
        raise UserError(f"{name!r}: neither a folder nor a model name, as owner/model")
    base = os.environ.get("HF_ENDPOINT", HUB).rstrip("/")
    commit, files = _listing(base, name, revision)
    folder = local_folder("huggingface") / name.replace("/", "--") / commit
    if folder.is_dir():
        return folder
    partial = beside(folder, "partial")
    make_folder(partial)
    for file in _wanted(name, files):
        if not _is_right(partial / file.name, file):
            url = f"{base}/{quote(name)}/resolve/{quote(commit)}/{quote(file.name)}"
            _download(url, file, partial / file.name, report)
    partial.rename(folder)
    sync_folder(folder.parent)
    return folder


def _listing(base: str, name: str, revision: str) -> tuple[str, list[HubFile]]:
    """The commit that a revision is, and its files."""
    url = f"{base}/api/models/{quote(name)}/revision/{quote(revision, safe='')}?blobs=true"
    reason = ""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with _open(url) as response:
                return _parse(parse_json(response.read(LONGEST_JSON + 1), url))
        except urllib.error.HTTPError as error:
            reason = f"the server says {error.code}"
            if error.code in (401, 403, 404):
                raise UserError(_refusal(url, name, revision, error.code)) from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reason = str(getattr(error, "reason", None) or error)
        except (UserError, ValueError, KeyError, TypeError, AttributeError):
            reason = "the server does not answer as the Hugging Face Hub does"
        if attempt < ATTEMPTS:
            time.sleep(_PAUSE * 4 ** (attempt - 1))
    raise UserError(f"{url}: could not be read ({reason}): check the connection, or HF_ENDPOINT")


def _refusal(url: str, name: str, revision: str, code: int) -> str:
    if code == 404:
        return f"{name}: there is no such model, or no revision {revision!r} of it ({url})"
    return (
        f"{name}: the server does not give it out ({code}): there is no such model, or it asks for "
        "a name: set HF_TOKEN"
    )


def _parse(body: Mapping[str, Any]) -> tuple[str, list[HubFile]]:
    commit = body["sha"]
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise ValueError(commit)
    files = []
    for entry in body["siblings"]:
        large = entry.get("lfs") or {}
        name, size = entry["rfilename"], large.get("size", entry.get("size"))
        if is_plain_name(name) and type(size) is int and 0 <= size < _LARGEST:
            files.append(HubFile(name, size, large.get("sha256"), entry.get("blobId")))
    return commit, files


def _wanted(name: str, files: list[HubFile]) -> list[HubFile]:
    """Settings, the vocabulary, and the weights in the best format there is."""
    known = {file.name for file in files}
    if CONFIG not in known:
        raise UserError(f"{name}: has no {CONFIG}: not a supported model")
    for weights in (SAFETENSORS, PICKLE):
        stem, _, ending = weights.rpartition(".")
        if weights in known:
            chosen = re.compile(re.escape(weights))
        elif weights + INDEX in known:
            several = f"{re.escape(stem)}{_SHARD}\\.{ending}"
            chosen = re.compile(f"{several}|{re.escape(weights + INDEX)}")
        else:
            continue
        return [f for f in files if f.name in _SETTINGS or chosen.fullmatch(f.name)]
    raise UserError(f"{name}: has no weights for PyTorch: neither {SAFETENSORS} nor {PICKLE}")


def _download(url: str, file: HubFile, path: Path, report: Report) -> None:
    """Fetch a file, from where the last attempt stopped; anew if it came damaged."""
    coming, reason = beside(path, "partial"), ""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _copy(url, file, coming, report)
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            reason = str(getattr(error, "reason", None) or error)
        else:
            if _is_right(coming, file):
                coming.replace(path)
                sync_folder(path.parent)
                return
            reason = "it came damaged: its digest is not the one that the Hub lists"
            coming.unlink()
        if attempt < ATTEMPTS:
            text = f"{url}: {reason}: trying again ({attempt} of {ATTEMPTS - 1})"
            report({"kind": "note", "text": text})
            time.sleep(_PAUSE * 4 ** (attempt - 1))
    raise UserError(
        f"{url}: could not be downloaded ({reason}): check the connection; "
        "what was downloaded is kept"
    )


def _copy(url: str, file: HubFile, coming: Path, report: Report) -> None:
    """One attempt: the bytes that are missing, with progress."""
    done = coming.stat().st_size if coming.is_file() else 0
    if done > file.size:
        coming.unlink()
        done = 0
    if done == file.size and coming.is_file():
        return
    with _open(url, done) as response:
        if response.status != http.client.PARTIAL_CONTENT:
            done = 0  # the server sends all of it
        with coming.open("r+b" if done else "wb") as target:
            target.seek(done)
            while done <= file.size and (piece := response.read(_PIECE)):
                target.write(piece)
                done += len(piece)
                report({"kind": "download", "name": file.name, "done": done, "total": file.size})
            target.flush()
            os.fsync(target.fileno())
    if done < file.size:
        raise ValueError(f"the connection was lost after {done:,} of {file.size:,} bytes")


def _open(url: str, start: int = 0) -> Any:
    request = urllib.request.Request(url)
    if start:
        request.add_header("Range", f"bytes={start}-")
    if token := os.environ.get("HF_TOKEN"):
        # Not passed on by a redirection to where the Hub keeps its large files.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    return urllib.request.urlopen(request, timeout=_PATIENCE)


def _is_right(path: Path, file: HubFile) -> bool:
    """Whether a file is there, whole, with the digest that the Hub lists."""
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    with path.open("rb") as opened:
        if file.sha256:
            return hashlib.file_digest(opened, "sha256").hexdigest() == file.sha256
        if file.blob:  # what git hashes: a header, then the content
            digest = hashlib.sha1(f"blob {file.size}\0".encode(), usedforsecurity=False)
            while piece := opened.read(_PIECE):
                digest.update(piece)
            return digest.hexdigest() == file.blob
    return True
