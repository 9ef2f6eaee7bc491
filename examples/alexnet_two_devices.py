"""AlexNet on two devices, one tower on each, as in Krizhevsky et al. 2012 (figure 2).

Each device holds half of every layer's channels and units. The halves are exchanged where the
towers of the paper meet: before the third convolution, and before and after the dense layers. With
the same weights, outputs and gradients equal those of the grouped network in
landmark/models/convolutional/alexnet.py.

The devices may belong to one process (`TwoDeviceAlexNet`), or to two processes of
torch.distributed (`TowerProcess`). Neither DDP nor FSDP can do this: they exchange gradients and
weights of whole networks, and here activations are exchanged inside the network.

As a script, it compares two processes with one: scores, gradients and the time of a step (forward
and backward, best of several), with one thread per process.

    python examples/alexnet_two_devices.py [--batch 16] [--repeats 5] [--small]
"""

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.models.convolutional.alexnet import APART, AlexNet, AlexNetConfig, build_block
from landmark.models.convolutional.block import DenseLayer
from landmark.models.convolutional.shape import check_size, fit, map_side

SMALL = AlexNetConfig(classes=10, image_size=99, widths=(32, 64, 96, 96, 64), dense_width=256)
PHASES = 5
"""Stretches between exchanges: two convolutions, three more, and each dense layer."""


def half(size: int, which: int) -> int:
    """How many of so many channels, units or classes a tower has: the first one the odd one."""
    return (size + 1 - which) // 2


def half_state(state: Mapping[str, Tensor], which: int) -> dict[str, Tensor]:
    """A tower's part of the grouped network's tensors: everywhere half of the outputs."""
    return {name: tensor.tensor_split(2)[which] for name, tensor in state.items()}


def joined_state(first: Mapping[str, Tensor], second: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The grouped network's tensors from both towers'."""
    return {name: torch.cat([first[name], second[name].to(first[name])]) for name in first}


class Tower(nn.Module):
    """Half of an AlexNet: each phase reads what both towers have, and gives its own half."""

    def __init__(self, config: AlexNetConfig, which: int) -> None:
        super().__init__()
        if config.towers != 2:
            raise UserError("two devices take an AlexNet with two towers: set towers to 2")
        check_size(AlexNet, config)
        self.config, self.which = config, which
        widths = (config.channels, *config.widths)
        self.blocks = nn.ModuleList(
            build_block(
                config,
                index,
                half(widths[index], which) if index in APART else widths[index],
                half(widths[index + 1], which),
                towers=1,
            )
            for index in range(5)
        )
        self.side = map_side(config.image_size, config.windows)
        inputs, width = config.widths[-1] * self.side**2, config.dense_width
        self.dense = nn.ModuleList(
            DenseLayer(seen, half(width, which), config.dropout, config.activation)
            for seen in (inputs, width)
        )
        self.output = nn.Linear(width, half(config.classes, which))

    def phase(self, number: int, seen: Tensor) -> Tensor:
        """From what both have before an exchange to this tower's half before the next."""
        if number == 0:
            return self._convolve(seen, 0, 2)
        if number == 1:
            return fit(self._convolve(seen, 2, 5), self.side).flatten(1)
        layer = self.output if number == PHASES - 1 else self.dense[number - 2]
        units: Tensor = layer(seen)
        return units

    def sizes(self, number: int) -> tuple[int, int]:
        """How much each tower gives at the end of a phase: channels, or units."""
        config = self.config
        maps = config.widths[-1] * self.side**2
        whole = (config.widths[1], maps, config.dense_width, config.dense_width, config.classes)
        return half(whole[number], 0), half(whole[number], 1)

    def _convolve(self, maps: Tensor, first: int, last: int) -> Tensor:
        for index in range(first, last):
            maps = self.blocks[index](maps)
        return maps


def _tower_of(network: AlexNet, which: int) -> Tower:
    """With half of a network's numbers, which stay its own."""
    with torch.device("meta"):
        tower = Tower(network.config, which)
    own = half_state(network.state_dict(), which)
    tower.load_state_dict({name: part.clone() for name, part in own.items()}, assign=True)
    return tower.train(network.training)


class TwoDeviceAlexNet(nn.Module):
    """Both towers in one process, each on its device; scores come out on the first."""

    def __init__(self, network: AlexNet, devices: Sequence[torch.device | str]) -> None:
        super().__init__()
        if len(devices) != 2:
            raise UserError(f"AlexNet's towers take two devices, not {len(devices)}")
        self.devices = [torch.device(device) for device in devices]
        self.towers = nn.ModuleList()
        for which, device in enumerate(self.devices):
            self.towers.append(_tower_of(network, which).to(device))

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)"""
        seen = [images.to(device) for device in self.devices]
        for number in range(PHASES):
            # On accelerators both towers are queued before either is waited for.
            halves = [
                tower.phase(number, both)  # type: ignore[operator]
                for tower, both in zip(self.towers, seen, strict=True)
            ]
            seen = [torch.cat([each.to(device) for each in halves], 1) for device in self.devices]
        return seen[0]

    def grouped_state(self) -> dict[str, Tensor]:
        """The tensors as the grouped network has them."""
        return joined_state(self.towers[0].state_dict(), self.towers[1].state_dict())


class TowerProcess(nn.Module):
    """One tower in each of two processes: rank 0 and rank 1 of a torch.distributed group.

    Both get the same images, and both return all scores, of which both are to take the same loss.
    Each then has the gradients of its own half, and steps them with an optimiser of its own.
    """

    def __init__(self, network: AlexNet, group: dist.ProcessGroup | None = None) -> None:
        super().__init__()
        if dist.get_world_size(group) != 2:
            raise UserError(
                f"AlexNet's towers take two processes, not {dist.get_world_size(group)}"
            )
        self.group = group
        self.tower = _tower_of(network, dist.get_rank(group))

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)"""
        seen = images
        for number in range(PHASES):
            own = self.tower.phase(number, seen)
            last = number == PHASES - 1
            seen = _Exchange.apply(own, self.tower.sizes(number), self.group, last)
        return seen


