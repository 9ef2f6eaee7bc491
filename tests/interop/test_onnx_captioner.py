"""A captioner as ONNX Runtime computes it, on batches of other sizes than it was traced with."""

import pytest
import torch

from landmark.interop.onnx_captioner import save_captioner_onnx
from landmark.layers.layout import pack_linear
from landmark.layers.packing import Packing
from landmark.models.captioning.build import build_captioner
from landmark.models.captioning.transformer import CaptionTransformerConfig
from landmark.models.transformer.vit import ViTConfig
from landmark.tasks.onnx_writer import OnnxWriter

pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("pool", ["token", "mean"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_vit_is_read_in_batches_of_any_size(pool, packed, tmp_path):
    torch.manual_seed(0)
    encoder = ViTConfig(
        image_size=16, patch_size=8, hidden_size=16, num_heads=2, num_layers=2, pool=pool
    )
    config = CaptionTransformerConfig(
        vocab_size=20, encoder=encoder, hidden_size=24, inner_size=32, decoder_layers=1
    )
    model = build_captioner(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    if packed:  # as the pipeline has it
        pack_linear(model)
    save_captioner_onnx(model, tmp_path)
    graphs = OnnxWriter(tmp_path, 1, 20)
    for batch in (1, 2, 5):
        images, packing = torch.randn(batch, 3, 16, 16), Packing.full(batch, 4)
        tokens = torch.arange(batch * 2) + 3
        with torch.inference_mode():
            expected = model.step(tokens, model.start(images, packing, 2, 6))
        found = graphs.step(tokens, graphs.start(images, packing, 2, 6))
        assert expected.std() > 0.1
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
