"""The settings of a search, and the record that compiled code reads them from."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le

from landmark.core.configuration import settings
from landmark.core.errors import UserError

Share = Annotated[float, Ge(0), Le(1)]
Weight = Annotated[float, Ge(0), Le(1000)]


@settings
class PlayoutSettings:
    """What playouts know; with nothing of it, moves are uniformly random."""

    captures: Share = 0.9
    """Probability to capture, or to save a chain in atari, beside the last move."""
    two_liberties: Share = 0.5
    """Probability to look at chains with two liberties beside the last move."""
    nakade: Share = 0.5
    """Probability to play the vital point of a small eye beside the last move."""
    patterns: Share = 0.95
    """Probability to look for 3x3 patterns beside the last two moves."""
    self_atari: Share = 0.9
    """Probability to refuse a move that leaves its own chain in atari."""

    @classmethod
    def uniform(cls) -> "PlayoutSettings":
        return cls(captures=0.0, two_liberties=0.0, nakade=0.0, patterns=0.0, self_atari=0.0)


@settings
class PriorSettings:
    """What a new node is told of its moves, in simulations won or lost beforehand."""

    even: Annotated[float, Ge(0.1), Le(1000)] = 10.0
    """Of every move, half of them won."""
    capture: Weight = 20.0
    """Won by a capture; more for large chains."""
    escape: Weight = 15.0
    """Won by saving a chain in atari."""
    ladder: Weight = 15.0
    """Won by a move that catches a chain in a ladder, lost by running from one."""
    nakade: Weight = 20.0
    """Won by the vital point of a small eye beside the last move."""
    self_atari: Weight = 15.0
    """Lost by a move that leaves its own chain in atari."""
    pattern: Weight = 8.0
    """Won by a 3x3 pattern."""
    distance: Weight = 20.0
    """Won by a move beside the last one; less for the second and third neighbours."""
    empty_area: Weight = 8.0
    """Won by a move on the third line, lost on the first two, where no stone is near."""

    @classmethod
    def none(cls) -> "PriorSettings":
        return cls(**dict.fromkeys(KNOWN, 0.0))


KNOWN = (
    "capture", "escape", "ladder", "nakade", "self_atari", "pattern", "distance", "empty_area",
)  # fmt: skip
"""The kinds of knowledge in priors."""


@settings
class SearchSettings:
    """How positions are searched."""

    selection: Literal["rave", "puct"] = "rave"
    """Rule by which simulations descend: UCT with RAVE, or PUCT with an evaluator's priors."""
    rave: Annotated[float, Ge(0), Le(1e6)] = 3000.0
    """Simulations after which a move's own results count as much as RAVE's; 0: without RAVE."""
    exploration: Annotated[float, Ge(0), Le(10)] = 0.0
    """Weight of the exploration term. With puct and win rates from 0 to 1, half of the c_puct that
    papers with results from -1 to 1 have."""
    playout_share: Share = 0.0
    """Share of a playout's result in the value of a leaf, the rest is the evaluator's: lambda."""
    prior_temperature: Annotated[float, Ge(0.05), Le(20)] = 1.0
    """Temperature of the evaluator's probabilities; above 1 they are more alike."""
    virtual_loss: Annotated[int, Ge(0), Le(100)] = 1
    """Losses that a move counts while a leaf behind it waits for its evaluation."""
    first_play_urgency: Annotated[float, Ge(0), Le(1)] = 0.1
    """With puct, a move without simulations is worth the mean of its position less this, times the
    square root of the probability of all moves tried; 0: the mean."""
    leaf_batch: Annotated[int, Ge(1), Le(1024)] | None = None
    """Leaves evaluated at once; default: as many as the evaluator likes."""
    expand_after: Annotated[int, Ge(1), Le(1000)] = 2
    """Simulations through a leaf before its moves are added to the tree."""
    max_nodes: Annotated[int, Ge(1000), Le(100_000_000)] = 2_000_000
    """Nodes of each thread's tree, 32 bytes each, twice."""
    threads: Annotated[int, Ge(1), Le(64)] = 1
    """Independent trees, searched side by side and merged at the root."""
    seed: Annotated[int, Ge(0), Le(2**63 - 1)] = 1
    rollout_policy: Path | None = None
    """File of a rollout policy that playouts follow (`landmark go learn` makes one); null: what
    `playouts` knows.
    """
    playouts: PlayoutSettings = PlayoutSettings()
    priors: PriorSettings = PriorSettings()


@settings
class GumbelSettings:
    """How a few simulations are spent."""

    simulations: Annotated[int, Ge(1), Le(10_000)] = 16
    """Simulations a move."""
    considered: Annotated[int, Ge(1), Le(362)] = 4
    """Moves that the root begins with."""
    visit_weight: Annotated[float, Ge(0), Le(1000)] = 50.0
    """Values weigh this, and the visits of the most visited move, times value_scale: c_visit."""
    value_scale: Annotated[float, Ge(0), Le(100)] = 1.0
    """Weight of values beside logits; win rates go from 0 to 1: c_scale."""
    noise: Annotated[float, Ge(0), Le(10)] = 1.0
    """Weight of the Gumbel noise at the root; 0: the best move is played."""


PARAMETERS = np.dtype(
    [
        ("komi", "f8"),
        ("rave_bias", "f4"),
        ("exploration", "f4"),
        ("playout_share", "f8"),
        ("prior_exponent", "f4"),
        ("virtual_loss", "f4"),
        ("first_play_urgency", "f4"),
        ("expand_after", "i4"),
        ("max_nodes", "i4"),
        ("puct", "u1"),
        # probabilities in 1 / 2**16
        ("captures", "u4"),
        ("two_liberties", "u4"),
        ("nakade", "u4"),
        ("patterns", "u4"),
        ("self_atari", "u4"),
        ("prior_even", "f4"),
        *((f"prior_{name}", "f4") for name in KNOWN),
    ],
    align=True,
)
CERTAIN = 1 << 16
Parameters = Any


def parameters_of(settings: SearchSettings, komi: float) -> np.ndarray:
    """An array of one record; komi includes White's points for handicap stones."""
    if settings.selection == "puct" and settings.exploration == 0:
        raise UserError("selection puct needs exploration above 0, as 1.5")
    record = np.zeros(1, PARAMETERS)
    one = record[0]
    one["komi"] = komi
    one["rave_bias"] = 1 / settings.rave if settings.rave else 0
    for name in ("exploration", "playout_share", "virtual_loss", "first_play_urgency"):
        one[name] = getattr(settings, name)
    one["prior_exponent"] = 1 / settings.prior_temperature
    one["expand_after"], one["max_nodes"] = settings.expand_after, settings.max_nodes
    one["puct"] = settings.selection == "puct"
    playouts, priors = settings.playouts, settings.priors
    for name in ("captures", "two_liberties", "nakade", "patterns", "self_atari"):
        one[name] = round(getattr(playouts, name) * CERTAIN)
    for name in ("even", *KNOWN):
        one[f"prior_{name}"] = getattr(priors, name)
    return record
