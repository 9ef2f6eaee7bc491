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
    from landmark.go.network.evaluator import TrainedNetwork
    from landmark.go.network.source import NetworkSource
    from landmark.go.player import Player
    from landmark.go.search.parameters import SearchSettings
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
Network = Annotated[
    Path | None,
    typer.Option(
        help="Run of a Go network that leads the search; value_network=RUN among the settings "
        "judges results in its place."
    ),
]
PolicyOnly = Annotated[
    bool, typer.Option("--policy-only", help="Play by the network's policy, without a search.")
]
USUAL_SECONDS = 2.0


def _prepare() -> None:
    """Refuse to go on without numba, and say once that its first compilation takes a while."""
    from landmark.go.compilation import cached_files

    if not cached_files():
        print("compiling the Go engine; this is done once and takes a minute", file=sys.stderr)


def open_network(path: Path) -> "TrainedNetwork":
    """The Go network of a run, of any task that has one."""
    from importlib import import_module

    from landmark.engine.run import Run
    from landmark.tasks.card import CARDS
    from landmark.tasks.training import load_config

    card = CARDS[load_config(Run.open(path)).task]
    module = import_module((card.open or card.task).partition(":")[0])
    if not hasattr(module, "open_network"):
        raise UserError(f"{path}: is a run of task {card.name!r}, no Go network")
    network: TrainedNetwork = module.open_network(path)
    return network


def _searched(
    settings: list[str] | None, threads: int, seed: int, network: Path | None
) -> "tuple[SearchSettings, NetworkSource | None]":
    """How positions are searched, and with which network."""
    _prepare()
    from landmark.core.configuration import Provenance
    from landmark.go.network.source import search_settings, take_source

    place = "the command line"
    named = [] if network is None else [f"network={network}"]
    source, others = take_source([*(settings or []), *named], open_network, place)
    values = {"threads": threads, "seed": seed}
    return search_settings(others, source, Provenance(place), values), source


def _player(
    settings: list[str] | None,
    simulations: int | None,
    seconds: float | None,
    threads: int,
    seed: int,
    size: int,
    network: Path | None,
    policy_only: bool,
) -> "tuple[Player, Limit]":
    """A player with these settings, and the limit of its searches."""
    searched, source = _searched(settings, threads, seed, network)
    from landmark.go.network.policy import PolicyPlayer
    from landmark.go.network.source import open_searcher
    from landmark.go.player import Player
    from landmark.go.search.searcher import Limit

    if simulations is None and seconds is None:
        seconds = USUAL_SECONDS
    limit = Limit(simulations=simulations, seconds=seconds)
    if not policy_only:
        return Player(open_searcher(searched, source, size)), limit
    if source is None:
        raise UserError("--policy-only: name the network by --network RUN")
    source.check(size)
    return PolicyPlayer(source.evaluator(), seed=seed), limit


@app.command()
def gtp(
    settings: Settings = None,
    simulations: Simulations = None,
    seconds: Seconds = None,
    threads: SearchThreads = 1,
    seed: Seed = 1,
    size: Size = 9,
    komi: Komi = 7.0,
    network: Network = None,
    policy_only: PolicyOnly = False,
) -> None:
    """Speak the Go Text Protocol on stdin and stdout, for Sabaki, GoGui, KGS or CGOS.

    Time settings that the controller sends replace --seconds.
    """
    player, limit = _player(
        settings, simulations, seconds, threads, seed, size, network, policy_only
    )
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
            "landmark:1s,network=RUN (led by a network), policy:RUN (a network without a search), "
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

    players = parse_contestant(first, open_network), parse_contestant(second, open_network)
    for player in players:
        player.check(size)
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


