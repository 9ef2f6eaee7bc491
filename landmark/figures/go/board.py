"""A board of Go: stones, the last move, move numbers, and whose the points are."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Le

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WOOD = "#e6c58e"
_STARS = {9: (2, 4, 6), 13: (3, 6, 9), 19: (3, 9, 15)}


@settings
class Options:
    """Options of `landmark figure board`."""

    game: Annotated[Path, Positional("GAME")]
    """SGF file."""
    move: Annotated[int, Ge(0), Le(100_000)] | None = None
    """Show the position after this move; default: the last one."""
    numbers: Annotated[int, Ge(0), Le(1000)] = 0
    """Number the last so many moves."""
    ownership: bool = False
    """Mark whose each point is at the end of playouts from here."""
    simulations: Annotated[int, Ge(1), Le(10**8)] = 2000
    """Simulations for the ownership."""
    output: Path | None = Path("board.png")
    """Output file."""


@dataclass(frozen=True)
class BoardPicture:
    """What is on a board; rows from the top, columns from the left."""

    size: int
    title: str
    stones: list[tuple[int, int, int]]
    """Row, column and colour (1 black, 2 white)."""
    labels: dict[str, str]
    """Text on "row,column"."""
    last: tuple[int, int] | None
    ownership: list[list[float]] | None = None
    """From -1 (White's) to 1 (Black's)."""
    diagram: str = ""

    def json(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "stones": self.stones,
            "last": self.last,
            "ownership": self.ownership,
        }


def compute(options: Options, report: Any = None) -> BoardPicture:
    from landmark.go.record.reader import read_game

    game = read_game(options.game)
    if options.move is not None and options.move > len(game.moves):
        raise UserError(f"--move {options.move}: the game has {len(game.moves)} moves")
    position = game.replay(options.move)
    number = len(game.moves) if options.move is None else options.move
    names = " - ".join(name for name in (game.black, game.white) if name)
    title = f"{names}, move {number}" if names else f"Move {number}"
    return picture_of(
        position, title, options.numbers, options.simulations if options.ownership else 0
    )


def picture_of(position: Any, title: str, numbers: int = 0, simulations: int = 0) -> BoardPicture:
    """A position as a picture; with `simulations`, ownership by a search."""
    from landmark.go.rules.geometry import BLACK, PASS, WHITE, column_of, point_at, row_of
    from landmark.go.search.searcher import Limit, Searcher

    stones = [(row_of(p), column_of(p), c) for c in (BLACK, WHITE) for p in position.stones(c)]
    played = position.moves
    labels = {
        f"{row_of(move.point)},{column_of(move.point)}": str(k + 1)
        for k, move in enumerate(played)
        if k >= len(played) - numbers and move.point != PASS
    }
    last = played[-1].point if played and played[-1].point != PASS else None
    owned = None
    if simulations:
        result = Searcher().search(position.reopened(), Limit(simulations=simulations))
        size = range(position.size)
        owned = [[round(float(result.ownership[point_at(r, c)]), 3) for c in size] for r in size]
    where = None if last is None else (row_of(last), column_of(last))
    return BoardPicture(position.size, title, stones, labels, where, owned, position.diagram())


def table(record: BoardPicture) -> list[str]:
    return record.diagram.splitlines()


def draw(record: BoardPicture) -> "Figure":
    inches = 0.32 * record.size + 1.2
    figure, grid = style.panels(size=(inches, inches))
    draw_board(grid[0, 0], record)
    style.title(grid[0, 0], record.title)
    return figure


def draw_board(axes: "Axes", record: BoardPicture) -> None:
    """Lines, star points, ownership, stones, labels and coordinates."""
    from matplotlib.patches import Circle, Rectangle

    size = record.size
    axes.set_facecolor(_WOOD)
    for k in range(size):
        axes.plot([0, size - 1], [k, k], color="0.2", linewidth=0.7, zorder=1)
        axes.plot([k, k], [0, size - 1], color="0.2", linewidth=0.7, zorder=1)
    stars = [(r, c) for r in _STARS.get(size, ()) for c in _STARS.get(size, ())]
    for row, column in stars:
        axes.add_patch(Circle((column, row), 0.09, color="0.2", zorder=1))
    if record.ownership:
        for row, line in enumerate(record.ownership):
            for column, owner in enumerate(line):
                side = 0.45 * abs(owner)
                corner = (column - side / 2, row - side / 2)
                colour = "black" if owner > 0 else "white"
                axes.add_patch(Rectangle(corner, side, side, color=colour, alpha=0.75, zorder=4))
    for row, column, stone in record.stones:
        face, edge = ("black", "black") if stone == 1 else ("white", "0.3")
        axes.add_patch(Circle((column, row), 0.46, facecolor=face, edgecolor=edge, zorder=2))
        if label := record.labels.get(f"{row},{column}"):
            ink = "white" if stone == 1 else "black"
            axes.text(column, row, label, color=ink, ha="center", va="center", fontsize=8, zorder=3)
        elif (row, column) == record.last:
            mark = Circle((column, row), 0.2, fill=False, edgecolor=style.COLOURS[1], zorder=3)
            mark.set_linewidth(1.6)
            axes.add_patch(mark)
    letters = "ABCDEFGHJKLMNOPQRST"[:size]
    axes.set_xticks(range(size), list(letters))
    axes.set_yticks(range(size), [str(size - row) for row in range(size)])
    axes.tick_params(length=0, labelsize=8)
    axes.set(xlim=(-0.7, size - 0.3), ylim=(size - 0.3, -0.7), aspect="equal")
