"""Networks of Go by their settings."""

from landmark.models.go.alphago import (
    AlphagoPolicy,
    AlphagoPolicyConfig,
    AlphagoValue,
    AlphagoValueConfig,
)
from landmark.models.go.network import GoNetwork
from landmark.models.go.residual import GoResNet, GoResNetConfig

AnyGoConfig = GoResNetConfig | AlphagoPolicyConfig | AlphagoValueConfig


def build_network(config: AnyGoConfig) -> GoNetwork:
    """The network of a configuration, with fresh weights."""
    if isinstance(config, AlphagoPolicyConfig):
        return AlphagoPolicy(config)
    if isinstance(config, AlphagoValueConfig):
        return AlphagoValue(config)
    return GoResNet(config)
