"""A reader to attack: good files to mutate, hostile ones to try as they are, and the call."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

CHUNK = 64  # bytes that one mutation moves, repeats or overwrites at most
EDGES = (
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\n",
    b"\x1b[2J",
)


@dataclass(frozen=True)
class Target:
    """One reader of the package."""

    name: str
    suffix: str
    """What a file of this kind is called: case + suffix."""
    good: Callable[[], Sequence[bytes]]
    """Well-formed files, which are mutated."""
    read: Callable[[Path], object]
    """Read one file as the package does; a UserError is a good answer, other errors are faults."""
    hostile: Callable[[], Sequence[bytes]] = tuple
    """Files written to do harm, tried first and as they are."""
    tokens: Sequence[bytes] = ()
    """Pieces of this kind's grammar, which mutations insert."""


def mutate(content: bytes, dice: random.Random, tokens: Sequence[bytes] = ()) -> bytes:
    """A file with one to eight random faults."""
    its = bytearray(content)
    for _ in range(1 << dice.randrange(4)):
        place = dice.randrange(len(its) + 1)
        length = dice.randint(1, CHUNK)
        match dice.randrange(7 if tokens else 6):
            case 0 if its:
                its[dice.randrange(len(its))] ^= 1 << dice.randrange(8)
            case 1:
                del its[place : place + length]
            case 2:
                its[place:place] = its[place : place + length]
            case 3:
                its[place : place + length] = dice.randbytes(length)
            case 4:
                its[place:place] = dice.choice(EDGES)
            case 5 if dice.random() < 0.2:
                del its[place:]
            case 6:
                its[place:place] = dice.choice(tokens)
    return bytes(its)
