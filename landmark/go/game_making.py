"""Games made for learning: one program plays both sides, after random moves that are no examples.

Every game is a line of games.sgf. Its comment says which moves were random (record/sampled.py).
"""

import json
import multiprocessing
import os
import random
import re
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from landmark.core.errors import UserError
from landmark.core.storage import make_folder, write_file
from landmark.go.gtp.controller import ProgramError
from landmark.go.match.contestant import Contestant, ContestantError, ContestantSpec
from landmark.go.match.referee import gnu_go_count, own_count
from landmark.go.player import RESIGN
from landmark.go.record.game import GameRecord, RecordedMove
from landmark.go.record.sampled import sampled_comment
from landmark.go.record.writer import write_game
from landmark.go.rules.geometry import BLACK
from landmark.go.rules.moves import U, is_own_eye
from landmark.go.rules.position import Position, result_text

GAMES, TERMS, LEFT_OUT = "games.sgf", "games.json", "left-out.jsonl"
SHORTEST, LONGEST = 4, 8
"""Random moves that a game begins with."""
_NUMBER = re.compile(r"\bnumber=(\d+)\b")
_MOVES = re.compile(r";[BW]\[[a-s]*\]")
_MOST_TRIES = 3
"""Games played for each that is wanted, at the most: where all are alike, this ends."""


@dataclass(frozen=True)
class GameTerms:
    """How games are made; the folder keeps it, so that only the same work is resumed."""

    engine: ContestantSpec
    size: int = 9
    komi: float = 7.0
    random_share: float = 0.05
    """Probability of a random move after the opening."""
    seed: int = 1
    timeout: float = 120.0

    def json(self) -> dict[str, object]:
        return {
            "engine": self.engine.text,
            "size": self.size,
            "komi": self.komi,
            "random_share": self.random_share,
            "seed": self.seed,
        }


def make_games(
    terms: GameTerms,
    games: int,
    folder: Path,
    jobs: int = 1,
    report: Callable[[str, int], None] = lambda *_: None,
) -> int:
    """Play until the folder has so many different games; how many it has.

    `report` gets each result and the number of games so far.
    """
    _enter(terms, folder)
    lines, tried = _read(folder)
    known = {_key(line) for line in lines}
    todo = (number for number in count() if number not in tried)
    with (
        (folder / GAMES).open("ab") as file,
        (folder / LEFT_OUT).open("a", encoding="utf-8") as left_out,
    ):
        for number, line in _play_all(terms, todo, jobs):
            if _key(line) in known:
                left_out.write(json.dumps({"number": number, "why": "duplicate"}) + "\n")
                left_out.flush()
            elif len(known) < games:
                known.add(_key(line))
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())
                report(_result(line), len(known))
            tried.add(number)
            if len(known) >= games:
                break
            if len(tried) > _MOST_TRIES * games + 100:
                raise UserError(f"{folder}: {len(known)} different games in {len(tried)}: the "
                                "engine repeats itself; raise --random")  # fmt: skip
    return len(known)


def _play_all(terms: GameTerms, numbers: Iterator[int], jobs: int) -> Iterator[tuple[int, bytes]]:
    """Games in the order in which they end, without end; few are begun ahead."""
    if jobs == 1:
        for number in numbers:
            yield number, play_game(terms, number)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        running: dict[Future[bytes], int] = {}
        try:
            while True:
                while len(running) < jobs:
                    number = next(numbers)
                    running[pool.submit(play_game, terms, number)] = number
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def play_game(terms: GameTerms, number: int) -> bytes:
    """One game as a line of SGF; it depends on the terms and its number alone."""
    rng = random.Random(f"{terms.seed}/{number}")
    try:
        contestant = terms.engine.open(rng.randrange(1 << 30), terms.timeout, terms.size)
        try:
            return _play(terms, number, rng, contestant)
        finally:
            contestant.close()
    except (ProgramError, ContestantError) as error:
        raise UserError(f"{terms.engine.text}: {error}; the games so far are kept") from None


