"""Every kind of image network as ONNX Runtime computes it, for batches of any size."""

import numpy as np
import pytest
import torch

from landmark.core.errors import UserError
from landmark.interop import onnx_classifier
from landmark.interop.onnx_classifier import GRAPH, IMAGES, save_classifier
from landmark.models.convolutional.lenet import LeNetConfig
from landmark.models.convolutional.vgg import VGGConfig
from landmark.models.transformer.vit import ViTConfig
from landmark.models.vision import _NETWORKS, build_network
from tests.interop.foreign_network import randomise
from tests.small_networks import SMALL_NETWORKS

runtime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
NETWORKS = {
    **SMALL_NETWORKS,
    "lenet-relu": LeNetConfig(),
    "vgg-response": VGGConfig(image_size=32, layout="a-lrn", width=6, dense_width=8, classes=3),
    "vit": ViTConfig(image_size=32, hidden_size=16, num_heads=2, num_layers=2, classes=5),
    "vit-mean": ViTConfig(
        image_size=32, hidden_size=16, num_heads=2, num_layers=2, classes=5, pool="mean"
    ),
}


def test_no_kind_of_network_is_forgotten():
    assert {type(config) for config in NETWORKS.values()} == set(_NETWORKS)


@pytest.mark.parametrize("name", NETWORKS)
def test_onnx_runtime_computes_what_the_network_does(name, tmp_path):
    config = NETWORKS[name]
    torch.manual_seed(2)
    network = build_network(config)
    if not name.startswith("lenet-1998"):  # whose bitmaps are no weights
        randomise(network)
    before = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    save_classifier(network.eval(), config, tmp_path)
    assert all(torch.equal(before[key], tensor) for key, tensor in network.state_dict().items())
    session = runtime.InferenceSession(str(tmp_path / GRAPH))
    for batch in (1, 3):  # it was traced with 2
        images = torch.randn(batch, config.channels, config.image_size, config.image_size)
        with torch.inference_mode():
            expected = network(images).numpy()
        (found,) = session.run(None, {IMAGES: images.numpy()})
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(found, expected, atol=1e-4 * scale, rtol=1e-4)


def test_batch_norms_are_gone_from_the_graph(tmp_path):
    import onnx

    config = NETWORKS["resnet-b"]
    save_classifier(build_network(config), config, tmp_path)
    kinds = {node.op_type for node in onnx.load(str(tmp_path / GRAPH)).graph.node}
    assert "Conv" in kinds
    assert "BatchNormalization" not in kinds


def test_a_network_beyond_one_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_classifier, "_LARGEST", 1000)
    config = NETWORKS["lenet"]
    with pytest.raises(UserError, match="do not fit into one file"):
        save_classifier(build_network(config), config, tmp_path)
    assert not list(tmp_path.iterdir())
