"""A match: games in pairs from the same opening, on several processes, resumable."""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.core.storage import make_folder, write_file
from landmark.go.match.contestant import ContestantSpec
from landmark.go.match.game import GameOutcome, GameTask, play_game
from landmark.go.match.opening import openings
from landmark.go.match.rating import difference, wilson
from landmark.go.record.game import GameRecord, RecordedMove
from landmark.go.record.writer import write_game
from landmark.go.rules.geometry import BLACK, WHITE, parse_vertex

GAMES_FILE, TERMS_FILE = "games.jsonl", "match.json"
Report = Callable[[GameOutcome, int, int], None]


@dataclass(frozen=True)
class MatchTerms:
    """What a match is; its folder keeps it, so that only the same match is resumed."""

    first: ContestantSpec
    second: ContestantSpec
    games: int = 100
    size: int = 9
    komi: float = 7.0
    seed: int = 1
    timeout: float = 120.0
    uses_gnu_go: bool = False

    def json(self) -> dict[str, Any]:
        return {
            "first": self.first.text,
            "second": self.second.text,
            **self._networks(),
            "size": self.size,
            "komi": self.komi,
            "seed": self.seed,
            "referee": "gnugo" if self.uses_gnu_go else "landmark",
        }

    def _networks(self) -> dict[str, str]:
        """Digests of the networks that play: a run that was trained on is another player."""
        specs = {"first_network": self.first, "second_network": self.second}
        return {
            name: spec.source.evaluator().fingerprint()[:16]
            for name, spec in specs.items()
            if spec.source is not None
        }

    def tasks(self) -> list[GameTask]:
        """Games 2k and 2k + 1 have the same opening and exchanged colours; each its own seed."""
        lines = openings(self.size)
        return [
            GameTask(
                number,
                self.first,
                self.second,
                number % 2 == 0,
                lines[number // 2 % len(lines)],
                self.size,
                self.komi,
                self.seed * 100_000 + number,
                self.timeout,
                self.uses_gnu_go,
            )
            for number in range(self.games)
        ]


def hold_match(
    terms: MatchTerms, folder: Path, jobs: int = 1, report: Report = lambda *_: None
) -> "MatchResult":
    """Play the games that the folder does not have yet; each is kept as soon as it is over."""
    _enter(terms, folder)
    done = {outcome.number: outcome for outcome in read_outcomes(folder)}
    tasks = [task for task in terms.tasks() if task.number not in done]
    with (folder / GAMES_FILE).open("a", encoding="utf-8") as file:
        for outcome in _play_all(tasks, jobs):
            _keep_sgf(terms, folder, outcome)
            file.write(json.dumps(outcome.json()) + "\n")
            file.flush()
            os.fsync(file.fileno())
            done[outcome.number] = outcome
            report(outcome, len(done), terms.games)
    return MatchResult(terms, [done[k] for k in sorted(done) if k < terms.games], folder)


def _play_all(tasks: list[GameTask], jobs: int) -> Iterator[GameOutcome]:
    if jobs == 1:
        yield from map(play_game, tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        waiting = [pool.submit(play_game, task) for task in tasks]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _enter(terms: MatchTerms, folder: Path) -> None:
    """Make the folder, or check that it is of the same match."""
    make_folder(folder)
    path, now = folder / TERMS_FILE, terms.json()
    if path.exists():
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise UserError(f"{path}: damaged; choose another folder") from None
        if before != now:
            other = next((key for key in now if before.get(key) != now[key]), "game")
            raise UserError(
                f"{folder} holds another match ({other} was {before.get(other)}): "
                "choose another folder"
            )
    else:
        write_file(path, json.dumps(now, indent=1).encode())


def read_outcomes(folder: Path) -> list[GameOutcome]:
    """The games of a folder; a line that a kill has cut is left out and played again."""
    path = folder / GAMES_FILE
    if not path.exists():
        return []
    found = []
    whole = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            values = json.loads(line)
            found.append(GameOutcome(**{**values, "seconds": tuple(values["seconds"])}))
        except (ValueError, TypeError, KeyError):
            continue
        whole.append(line)
    write_file(path, "".join(f"{line}\n" for line in whole).encode())
    return found


def _keep_sgf(terms: MatchTerms, folder: Path, outcome: GameOutcome) -> None:
    points = [parse_vertex(name, terms.size) for name in outcome.moves.split()]
    moves = tuple(
        RecordedMove(WHITE if number % 2 else BLACK, point)
        for number, point in enumerate(points)
        if point is not None
    )
    names = [terms.first.text, terms.second.text]
    black, white = names if outcome.first_is_black else names[::-1]
    game = GameRecord(
        size=terms.size, komi=terms.komi, moves=moves, black=black, white=white,
        result=outcome.result, rules="Chinese",
    )  # fmt: skip
    write_file(folder / f"game-{outcome.number + 1:03}.sgf", write_game(game))


@dataclass(frozen=True)
class MatchResult:
    """Games, wins and Elo, seen from the first player."""

    terms: MatchTerms
    outcomes: list[GameOutcome]
    folder: Path

    def json(self) -> dict[str, Any]:
        counted = [outcome for outcome in self.outcomes if outcome.ending != "void"]
        won = sum(outcome.winner == 1 for outcome in counted)
        lost = sum(outcome.winner == 2 for outcome in counted)
        draws = len(counted) - won - lost
        points = won + draws / 2
        share = points / len(counted) if counted else 0.0
        interval = wilson(points, len(counted)) if counted else (0.0, 1.0)
        elo = difference(points, len(counted) - points)
        endings = [outcome.ending for outcome in self.outcomes]
        return {
            **self.terms.json(),
            "games": len(counted),
            "distinct_games": len({outcome.moves for outcome in counted}),
            "won": won,
            "lost": lost,
            "drawn": draws,
            "share": share,
            "share_95": list(interval),
            "elo": list(elo),
            "as_black": self._wins(counted, black=True),
            "as_white": self._wins(counted, black=False),
            "endings": {ending: endings.count(ending) for ending in sorted(set(endings))},
            "replayed": sum(outcome.attempts > 1 for outcome in self.outcomes),
            "disagreements": [outcome.number + 1 for outcome in counted if outcome.disagrees],
            "folder": str(self.folder),
        }

    @staticmethod
    def _wins(counted: list[GameOutcome], black: bool) -> str:
        games = [outcome for outcome in counted if outcome.first_is_black == black]
        return f"{sum(outcome.winner == 1 for outcome in games)} of {len(games)}"

    def lines(self) -> list[str]:
        facts = self.json()
        low, high = facts["share_95"]
        elo, elo_low, elo_high = facts["elo"]
        endings = ", ".join(f"{count} by {name}" for name, count in facts["endings"].items())
        rows = [
            f"{self.terms.first.text} against {self.terms.second.text}: {facts['won']} won, "
            f"{facts['lost']} lost, {facts['drawn']} drawn of {facts['games']} games "
            f"({facts['distinct_games']} distinct)",
            f"  {100 * facts['share']:.1f} % (95 %: {100 * low:.1f} to {100 * high:.1f}), "
            f"Elo {elo:+.0f} ({elo_low:+.0f} to {elo_high:+.0f})",
            f"  as Black {facts['as_black']}, as White {facts['as_white']}; {endings}",
        ]
        if facts["replayed"]:
            rows.append(f"  {facts['replayed']} replayed after a crash")
        if facts["disagreements"]:
            numbers = ", ".join(map(str, facts["disagreements"]))
            rows.append(f"  referee and our count disagree on who won games {numbers}")
        return [*rows, f"  games in {self.folder}"]
