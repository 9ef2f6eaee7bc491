"""DCGAN as most people write it in PyTorch, to be compared with: same networks, plain training.

Made after what PyTorch's DCGAN example does: layers in a Sequential, the default memory layout, the
same noise for both players, gradients of every parameter on every way back, Adam, no average.
"""

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.models.adversarial.dcgan import DcganConfig, DcganDiscriminator, DcganGenerator

RATE, BETAS = 2e-4, (0.5, 0.999)


def plain_generator(config: DcganConfig, noise_size: int) -> nn.Sequential:
    """Transposed convolutions from noise of one pixel on. (B, Z, 1, 1) -> (B, C, H, W)"""
    grids, maps = config.grids[::-1], config.maps[::-1]
    layers: list[nn.Module] = [
        nn.ConvTranspose2d(noise_size, maps[0], grids[0], 1, 0, bias=False),
        nn.BatchNorm2d(maps[0]),
        nn.ReLU(inplace=True),
    ]
    for level in range(1, len(maps)):
        (height, width), (high, wide) = grids[level - 1], grids[level]
        beyond = high - 2 * height, wide - 2 * width
        layers.append(
            nn.ConvTranspose2d(
                maps[level - 1], maps[level], 4, 2, 1, bias=False, output_padding=beyond
            )
        )
        if level < len(maps) - 1:
            layers += [nn.BatchNorm2d(maps[level]), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Tanh())


def plain_discriminator(config: DcganConfig) -> nn.Sequential:
    """Convolutions down to one number. (B, C, H, W) -> (B, 1, 1, 1)"""
    maps = config.maps
    layers: list[nn.Module] = []
    for level in range(1, len(maps)):
        layers.append(nn.Conv2d(maps[level - 1], maps[level], 4, 2, 1, bias=False))
        if level > 1:
            layers.append(nn.BatchNorm2d(maps[level]))
        layers.append(nn.LeakyReLU(0.2, inplace=True))
    return nn.Sequential(*layers, nn.Conv2d(maps[-1], 1, config.grids[-1], 1, 0, bias=False))


def begin(network: nn.Module) -> nn.Module:
    """The paper's initial weights."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(module.weight, 0.0, 0.02)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, 1.0, 0.02)
    return network


@torch.no_grad()
def copy_generator(ours: DcganGenerator, plain: nn.Sequential) -> None:
    """Give the plain generator our weights."""
    (height, width), maps = ours.grids[0], ours.maps[0]
    tensors = [ours.project.weight.view(height, width, maps, -1).permute(3, 2, 0, 1)]
    for norm, enlarge in zip(ours.norms, ours.enlarge, strict=True):
        tensors += [norm.weight, norm.bias, enlarge.weight]
    _fill(plain, tensors)


@torch.no_grad()
def copy_discriminator(ours: DcganDiscriminator, plain: nn.Sequential) -> None:
    """Give the plain discriminator our weights."""
    tensors: list[Tensor] = []
    for reduce, norm in zip(ours.reduce, ours.norms, strict=True):
        tensors += [reduce.weight, *norm.parameters()]
    last = list(plain.parameters())[-1]
    _, maps, height, width = last.shape
    tensors.append(ours.judge.weight.view(1, height, width, maps).permute(0, 3, 1, 2))
    _fill(plain, tensors)


def _fill(plain: nn.Module, tensors: list[Tensor]) -> None:
    for parameter, tensor in zip(plain.parameters(), tensors, strict=True):
        parameter.copy_(tensor)


class PlainTraining:
    """The example's loop."""

    def __init__(self, generator: nn.Module, discriminator: nn.Module) -> None:
        self.generator, self.discriminator = generator, discriminator
        self.optimizers = [
            torch.optim.Adam(player.parameters(), lr=RATE, betas=BETAS)
            for player in (generator, discriminator)
        ]

    def update(self, real: Tensor, noise: Tensor) -> tuple[float, float]:
        """One step of the discriminator and one of the generator, on one batch and its noise."""
        for_generator, for_discriminator = self.optimizers
        self.discriminator.zero_grad()
        loss_real = _loss(self.discriminator(real), 1.0)
        loss_real.backward()
        made = self.generator(noise)
        loss_made = _loss(self.discriminator(made.detach()), 0.0)
        loss_made.backward()
        for_discriminator.step()
        self.generator.zero_grad()
        loss = _loss(self.discriminator(made), 1.0)
        loss.backward()
        for_generator.step()
        return (loss_real + loss_made).item(), loss.item()


def _loss(logits: Tensor, label: float) -> Tensor:
    return F.binary_cross_entropy_with_logits(
        logits.flatten(), logits.new_full((len(logits),), label)
    )


@dataclass
class Best:
    """The state of the generator that scored best, and when."""

    score: float
    step: int
    state: dict[str, Tensor]


def train_plain(
    config: DcganConfig,
    noise_size: int,
    batches: Iterator[Tensor],
    seconds: float,
    every: int,
    score: Callable[[nn.Module], float],
    seed: int,
) -> tuple[nn.Module, Best, int]:
    """As long as so many processor seconds last, with validations; the best generator."""
    torch.manual_seed(seed)
    started = time.process_time()
    generator = begin(plain_generator(config, noise_size))
    training = PlainTraining(generator, begin(plain_discriminator(config)))
    best, step = Best(float("inf"), 0, {}), 0
    while time.process_time() - started < seconds:
        real = next(batches)
        training.update(real, torch.randn(len(real), noise_size, 1, 1))
        step += 1
        if step % every == 0:
            generator.eval()
            found = score(generator)
            generator.train()
            if found < best.score:
                best = Best(found, step, copy.deepcopy(generator.state_dict()))
    generator.load_state_dict(best.state)
    return generator.eval(), best, step
