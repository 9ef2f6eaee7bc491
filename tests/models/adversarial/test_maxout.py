"""The networks of 2014, beside their formulas."""

import torch

from landmark.models.adversarial.maxout import (
    Maxout,
    MaxoutDiscriminator,
    MaxoutGanConfig,
    PerceptronGenerator,
)


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_published_counts():
    config = MaxoutGanConfig()
    assert count(PerceptronGenerator(config, 100)) == 2_503_984
    assert count(MaxoutDiscriminator(config)) == 1_231_441


def test_a_maxout_unit_is_the_largest_of_its_pieces():
    torch.manual_seed(1)
    layer, x = Maxout(3, 4, 5), torch.randn(6, 3)
    found = layer(x)
    for unit in range(4):
        rows = slice(5 * unit, 5 * unit + 5)
        pieces = x @ layer.linear.weight[rows].T + layer.linear.bias[rows]
        torch.testing.assert_close(found[:, unit], pieces.max(1).values)


def test_the_generator_is_two_hidden_layers_and_a_sigmoid():
    torch.manual_seed(2)
    network = PerceptronGenerator(MaxoutGanConfig(hidden_size=8, image_size=(4, 5)), 3)
    first, _, second, _, last, _ = network.layers
    noise = torch.rand(2, 3)
    hidden = (noise @ first.weight.T + first.bias).clamp_min(0)
    hidden = (hidden @ second.weight.T + second.bias).clamp_min(0)
    expected = torch.sigmoid(hidden @ last.weight.T + last.bias).view(2, 1, 4, 5)
    torch.testing.assert_close(network(noise), expected)


def test_dropout_is_only_there_in_training():
    torch.manual_seed(3)
    judge, images = MaxoutDiscriminator(MaxoutGanConfig()), torch.rand(2, 1, 28, 28)
    assert not torch.equal(judge(images), judge(images))
    judge.eval()
    assert torch.equal(judge(images), judge(images))
    assert judge.features(images).shape == (2, 240)


def test_units_weights_never_grow_beyond_the_largest_norm():
    torch.manual_seed(4)
    config = MaxoutGanConfig(
        image_size=4, units=3, pieces=2, max_norm=0.5, dropout=0.0, discriminator_range=0.5
    )
    judge = MaxoutDiscriminator(config)
    optimizer = torch.optim.SGD(judge.parameters(), lr=5.0)
    for _ in range(3):
        on_real, on_made = judge(torch.rand(8, 1, 4, 4)), judge(torch.zeros(8, 1, 4, 4))
        (on_made.sum() - on_real.sum()).backward()
        optimizer.step()
        optimizer.zero_grad()
    layers = judge.hidden[2].linear, judge.hidden[4].linear, judge.judge
    assert max(layer.weight.norm(dim=1).max() for layer in layers) > 0.5
    judge(torch.rand(1, 1, 4, 4))
    assert max(layer.weight.norm(dim=1).max() for layer in layers) <= 0.5 * (1 + 1e-4)
