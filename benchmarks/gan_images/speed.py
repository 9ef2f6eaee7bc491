"""An update of ours beside that of the plain re-creation, at equal arithmetic.

Both begin with the same weights and take the same images and noise; after three updates in double
precision (Adam makes a step of every rounding error) their weights are compared. Then updates in
single precision alternate, and the best time of each counts.

    python -m benchmarks.gan_images.speed [--size 64] [--width 32] [--batch 64] [--threads 1]
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from benchmarks.gan_images.plain import (
    BETAS,
    RATE,
    PlainTraining,
    copy_discriminator,
    copy_generator,
    plain_discriminator,
    plain_generator,
)
from landmark.data.batch import AdversarialBatch
from landmark.engine.assembly import Assembly
from landmark.engine.settings import TrainerConfig
from landmark.engine.trainer import Trainer
from landmark.models.adversarial.dcgan import DcganConfig, DcganDiscriminator, DcganGenerator
from landmark.objectives.adversarial import AdversarialConfig, AdversarialObjective
from landmark.optim.optimizer import OptimizerConfig, ScheduledOptimizer

NOISE = 100


class _NoSource:
    def stream(self, place: object) -> None:
        return None

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {}


def build(config: DcganConfig, kind: torch.dtype) -> tuple[Trainer, PlainTraining]:
    """Our trainer and the plain one, with the same weights."""
    torch.manual_seed(1)
    generator = DcganGenerator(config, NOISE).to(kind)
    discriminator = DcganDiscriminator(config).to(kind)
    plain = plain_generator(config, NOISE).to(kind), plain_discriminator(config).to(kind)
    copy_generator(generator, plain[0])
    copy_discriminator(discriminator, plain[1])
    objective = AdversarialObjective(generator, discriminator, AdversarialConfig(fresh_noise=False))
    optimizers = {
        name: ScheduledOptimizer(player, OptimizerConfig(betas=BETAS), lambda step: RATE)
        for name, player in objective.players.items()
    }
    assembly = Assembly(objective, optimizers, _NoSource())  # type: ignore[arg-type]
    trainer = Trainer(TrainerConfig(), assembly, torch.device("cpu"), 1)
    return trainer, PlainTraining(*plain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, usual in (("size", 64), ("width", 32), ("batch", 64), ("threads", 1), ("rounds", 12)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--channels", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    config = DcganConfig(
        image_size=options.size, width=options.width, channels=1 if options.channels == 1 else 3
    )
    updates, ours, plain = both(config, options.batch, torch.float64)
    for _ in range(3):
        for update in updates:
            update()
    apart = difference(ours, plain, config)
    print(f"largest difference of a weight after 3 updates in double precision: {apart:.1e}")
    updates, ours, plain = both(config, options.batch, torch.float32)
    times: list[list[float]] = [[], []]
    for _ in range(options.rounds):
        for update, found in zip(updates, times, strict=True):
            started = time.perf_counter()
            update()
            found.append(time.perf_counter() - started)
    mine, theirs = (min(found) for found in times)
    middle = [statistics.median(found) for found in times]
    print(
        f"{options.size} pixels, width {options.width}, batch {options.batch}, "
        f"{options.threads} thread: ours {1e3 * mine:.0f} ms, plain {1e3 * theirs:.0f} ms: "
        f"{theirs / mine:.2f} times as fast (medians: {middle[1] / middle[0]:.2f})"
    )


def both(
    config: DcganConfig, batch: int, kind: torch.dtype
) -> tuple[tuple[Callable[[], object], Callable[[], object]], Trainer, PlainTraining]:
    """An update of ours and a plain one, on the same batch, and what they train."""
    ours, plain = build(config, kind)
    real = torch.randn(batch, config.channels, *config.shape, dtype=kind).clamp(-1, 1)
    noise = torch.randn(batch, NOISE, dtype=kind)
    laid_out = AdversarialBatch(
        real=real.contiguous(memory_format=torch.channels_last), noise=noise
    )
    column = noise[:, :, None, None]
    return (
        (lambda: ours.update([laid_out]), lambda: plain.update(real, column)),
        ours,
        plain,
    )


def difference(ours: Trainer, plain: PlainTraining, config: DcganConfig) -> float:
    """The largest of any weight of either player."""
    players = ours.objective.players
    again = plain_generator(config, NOISE).double(), plain_discriminator(config).double()
    copy_generator(players["generator"], again[0])  # type: ignore[arg-type]
    copy_discriminator(players["discriminator"], again[1])  # type: ignore[arg-type]
    pairs = zip(again, (plain.generator, plain.discriminator), strict=True)
    return max(
        (one - other).abs().max().item()
        for mine, theirs in pairs
        for one, other in zip(mine.parameters(), theirs.parameters(), strict=True)
    )


if __name__ == "__main__":
    main()
