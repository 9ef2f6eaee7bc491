"""Regular expressions of somebody else's vocabulary: those whose cost can explode are refused.

The library `tokenizers` searches by backtracking. `(a+)+b` takes longer than the universe exists on
a line of 100 letters, and nothing can interrupt it. What repeats may therefore not repeat inside;
what is left costs a power of a text's length, which a trial shows (see tokenizer_file).
"""

import re

LONGEST = 1_000
"""Characters; the longest in use have 400."""
_MOST_REPEATS = 100  # {n,m}: the library writes them out
_MOST_OPEN = 3  # quantifiers without a bound, one after the other
_OPENING = re.compile(r"\((?:\?(?:[imx-]*:|=|!|<=|<!|>))?(?!\?|\*)")
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(\d*)(,?)(\d*)\})")
_ESCAPE = re.compile(r"\\(?:[pP]\{\^?\w{1,40}\}|x\{[0-9a-fA-F]{1,8}\}|[^\w]|[a-zA-Z0])", re.DOTALL)
_REFERENCES = ("\\k", "\\g", "\\K", "\\R", "\\X", "\\y", "\\Y")
_MOST_CHOICES = 5  # one after the other: each multiplies the ways to match
_FEW = 8  # a bounded quantifier up to here costs as good as nothing


def explosive(pattern: str) -> str | None:
    """Why a pattern may take too long, or is not understood; None if it is harmless."""
    if len(pattern) > LONGEST:
        return f"{len(pattern):,} characters"
    place, last = 0, _Part()
    groups = [_Part()]
    while place < len(pattern):
        if fault := groups[-1].fault():
            return fault
        rest = pattern[place:]
        if rest[0] == "(":
            opening = _OPENING.match(rest)
            if not opening:
                return f"a group that is not known: {rest[:5]!r}"
            groups.append(_Part())
            place += opening.end()
        elif rest[0] == ")":
            if len(groups) == 1:
                return "a bracket that nothing opened"
            last = groups.pop().closed()
            groups[-1].add(last)
            place += 1
        elif rest[0] == "|":
            groups[-1].begin_branch()
            last = _Part(repeated=True)  # nothing to repeat here
            place += 1
        elif quantifier := _QUANTIFIER.match(rest):
            if fault := _repeat(last, groups[-1], quantifier):
                return fault
            place += quantifier.end()
            if rest[quantifier.end() : quantifier.end() + 1] in ("?", "+") and rest[0] != "{":
                place += 1  # lazy or possessive
            last = _Part(repeated=True)
        else:
            length = _atom(rest)
            if not length:
                return f"{rest[:5]!r}, which is not known"
            last = _Part()
            place += length
    if len(groups) > 1:
        return "a bracket that is never closed"
    return groups[0].fault()


class _Part:
    """A group, or one sign: what is repeated and chosen in the branch that has most of it."""

    def __init__(self, *, repeated: bool = False) -> None:
        self.open = self.choices = 0
        self.branches: list[tuple[int, int]] = []
        self.repeated = repeated

    @property
    def varies(self) -> bool:
        """Whether it can match in several ways."""
        return bool(self.open or self.choices or self.branches)

    def begin_branch(self) -> None:
        self.branches.append((self.open, self.choices))
        self.open = self.choices = 0

    def add(self, inner: "_Part") -> None:
        self.open += inner.open
        self.choices += inner.choices

    def closed(self) -> "_Part":
        """The whole of it, which to choose a branch of is a choice, too."""
        whole = _Part()
        branches = [*self.branches, (self.open, self.choices)]
        whole.open, whole.choices = (max(counts) for counts in zip(*branches, strict=True))
        whole.choices += len(branches) > 1
        return whole

    def fault(self) -> str | None:
        if self.open > _MOST_OPEN:
            return f"more than {_MOST_OPEN} repetitions without a bound in a row"
        return (
            f"more than {_MOST_CHOICES} choices in a row" if self.choices > _MOST_CHOICES else None
        )


def _repeat(part: _Part, group: _Part, quantifier: re.Match[str]) -> str | None:
    """Take a quantifier behind a part into account; what speaks against it."""
    lowest, comma, highest = quantifier.groups()
    is_open = quantifier[0] in ("*", "+") or bool(comma and not highest)
    if any(int(bound or 0) > _MOST_REPEATS for bound in (lowest, highest)):
        return f"{quantifier[0]}, more than {_MOST_REPEATS} repetitions"
    if part.repeated:
        return f"{quantifier[0]!r} behind a quantifier"
    if part.varies and quantifier[0] != "?":
        return "a repeated group in which something is repeated or chosen"
    if is_open or int(highest or lowest or 0) > _FEW:
        group.open += 1
    else:
        group.choices += quantifier[0] == "?" or bool(comma)
    return None


def _atom(rest: str) -> int:
    """The length of the sign, escape or class that a pattern begins with; 0 if not known."""
    if rest[0] == "[":
        return _class_length(rest)
    if rest[0] != "\\":
        return 1
    escape = _ESCAPE.match(rest)
    return escape.end() if escape and not rest.startswith(_REFERENCES) else 0


def _class_length(rest: str) -> int:
    depth, place = 0, 0
    while place < len(rest):
        if rest[place] == "\\":
            place += 1
        elif rest[place] == "[":
            depth += 1
        elif rest[place] == "]":
            depth -= 1
            if not depth:
                return place + 1
        place += 1
    return 0
