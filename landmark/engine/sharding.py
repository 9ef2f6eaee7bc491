"""Sharded training: weights, gradients and optimiser state cut up over the processes, by FSDP2.

`fully_shard` each block of a player, then the player: a block's weights are whole only while it
computes. What lies outside the blocks (embeddings, output) is made whole before each turn, so that
an objective may call a model by any method and use its weights directly. FSDP2 exchanges only the
gradients of what went through a forward and forgets the others without a word: those we sum
ourselves. Weights inside a block it refuses aloud to anyone but the block (both tested).
Checkpoints hold whole tensors: one process can load them.
Its modules are imported only when there is something to shard: they take a second.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from landmark.engine import distributed

_copies: WeakKeyDictionary[nn.Module, dict[str, Any]] = WeakKeyDictionary()
"""Each player's whole copies of what lies outside its blocks: FSDP2 makes them once."""


def shard(player: nn.Module) -> None:
    """Cut a player's parameters up: each block of its stacks, then the rest; gradients are sums."""
    from torch.distributed.fsdp import fully_shard

    stacks = [module for module in player.modules() if isinstance(module, nn.ModuleList)]
    for unit in (*(block for stack in stacks for block in stack), player):
        sharded: Any = fully_shard(unit)
        sharded.set_gradient_divide_factor(1.0)
        sharded.set_force_sum_reduction_for_comms(True)


def is_sharded(tensor: Tensor) -> bool:
    """Whether this is a piece that other processes hold the rest of."""
    return hasattr(tensor, "full_tensor")


def gather(players: Iterable[Any]) -> None:
    """Make whole what lies outside the blocks; nothing to do for players that are not sharded."""
    for player in players:
        if hasattr(player, "unshard"):
            player.unshard()
            if player not in _copies:
                named = player.named_parameters()
                _copies[player] = {n: p for n, p in named if not is_sharded(p)}


def sum_leftovers(players: Mapping[str, nn.Module], mover: str) -> None:
    """Add up gradients that FSDP2 has left on the mover's whole copies; drop the other players'."""
    copies = _copies[players[mover]]
    distributed.sum_gradients(list(copies.values()))
    scatter([players[mover]])
    for name, piece in players[mover].named_parameters():
        if name in copies and copies[name].grad is not None:
            left = like(copies[name].grad, piece)
            piece.grad = left if piece.grad is None else piece.grad + left
    for player in players.values():
        for copy in _copies[player].values():
            copy.grad = None


def scatter(players: Iterable[Any]) -> None:
    """Forget the whole copies, which are out of date once the pieces have changed."""
    for player in players:
        if hasattr(player, "reshard"):
            player.reshard()


def whole(tensor: Any) -> Tensor:
    """All pieces together; every process must ask at the same time."""
    full: Tensor = tensor.full_tensor() if is_sharded(tensor) else tensor
    return full


def like(tensor: Tensor, parameter: Any) -> Tensor:
    """A whole tensor cut up as the parameter is, each process keeping its own piece."""
    if not is_sharded(parameter) or tensor.shape != parameter.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    mesh, placements = parameter.device_mesh, parameter.placements
    return distribute_tensor(tensor.to(parameter.device), mesh, placements, src_data_rank=None)


def total_norm(gradients: list[Tensor]) -> float:
    """The Euclidean norm of all gradients together, pieces of other processes included."""
    return whole(torch.nn.utils.get_total_norm(gradients)).item()