@app.command()
def games(
    folder: Annotated[
        Path, typer.Option(help="Folder for games.sgf; the same command goes on where it was.")
    ],
    engine: Annotated[
        str,
        typer.Option(help="Who plays: landmark:1000, gnugo:10, or a GTP program's command line."),
    ] = "landmark:1000",
    count: Annotated[
        int, typer.Option("--games", min=1, max=1_000_000, help="Number of games.")
    ] = 1000,
    size: Size = 9,
    komi: Komi = 7.0,
    random: Annotated[
        float,
        typer.Option(
            min=0, max=0.5, help="Share of random moves after the opening; never targets."
        ),
    ] = 0.05,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Games at the same time.")] = 1,
    seed: Seed = 1,
    timeout: Annotated[
        float, typer.Option(min=1, max=86_400, help="Seconds a GTP program has for a move.")
    ] = 120.0,
) -> None:
    """Make games to learn from: one program plays both sides, after 4 to 8 random moves."""
    _prepare()
    from landmark.go.game_making import GAMES, GameTerms, make_games
    from landmark.go.match.contestant import parse_contestant

    terms = GameTerms(parse_contestant(engine), size, komi, random, seed, timeout)

    def report(result: str, done: int) -> None:
        print(f"game {done} of {count}: {result}", file=sys.stderr)

    found = make_games(terms, count, folder, jobs, report)
    print(f"{found} games in {folder / GAMES}")


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
    network: Network = None,
    policy_only: PolicyOnly = False,
) -> None:
    """Play against the program in the terminal."""
    from landmark.go.rules.geometry import BLACK, WHITE

    sides = {"black": BLACK, "b": BLACK, "white": WHITE, "w": WHITE}
    if colour.lower() not in sides:
        raise UserError(f"--colour {colour}: black or white")
    player, limit = _player(
        settings, simulations, seconds, threads, seed, size, network, policy_only
    )
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
    network: Network = None,
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
    searched, source = _searched(settings, threads, seed, network)
    from landmark.core.storage import write_file
    from landmark.go.record.reader import read_game
    from landmark.go.record.writer import write_game
    from landmark.go.review import review_game

    found = read_game(game)

    def report(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\rmove {done} of {total}", end="" if done < total else "\n", file=sys.stderr)

    saved = game.with_name(f"{game.stem}.review.json")
    reviewed = review_game(found, searched, simulations, report, saved, source)
    if output is not None:
        write_file(output, write_game(reviewed.annotated()))
    if figure is not None:
        from landmark.figures.go.review import draw

        save_picture(draw(reviewed), figure)
    print(json.dumps(reviewed.json())) if as_json else print(*reviewed.lines(), sep="\n")


@app.command()
def learn(
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="Settings of every stage, as threads=1.", metavar="[SETTING=VALUE]..."),
    ] = None,
    folder: Annotated[Path, typer.Option(help="Folder for the runs, one for each stage.")] = Path(
        "runs/alphago"
    ),
    stage: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this stage: expert, rollout, reinforce, value, self-play. Repeatable."
        ),
    ] = None,
    games: Annotated[
        Path | None, typer.Option(help="Your games: an SGF file, or a folder of them.")
    ] = None,
) -> int:
    """Train AlphaGo stage by stage: expert games, rollouts, reinforcement, value, self-play.

    The same command goes on where it was stopped; finished stages are not trained again.
    """
    _prepare()
    from landmark.cli.training import run_training
    from landmark.tasks.go.options import GoDataOptions
    from landmark.tasks.go.stages import beginning, chosen_stages, is_finished, train_rollouts

    own = [
        f"{key}={json.dumps(value)}"
        for key, value in GoDataOptions(games=games).overrides().items()
    ]
    for each in chosen_stages(stage or []):
        run = folder / each.name
        if is_finished(run):
            print(f"{run}: finished", file=sys.stderr)
            continue
        print(f"stage {each.name}: {each.what}", file=sys.stderr)
        if each.recipe is None:
            print(train_rollouts(folder, lambda note: print(note["text"], file=sys.stderr)))
            continue
        overrides = [*own, *beginning(each, folder), *(settings or [])]
        resume = "auto" if run.exists() else None
        if code := run_training(each.recipe, run, overrides, resume):
            return code
    return 0
