"""A small network of every convolutional kind, for tests that go through them all."""

from landmark.models.convolutional.alexnet import AlexNetConfig
from landmark.models.convolutional.googlenet import GoogLeNetConfig
from landmark.models.convolutional.highway import HighwayConfig
from landmark.models.convolutional.inception import InceptionBNConfig, InceptionV3Config
from landmark.models.convolutional.inception_v4 import InceptionResNetV2Config, InceptionV4Config
from landmark.models.convolutional.lenet import LeNet1998Config, LeNetConfig
from landmark.models.convolutional.nin import NINConfig
from landmark.models.convolutional.plain import PlainConfig
from landmark.models.convolutional.resnet import ResNetConfig
from landmark.models.convolutional.resnet9 import ResNet9Config
from landmark.models.convolutional.vgg import VGGConfig
from landmark.models.dense import DenseConfig
from landmark.models.vision import VisionConfig

SMALL_NETWORKS: dict[str, VisionConfig] = {
    "lenet-1998": LeNet1998Config(),
    "lenet": LeNetConfig(activation="tanh"),
    "alexnet": AlexNetConfig(image_size=67, widths=(4, 8, 6, 6, 4), dense_width=8, classes=3),
    "vgg": VGGConfig(image_size=32, layout="c", width=4, dense_width=8, batch_norm=True),
    "nin": NINConfig(image_size=32, classes=3),
    "googlenet": GoogLeNetConfig(image_size=64, classes=3, auxiliary=False),
    "inception-bn": InceptionBNConfig(image_size=64, classes=3),
    "inception-v3": InceptionV3Config(image_size=75, classes=3, auxiliary=False),
    "inception-v4": InceptionV4Config(image_size=75, classes=3),
    "inception-resnet-v2": InceptionResNetV2Config(image_size=75, classes=3),
    "highway": HighwayConfig(image_size=16, depths=(2, 2), widths=(4, 6)),
    "dense": DenseConfig(image_size=8, widths=(12, 10)),
    "plain": PlainConfig(image_size=16, widths=(4, 6), dense_width=10),
    "resnet-a": ResNetConfig(
        image_size=32, blocks=(1, 2), width=4, bottleneck=False, stem="cifar", shortcut="A"
    ),
    "resnet-b": ResNetConfig(image_size=40, blocks=(2, 1), width=4),
    "resnet9": ResNet9Config(width=8),
}
