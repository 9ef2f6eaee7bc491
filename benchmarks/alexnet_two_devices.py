"""AlexNet's towers in two processes against the grouped network in one: equal, and how fast.

Every process has one thread, so that two processes have twice the machine, as two cards had in
2012. Prints how far scores and gradients are apart, and the ratio of the times of a step (forward
and backward), taken in turn, best of several.

    python benchmarks/alexnet_two_devices.py [--batch 16] [--repeats 5] [--small]
"""

import argparse
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import Tensor, nn

from landmark.models.convolutional.alexnet import AlexNet, AlexNetConfig
from landmark.models.convolutional.two_devices import TowerProcess, half_state

SMALL = AlexNetConfig(classes=10, image_size=99, widths=(32, 64, 96, 96, 64), dense_width=256)


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
