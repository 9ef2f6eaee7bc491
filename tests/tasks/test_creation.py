"""`landmark.create`: networks of the catalogue as torch modules."""

import copy
import pickle

import pytest
import torch
from safetensors.torch import save_file, save_model
from torch import nn

import landmark
from landmark import UserError
from landmark.layers.packing import Packing
from landmark.models.convolutional.resnet import ResNet
from landmark.models.transformer.gpt import GPT
from landmark.tasks.catalog import NETWORKS, load_catalog
from tests.torchvision_beside import torchvision

SMALL = {"hidden_size": 16, "num_heads": 2, "num_layers": 2, "vocab_size": 50, "max_length": 12}


def equal(one, other):
    first, second = one.state_dict(), other.state_dict()
    assert list(first) == list(second)
    return all(torch.equal(tensor, second[name]) for name, tensor in first.items())


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)


def test_every_system_has_networks_that_can_be_made():
    load_catalog()
    with torch.device("meta"):
        for system in landmark.systems():
            for network in system.networks[:1]:
                made = landmark.create(network.name)
                assert isinstance(made, nn.Module)
                assert made.training
                assert all(parameter.is_meta for parameter in made.parameters())


def test_settings_change_the_shape():
    network = landmark.create("resnet-18", classes=5)
    assert isinstance(network, ResNet)
    assert network(torch.randn(2, 3, 64, 64)).shape == (2, 5)
    model = landmark.create("gpt2", **SMALL)
    assert isinstance(model, GPT)
    hidden = model(torch.randint(50, (2 * 12,)), Packing.full(2, 12))
    assert model.logits(hidden).shape == (24, 50)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("resnet-81", {}, "unknown network 'resnet-81': did you mean resnet-18"),
        ("gpt2", {"layers": 2}, "gpt2: unknown key 'layers': did you mean num_layers"),
        ("resnet-18", {"classes": 1}, "resnet-18: classes: .* greater than or equal to 2"),
        ("gpt3", {}, r"gpt3: its weights need 698\.4 GB, .*'meta'"),
    ],
)
def test_a_mistake_is_one_line(name, settings, said):
    with pytest.raises(UserError, match=said):
        landmark.create(name, **settings)


@pytest.mark.parametrize("save", ["safetensors", "save_model", "torch", "wrapped"])
def test_weights_come_back_from_any_file_of_them(tmp_path, save):
    model = landmark.create("gpt2", **SMALL)  # its embedding is also its output
    path = tmp_path / "weights.safetensors"
    if save == "safetensors":
        save_file({name: t.clone() for name, t in model.state_dict().items()}, path)
    elif save == "save_model":  # which keeps one name of what is shared, not always the first
        save_model(model, str(path))
    else:
        path = path.with_suffix(".pt")
        state = model.state_dict()
        if save == "wrapped":  # as a training in Lightning saves it
            state = {"state_dict": {f"model.{name}": t for name, t in state.items()}, "epoch": 3}
        torch.save(state, path)
    again = landmark.create("gpt2", path, **{k: v for k, v in SMALL.items() if k != "vocab_size"})
    assert equal(model, again)
    assert again.output.weight is again.embedding.weight


def test_the_classes_and_colours_of_saved_weights_are_found_out(tmp_path):
    model = landmark.create("resnet-18", classes=7, channels=1)
    save_file(model.state_dict(), tmp_path / "w.safetensors")
    assert equal(model, landmark.create("resnet-18", tmp_path / "w.safetensors"))


def test_other_classes_get_a_new_last_layer(tmp_path):
    theirs = torchvision.models.resnet18(num_classes=7)
    torch.save(theirs.state_dict(), tmp_path / "resnet18.pth")
    whole = landmark.create("resnet-18", tmp_path / "resnet18.pth").eval()
    other = landmark.create("resnet-18", tmp_path / "resnet18.pth", classes=3).eval()
    images = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        assert torch.allclose(whole(images), theirs.eval()(images), atol=1e-4)
        assert torch.equal(whole.features(images), other.features(images))
        assert other(images).shape == (2, 3)


