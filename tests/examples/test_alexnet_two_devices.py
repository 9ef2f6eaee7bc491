"""The two towers against the grouped network: the same scores, the same gradients."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import Tensor, nn

from examples.alexnet_two_devices import (
    Tower,
    TowerProcess,
    TwoDeviceAlexNet,
    half,
    half_state,
    joined_state,
)
from landmark.core.errors import UserError
from landmark.models.convolutional.alexnet import AlexNet, AlexNetConfig

CONFIG = AlexNetConfig(classes=7, image_size=71, widths=(8, 12, 16, 12, 8), dense_width=11)
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def grouped() -> AlexNet:
    """The same for every process, in double precision, with weights of every kind."""
    torch.manual_seed(1)
    network = AlexNet(CONFIG).double().eval()
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.3)
    return network


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    images = torch.randn(3, 3, 71, 71, dtype=torch.float64, generator=generator)
    return images, torch.tensor([0, 6, 3])


def loss_of(network: nn.Module) -> tuple[Tensor, Tensor]:
    """Scores and loss, the gradients taken."""
    images, labels = batch()
    scores = network(images)
    loss = nn.functional.cross_entropy(scores, labels)
    loss.backward()
    return scores.detach(), loss.detach()


def gradients(network: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.grad for name, parameter in network.named_parameters()}


def test_two_devices_give_the_scores_and_gradients_of_the_grouped_network():
    network = grouped()
    towers = TwoDeviceAlexNet(network, ("cpu", "cpu")).eval()
    expected, actual = loss_of(network), loss_of(towers)
    torch.testing.assert_close(actual, expected, **CLOSE)
    found = joined_state(gradients(towers.towers[0]), gradients(towers.towers[1]))
    torch.testing.assert_close(found, gradients(network), **CLOSE)


def test_each_device_holds_half_and_the_halves_make_the_whole():
    network = grouped()
    towers = TwoDeviceAlexNet(network, ("cpu", "cpu"))
    counts = [sum(p.numel() for p in tower.parameters()) for tower in towers.towers]
    assert sum(counts) == sum(p.numel() for p in network.parameters())
    assert towers.towers[0].blocks[0].convolution.weight.shape == (4, 3, 11, 11)
    assert towers.towers[1].dense[0].linear.weight.shape[0] == 5
    torch.testing.assert_close(towers.grouped_state(), network.state_dict(), rtol=0, atol=0)


def test_the_towers_numbers_are_their_own():
    network = grouped()
    towers = TwoDeviceAlexNet(network, ("cpu", "cpu"))
    with torch.no_grad():
        for parameter in towers.parameters():
            parameter.zero_()
    assert all(parameter.any() for parameter in network.parameters())


def test_the_paper_s_halves():
    with torch.device("meta"):
        tower = Tower(AlexNetConfig(), 0)
    kernels = [tuple(block.convolution.weight.shape) for block in tower.blocks]
    assert kernels == [
        (48, 3, 11, 11), (128, 48, 5, 5), (192, 256, 3, 3), (192, 192, 3, 3), (128, 192, 3, 3),
    ]  # fmt: skip
    assert [layer.linear.out_features for layer in tower.dense] == [2048, 2048]
    assert tower.sizes(0) == (128, 128)


def _in_a_process(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=2)
    try:
        network = TowerProcess(grouped()).eval()
        scores, loss = loss_of(network)
        found = {"scores": scores, "loss": loss, "gradients": gradients(network.tower)}
        torch.save(found, Path(folder) / f"{rank}.pt")
    finally:
        dist.destroy_process_group()


def test_two_processes_give_the_scores_and_gradients_of_the_grouped_network(tmp_path):
    multiprocessing.start_processes(_in_a_process, (str(tmp_path),), nprocs=2, start_method="spawn")
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1))
    network = grouped()
    scores, loss = loss_of(network)
    for found in (first, second):
        torch.testing.assert_close(found["scores"], scores, **CLOSE)
        torch.testing.assert_close(found["loss"], loss, **CLOSE)
    joined = joined_state(first["gradients"], second["gradients"])
    torch.testing.assert_close(joined, gradients(network), **CLOSE)


def test_halves_of_odd_sizes_add_up():
    assert [half(7, which) for which in (0, 1)] == [4, 3]
    state = {"x": torch.arange(7)}
    split = [half_state(state, which) for which in (0, 1)]
    assert [len(part["x"]) for part in split] == [4, 3]
    assert torch.equal(joined_state(*split)["x"], state["x"])


def test_one_tower_or_one_device_is_refused():
    with pytest.raises(UserError, match="two devices take an AlexNet with two towers"):
        Tower(AlexNetConfig(towers=1), 0)
    with pytest.raises(UserError, match="two devices, not 1"):
        TwoDeviceAlexNet(grouped(), ["cpu"])
