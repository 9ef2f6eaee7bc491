"""Files in a folder, a .zip or a .tar, listed and read alike, without unpacking."""

import lzma
import os
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from pathlib import Path, PurePosixPath
from typing import Any

from landmark.core.configuration import fingerprint
from landmark.core.errors import UserError
from landmark.data.download import DAMAGED_ZIP
from landmark.data.images.decoding import BrokenImageError
from landmark.data.text_file import digest_file, is_valid

ZIP, TAR = (".zip",), (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_MOST_BYTES = 1 << 28  # of one file: more is no image, but an attempt to fill the memory
_IN_MEMORY = 1 << 31  # bytes of a packed .tar
_READ_WHOLE = 1 << 30  # bytes in a folder up to which a digest is of contents, not of sizes


class Collection(ABC):
    """Files by their names, folders separated by `/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[str, int] = {}
        """The size of each, in order of names."""
        self.folders: set[str] = set()
        """All folders, also those that are empty."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The bytes of a file."""

    @abstractmethod
    def digest(self) -> str:
        """A digest of all that is there."""

    def place(self, name: str) -> str:
        """For messages: which file this is."""
        return str(self.path / name)

    def _add(self, name: str, size: int) -> None:
        if not is_valid(name):
            raise UserError(f"{self.path}: the name {name!r} is not valid UTF-8: change it")
        path = PurePosixPath(name)
        if not any(part.startswith((".", "__MACOSX")) for part in path.parts):
            self.files[str(path)] = size
            self._add_folders(path)

    def _add_folders(self, path: PurePosixPath) -> None:
        self.folders.update(str(parent) for parent in path.parents if parent.name)

    def _check_length(self, name: str) -> None:
        if self.files[name] > _MOST_BYTES:
            raise BrokenImageError(
                f"{self.place(name)}: {self.files[name]:,} bytes are too large for memory: "
                f"the limit is {_MOST_BYTES:,}"
            )


class Folder(Collection):
    """A folder, with the folders in it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        seen = set()
        for top, folders, files in os.walk(path, followlinks=True):
            here = os.stat(top)
            if (here.st_dev, here.st_ino) in seen:  # a link leads back
                folders.clear()
                continue
            seen.add((here.st_dev, here.st_ino))
            folders[:] = sorted(name for name in folders if not name.startswith((".", "__MACOSX")))
            within = PurePosixPath(Path(top).relative_to(path).as_posix())
            self.folders.update(str(within / name) for name in folders)
            for name in sorted(files):
                file = Path(top) / name
                if file.is_file():  # a link may lead nowhere
                    self._add(str(within / name), file.stat().st_size)

    def read(self, name: str) -> bytes:
        self._check_length(name)
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise BrokenImageError(
                f"{self.place(name)}: cannot be read: {error.strerror}"
            ) from None

    def digest(self) -> str:
        """Of contents as long as they are read quickly, then of names and sizes alone."""
        whole = sum(self.files.values()) <= _READ_WHOLE
        facts = [
            (name, digest_file(self.path / name) if whole else size)
            for name, size in sorted(self.files.items())
        ]
        return fingerprint(facts)


class Zip(Collection):
    """A .zip file; every process opens it for itself, as two cannot share a place in a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._opened: tuple[int, zipfile.ZipFile] | None = None
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in self._archive().infolist():
            name = member.filename.replace("\\", "/")  # as some programs write it
            if name.endswith("/"):
                self._add_folders(PurePosixPath(name) / "_")
            else:
                self._add(name, member.file_size)
                self._members[str(PurePosixPath(name))] = member
        self.files = dict(sorted(self.files.items()))

    def _archive(self) -> zipfile.ZipFile:
        if self._opened is None or self._opened[0] != os.getpid():
            try:
                self._opened = (os.getpid(), zipfile.ZipFile(self.path))
            except DAMAGED_ZIP as error:
                raise UserError(f"{self.path}: cannot be read as a .zip file: {error}") from None
        return self._opened[1]

    def read(self, name: str) -> bytes:
        self._check_length(name)
        try:
            return self._archive().read(self._members[name])
        except DAMAGED_ZIP as error:  # with NotImplementedError, which is a RuntimeError
            raise BrokenImageError(f"{self.place(name)}: cannot be read: {error}") from None
        except RuntimeError:
            raise UserError(f"{self.path}: is password-protected: unpack it yourself") from None

    def digest(self) -> str:
        return fingerprint(sorted((name, found.CRC) for name, found in self._members.items()))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}


class Tar(Collection):
    """A .tar file. A packed one can only be read from its beginning, so it is kept in memory."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._begins: dict[str, int] = {}
        self._contents: dict[str, bytes] = {}
        self._kept = 0
        try:
            with tarfile.open(path) as archive:
                for member in archive:
                    if member.isdir():
                        self._add_folders(PurePosixPath(member.name) / "_")
                    elif member.isreg() and not member.issparse():  # links are no images
                        self._add_member(archive, member)
        except (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise UserError(f"{path}: cannot be read as a .tar file: {error}") from None
        self.files = dict(sorted(self.files.items()))

    def _add_member(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        name = str(PurePosixPath(member.name))
        self._add(name, member.size)
        if name not in self.files:
            return
        self._begins[name] = member.offset_data
        if self.path.suffix.lower() != ".tar":
            self._kept += member.size
            if self._kept > _IN_MEMORY:
                raise UserError(
                    f"{self.path}: holds more than {_IN_MEMORY:,} bytes: unpack it, or make it a "
                    ".tar or .zip, which need not be read whole"
                )
            file = archive.extractfile(member)
            assert file
            self._contents[name] = file.read()

    def read(self, name: str) -> bytes:
        self._check_length(name)
        if name in self._contents:
            return self._contents[name]
        try:
            with self.path.open("rb") as file:
                file.seek(self._begins[name])
                content = file.read(self.files[name])
        except OSError as error:
            raise BrokenImageError(
                f"{self.place(name)}: cannot be read: {error.strerror}"
            ) from None
        if len(content) < self.files[name]:
            raise BrokenImageError(f"{self.place(name)}: the archive ends inside it")
        return content

    def digest(self) -> str:
        return digest_file(self.path)


def open_collection(path: Path) -> Collection:
    """A folder or an archive, by what it is."""
    if path.is_dir():
        return Folder(path)
    if not path.exists():
        raise UserError(f"{path}: does not exist: name a folder, a .zip or a .tar of images")
    if path.name.lower().endswith(ZIP):
        return Zip(path)
    if path.name.lower().endswith(TAR):
        return Tar(path)
    raise UserError(f"{path}: is neither a folder nor a {', '.join(ZIP + TAR)}")
