"""Reviewing a game: the win rate before and after every move, and what would have been better."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from landmark.core.storage import write_file
from landmark.go.network.source import NetworkSource, open_searcher
from landmark.go.player import Player
from landmark.go.record.game import GameRecord, RecordedMove, play_recorded
from landmark.go.rules.geometry import BLACK, COLOUR_NAMES, opponent, vertex
from landmark.go.rules.position import Move, Position
from landmark.go.search.parameters import SearchSettings
from landmark.go.search.searcher import Limit

_WORTH_A_VARIATION = 0.1
"""Loss of win rate from which a better move is written as a variation."""
_FORMAT = 1


@dataclass(frozen=True)
class ReviewedMove:
    """One move of the game, and what a search says of the position before it."""

    number: int
    colour: int
    played: int
    best: int
    best_rate: float
    """Win rate of the colour that moves, by the best move."""
    played_rate: float
    """By the move that was played: the search of the next position, or of this one at the end."""
    score: float
    """Mean score of the playouts before the move, Black's."""
    variation: tuple[int, ...]
    """The most visited sequence from the position before the move."""

    @property
    def loss(self) -> float:
        """Win rate that the move gave away."""
        return max(0.0, self.best_rate - self.played_rate)

    @property
    def black_rate(self) -> float:
        """Black's win rate before the move."""
        return self.best_rate if self.colour == BLACK else 1 - self.best_rate


@dataclass(frozen=True)
class Review:
    """All moves of a game, reviewed."""

    game: GameRecord
    moves: tuple[ReviewedMove, ...]
    simulations: int

    def json(self) -> dict[str, Any]:
        size = self.game.size
        return {
            "black": self.game.black,
            "white": self.game.white,
            "result": self.game.result,
            "simulations": self.simulations,
            "moves": [
                {
                    "number": move.number,
                    "colour": COLOUR_NAMES[move.colour],
                    "played": vertex(move.played, size),
                    "best": vertex(move.best, size),
                    "black_win_rate": round(move.black_rate, 4),
                    "loss": round(move.loss, 4),
                    "score": round(move.score, 2),
                    "variation": [vertex(point, size) for point in move.variation],
                }
                for move in self.moves
            ],
        }

    def worst(self, count: int = 5) -> list[ReviewedMove]:
        """The moves that lost most win rate, the worst first."""
        losing = [move for move in self.moves if move.loss >= _WORTH_A_VARIATION]
        return sorted(losing, key=lambda move: -move.loss)[:count]

    def lines(self) -> list[str]:
        size = self.game.size
        rows = ["move  colour  played  best   Black wins  win rate lost  score"]
        rows += [
            f"{m.number:4}  {COLOUR_NAMES[m.colour]:6}  {vertex(m.played, size):6}  "
            f"{vertex(m.best, size):5}  {100 * m.black_rate:9.1f}%  {100 * m.loss:12.1f}%  "
            f"{m.score:+.1f}"
            for m in self.moves
        ]
        return rows

    def annotated(self) -> GameRecord:
        """The game with a comment beside every move, and better moves as variations."""
        size = self.game.size
        moves = []
        for recorded, reviewed in zip(self.game.moves, self.moves, strict=True):
            rate = f"Black wins {100 * self._after(reviewed):.1f} % after this move."
            comment = f"{recorded.comment}\n{rate}".strip()
            is_better = reviewed.loss >= _WORTH_A_VARIATION and reviewed.best != reviewed.played
            if not is_better:
                moves.append(replace(recorded, comment=comment))
                continue
            comment += (
                f"\n{vertex(reviewed.best, size)} was better: this move loses "
                f"{100 * reviewed.loss:.1f} % win rate."
            )
            moves.append(
                replace(
                    recorded,
                    comment=comment,
                    variations=(_alternate(reviewed),),
                    variation_comments=(f"Win rate {100 * reviewed.best_rate:.1f} %.",),
                )
            )
        return replace(self.game, moves=tuple(moves))

    @staticmethod
    def _after(move: ReviewedMove) -> float:
        return move.played_rate if move.colour == BLACK else 1 - move.played_rate


def _alternate(move: ReviewedMove) -> tuple[Move, ...]:
    colours = (move.colour, opponent(move.colour))
    return tuple(Move(colours[k % 2], point) for k, point in enumerate(move.variation))


def review_game(
    game: GameRecord,
    settings: SearchSettings,
    simulations: int,
    report: Callable[[int, int], None] = lambda done, total: None,
    saved: Path | None = None,
    source: NetworkSource | None = None,
) -> Review:
    """Search before every move. What `saved` holds of the same game and settings is used again."""
    key = _digest(game, settings, simulations, source)
    if saved is not None and (known := _read_saved(saved, key)) is not None:
        return Review(game, known, simulations)
    player = Player(open_searcher(settings, source, game.size))
    position = game.start()
    found: list[ReviewedMove] = []
    for number, move in enumerate(game.moves, 1):
        position.give_turn(move.colour)
        found.append(_review_move(player, position, number, move, simulations))
        play_recorded(position, move, game, number)
        report(number, len(game.moves))
    reviewed = tuple(_with_next(found))
    if saved is not None:
        body = {"format": _FORMAT, "key": key, "moves": [asdict(move) for move in reviewed]}
        write_file(saved, json.dumps(body).encode())
    return Review(game, reviewed, simulations)


def _review_move(
    player: Player, position: Position, number: int, move: RecordedMove, simulations: int
) -> ReviewedMove:
    result = player.analyse(position, Limit(simulations=simulations))
    rates = {one.point: one.win_rate for one in result.moves if one.visits}
    best = result.moves[0]
    played_rate = rates.get(move.point, result.win_rate)
    return ReviewedMove(
        number, move.colour, move.point, best.point, best.win_rate, played_rate,
        result.score, best.variation,
    )  # fmt: skip


def _with_next(found: list[ReviewedMove]) -> list[ReviewedMove]:
    """A move is as good as the position after it, which was searched with all simulations."""
    moves = []
    for move, following in zip(found, [*found[1:], None], strict=False):
        if following is not None and following.colour != move.colour:
            move = replace(move, played_rate=1 - following.best_rate)
        moves.append(move)
    return moves


def _digest(
    game: GameRecord, settings: SearchSettings, simulations: int, source: NetworkSource | None
) -> str:
    moves = [(move.colour, move.point) for move in game.moves]
    setup = (game.size, game.komi, game.handicap, game.black_stones, game.white_stones)
    network = source and source.evaluator().fingerprint()
    text = json.dumps([setup, moves, asdict(settings), simulations, network])
    return hashlib.sha256(text.encode()).hexdigest()


def _read_saved(path: Path, key: str) -> tuple[ReviewedMove, ...] | None:
    """None: nothing is saved there, or of another game or other settings."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["format"] != _FORMAT or body["key"] != key:
            return None
        return tuple(
            ReviewedMove(**{**move, "variation": tuple(move["variation"])})
            for move in body["moves"]
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None
