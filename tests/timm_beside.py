"""timm, which imports torchvision: its operators are declared first."""

from tests.torchvision_beside import torchvision  # isort: skip
import timm

__all__ = ["timm", "torchvision"]
