"""The image network of a captioner: frozen or fine-tuned, its map row by row, and no head."""

import dataclasses

import pytest
import torch
from torch import Tensor, nn

from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.data.batch import WritingBatch
from landmark.data.captions.pairs import collate_captions
from landmark.layers.packing import Packing
from landmark.models.captioning.build import build_captioner, with_places
from landmark.models.captioning.captioner import Captioner
from landmark.models.captioning.show_attend_tell import ShowAttendTellConfig
from landmark.models.captioning.transformer import CaptionTransformerConfig
from landmark.models.convolutional.resnet9 import ResNet9Config
from landmark.models.dense import DenseConfig
from landmark.models.transformer.vit import ViTConfig
from landmark.models.vision import build_network, spatial_size
from landmark.objectives.captioning import CaptioningConfig, CaptioningObjective
from tests.small_networks import SMALL_NETWORKS

TINY = ResNet9Config(image_size=16, width=4, blocks=(0,), classes=7)
KINDS = {
    "show-attend-tell": ShowAttendTellConfig(embedding_size=5, hidden_size=6, dropout=0.0),
    "caption-transformer": CaptionTransformerConfig(
        hidden_size=8, inner_size=8, num_heads=2, decoder_layers=1, dropout=0.0
    ),
}
kinds = pytest.mark.parametrize("kind", KINDS)
HEADED = ["resnet9", "vgg", "googlenet", "inception-bn", "nin", "lenet"]


def captioner(kind: str, fine_tune: bool = False, **changes: object) -> Captioner:
    torch.manual_seed(0)
    shape = {"encoder": TINY, "vocab_size": 11, "fine_tune": fine_tune}
    return build_captioner(dataclasses.replace(KINDS[kind], **(shape | changes)))


def batch(model: Captioner) -> WritingBatch:
    images = torch.randn(3, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    packing = Packing.full(3, model.config.places)
    return collate_captions(images, packing, [[4, 5], [6], [7, 8, 9]], 1, 2)


def train_once(model: Captioner) -> dict[str, Tensor]:
    """The weights and statistics before one update of every parameter that has a gradient."""
    before = {name: value.clone() for name, value in model.state_dict().items()}
    (turn,) = CaptioningObjective(model.train(), CaptioningConfig()).turns(batch(model), 1)
    turn.loss_sum.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.add_(parameter.grad, alpha=-0.1)
    return before


def changed(model: Captioner, before: dict[str, Tensor]) -> set[str]:
    return {name for name, value in model.state_dict().items() if not value.equal(before[name])}


@kinds
def test_a_frozen_encoder_stays_as_it_is_even_its_batch_norms(kind: str) -> None:
    model = captioner(kind)
    before = train_once(model)
    moved = changed(model, before)
    assert not any(name.startswith("encoder_network.") for name in moved)
    assert {"target_embedding.weight"} < moved
    assert model.training
    assert not any(module.training for module in model.encoder_network.modules())
    assert not any(p.requires_grad for p in model.encoder_network.parameters())


@kinds
def test_a_fine_tuned_encoder_learns_with_its_batch_norms(kind: str) -> None:
    model = captioner(kind, fine_tune=True)
    before = train_once(model)
    moved, names = changed(model, before), {n for n in before if n.startswith("encoder_network.")}
    assert names - moved == set()
    assert model.encoder_network.training
    assert not model.eval().encoder_network.training


@kinds
@pytest.mark.parametrize("name", HEADED)
def test_its_places_are_the_networks_map_row_by_row(kind: str, name: str) -> None:
    config = SMALL_NETWORKS[name]
    model = captioner(kind, encoder=config).eval()
    plain = build_network(config).eval()
    own = model.encoder_network.state_dict()
    kept = {name: own.get(name, value) for name, value in plain.state_dict().items()}
    plain.load_state_dict(kept)
    images = torch.randn(2, config.channels, config.image_size, config.image_size)
    with torch.no_grad():
        map_ = plain.maps(images)
        found = model.places_of(images).unflatten(0, (2, -1))
    _, channels, rows, columns = map_.shape
    assert (model.config.places, model.config.feature_size) == (rows * columns, channels)
    for row in range(rows):
        for column in range(columns):
            torch.testing.assert_close(
                found[:, row * columns + column], map_[:, :, row, column], rtol=1e-3, atol=1e-4
            )


@kinds
def test_a_vision_transformers_patches_are_places(kind: str) -> None:
    config = ViTConfig(image_size=16, patch_size=4, hidden_size=8, num_heads=2, num_layers=1,
                       inner_size=8, classes=3)  # fmt: skip
    model = captioner(kind, encoder=config).eval()
    assert (model.config.places, model.config.feature_size) == (16, 8)
    assert model.places_of(torch.randn(2, 3, 16, 16)).shape == (32, 8)


@kinds
def test_the_head_for_classes_is_left_out(kind: str) -> None:
    model, plain = captioner(kind), build_network(TINY)
    own = {name for name in model.state_dict() if name.startswith("encoder_network.")}
    theirs = {f"encoder_network.{name}" for name in plain.state_dict()}
    assert theirs - own == {f"encoder_network.{plain.head}.{w}" for w in ("weight", "bias")}
    assert own < theirs
    assert isinstance(model.encoder_network.get_submodule(plain.head), nn.Identity)


@kinds
@torch.no_grad()
def test_places_that_are_given_are_read_as_they_are(kind: str) -> None:
    model = captioner(kind).eval()
    given = batch(model)
    rows = model.places_of(given.source)
    args = (given.source_packing, given.target, given.target_packing)
    torch.testing.assert_close(model(rows, *args), model(given.source, *args))
    assert model.places_of(rows) is rows


def test_the_number_and_size_of_places_follow_from_the_encoder() -> None:
    config = with_places(ShowAttendTellConfig(encoder=TINY, feature_size=99, places=99))
    size = spatial_size(TINY)
    assert (config.feature_size, config.places) == (size.channels, size.rows * size.columns)


def test_a_network_that_reads_all_pixels_at_once_is_refused() -> None:
    with pytest.raises(UserError, match="has no spatial map"):
        captioner("show-attend-tell", encoder=DenseConfig(image_size=8, widths=(4,)))


def test_an_encoder_named_without_its_architecture_is_a_resnet_9() -> None:
    given = {"encoder": {"width": 8}, "vocab_size": 9}
    config = build(ShowAttendTellConfig, given, Provenance("test"))
    assert config.encoder == ResNet9Config(width=8)
