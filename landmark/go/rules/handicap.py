"""Where handicap stones stand (GTP's specification, section 4.1.1)."""

from landmark.go.rules.geometry import point_at


def most_handicap(size: int) -> int:
    """The largest fixed handicap: 9 with a middle point, 4 without, none on small boards."""
    if size < 7:
        return 0
    return 9 if size % 2 and size > 7 else 4


def handicap_points(size: int, stones: int) -> list[int]:
    """The fixed points for 2 to `most_handicap` stones."""
    near = 3 if size > 12 else 2
    far, middle = size - 1 - near, size // 2
    # (row, column) from the top left: black's lower left first
    corners = [(far, near), (near, far), (near, near), (far, far)]
    sides = [(middle, near), (middle, far), (near, middle), (far, middle)]
    chosen = corners[:stones]
    if stones >= 6:
        chosen += sides[: 2 if stones < 8 else 4]
    if stones in (5, 7, 9):
        chosen.append((middle, middle))
    return [point_at(row, column) for row, column in chosen]
