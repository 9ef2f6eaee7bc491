"""Files in a folder, a .zip or a .tar, listed and read alike, without unpacking."""

import os
from abc import ABC, abstractmethod
from pathlib import Path, PurePosixPath

from landmark.core.configuration import fingerprint
from landmark.core.errors import UserError
from landmark.data.compression.tar import TarReader, read_tar
from landmark.data.compression.zip import MemberError, ZipMember, unpack_member, zip_members
from landmark.data.images.decoding import BrokenImageError
from landmark.data.text_file import digest_file, is_valid

ZIP, TAR = (".zip",), (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_MOST_BYTES = 1 << 28  # of one file: more is no image, but an attempt to fill the memory
_IN_MEMORY = 1 << 31  # bytes of a packed .tar
_LONGEST_NAME, _DEEPEST = 1024, 32  # characters and folders of a name in an archive
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

    def _add(self, name: str, size: int) -> bool:
        """Note a file, unless it is a hidden one."""
        if not is_valid(name):
            raise UserError(f"{self.path}: the name {name!r} is not valid UTF-8: change it")
        path = PurePosixPath(name)
        if any(part.startswith((".", "__MACOSX")) for part in path.parts):
            return False
        self.files[str(path)] = size
        self._add_folders(path)
        return True

    def _add_packed(self, name: str, size: int, is_folder: bool) -> str:
        """Note a file or a folder of an archive; the name that a file has here.

        An absolute name is taken as one from the top of the archive, as unzip and tar do.
        """
        path = PurePosixPath(name.lstrip("/"))
        if len(name) > _LONGEST_NAME or len(path.parts) > _DEEPEST:
            raise UserError(
                f"{self.path}: the name {name[:40]!r}… is too long (over {_LONGEST_NAME} "
                f"characters, or {_DEEPEST} folders): change it"
            )
        if is_folder:
            self._add_folders(path / "_")
        elif path.name and self._add(str(path), size):
            return str(path)
        return ""

    def _add_folders(self, path: PurePosixPath) -> None:
        for parent in path.parents:
            if not parent.name or str(parent) in self.folders:
                break
            self.folders.add(str(parent))

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
    """A .zip file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._members: dict[str, ZipMember] = {}
        for member in zip_members(path):
            name = self._add_packed(member.name, member.size, member.is_folder)
            if name:
                self._members[name] = member
        self.files = dict(sorted(self.files.items()))

    def read(self, name: str) -> bytes:
        self._check_length(name)
        try:
            return b"".join(unpack_member(self.path, self._members[name]))
        except MemberError as error:
            raise BrokenImageError(str(error)) from None

    def digest(self) -> str:
        return fingerprint(sorted((name, found.crc) for name, found in self._members.items()))


class Tar(Collection):
    """A .tar file. A packed one can only be read from its beginning, so it is kept in memory."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._begins: dict[str, int] = {}
        self._contents: dict[str, bytes] = {}
        self._kept = 0
        try:
            for member, reader in read_tar(path):
                if member.kind not in ("file", "folder"):  # links are no images
                    continue
                name = self._add_packed(member.name, member.size, member.kind == "folder")
                if name:
                    self._begins[name] = member.offset
                if name and reader.is_packed:
                    self._keep(name, reader)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None
        self.files = dict(sorted(self.files.items()))

    def _keep(self, name: str, reader: TarReader) -> None:
        """Hold the content of a member of a packed archive."""
        if self.files[name] > _MOST_BYTES:
            return
        self._contents[name] = b"".join(reader.content())
        self._kept += len(self._contents[name])
        if self._kept > _IN_MEMORY:
            raise UserError(
                f"{self.path}: holds more than {_IN_MEMORY:,} bytes: unpack it, or make it a "
                ".tar or .zip, which need not be read whole"
            )

    def read(self, name: str) -> bytes:
        self._check_length(name)
        content = self._contents[name] if name in self._contents else self._read(name)
        if len(content) < self.files[name]:
            raise BrokenImageError(f"{self.place(name)}: the archive ends inside it")
        return content

    def _read(self, name: str) -> bytes:
        try:
            with self.path.open("rb") as file:
                file.seek(self._begins[name])
                return file.read(self.files[name])
        except OSError as error:
            raise BrokenImageError(
                f"{self.place(name)}: cannot be read: {error.strerror}"
            ) from None

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
