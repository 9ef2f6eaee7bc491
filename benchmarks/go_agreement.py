"""What the Go program agrees on with other programs, and that nonsense never ends it.

    python benchmarks/go_agreement.py
    python benchmarks/go_agreement.py --only openspiel gnugo-rules --share 0.01

Rules against OpenSpiel (`.venv/peers`, put there by `make test`) and GNU Go (Debian: `gnugo`);
scores with dead stones against GNU Go; 5x5 from the centre, which Black wins by all 25 points
(van der Werf, van den Herik and Uiterwijk 2003, "Solving Go on small boards"); fuzzed lines of GTP
and mutated SGF files. `--share` runs a part of each. The tests call the same functions.
"""

import argparse
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from landmark.core.errors import ItemError
from landmark.go.gtp.controller import Controller
from landmark.go.gtp.protocol import parse_command
from landmark.go.match.contestant import find_gnu_go
from landmark.go.match.referee import gnu_go_count, own_count
from landmark.go.player import Player, PlayerSettings
from landmark.go.record.reader import RawGame, parse_game, split_games
from landmark.go.record.writer import record_of, write_game
from landmark.go.rules.geometry import (
    BLACK,
    COLOUR_NAMES,
    PASS,
    WHITE,
    column_of,
    parse_vertex,
    point_at,
    points_of,
    row_of,
    vertex,
)
from landmark.go.rules.position import Position, result_text
from landmark.go.search.parameters import SearchSettings
from landmark.go.search.searcher import Limit, Searcher

PEERS = Path(__file__).resolve().parent.parent / ".venv" / "peers"
SIZE = 9


def against_open_spiel(games: int, seed: int = 3) -> Counter[str]:
    """Random games up to the first position that occurs twice; a difference is an AssertionError.

    Compared are the legal moves before every move (OpenSpiel knows simple ko, not superko), and
    the board at the end.
    """
    sys.path.append(str(PEERS))
    try:
        import pyspiel
    finally:
        sys.path.remove(str(PEERS))
    rng, counts = random.Random(seed), Counter[str]()
    game = pyspiel.load_game(f"go(board_size={SIZE},komi=7.0)")
    for _ in range(games):
        counts["positions"] += _game_against_open_spiel(game.new_initial_state(), rng)
        counts["games"] += 1
    return counts


def _game_against_open_spiel(other: Any, rng: random.Random) -> int:
    """One game; the number of its moves."""
    action_of = {p: (SIZE - 1 - row_of(p)) * SIZE + column_of(p) for p in points_of(SIZE)}
    point_of = {action: point for point, action in action_of.items()}
    board = Position(SIZE)
    while not other.is_terminal():
        ours = {action_of[point] for point in board.legal_moves(board.to_move)}
        *theirs, a_pass = other.legal_actions()
        assert ours <= set(theirs), board.diagram()
        for action in set(theirs) - ours:
            fault = board.fault_of(board.to_move, point_of[action])
            assert fault == "superko", f"{fault}\n{board.diagram()}"
        passes = not theirs or rng.random() < 0.01
        action = a_pass if passes else rng.choice(theirs)
        if not passes and action not in ours:
            break
        board.play(board.to_move, PASS if passes else point_of[action])
        other.apply_action(action)
    rows = [line.split()[1] for line in str(other).splitlines()[2:-1] if line.strip()]
    assert "".join(rows).translate(str.maketrans("+XO", "012")) == "".join(
        str(board.colour_at(point_at(row, column))) for row in range(SIZE) for column in range(SIZE)
    ), f"{other}\n{board.diagram()}"
    return board.num_moves


def gnu_go() -> Controller:
    """GNU Go with our rules."""
    return Controller(f"{find_gnu_go()} --mode gtp --level 0 --chinese-rules --positional-superko")


def rules_against_gnu_go(games: int, seed: int = 4) -> Counter[str]:
    """Random games of 120 moves: all legal moves, one move asked by itself, stones captured.

    A difference is an AssertionError.
    """
    rng, counts = random.Random(seed), Counter[str]()
    with gnu_go() as other:
        for _ in range(games):
            board = Position(SIZE)
            for command in (f"boardsize {SIZE}", "clear_board", "komi 7"):
                other.send(command)
            for _ in range(120):
                _move_against_gnu_go(board, other, rng)
                counts["positions"] += 1
            counts["games"] += 1
    return counts


