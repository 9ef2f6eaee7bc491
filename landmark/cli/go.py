"""`landmark go`: play Go, analyse games, and let programs play each other."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.help import App
from landmark.cli.options import Json
from landmark.core.errors import UserError

if TYPE_CHECKING:
    from landmark.go.match.game import GameOutcome
    from landmark.go.player import Player
    from landmark.go.search.searcher import Limit

app = App(help="Play Go, review games, play matches between programs, speak GTP.")

Simulations = Annotated[int | None, typer.Option(min=1, max=10**9, help="Simulations per move.")]
Seconds = Annotated[float | None, typer.Option(min=0.01, max=86_400, help="Seconds per move.")]
SearchThreads = Annotated[
    int, typer.Option("--threads", min=1, max=64, help="Search threads, each with its own tree.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**62, help="Random seed.")]
Size = Annotated[int, typer.Option(min=2, max=19, help="Board size.")]
Komi = Annotated[float, typer.Option(min=-400, max=400, help="Points added to White's score.")]
Settings = Annotated[
    list[str] | None,
    typer.Argument(
        help="Search settings, as rave=1000 or playouts.patterns=0.", metavar="[SETTING=VALUE]..."
    ),
]
USUAL_SECONDS = 2.0


def _prepare() -> None:
    """Refuse to go on without numba, and say once that its first compilation takes a while."""
    try:
        from landmark.go.compilation import cached_files
    except ModuleNotFoundError as error:
        if error.name not in ("numba", "llvmlite"):
            raise
        raise UserError("Go needs numba: pip install 'landmark[go]'") from None
    if not cached_files():
        print("compiling the Go engine; this is done once and takes a minute", file=sys.stderr)


def _player(
    settings: list[str] | None,
    simulations: int | None,
    seconds: float | None,
    threads: int,
    seed: int,
) -> "tuple[Player, Limit]":
    """A player with these settings, and the limit of its searches."""
    _prepare()
    from landmark.core.configuration import Provenance, build, override
    from landmark.go.player import Player
    from landmark.go.search.parameters import SearchSettings
    from landmark.go.search.searcher import Limit, Searcher

    origin = Provenance("the command line")
    values = override({"threads": threads, "seed": seed}, settings or [], origin)
    if simulations is None and seconds is None:
        seconds = USUAL_SECONDS
    limit = Limit(simulations=simulations, seconds=seconds)
    return Player(Searcher(build(SearchSettings, values, origin))), limit


@app.command()
def gtp(
    settings: Settings = None,
    simulations: Simulations = None,
    seconds: Seconds = None,
    threads: SearchThreads = 1,
    seed: Seed = 1,
    size: Size = 9,
    komi: Komi = 7.0,
) -> None:
    """Speak the Go Text Protocol on stdin and stdout, for Sabaki, GoGui, KGS or CGOS.

    Time settings that the controller sends replace --seconds.
    """
    player, limit = _player(settings, simulations, seconds, threads, seed)
    from landmark.go.gtp.program import StreamLines, open_streams, serve
    from landmark.go.gtp.session import Session

    open_streams(sys.stdin, sys.stdout)
    serve(Session(player, limit, size, komi), StreamLines(sys.stdin), sys.stdout)


@app.command()
def match(
    first: Annotated[
        str,
        typer.Argument(
            help="landmark:10000 (simulations), landmark:2s,threads=2 (seconds, settings), "
            "gnugo:10 (its level), or a GTP program's command line."
        ),
    ],
    second: Annotated[str, typer.Argument(help="The other player.")],
    games: Annotated[int, typer.Option(min=1, max=100_000, help="Number of games.")] = 100,
    size: Size = 9,
    komi: Komi = 7.0,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Games to play in parallel.")] = 1,
    seed: Seed = 1,
    referee: Annotated[
        str | None,
        typer.Option(
            help="Scorer of finished games: gnugo or landmark. Default: gnugo if it plays."
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=1, max=86_400, help="Seconds a GTP program may take for a move.")
    ] = 120.0,
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder for the games; the same command resumes an unfinished match."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Play a match between two programs: each opening twice, with colours swapped."""
    _prepare()
    from landmark.go.match.contestant import parse_contestant
    from landmark.go.match.match import MatchTerms, hold_match

    players = parse_contestant(first), parse_contestant(second)
    if referee not in (None, "gnugo", "landmark"):
        raise UserError(f"--referee {referee}: gnugo or landmark")
    uses_gnu_go = referee == "gnugo" or (referee is None and any(p.is_gnu_go for p in players))
    terms = MatchTerms(*players, games, size, komi, seed, timeout, uses_gnu_go)
    place = folder or Path("matches") / _folder_name(first, second)
    result = hold_match(terms, place, jobs, _report_game)
    if as_json:
        print(json.dumps(result.json()))
    else:
        print(*result.lines(), sep="\n")


