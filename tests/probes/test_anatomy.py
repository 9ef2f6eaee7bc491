import dataclasses

import pytest
import torch
from torch import Tensor, nn

from landmark.layers.packing import Packing
from landmark.models.recurrent.seq2seq import Seq2seq, Seq2seqConfig
from landmark.models.transformer.translator import VARIANTS, Translator
from landmark.probes.anatomy import dissect
from landmark.tasks.translation.run import translate_once


class SmallNetwork(nn.Module):
    """A convolution, a dense layer and a head that only helps training."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, 6, 5, padding=2)
        self.dense = nn.Linear(6 * 28 * 28, 10)
        self.helper = nn.Linear(10, 3)
        self.unused = nn.Linear(7, 7)

    def forward(self, images: Tensor) -> Tensor:
        x = self.dense(self.convolution(images).relu().flatten(1))
        self.helper(x)
        return x


def images(module: nn.Module) -> Tensor:
    return module(torch.zeros(1, 1, 28, 28, device="meta"))


@pytest.fixture
def network():
    with torch.device("meta"):
        return SmallNetwork()


def translate(model: Translator) -> Tensor:
    tokens, packing = torch.zeros(8, dtype=torch.int64, device="meta"), Packing.full(1, 8)
    return model.logits(model(tokens, packing, tokens, packing))


@pytest.fixture
def translator():
    config = dataclasses.replace(
        VARIANTS["tiny"], vocab_size=50, encoder_layers=1, decoder_layers=1
    )
    with torch.device("meta"):
        return Translator(config)


def test_shapes_parameters_and_products_are_those_of_paper_and_pencil(network):
    anatomy = dissect(network, images)
    rows = {row.name: row for row in anatomy.layers}
    assert list(rows) == ["convolution", "dense", "helper"]
    convolution, dense = rows["convolution"], rows["dense"]
    assert (convolution.kind, convolution.output) == ("Conv2d", (1, 6, 28, 28))
    assert convolution.parameters == 6 * 5 * 5 + 6
    assert convolution.macs == 28 * 28 * 6 * 5 * 5  # LeNet's first layer: 117,600
    assert (dense.parameters, dense.macs) == (4704 * 10 + 10, 4704 * 10)
    assert anatomy.macs == convolution.macs + dense.macs + 10 * 3


def test_auxiliary_parameters_are_counted_apart(network):
    whole, split = dissect(network, images), dissect(network, images, ("helper",))
    assert whole.auxiliary_parameters == 0
    assert split.auxiliary_parameters == 10 * 3 + 3
    assert split.parameters + split.auxiliary_parameters == whole.parameters
    assert whole.parameters == sum(p.numel() for p in network.parameters())


def test_a_shared_matrix_is_counted_once(translator):
    anatomy = dissect(translator, translate)
    rows = {row.name: row for row in anatomy.layers}
    assert anatomy.parameters == sum(p.numel() for p in translator.parameters())
    assert rows["target_embedding"].parameters == 50 * 128
    assert rows["output"].parameters == 0
    assert rows["output"].macs == 8 * 128 * 50
    assert sum(row.parameters for row in anatomy.layers) == anatomy.parameters


def test_attention_is_one_row_with_all_its_products(translator):
    rows = {row.name: row for row in dissect(translator, translate).layers}
    kinds = [row.kind for row in rows.values()]
    assert kinds.count("MultiHeadAttention") == 3
    assert "Dropout" not in kinds
    attention = rows["decoder.0.cross_attention"]
    assert attention.output == (8, 128)
    assert attention.parameters == 4 * 128 * 128 + 4 * 128
    assert attention.macs == 4 * 8 * 128 * 128 + 2 * 8 * 8 * 128


def test_looking_leaves_the_module_as_it_was(translator):
    translator.train()
    dissect(translator, translate)
    assert translator.training
    assert all(getattr(module, "observer", None) is None for module in translator.modules())
    assert not any(module._forward_hooks for module in translator.modules())


def test_a_computation_that_fails_leaves_the_module_as_it_was(translator):
    with pytest.raises(AttributeError):
        dissect(translator, lambda module: module.nonsense())
    assert translator.training
    assert not any(module._forward_hooks for module in translator.modules())


def test_recurrent_cells_and_their_attention_are_counted_step_by_step():
    config = Seq2seqConfig(vocab_size=50, embedding_size=6, hidden_size=8)
    with torch.device("meta"):
        anatomy = dissect(Seq2seq(config), translate_once)
    rows = {row.name: row for row in anatomy.layers}
    # 128 steps of four gates: W (4 x 4 by 6) and U (4 x 4 by 4) of each direction.
    assert rows["encoder.cells.1"].macs == 128 * 16 * (6 + 4)
    assert rows["encoder.cells.1"].parameters == 16 * (6 + 4 + 2)
    assert rows["decoder.cells.0"].macs == 128 * 32 * (2 * 6 + 8)
    assert rows["cross_attention"].kind == "AttentionOutput"
    assert not any(name.startswith("cross_attention.") for name in rows)
    assert anatomy.parameters == sum(p.numel() for p in Seq2seq(config).parameters())