def _move_against_gnu_go(board: Position, other: Controller, rng: random.Random) -> None:
    colour, name = board.to_move, COLOUR_NAMES[board.to_move]
    theirs = set(other.send(f"all_legal {name}").split()) - {"PASS"}
    ours = {vertex(point, SIZE) for point in board.legal_moves(colour)}
    assert ours == theirs, board.diagram()
    asked = rng.choice(points_of(SIZE))
    is_legal = other.send(f"is_legal {name} {vertex(asked, SIZE)}") == "1"
    assert is_legal == board.is_legal(colour, asked), board.diagram()
    played = rng.choice(sorted(ours)) if ours else "pass"
    board.play(colour, _point(played))
    other.send(f"play {name} {played}")
    for taker in (BLACK, WHITE):
        taken = int(other.send(f"captures {COLOUR_NAMES[taker]}"))
        assert taken == board.captured(BLACK + WHITE - taker), board.diagram()


def _point(name: str) -> int:
    point = parse_vertex(name, SIZE)
    assert point is not None
    return point


def play_to_the_end(position: Position, simulations: int, seed: int) -> Position:
    """A game of the program against itself from a position until both pass; nobody resigns."""
    player = Player(Searcher(SearchSettings(seed=seed)), PlayerSettings(resign_below=0.0))
    while not position.is_over:
        point, _ = player.choose(position, Limit(simulations=simulations))
        position.play(position.to_move, point)
    return position


def scores_against_gnu_go(
    games: int, simulations: int = 100
) -> Iterator[tuple[Position, float, float | None]]:
    """Finished games with our score and GNU Go's, both with dead stones taken off."""
    for seed in range(1, games + 1):
        position = play_to_the_end(Position(SIZE), simulations, seed)
        yield position, own_count(position), gnu_go_count(position)


def score_from_the_centre(simulations: int, seed: int) -> float:
    """Black's points minus White's on 5x5 after C3; komi 24, so that White has to live."""
    position = Position(5, komi=24.0)
    position.play(BLACK, point_at(2, 2))
    return own_count(play_to_the_end(position, simulations, seed)) + position.komi


COMMANDS = (
    "play", "play", "play", "genmove", "reg_genmove", "kgs-genmove_cleanup", "undo", "clear_board",
    "boardsize", "komi", "get_komi", "loadsgf", "printsgf", "showboard", "fixed_handicap",
    "place_free_handicap", "set_free_handicap", "gogui-play_sequence", "is_legal", "all_legal",
    "captures", "list_stones", "final_score", "final_status", "final_status_list", "time_settings",
    "time_left", "kgs-time_settings", "kgs-rules", "lz-analyze", "kata-analyze",
    "lz-genmove_analyze", "kata-genmove_analyze", "known_command", "name", "nonsense",
)  # fmt: skip
ARGUMENTS = (
    "b", "w", "black", "D4", "C3", "A1", "B2", "pass", "resign", "Z99", "J10", "-1", "0", "1", "2",
    "3", "9", "19", "0.5", "1e400", "nan", "1000000000000", "²", "é", "\x00", "dead", "alive",
    "seki", "none", "absolute", "byoyomi", "canadian", "chinese", "new_zealand", "interval",
    "avoid", "ownership", "true", "game.sgf", "#", "",
)  # fmt: skip


def fuzzed_line(rng: random.Random) -> bytes:
    """A command with any arguments; one line in four with bytes changed, too."""
    words = [rng.choice(COMMANDS), *rng.choices(ARGUMENTS, k=rng.randint(0, 4))]
    if rng.random() < 0.3:
        words.insert(0, str(rng.randrange(10**6)))
    line = bytearray(" ".join(words), "utf-8")
    if rng.random() < 0.25:
        for _ in range(rng.randint(1, 8)):
            place, times = rng.randint(0, len(line)), 300 if rng.random() < 0.1 else 1
            line[place : place + rng.randrange(2)] = bytes([rng.randrange(256)]) * times
    return bytes(line).replace(b"\n", b"") + b"\n"


def fuzz_gtp(lines: int, seed: int = 1) -> Counter[str]:
    """Send lines to `landmark go gtp`: each command gets one answer, with its number.

    A difference is an AssertionError.
    """
    rng = random.Random(seed)
    sent = [fuzzed_line(rng) for _ in range(lines)]
    commands = [parse_command(line.decode("utf-8", "replace")) for line in sent]
    expected = [command.id for command in commands if command is not None]
    program = [sys.executable, "-m", "landmark", "go", "gtp", "--simulations", "2"]
    done = subprocess.run(
        [*program, "max_nodes=20000"], input=b"".join(sent), capture_output=True, check=False
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr.decode()}"
    answers = done.stdout.decode().split("\n\n")
    assert answers.pop() == "", "the last answer is whole"
    counts = Counter[str](lines=lines)
    for answer in answers:
        counts["accepted" if answer[0] == "=" else "refused"] += 1
    assert [answer.split()[0][1:] for answer in answers] == expected
    assert {answer[0] for answer in answers} <= {"=", "?"}
    return counts


