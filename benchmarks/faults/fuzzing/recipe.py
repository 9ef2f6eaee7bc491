"""Recipes: YAML that a user wrote or was given."""

from pathlib import Path

from benchmarks.faults.fuzzing.target import Target
from landmark.tasks.training import resolve


def good() -> list[bytes]:
    from landmark.core.configuration import as_yaml

    return [as_yaml(resolve(name, ())).encode() for name in ("translation", "gpt", "image-files")]


def read(path: Path) -> object:
    return resolve(str(path), ())


def hostile() -> list[bytes]:
    """Aliases of aliases, deep nesting, a mapping that contains itself, odd tags and dates."""
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30)
    )
    return [
        bomb.encode(),
        b"task: " + b"[" * 20_000,
        b"task: " + b"{a: " * 20_000,
        b"&a task: *a",
        b"task: &a [*a]",
        b"? [task]\n: 1",
        b"!!python/object/apply:os.system ['true']",
        b"task: 2001-13-45",
        b"task: 0x" + b"f" * 100_000,
        b"task: 1" + b"0" * 100_000,
        b"task: .inf\nseed: .nan",
        b"\xff\xfet\x00a\x00s\x00k\x00",
        b"<<: &a {<<: *a}",
    ]


TOKENS = (
    b"&a ",
    b"*a",
    b"!!",
    b"- ",
    b": ",
    b"{",
    b"[",
    b"? ",
    b"<<: ",
    b"|",
    b"\t",
    b"1e999",
    b"null",
)
TARGETS = [Target("recipe", ".yaml", good, read, hostile, TOKENS)]
