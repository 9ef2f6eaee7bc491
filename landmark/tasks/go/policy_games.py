"""Games between policies without search: both networks judge all their positions at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from landmark.core.runtime import derive_seed
from landmark.go.features.feature_set import FeatureSet
from landmark.go.lockstep import LockstepGames
from landmark.go.rules.geometry import BLACK
from landmark.models.go.network import GoNetwork
from landmark.objectives.classification import in_layout

_HIDDEN = -1e9


@dataclass(frozen=True)
class PolicyPlayer:
    """A network with its features; it draws moves from its probabilities."""

    network: GoNetwork
    features: FeatureSet
    temperature: float = 1.0

    @property
    def device(self) -> torch.device:
        return next(self.network.parameters()).device

    def planes(self, games: LockstepGames, chosen: np.ndarray) -> Tensor:
        """(G, C, N, N)"""
        found = self.features.planes(games.states[chosen], games.size, games.komi)
        return in_layout(torch.from_numpy(found).to(self.device))

    @torch.inference_mode()
    def draw(self, planes: Tensor, allowed: Tensor, uniform: np.ndarray) -> np.ndarray:
        """A move of each position by a uniform number; A, a pass, where none is allowed. (G,)"""
        output = self.network(planes)
        scores = policy_scores(output.policy / self.temperature, allowed)
        cumulative = scores.exp().double().cumsum(1)
        threshold = torch.from_numpy(uniform).to(cumulative) * cumulative[:, -1]
        moves = torch.searchsorted(cumulative, threshold[:, None])[:, 0]
        points = allowed.shape[1]
        moves = torch.where(allowed.any(1), moves.clamp(max=points - 1), points)
        found: np.ndarray = moves.cpu().numpy()
        return found


def policy_scores(logits: Tensor, allowed: Tensor) -> Tensor:
    """Log-probabilities of the allowed points. (G, A + 1), (G, A) -> (G, A)"""
    return torch.log_softmax(logits[:, :-1].float().masked_fill(~allowed, _HIDDEN), 1)


@dataclass
class PlayedMoves:
    """The moves that one player made in a set of games, where it had a choice."""

    planes: Tensor  # (M, C, N, N)
    allowed: Tensor  # (M, A)
    moves: Tensor  # (M,)
    won: Tensor  # (M,) 1: its player won, -1: it lost, 0: a draw


def play_games(
    first: PolicyPlayer, second: PolicyPlayer, seeds: Sequence[int], komi: float, keeps: bool
) -> tuple[np.ndarray, PlayedMoves | None]:
    """A game for each seed, the first player Black where the seed is even.

    The first player's results, 1, 0.5 or 0, and, if they are to be kept, its moves.
    """
    games = LockstepGames(len(seeds), first.network.config.size, komi)
    is_black = np.array([seed % 2 == 0 for seed in seeds])
    draws = [np.random.default_rng(derive_seed("game", seed)) for seed in seeds]
    kept: list[tuple[Tensor, Tensor, np.ndarray, np.ndarray]] = []
    while len(running := games.running()):
        uniform = np.array([draws[game].random() for game in running])
        is_first = (games.colours(running) == BLACK) == is_black[running]
        moves = np.zeros(len(running), np.int64)
        for player, mine in ((first, is_first), (second, ~is_first)):
            if not mine.any():
                continue
            chosen = running[mine]
            planes = player.planes(games, chosen)
            allowed = torch.from_numpy(games.sensible(chosen)).to(player.device)
            moves[mine] = player.draw(planes, allowed, uniform[mine])
            if keeps and player is first:
                kept.append((planes, allowed, moves[mine], chosen))
        games.play(running, moves)
    black = games.results()
    results = np.where(is_black, black, 1 - black)
    return results, _gather(kept, results) if keeps else None


def _gather(
    kept: Sequence[tuple[Tensor, Tensor, np.ndarray, np.ndarray]], results: np.ndarray
) -> PlayedMoves:
    """All moves in which there was a choice, with what became of their games."""
    planes = torch.cat([each[0] for each in kept])
    allowed = torch.cat([each[1] for each in kept])
    moves = torch.from_numpy(np.concatenate([each[2] for each in kept])).to(planes.device)
    games = np.concatenate([each[3] for each in kept])
    won = torch.from_numpy(2 * results[games] - 1).to(planes)
    had_choice = allowed.any(1)
    return PlayedMoves(
        in_layout(planes[had_choice]), allowed[had_choice], moves[had_choice], won[had_choice]
    )
