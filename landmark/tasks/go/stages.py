"""AlphaGo's stages in order: which recipe each is, and which run it begins from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.core.storage import make_folder
from landmark.go.rollout.training import train_rollout_policy
from landmark.tasks import training
from landmark.tasks.card import Report
from landmark.tasks.go.games import open_games

ROLLOUT = "policy.npz"
"""The file of a rollout policy."""


@dataclass(frozen=True)
class Stage:
    """A training of the chain."""

    name: str
    recipe: str | None
    """None: the rollout policy, which is no network."""
    what: str
    begins_from: str | None = None
    """The stage whose network it goes on with."""


STAGES = (
    Stage("expert", "go-expert", "policy, value, ownership and score from expert games"),
    Stage("rollout", None, "a fast policy for playouts, from the same games", "expert"),
    Stage("reinforce", "go-reinforce", "the policy plays against its earlier selves", "expert"),
    Stage("value", "alphago-value", "a value network from one position of each game"),
    Stage("self-play", "go-self-play", "the network learns from its own search", "expert"),
)


def chosen_stages(names: Sequence[str]) -> list[Stage]:
    """The stages of these names in their order; none: all."""
    known = {stage.name: stage for stage in STAGES}
    for name in names:
        if name not in known:
            raise UserError(f"unknown stage {name!r}: {nearest(name, known)}")
    return [stage for stage in STAGES if not names or stage.name in names]


def is_finished(folder: Path) -> bool:
    """Whether a stage's training has come to its end."""
    return (folder / ROLLOUT).exists() or training.is_finished(folder)


def train_rollouts(folder: Path, report: Report) -> Path:
    """Train the rollout policy on the games of stage expert; its file."""
    origin = folder / "expert"
    if not is_finished(origin):
        raise UserError(f"{origin}: stage 'rollout' learns from its games: train it first")
    positions = open_games(origin)

    def tell(epoch: int, loss: float) -> None:
        report({"kind": "note", "text": f"epoch {epoch}: loss {loss:.4f}"})

    policy = train_rollout_policy(positions, report=tell)
    found = policy.accuracy(positions)
    text = f"first move as played: {100 * found.top_1:.2f} % of {found.positions:,} test positions"
    report({"kind": "note", "text": text})
    path = folder / "rollout" / ROLLOUT
    make_folder(path.parent)
    policy.save(path)
    return path


def beginning(stage: Stage, folder: Path) -> list[str]:
    """The setting that a stage begins with: the run it goes on from."""
    if stage.begins_from is None:
        return []
    origin = folder / stage.begins_from
    if not is_finished(origin):
        raise UserError(
            f"{origin}: stage {stage.name!r} goes on with this run, which is not finished: leave "
            "out --stage, or name both"
        )
    return [f"init_from={origin}"]
