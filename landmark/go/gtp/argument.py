"""Reading a command's arguments; what cannot be read is an error response."""

import math

from landmark.go.gtp.protocol import GtpError
from landmark.go.rules.geometry import BLACK, WHITE, parse_vertex

_COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
SYNTAX = "syntax error"


def needed(arguments: list[str], count: int) -> list[str]:
    """The first arguments; more than these are ignored, as other programs do."""
    if len(arguments) < count:
        raise GtpError(f"{SYNTAX}: {count} arguments are needed, {len(arguments)} are given")
    return arguments[:count]


def whole_number(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise GtpError(f"{SYNTAX}: {text[:40]!r} is not a whole number")
    return int(text)


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > 1e9:
        raise GtpError(f"{SYNTAX}: {text[:40]!r} is not a number")
    return value


def colour(text: str) -> int:
    if text.lower() not in _COLOURS:
        raise GtpError(f"{SYNTAX}: {text[:40]!r} is not a colour")
    return _COLOURS[text.lower()]


def vertex(text: str, size: int) -> int:
    """The point of a vertex; 0: pass."""
    point = parse_vertex(text, size)
    if point is None:
        raise GtpError(f"{SYNTAX}: {text[:40]!r} is not a vertex of this board")
    return point
