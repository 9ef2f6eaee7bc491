"""DCGAN as a system, with its networks."""

from landmark.models.adversarial.dcgan import DcganConfig
from landmark.models.adversarial.players import Players
from landmark.tasks.catalog import Network, System, add_system


def _dcgan(name: str, width: int, generator: int, discriminator: int) -> Network:
    """By their published parameters."""
    note = f"64 pixels, width {width}; generator {generator:,}, discriminator {discriminator:,}"
    config, published = DcganConfig(width=width), generator + discriminator
    return Network(name, Players, config, Players.judge_one, published, note=note)


add_system(
    System(
        "dcgan",
        "Radford et al., Unsupervised Representation Learning with Deep Convolutional Generative "
        "Adversarial Networks, arXiv 1511.06434",
        2015,
        "generation",
        (
            _dcgan("dcgan-64", 64, 3_576_704, 2_765_568),
            _dcgan("dcgan-128", 128, 12_658_432, 11_036_160),
        ),
        what="a GAN of convolutions, for pictures",
    )
)
