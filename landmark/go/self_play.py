"""Games that a network plays against itself by small searches, many in step.

Each move is searched by Gumbel planning, whose improved policy is what the network learns. A game
ends when both pass, or as soon as the network is sure of every point's owner; a tenth is played to
the end all the same. Where an ending is called early its points go to their sure owners, otherwise
the board is counted as it stands, nothing dead.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from landmark.go.positions.packed import (
    IS_TARGET,
    OWNERSHIP_KNOWN,
    pack_colours,
    pack_states,
    packed_dtype,
)
from landmark.go.rules.geometry import BLACK, NUM_POINTS, WHITE, points_of
from landmark.go.rules.moves import play
from landmark.go.rules.scoring import mark_area
from landmark.go.rules.state import empty_state
from landmark.go.search.evaluator import Evaluator
from landmark.go.search.gumbel import GumbelBatch, Histories
from landmark.go.self_play_settings import SelfPlaySettings

U = np.uint64
_LENGTH = 3
"""Moves of the longest games, for each point of the board."""


@dataclass(frozen=True)
class PlayedGames:
    """The positions of games with what is to be learnt of them."""

    records: np.ndarray
    """Of packed_dtype; the positions of a game follow one another."""
    policies: np.ndarray
    """(B, A + 1) the search's improved policy, half precision, a pass last."""


class _Game:
    """One game under way."""

    def __init__(self, number: int, seed: int, played_out: float) -> None:
        rng = np.random.default_rng(seed)
        self.number, self.seed = number, seed
        self.ends_early = rng.random() >= played_out
        self.records: list[np.ndarray] = []
        self.policies: list[np.ndarray] = []


def play_against_itself(
    evaluator: Evaluator,
    seeds: list[int],
    size: int,
    komi: float,
    settings: SelfPlaySettings,
    stopping: Callable[[], bool] = lambda: False,
) -> PlayedGames | None:
    """One game for each seed; None if it was told to stop."""
    hall = _Hall(evaluator, seeds, size, komi, settings)
    while hall.is_open:
        if stopping():
            return None
        hall.advance()
    return hall.gather()


class _Hall:
    """Tables at which games are played in step; where one ends, the next begins."""

    def __init__(
        self,
        evaluator: Evaluator,
        seeds: list[int],
        size: int,
        komi: float,
        settings: SelfPlaySettings,
    ) -> None:
        self.evaluator, self.size, self.komi, self.settings = evaluator, size, komi, settings
        tables = min(settings.in_step, len(seeds))
        self.search = GumbelBatch(evaluator, tables, size, komi, settings.search)
        self.states = np.repeat(empty_state(size), tables)
        self.longest = _LENGTH * size * size
        self.histories = Histories(self.states, self.longest + 2)
        self.waiting = [
            _Game(k, seed, settings.played_out) for k, seed in reversed(list(enumerate(seeds)))
        ]
        self.tables: list[_Game | None] = [self.waiting.pop() for _ in range(tables)]
        self.finished: list[_Game] = []
        self.points = np.array(points_of(size))

    @property
    def is_open(self) -> bool:
        return any(game is not None for game in self.tables)

    def advance(self) -> None:
        """A move in every game; those that are over make room. An empty table searches on, its
        result unread, so that all batches have one shape."""
        plies = self.states["num_moves"].astype(np.int64)
        seeds = [
            0 if game is None else (game.seed * 1_000_003 + int(ply)) % (1 << 63)
            for game, ply in zip(self.tables, plies, strict=True)
        ]
        found = self.search.search(self.states, np.array(seeds, np.uint64), self.histories)
        packed = pack_states(self.states, self.size)
        packed["move"] = found.moves
        for table, game in enumerate(self.tables):
            if game is None:
                continue
            game.records.append(packed[table])
            game.policies.append(found.policy[table].astype(np.float16))
            state = self.states[table : table + 1][0]
            play(state, U(found.moves[table]), U(state["to_move"]))
        busy = np.flatnonzero([game is not None for game in self.tables])
        self.histories.add(busy, self.states[busy])
        self._end_games()

    def _end_games(self) -> None:
        """Games that are over, too long, or settled."""
        over: np.ndarray = (self.states["passes"] >= 2) | (self.states["num_moves"] >= self.longest)
        owners = self._settled_owners()
        for table, game in enumerate(self.tables):
            if game is None:
                continue
            sure = owners[table] if owners is not None and game.ends_early else None
            settled = sure if sure is not None and sure.any() else None
            if not over[table] and settled is None:
                continue
            self._finish(game, self.states[table : table + 1], settled)
            self.tables[table] = self.waiting.pop() if self.waiting else None
            self.states[table] = empty_state(self.size)[0]
            self.histories.begin(np.array([table]), self.states[table : table + 1])

    def _settled_owners(self) -> np.ndarray | None:
        """By table and point the colour that owns it, where the network is sure of all points;
        zeros elsewhere. None: it has no opinion."""
        if self.settings.sure >= 1:
            return None
        owned = self.evaluator.evaluate(self.states).ownership
        if owned is None:
            return None
        black = np.where((self.states["to_move"] == BLACK)[:, None], owned, -owned)
        is_sure = np.asarray(np.abs(black[:, self.points]) >= self.settings.sure).all(axis=1)
        owners = np.zeros((len(self.states), NUM_POINTS), np.uint8)
        colours = np.where(black[:, self.points] > 0, BLACK, WHITE)
        owners[:, self.points] = np.where(is_sure.reshape(-1, 1), colours, 0)
        return owners

    def _finish(self, game: _Game, states: np.ndarray, owners: np.ndarray | None) -> None:
        """Write the result into all positions of a game."""
        if owners is None:
            owners = np.zeros(NUM_POINTS, np.uint8)
            balance = mark_area(states[0], np.zeros(NUM_POINTS, np.uint8), owners)
        else:
            balance = int((owners == BLACK).sum()) - int((owners == WHITE).sum())
        records = np.array(game.records, packed_dtype(self.size))
        score = balance - self.komi
        records["game"], records["komi"] = game.number, round(2 * self.komi)
        records["result"] = round(2 * score)
        records["winner"] = 0 if score == 0 else BLACK if score > 0 else WHITE
        records["flags"] = IS_TARGET | OWNERSHIP_KNOWN
        num_bytes = records["black"].shape[1]
        black, white = np.zeros(num_bytes, np.uint8), np.zeros(num_bytes, np.uint8)
        pack_colours(owners, self.size, black, white)
        records["black_owned"], records["white_owned"] = black, white
        game.records = [records]
        self.finished.append(game)

    def gather(self) -> PlayedGames:
        """All games, by number."""
        games = sorted(self.finished, key=lambda game: game.number)
        return PlayedGames(
            np.concatenate([game.records[0] for game in games]),
            np.concatenate([np.array(game.policies) for game in games]),
        )
