"""What a network of Go sees in a position: its policy, a search with it, whose the points are."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Le

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.figures.go.board import BoardPicture, draw_board, picture_of
from landmark.tasks.card import OpenOptions, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN = 6
"""Moves in the table."""
_LEAST = 0.01
"""Shares of moves that are drawn."""


@settings
class Options(OpenOptions):
    """Options of `landmark figure go-network`."""

    run: Annotated[Path, Positional("RUN")]
    """The run directory of a Go network."""
    game: Path | None = None
    """SGF file; default: the empty board."""
    move: Annotated[int, Ge(0), Le(100_000)] | None = None
    """Show the position after this move; default: the last one."""
    simulations: Annotated[int, Ge(2), Le(10**7)] = 400
    """Simulations of the search."""
    output: Path | None = Path("go-network.png")
    """Output file."""


@dataclass(frozen=True)
class NetworkView:
    """A position with shares of moves by network and search."""

    board: BoardPicture
    colour: str
    policy: dict[str, float]
    """Probability of each move by name."""
    visits: dict[str, float]
    """Share of the search's simulations."""
    win_rate: float | None
    """Of the colour to move, by the network alone."""
    searched: float
    """Of the colour to move, by the search."""
    score: float | None
    """Points by which the colour to move wins."""
    variation: list[str]
    """The most visited sequence."""
    simulations: int

    def json(self) -> dict[str, Any]:
        names = ("colour", "policy", "visits", "win_rate", "searched", "score", "variation")
        return {**self.board.json(), **{name: getattr(self, name) for name in names}}


def compute(options: Options, report: Report) -> NetworkView:
    import dataclasses

    import landmark
    from landmark.go.network.evaluator import NetworkEvaluator
    from landmark.go.network.source import USUAL
    from landmark.go.rules.geometry import COLOUR_NAMES, vertex
    from landmark.go.search.parameters import SearchSettings
    from landmark.go.search.searcher import Limit, Searcher
    from landmark.tasks.go.pipeline import GoPipeline

    pipeline = landmark.load(
        options.run, kind=GoPipeline, checkpoint=options.checkpoint, device=options.device
    )
    position, title = _position(options, pipeline.config.data.size, pipeline.config.data.komi)
    judged = pipeline.judge(position)
    search = SearchSettings(**USUAL)
    evaluator = NetworkEvaluator(pipeline.network)
    searcher = Searcher(search, evaluator)
    found = searcher.search(position, Limit(simulations=options.simulations))
    total = max(1, found.visits)

    def named(point: int) -> str:
        return vertex(point, position.size)

    board = picture_of(position, title)
    if judged.ownership is not None:
        sign = 1 if position.to_move == 1 else -1
        board = dataclasses.replace(board, ownership=_rows(sign * judged.ownership, position.size))
    return NetworkView(
        board,
        COLOUR_NAMES[position.to_move],
        {named(point): share for point, share in judged.moves},
        {named(move.point): move.visits / total for move in found.moves},
        judged.win_rate,
        found.win_rate,
        judged.score,
        [named(point) for point in (found.moves[0].variation if found.moves else ())],
        options.simulations,
    )


def _position(options: Options, size: int, komi: float) -> tuple[Any, str]:
    """The position that was asked for, and what it is called."""
    from landmark.go.record.reader import read_game
    from landmark.go.rules.position import Position

    if options.game is None:
        if options.move is not None:
            raise UserError("--move needs --game: the empty board has no moves")
        return Position(size, komi), "Empty board"
    game = read_game(options.game)
    if options.move is not None and options.move > len(game.moves):
        raise UserError(f"--move {options.move}: the game has {len(game.moves)} moves")
    number = len(game.moves) if options.move is None else options.move
    return game.replay(options.move).reopened(), f"Move {number}"


def _rows(ownership: Any, size: int) -> list[list[float]]:
    from landmark.go.rules.geometry import point_at

    return [
        [round(float(ownership[point_at(row, column)]), 3) for column in range(size)]
        for row in range(size)
    ]


def table(record: NetworkView) -> list[str]:
    network = "" if record.win_rate is None else f"network {100 * record.win_rate:.1f} %, "
    score = "" if record.score is None else f", score {record.score:+.1f}"
    lines = [
        f"{record.board.title}, {record.colour} to move",
        f"win rate: {network}search {100 * record.searched:.1f} %{score}",
        f"{'move':>6} {'policy':>9} {'visits':>9}",
    ]
    best = sorted(record.visits, key=lambda move: -record.visits[move])[:_SHOWN]
    for move in best:
        policy = 100 * record.policy.get(move, 0)
        lines.append(f"{move:>6} {policy:7.1f} % {100 * record.visits[move]:7.1f} %")
    return [*lines, f"principal variation: {' '.join(record.variation)}"]


def draw(record: NetworkView) -> "Figure":
    import dataclasses

    inches = 0.3 * record.board.size + 1.2
    figure, grid = style.panels(columns=3, size=(inches, inches + 0.3))
    plain = dataclasses.replace(record.board, ownership=None)
    for axes, shares, name in (
        (grid[0, 0], record.policy, "policy"),
        (grid[0, 1], record.visits, f"visits of {record.simulations}"),
    ):
        draw_board(axes, plain)
        _mark_moves(axes, shares, record.board.size)
        style.title(axes, f"{record.board.title}, {record.colour}: {name}, %")
    draw_board(grid[0, 2], record.board if record.board.ownership else plain)
    score = "" if record.score is None else f", {record.colour} {record.score:+.1f}"
    style.title(grid[0, 2], f"ownership{score}")
    return figure


def _mark_moves(axes: "Axes", shares: dict[str, float], size: int) -> None:
    """Percentages on discs that are the darker the larger they are."""
    from matplotlib.patches import Circle

    from landmark.go.rules.geometry import PASS, column_of, parse_vertex, row_of

    most = max(shares.values(), default=1.0)
    for move, share in shares.items():
        point = parse_vertex(move, size)
        if share < _LEAST or point in (None, PASS):
            continue
        row, column = row_of(point), column_of(point)
        opacity = 0.25 + 0.75 * share / most
        disc = Circle((column, row), 0.44, color=style.COLOURS[0], alpha=opacity, zorder=4)
        axes.add_patch(disc)
        text = f"{100 * share:.0f}"
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color="white", zorder=5)