def _play(terms: GameTerms, number: int, rng: random.Random, contestant: Contestant) -> bytes:
    position, opening = Position(terms.size, terms.komi), rng.randint(SHORTEST, LONGEST)
    drawn: list[int] = []
    result = ""
    contestant.begin(terms.size, terms.komi)
    while not position.is_over and position.num_moves < 3 * terms.size**2:
        ply, colour = position.num_moves, position.to_move
        is_random = ply < opening or rng.random() < terms.random_share
        choices = _sensible(position) if is_random and not position.state["passes"] else []
        if choices:
            move = rng.choice(choices)
            contestant.told(colour, move)
            drawn.append(ply)
        else:
            move = contestant.choose(position)
        if move == RESIGN:
            result = "W+R" if colour == BLACK else "B+R"
            break
        if move < 0 or not position.is_legal(colour, move):
            raise ContestantError(f"an illegal move in game {number}, after {ply} moves")
        position.play(colour, move)
    return _sgf(terms, number, position, drawn, result or result_text(_count(terms, position)))


def _sensible(position: Position) -> list[int]:
    """Legal moves that fill no own eye."""
    colour = position.to_move
    return [
        point
        for point in position.legal_moves(colour)
        if not is_own_eye(position.state, U(point), U(colour))
    ]


def _count(terms: GameTerms, position: Position) -> float:
    score = gnu_go_count(position) if terms.engine.is_gnu_go else None
    return own_count(position) if score is None else score


def _sgf(terms: GameTerms, number: int, position: Position, drawn: list[int], result: str) -> bytes:
    opening = next((k for k, ply in enumerate(drawn) if k != ply), len(drawn))
    game = GameRecord(
        size=terms.size,
        komi=terms.komi,
        moves=tuple(RecordedMove(*move) for move in position.moves),
        black=terms.engine.text,
        white=terms.engine.text,
        result=result,
        rules="Chinese",
        game_comment=f"{sampled_comment(opening, drawn[opening:])} number={number}",
    )
    return write_game(game).replace(b"\n", b"")


def _key(line: bytes) -> str:
    """The moves of a game."""
    return "".join(_MOVES.findall(line.decode("utf-8", "replace")))


def _result(line: bytes) -> str:
    found = re.search(rb"RE\[([^]]*)\]", line)
    return found[1].decode() if found else ""


def _enter(terms: GameTerms, folder: Path) -> None:
    """Make the folder, or check that its games were made in the same way."""
    make_folder(folder)
    path, now = folder / TERMS, terms.json()
    if not path.exists():
        write_file(path, json.dumps(now, indent=1).encode())
        return
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        other = next((key for key in now if before.get(key) != now[key]), None)
    except (ValueError, AttributeError):
        raise UserError(f"{path}: damaged; choose another folder") from None
    if other is not None:
        raise UserError(f"{folder} holds games of another kind ({other} was {before.get(other)}): "
                        "choose another folder")  # fmt: skip


def _read(folder: Path) -> tuple[list[bytes], set[int]]:
    """The whole lines of the games so far, and the numbers that need not be played again.

    A line that a kill has cut is dropped.
    """
    path = folder / GAMES
    tried: set[int] = set()
    content = path.read_bytes() if path.exists() else b""
    lines = [line for line in content.splitlines() if line.endswith(b")")]
    if content and content != b"".join(line + b"\n" for line in lines):
        write_file(path, b"".join(line + b"\n" for line in lines))
    for line in lines:
        found = _NUMBER.search(line.decode("utf-8", "replace"))
        tried |= {int(found[1])} if found else set()
    if (folder / LEFT_OUT).exists():
        for text in (folder / LEFT_OUT).read_text(encoding="utf-8").splitlines():
            found = re.match(r'\{"number": (\d+),', text)
            tried |= {int(found[1])} if found else set()
    return lines, tried
