"""The Vision Transformer against torchvision's and timm's, and the published counts."""

import dataclasses
from functools import partial

import pytest
import torch
from scipy import ndimage
from torch import nn

from landmark.core.errors import UserError
from landmark.models.transformer.vit import VARIANTS, ViT, ViTConfig, resize_positions
from landmark.probes.anatomy import dissect
from tests.timm_beside import timm, torchvision
from tests.torchvision_beside import randomized, renamed

theirs = torchvision.models.vision_transformer
SMALL = ViTConfig(classes=7, image_size=32, patch_size=8, hidden_size=24, num_heads=3, num_layers=2)
BILLIONS_OF_MACS = {"vit-b16": 17.564, "vit-b32": 4.409, "vit-l16": 61.555, "vit-l32": 15.378}
TORCHVISION = (
    (r"^class_token", "embedding.token"),
    (r"^conv_proj", "embedding.projection"),
    (r"^encoder\.pos_embedding", "embedding.position"),
    (r"^encoder\.layers\.encoder_layer_", "blocks."),
    (r"^encoder\.ln", "norm"),
    (r"ln_1", "around_attention.norm"),
    (r"ln_2", "around_feedforward.norm"),
    (r"self_attention\.in_proj_", "attention.input."),
    (r"self_attention\.out_proj", "attention.output"),
    (r"mlp\.0", "feedforward.expand"),
    (r"mlp\.3", "feedforward.contract"),
    (r"heads\.head", "classifier"),
)
TIMM = (
    (r"^cls_token", "embedding.token"),
    (r"^patch_embed\.proj", "embedding.projection"),
    (r"^pos_embed", "embedding.position"),
    (r"norm1", "around_attention.norm"),
    (r"norm2", "around_feedforward.norm"),
    (r"attn\.qkv", "attention.input"),
    (r"attn\.proj", "attention.output"),
    (r"mlp\.fc1", "feedforward.expand"),
    (r"mlp\.fc2", "feedforward.contract"),
    (r"^head\.", "classifier."),
)


def from_torchvision(image_size: int = 32) -> nn.Module:
    torch.manual_seed(1)
    return randomized(
        theirs.VisionTransformer(
            image_size=image_size, patch_size=8, num_layers=2, num_heads=3, hidden_dim=24,
            mlp_dim=96, num_classes=7, norm_layer=partial(nn.LayerNorm, eps=1e-6),
        )
    )  # fmt: skip


def from_timm(**settings: object) -> nn.Module:
    torch.manual_seed(1)
    return randomized(
        timm.models.VisionTransformer(
            img_size=32, patch_size=8, depth=2, num_heads=3, embed_dim=24, num_classes=7, **settings
        )
    )


def loaded(config: ViTConfig, reference: nn.Module, names: tuple) -> ViT:
    ours = ViT(config).eval()
    ours.load_state_dict(renamed(reference.state_dict(), *names))
    return ours


def assert_same_scores(ours: nn.Module, reference: nn.Module, size: int = 32) -> None:
    images = torch.randn(3, 3, size, size)
    with torch.inference_mode():
        expected = reference(images)
        assert expected.std() > 0.03
        torch.testing.assert_close(ours(images), expected, atol=1e-4, rtol=1e-4)


def test_scores_are_those_of_torchvision() -> None:
    reference = from_torchvision()
    assert_same_scores(loaded(SMALL, reference, TORCHVISION), reference)


def test_scores_are_those_of_timm() -> None:
    reference = from_timm()
    assert_same_scores(loaded(SMALL, reference, TIMM), reference)


def test_the_mean_of_the_patches_is_that_of_timm() -> None:
    reference = from_timm(class_token=False, global_pool="avg", fc_norm=False)
    config = dataclasses.replace(SMALL, pool="mean")
    assert_same_scores(loaded(config, reference, TIMM), reference)


def test_images_of_another_size_are_read_as_torchvision_reads_them() -> None:
    reference = from_torchvision()
    ours = loaded(SMALL, reference, TORCHVISION)
    larger = from_torchvision(48)
    larger.load_state_dict(
        theirs.interpolate_embeddings(48, 8, reference.state_dict(), interpolation_mode="bilinear")
    )
    assert_same_scores(ours, larger, 48)


def test_positions_are_interpolated_as_in_the_papers_code() -> None:
    table = torch.randn(1, 1 + 4 * 4, 5)
    resized = resize_positions(table, 6, 3)
    assert torch.equal(resized[:, 0], table[:, 0])
    square = table[0, 1:].view(4, 4, 5).numpy()
    expected = torch.from_numpy(ndimage.zoom(square, (6 / 4, 3 / 4, 1), order=1))
    torch.testing.assert_close(resized[0, 1:], expected.reshape(18, 5))


@pytest.mark.parametrize("name", sorted(BILLIONS_OF_MACS))
def test_multiplications_are_those_that_torchvision_states(name: str) -> None:
    with torch.device("meta"):
        counted = dissect(ViT(VARIANTS[name]), lambda vit: vit(torch.zeros(1, 3, 224, 224)))
    assert round(counted.macs / 1e9, 3) == BILLIONS_OF_MACS[name]
    weights = getattr(theirs, f"ViT_{name[4].upper()}_{name[5:]}_Weights")
    assert BILLIONS_OF_MACS[name] == weights.IMAGENET1K_V1.meta["_ops"]


def test_a_new_head_says_the_same_of_every_image() -> None:
    assert not ViT(SMALL)(torch.randn(2, 3, 32, 32)).any()


@pytest.mark.parametrize("pool", ["token", "mean"])
def test_every_weight_is_of_a_stage_or_the_head_and_has_a_gradient(pool: str) -> None:
    config = dataclasses.replace(SMALL, pool=pool, channels=1, dropout=0.1, image_size=16)
    network = ViT(config)
    nn.init.normal_(network.classifier.weight)
    network(torch.randn(2, 1, 16, 16)).logsumexp(1).sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())
    parts = [*network.stages(), network.get_submodule(network.head)]
    covered = {id(p) for part in parts for p in part.parameters()}
    assert covered == {id(parameter) for parameter in network.parameters()}


def test_recomputing_activations_changes_no_gradient() -> None:
    torch.manual_seed(1)
    plain = ViT(SMALL)
    nn.init.normal_(plain.classifier.weight)
    saving = ViT(dataclasses.replace(SMALL, activation_checkpointing=True))
    saving.load_state_dict(plain.state_dict())
    images = torch.randn(2, 3, 32, 32)
    for network in (plain, saving):
        network(images).logsumexp(1).sum().backward()
    torch.testing.assert_close(plain.embedding.token.grad, saving.embedding.token.grad)


def test_a_shape_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="num_heads 5 does not divide hidden_size 24"):
        dataclasses.replace(SMALL, num_heads=5)
    with pytest.raises(
        ValueError, match="patch_size 16 does not divide image_size 8; the smallest"
    ):
        dataclasses.replace(SMALL, patch_size=16, image_size=8)
    with pytest.raises(
        UserError, match=r"images of 32x20 pixels: .* multiple of the patch size, 8"
    ):
        ViT(SMALL)(torch.zeros(1, 3, 32, 20))
    assert ViT.smallest(SMALL) == 8