def _folder_name(first: str, second: str) -> str:
    words = f"{first}-{second}"
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in words)[:100].strip("-.")


def _report_game(outcome: "GameOutcome", done: int, total: int) -> None:
    winner = {1: "won by the first", 2: "won by the second"}.get(outcome.winner, outcome.ending)
    winner = "drawn" if outcome.ending == "score" and not outcome.winner else winner
    print(
        f"game {outcome.number + 1}: {outcome.result}, {winner} ({done}/{total})", file=sys.stderr
    )


@app.command()
def play(
    settings: Settings = None,
    colour: Annotated[str, typer.Option(help="Your colour: black or white.")] = "black",
    size: Size = 9,
    komi: Komi = 7.0,
    handicap: Annotated[
        int, typer.Option(min=0, max=9, help="Black's handicap stones, 2 to 9.")
    ] = 0,
    simulations: Simulations = None,
    seconds: Seconds = None,
    threads: SearchThreads = 1,
    seed: Seed = 1,
) -> None:
    """Play against the program in the terminal."""
    from landmark.go.rules.geometry import BLACK, WHITE

    sides = {"black": BLACK, "b": BLACK, "white": WHITE, "w": WHITE}
    if colour.lower() not in sides:
        raise UserError(f"--colour {colour}: black or white")
    player, limit = _player(settings, simulations, seconds, threads, seed)
    from landmark.go.rules.handicap import handicap_points, most_handicap
    from landmark.go.rules.position import Position
    from landmark.go.terminal import TerminalGame

    position = Position(size, komi)
    if handicap:
        if not 2 <= handicap <= most_handicap(size):
            raise UserError(f"--handicap {handicap}: a {size}x{size} board takes 2 to "
                            f"{most_handicap(size)}")  # fmt: skip
        position.place_handicap(handicap_points(size, handicap))

    def ask(prompt: str) -> str | None:
        print(prompt, end="", flush=True)
        return sys.stdin.readline() or None

    TerminalGame(position, player, limit, sides[colour.lower()], ask, print).play()


@app.command()
def review(
    game: Annotated[Path, typer.Argument(help="SGF file; its first game is reviewed.")],
    settings: Settings = None,
    simulations: Annotated[
        int, typer.Option(min=1, max=10**8, help="Simulations per move.")
    ] = 2000,
    threads: SearchThreads = 1,
    seed: Seed = 1,
    figure: Annotated[Path | None, typer.Option(help="Plot the win rate to this file.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Write the game with comments and variations to this SGF file."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the win rate before every move of a game, and what would have been better.

    The analysis is kept beside the game (GAME.review.json) and not computed again.
    """
    from landmark.figures.figure import check_place, save_picture

    if figure is not None:
        check_place(figure)
    player, _ = _player(settings, simulations, None, threads, seed)
    from landmark.core.storage import write_file
    from landmark.go.record.reader import read_game
    from landmark.go.record.writer import write_game
    from landmark.go.review import review_game

    found = read_game(game)

    def report(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\rmove {done} of {total}", end="" if done < total else "\n", file=sys.stderr)

    saved = game.with_name(f"{game.stem}.review.json")
    reviewed = review_game(found, player.searcher.settings, simulations, report, saved)
    if output is not None:
        write_file(output, write_game(reviewed.annotated()))
    if figure is not None:
        from landmark.figures.go.review import draw

        save_picture(draw(reviewed), figure)
    print(json.dumps(reviewed.json())) if as_json else print(*reviewed.lines(), sep="\n")
