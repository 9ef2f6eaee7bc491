"""Players of Go on one scale of Elo, from all matches of a folder: figure 4a of AlphaGo's paper."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from landmark.core.configuration import Positional, settings
from landmark.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@settings
class Options:
    """Options of `landmark figure go-ladder`."""

    folder: Annotated[Path, Positional("FOLDER")]
    """Folder with the folders of matches."""
    anchor: str | None = None
    """Player whose rating is 0, as gnugo:0; default: the weakest."""
    output: Path | None = Path("go-ladder.png")
    """Output file."""


@dataclass(frozen=True)
class LadderView:
    """Players, the strongest first, with Elo and 95 % interval."""

    players: list[str]
    ratings: list[tuple[float, float, float]]
    games: list[int]

    def json(self) -> dict[str, Any]:
        return {"players": self.players, "ratings": self.ratings, "games": self.games}


def compute(options: Options, report: Any = None) -> LadderView:
    from landmark.go.match.ladder import rate, read_meetings

    ladder = rate(read_meetings(options.folder), options.anchor)
    ratings = [(each.elo, each.low, each.high) for each in ladder.ratings]
    return LadderView(list(ladder.players), ratings, list(ladder.games))


def table(record: LadderView) -> list[str]:
    width = max(len("player"), *map(len, record.players))
    lines = [f"{'player':{width}} {'Elo':>6} {'95 %':>15} {'games':>6}"]
    for name, (elo, low, high), games in zip(
        record.players, record.ratings, record.games, strict=True
    ):
        interval = f"{low:+.0f} to {high:+.0f}" if high > low else "fixed"
        lines.append(f"{name:{width}} {elo:+6.0f} {interval:>15} {games:6}")
    return lines


def draw(record: LadderView) -> "Figure":
    figure, grid = style.panels(size=(6.4, 0.42 * len(record.players) + 1.3))
    axes = grid[0, 0]
    places = range(len(record.players))
    values = [elo for elo, _, _ in record.ratings]
    errors = [[elo - low for elo, low, _ in record.ratings],
              [high - elo for elo, _, high in record.ratings]]  # fmt: skip
    axes.barh(places, values, xerr=errors, color=style.COLOURS[0], ecolor="0.35", capsize=3)
    axes.set_yticks(places, record.players)
    axes.invert_yaxis()
    axes.set_xlabel("Elo, with 95 % intervals")
    style.title(axes, f"{len(record.players)} players, {sum(record.games) // 2} games")
    return figure
