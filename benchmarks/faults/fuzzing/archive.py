"""Archives of images: .zip with every compression, .tar plain and packed, with pax headers."""

import gzip
import io
import tarfile
import zipfile
import zlib
from pathlib import Path

from benchmarks.faults.fuzzing.target import Target
from landmark.data.images.decoding import BrokenImageError, Fitting
from landmark.data.images.files import file_splits, files_digest

_FITTING = Fitting(size=4)
_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def read(path: Path) -> object:
    """As preparing images of a folder does: every image that can be read."""
    pixels = []
    for source in file_splits(path).values():
        for index in range(len(source.labels)):
            try:
                pixels.append(source.pixels(index, _FITTING))
            except BrokenImageError:
                continue
    files_digest(path)
    return pixels


def images() -> dict[str, bytes]:
    """A few images of a few pixels, by the names that they have in an archive."""
    from PIL import Image

    found = {}
    for name in ("train/cats/1.png", "train/cats/2.bmp", "train/dogs/1.gif", "test/dogs/2.png"):
        file = io.BytesIO()
        Image.new("RGB", (3, 2), (len(found), 5, 9)).save(file, name.rpartition(".")[2])
        found[name] = file.getvalue()
    return found


def zipped(kind: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, content in images().items():
            archive.writestr(zipfile.ZipInfo(name), content, kind)
    return file.getvalue()


def tarred(form: int = tarfile.PAX_FORMAT, prefix: str = "") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as archive:
        for name, content in images().items():
            member = tarfile.TarInfo(prefix + name)
            member.size, member.pax_headers = len(content), {"comment": "a pax header"}
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def good_tars() -> list[bytes]:
    long = "long/" * 21  # more than the 100 bytes that a header holds
    forms = (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)
    return [tarred(tarfile.USTAR_FORMAT), *(tarred(form, long) for form in forms)]


def good_packed_tars() -> list[bytes]:
    import bz2
    import lzma

    return [pack(tarred()) for pack in (gzip.compress, bz2.compress, lzma.compress)]


def hostile_zips() -> list[bytes]:
    """Bombs: overlapping members, sizes that are not true; names that lead elsewhere."""
    whole = zipped(zipfile.ZIP_DEFLATED)
    found = [zip_bomb(kind, stated) for kind in _KINDS[1:] for stated in (100, 0xFFFFFFF0)]
    found.append(zip_bomb(zipfile.ZIP_DEFLATED, 1 << 26, times=2000))
    found += [whole.replace(b"train/", name) for name in (b"/etc//", b"../../", b"C:\\\\\\\\")]
    found += [whole.replace(b"train/cats/1.png", b"/" * 16), b"PK\5\6" + bytes(18), b"PK"]
    found.append(_named("a/" * 32_000 + "1.png"))
    return found


def zip_bomb(kind: int, stated: int, times: int = 1) -> bytes:
    """A member of 64 MB of zeros that states another size, or is listed many times."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("cats/1.png"), bytes(1 << 26), kind)
        archive.filelist[0].file_size = stated
        archive.filelist *= times
    return file.getvalue()


def _named(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), b"")
    return file.getvalue()


def hostile_tars() -> list[bytes]:
    """Headers that ask for gigabytes, chains of headers, records that take quadratic time."""
    found = [header(kind, size) for kind in b"xgLKS0" for size in (3 << 30, 1 << 20, 2048)]
    found.append((header(ord("x"), 512) + bytes(512)) * 3000)
    found.append((header(ord("L"), 512) + b"a" * 512) * 3000 + tarred())
    found.append(header(ord("x"), 1 << 20) + b"1" * (1 << 20) + tarred())
    found.append(header(ord("x"), 1 << 20) + b"1 a=" * (1 << 18) + tarred())
    found.append(header(ord("x"), 512) + b"26 GNU.sparse.major=1\n26 ".ljust(512, b"9") + tarred())
    return found


def header(kind: int, size: int) -> bytes:
    member = tarfile.TarInfo("cats/1.png")
    member.type, member.size = bytes([kind]), size
    return member.tobuf(tarfile.GNU_FORMAT)


def hostile_packed_tars() -> list[bytes]:
    """The same, and content that unpacks to gigabytes."""
    asked = header(ord("x"), 3 << 30)
    image = header(ord("0"), 3 << 30)
    zeros = gzip_bomb(1 << 30)
    return [
        *(gzip.compress(content, 1) for content in hostile_tars()),
        gzip.compress(asked) + zeros,
        gzip.compress(image) + zeros,
        zeros,
        gzip.compress(b"\xff" * 512) + zeros,
    ]


def gzip_bomb(size: int, piece: bytes = b"\0") -> bytes:
    """A gzip file of so many bytes, made without holding them."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = piece * (1 << 20)
    found = [packer.compress(block) for _ in range(size // len(block))]
    return b"".join(found) + packer.flush()


ZIP_TOKENS = (b"PK\1\2", b"PK\3\4", b"PK\5\6", b"PK\6\6", b"\x0e\x00", b"/", b"..", b"\\")
TAR_TOKENS = (
    b"ustar\0",
    b"ustar  \0",
    b"x",
    b"L",
    b"g",
    b"S",
    b"26 path=",
    b"13 size=99\n",
    b"\x80",
)
TARGETS = [
    Target("zip of images", ".zip", lambda: [*map(zipped, _KINDS)], read, hostile_zips, ZIP_TOKENS),
    Target("tar of images", ".tar", good_tars, read, hostile_tars, TAR_TOKENS),
    Target("packed tar of images", ".tgz", good_packed_tars, read, hostile_packed_tars, TAR_TOKENS),
]