def fuzz_gtp_in_pieces(lines: int, piece: int = 10_000) -> Counter[str]:
    """The same with a process for each piece."""
    counts = Counter[str]()
    for number, begun in enumerate(range(0, lines, piece)):
        counts += fuzz_gtp(min(piece, lines - begun), seed=number + 1)
    return counts


SAMPLES = (
    "(;GM[1]FF[4]CA[UTF-8]SZ[9]KM[6.5]PB[Ann \\] (x]PW[Bea]RE[W+R]C[begin]"
    ";B[ee]C[the centre];W[cc](;B[gc];W[gg])(;B[cg];W[]))",
    "(;SZ[9]HA[2]KM[0.5]RU[Chinese]AB[cg][gc];W[ee];B[tt];W[gg]N[third])",
    "(;SZ[5]AB[aa:ee]AE[ba]AW[ba]PL[W]KM[5,5];W[ab];B[])",
)


def samples() -> list[bytes]:
    """Files to be mutated: several games each, names in several encodings, a long game."""
    texts = [(sample + "\n" + SAMPLES[0]).encode() for sample in SAMPLES]
    named = "(;SZ[9]CA[{0}]PB[井山]PW[Ann];B[ee];W[cc])"
    encoded = [named.format(name).encode(name) for name in ("gb18030", "shift_jis", "utf-8")]
    rng, position = random.Random(0), Position(SIZE)
    for _ in range(60):
        position.play(position.to_move, rng.choice(position.legal_moves(position.to_move)))
    return [*texts, *encoded, write_game(record_of(position, "Ann", "Bea", "B+0.5"))]


def mutate(content: bytes, rng: random.Random) -> bytes:
    """One to six changes: a byte, a deletion, a bracket, a repetition."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(changed) or 1)
        match rng.randrange(4):
            case 0:
                changed[place : place + 1] = bytes([rng.randrange(256)])
            case 1:
                del changed[place : place + rng.randint(1, 20)]
            case 2:
                signs = (b"(", b")", b"[", b"]", b";", b"\\", b"AB", b":", b"SZ[7]")
                changed[place:place] = rng.choice(signs)
            case 3:
                changed[place:place] = changed[: rng.randint(1, 40)]
    return bytes(changed)


def fuzz_sgf(files: int, seed: int = 5) -> Counter[str]:
    """Read mutated files: each game is read, or refused by a line that names its place."""
    rng, originals = random.Random(seed), samples()
    counts = Counter[str]()
    for _ in range(files):
        for raw in split_games(mutate(rng.choice(originals), rng), "mutated"):
            counts[judge(raw)] += 1
        counts["files"] += 1
    return counts


def judge(raw: RawGame) -> str:
    """Whether a game is read; the only other thing that may happen is a line that names it."""
    try:
        for game in parse_game(raw, variations=True):
            game.replay()
    except ItemError as error:
        message = str(error)
    else:
        return "read"
    assert message.startswith(raw.place), message
    return "refused"


def report_scores(games: int) -> str:
    """How many of GNU Go's scores are ours; the others are printed."""
    same, same_winner = 0, 0
    for position, ours, theirs in scores_against_gnu_go(games):
        assert theirs is not None, position.diagram()
        same += ours == theirs
        same_winner += (ours > 0) - (ours < 0) == (theirs > 0) - (theirs < 0)
        if ours != theirs:
            print(f"we: {result_text(ours)}, GNU Go: {result_text(theirs)}", file=sys.stderr)
            print(position.diagram(), file=sys.stderr)
    return f"{same} of {games} scores are GNU Go's, {same_winner} of {games} winners"


def report_centre(games: int) -> str:
    """How often Black wins all of 5x5."""
    scores = [score_from_the_centre(10_000, seed) for seed in range(1, games + 1)]
    return f"B+25 in {scores.count(25.0)} of {games} games from the centre, 10,000 simulations"


def report(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


CHECKS = {
    "gtp": (100_000, lambda count: report(fuzz_gtp_in_pieces(count))),
    "sgf": (5000, lambda count: report(fuzz_sgf(count))),
    "openspiel": (10_000, lambda count: f"{report(against_open_spiel(count))} agree"),
    "gnugo-rules": (200, lambda count: f"{report(rules_against_gnu_go(count))} agree"),
    "gnugo-scores": (200, report_scores),
    "5x5": (20, report_centre),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(CHECKS), default=list(CHECKS))
    parser.add_argument("--share", type=float, default=1.0, help="of the full counts")
    options = parser.parse_args()
    for name in options.only:
        full, check = CHECKS[name]
        begun = time.perf_counter()
        found = check(max(1, round(options.share * full)))
        print(f"{name:13} {found} ({time.perf_counter() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