class _Exchange(torch.autograd.Function):
    """Own half in, both halves out; back, the gradient of the own half."""

    @staticmethod
    def forward(
        ctx: Any,
        own: Tensor,
        sizes: tuple[int, int],
        group: dist.ProcessGroup | None,
        used_alike: bool,
    ) -> Tensor:
        rank = dist.get_rank(group)
        ctx.sizes, ctx.group, ctx.rank, ctx.used_alike = sizes, group, rank, used_alike
        parts = [own.new_empty(len(own), size, *own.shape[2:]) for size in sizes]
        parts[rank] = own.contiguous()
        for source, part in enumerate(parts):
            dist.broadcast(part, group=group, group_src=source)
        return torch.cat(parts, 1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        if not ctx.used_alike:
            # Each process knows only what its own half above makes of these.
            gradient = gradient.contiguous()
            dist.all_reduce(gradient, group=ctx.group)
        own = gradient.split(ctx.sizes, 1)[ctx.rank]
        return own, None, None, None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="a network of 0.3 million weights")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.start_processes(
            _measure,
            (folder, options.batch, options.repeats, options.small),
            nprocs=2,
            start_method="spawn",
        )


def _measure(rank: int, folder: str, batch: int, repeats: int, small: bool) -> None:
    torch.set_num_threads(1)
    meeting = Path(folder) / "meeting"
    dist.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(1)
    config = SMALL if small else AlexNetConfig()
    whole = AlexNet(config).eval()
    tower = TowerProcess(whole).eval()
    images = torch.randn(batch, config.channels, config.image_size, config.image_size)
    labels = torch.randint(config.classes, (batch,))
    alone, together = [], []
    for _ in range(repeats):
        together.append(_step(tower, images, labels))
        if rank == 0:  # the other process waits, and leaves the grouped network the machine
            alone.append(_step(whole, images, labels))
        dist.barrier()
    if rank == 0:
        _report(whole, tower, images, min(alone), min(together))
    else:
        with torch.no_grad():
            tower(images)  # the report's scores take both
    dist.destroy_process_group()


def _step(network: nn.Module, images: Tensor, labels: Tensor) -> float:
    network.zero_grad()
    started = time.perf_counter()
    nn.functional.cross_entropy(network(images), labels).backward()
    return time.perf_counter() - started


@torch.no_grad()
def _report(
    whole: AlexNet, tower: TowerProcess, images: Tensor, alone: float, together: float
) -> None:
    apart = (whole(images) - tower(images)).abs().max().item()
    grouped = {name: p.grad for name, p in whole.named_parameters() if p.grad is not None}
    own = half_state(grouped, 0)
    gap = max(
        ((own[name] - p.grad).norm() / own[name].norm()).item()
        for name, p in tower.tower.named_parameters()
        if p.grad is not None
    )
    count = sum(p.numel() for p in tower.tower.parameters())
    print(f"{count:,} of {sum(p.numel() for p in whole.parameters()):,} weights in this process")
    print(f"scores are apart by at most {apart:.1e}, gradients by {gap:.1e} of their length")
    print(f"one process {alone:.3f} s a step, two {together:.3f} s: ratio {alone / together:.2f}")


if __name__ == "__main__":
    main()
