"""Reinforcement learning of a policy by games against earlier versions of itself.

Silver et al. 2016, Methods, "Policy network: reinforcement learning": a batch of games against an
opponent drawn from a pool; REINFORCE (Williams 1992) with the value network as baseline; every so
many updates the present weights join the pool. Batch norms keep what they have measured: the
network that plays is the one that learns.
"""

import copy
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import derive_seed
from landmark.core.turn import Objective, Turn
from landmark.data.batch import Batch, GoBatch
from landmark.engine import distributed
from landmark.engine.checkpoint import load_module, load_tensors, read_facts, save_checkpoint
from landmark.go.features.feature_set import FeatureSet
from landmark.models.go.network import GoNetwork
from landmark.objectives.policy_value import PolicyValueConfig, PolicyValueObjective
from landmark.tasks.go.config import ReinforceConfig
from landmark.tasks.go.policy_games import PlayedMoves, PolicyPlayer, play_games, policy_scores

POOL = "pool"
"""The folder of a run with its earlier weights."""
_WEIGHTS = "model.safetensors"


@dataclass
class GameBatch(Batch):
    """Games that are to be played, by the numbers of their samples."""

    seeds: Tensor  # (B,)

    @property
    def num_tokens(self) -> int:
        return len(self.seeds)


class GameSeeds:
    """Endless games: game g of epoch e always begins with the same random numbers."""

    def __init__(self, games: int, seed: int, batches: int = 100) -> None:
        self.games, self.seed, self.batches = games, seed, batches

    def plan(self, epoch: int) -> list[np.ndarray]:
        return np.split(np.arange(self.games * self.batches), self.batches)

    def collate(self, epoch: int, samples: np.ndarray) -> GameBatch:
        """Even seeds for even samples, so that both colours are played as often."""
        seeds = [2 * (derive_seed(self.seed, epoch, int(s)) >> 2) + int(s) % 2 for s in samples]
        return GameBatch(seeds=torch.tensor(seeds))


class Pool:
    """Weights of a training at steps 0, n, 2n, …, one folder each."""

    def __init__(self, folder: Path, origin: str, every: int) -> None:
        self.folder, self.origin, self.every = folder / POOL, origin, every

    def join(self, network: GoNetwork, step: int) -> None:
        """Keep the present weights, if it is their turn; the same again where a run goes on."""
        if step % self.every == 0 and distributed.is_main():
            weights = {name: value.contiguous() for name, value in network.state_dict().items()}
            facts = {"step": step, "origin": self.origin}
            save_checkpoint(self._place(step), {_WEIGHTS: weights}, facts)

    def draw(self, step: int, seed: int) -> Path:
        """An opponent for the update after this step: any that has joined until then."""
        number = derive_seed(seed, "opponent", step) % (step // self.every + 1)
        return self._place(number * self.every)

    def load(self, network: GoNetwork, place: Path) -> None:
        """Give a network the weights of an opponent, which must be of this very training."""
        if not place.is_dir():
            raise UserError(f"{place}: is missing: the pool belongs to the run, put it back")
        if read_facts(place).get("origin") != self.origin:
            raise UserError(f"{place}: is of another training: put the run's own pool back")
        load_module(network, load_tensors(place, _WEIGHTS), place)

    def _place(self, step: int) -> Path:
        return self.folder / f"step-{step:06d}"


def digest_of(network: GoNetwork) -> str:
    """What tells trainings with other initial weights apart."""
    digest = hashlib.sha256()
    for name, value in network.state_dict().items():
        digest.update(name.encode() + value.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


class ReinforceObjective(Objective):
    """One turn a batch of games: its moves become likelier where they won, by REINFORCE."""

    unit = "moves"
    warns_of_spikes = False

    def __init__(
        self,
        model: GoNetwork,
        features: FeatureSet,
        config: ReinforceConfig,
        folder: Path,
        seed: int,
        komi: float,
    ) -> None:
        self.model, self.features, self.config = model, features, config
        self.seed, self.komi = seed, komi
        self.players = {"model": model}
        self.opponent = copy.deepcopy(model).eval()
        self.pool = Pool(folder, digest_of(model), config.pool_every)
        self._judgement = PolicyValueObjective(model, PolicyValueConfig())

    def turns(self, batch: GameBatch, step: int) -> Iterator[Turn]:
        """Play the games, then learn from one's own moves."""
        self.model.eval()
        self.pool.join(self.model, step - 1)
        distributed.sum_over_ranks([0.0], torch.device("cpu"))  # the main process has written
        self.pool.load(self.opponent, self.pool.draw(step - 1, self.seed))
        first = PolicyPlayer(self.model, self.features)
        second = PolicyPlayer(self.opponent, self.features)
        results, played = play_games(first, second, batch.seeds.tolist(), self.komi, keeps=True)
        assert played is not None
        count = float(len(played.moves))
        yield Turn("model", self._loss(played), count, {"won": float(results.mean()) * count})

    def _loss(self, played: PlayedMoves) -> Tensor:
        """- sum of log p(a | s) (z - v(s)), over the moves of all games."""
        output = self.model(played.planes)
        chosen = policy_scores(output.policy, played.allowed).gather(1, played.moves[:, None])[:, 0]
        advantage = played.won
        if self.config.baseline and output.value is not None:
            advantage = advantage - torch.tanh(output.value.detach().float() / 2)
        return -(chosen * advantage).sum()

    def measure(self, batch: GoBatch) -> Mapping[str, tuple[float, float]]:
        """How well it still foretells the experts' moves."""
        return self._judgement.measure(batch)