def test_weights_of_a_run_and_of_one_of_its_checkpoints(digits_run):
    trained = landmark.load(digits_run).network
    made = landmark.create("lenet5", digits_run)
    assert equal(made, trained)
    folder = landmark.load(digits_run).checkpoint
    assert equal(landmark.create("lenet5", folder), trained)
    file = folder / "model.safetensors"
    assert landmark.create("lenet5", file).state_dict().keys() == trained.state_dict().keys()


def test_weights_of_another_network_are_refused(tmp_path, digits_run):
    with pytest.raises(UserError, match=r"as resnet-18 with these settings; landmark\.load\("):
        landmark.create("resnet-18", digits_run)
    save_file({"x": torch.zeros(2)}, tmp_path / "x.safetensors")
    with pytest.raises(UserError, match="does not hold weights of lenet5: its first tensor is 'x'"):
        landmark.create("lenet5", tmp_path / "x.safetensors")
    small = {**SMALL, "hidden_size": 8}
    save_model(landmark.create("gpt2", **small), str(tmp_path / "small.safetensors"))
    with pytest.raises(UserError, match=r"has shape \(.*8.*\), but the model wants \(.*16.*\)"):
        landmark.create("gpt2", tmp_path / "small.safetensors", **SMALL)
    with pytest.raises(UserError, match="is neither a run nor a checkpoint"):
        landmark.create("lenet5", tmp_path)


def test_a_network_is_copied_moved_and_saved_like_any_other(tmp_path):
    model = landmark.create("gpt2", **SMALL).eval()
    tokens, packing = torch.randint(50, (12,)), Packing.full(1, 12)
    wanted = model(tokens, packing)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin.output.weight is twin.embedding.weight
        assert twin.output.weight is not model.output.weight
        assert torch.equal(twin(tokens, packing), wanted)
    torch.save(model.state_dict(), tmp_path / "state.pt")
    other = landmark.create("gpt2", **SMALL).eval()
    other.load_state_dict(torch.load(tmp_path / "state.pt"))
    assert torch.equal(other(tokens, packing), wanted)
    doubled = model.to(torch.float64)
    assert {p.dtype for p in doubled.parameters()} == {torch.float64}
    assert torch.allclose(doubled(tokens, packing).float(), wanted, atol=1e-5)
    assert {p.device.type for p in model.to("meta").parameters()} == {"meta"}


def test_a_users_own_loop_takes_the_steps_of_torchvisions_twin(tmp_path):
    theirs = torchvision.models.resnet18(num_classes=4)
    torch.save(theirs.state_dict(), tmp_path / "twin.pth")
    ours = landmark.create("resnet-18", tmp_path / "twin.pth")
    images, labels = torch.randn(8, 3, 32, 32), torch.arange(8) % 4
    losses = []
    for network in (ours, theirs):
        optimizer = torch.optim.SGD(network.parameters(), lr=0.02, momentum=0.9)
        row = []
        for _ in range(6):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network(images), labels)
            loss.backward()
            optimizer.step()
            row.append(loss.item())
        losses.append(torch.tensor(row))
    assert losses[0][-1] < losses[0][0] / 2
    assert torch.allclose(losses[0], losses[1], rtol=1e-3)


def test_the_catalogue_is_typed_records():
    systems = {system.name: system for system in landmark.systems()}
    resnet = systems["resnet"]
    assert (resnet.year, resnet.task) == (2015, "image-classification")
    assert "He et al." in resnet.paper
    assert "resnet-50" in {network.name for network in resnet.networks}
    assert "resnet-cifar" in {recipe.name for recipe in resnet.recipes}
    assert sum(len(system.networks) for system in systems.values()) == len(NETWORKS)
