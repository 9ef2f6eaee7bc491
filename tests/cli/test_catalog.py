import json

import pytest
import yaml

from landmark.core.configuration import as_yaml
from landmark.engine.run import Run
from landmark.tasks.catalog import NETWORKS
from landmark.tasks.index import read_index
from landmark.tasks.training import load_config, resolve


def transformer_parameters(vocabulary: int, width: int, inner: int, layers: int) -> int:
    """By hand: 3 attentions, 2 feed-forwards and 5 norms for each pair of blocks."""
    attention = 4 * width * width + 4 * width
    feedforward = 2 * width * inner + inner + width
    norm = 2 * width
    return vocabulary * width + layers * (3 * attention + 2 * feedforward + 5 * norm)


def transformer_macs(vocabulary: int, width: int, inner: int, layers: int, time: int) -> int:
    """By hand: projections, scores, weighted sums, feed-forwards, logits."""
    projections = 4 * time * width * width
    scores_and_sums = 2 * time * time * width
    feedforward = 2 * time * width * inner
    logits = time * width * vocabulary
    return layers * (3 * (projections + scores_and_sums) + 2 * feedforward) + logits


BASE = (37_000, 512, 2048, 6)
BIG = (37_000, 1024, 4096, 6)


@pytest.mark.parametrize(("name", "shape"), [("transformer-base", BASE), ("transformer-big", BIG)])
def test_show_counts_the_published_parameters_and_the_macs(command, name, shape):
    facts = json.loads(command("show", name, "--json").out)
    assert facts["name"] == name
    assert facts["parameters"] == transformer_parameters(*shape)
    assert facts["auxiliary_parameters"] == 0
    assert facts["macs"] == transformer_macs(*shape, time=128)
    assert facts["year"] == 2017
    assert "1706.03762" in facts["paper"]
    assert facts["published_parameters"] == facts["parameters"]


def test_the_layer_table_adds_up(command):
    facts = json.loads(command("show", "transformer-base", "--json").out)
    layers = facts["layers"]
    assert sum(row["parameters"] for row in layers) == facts["parameters"]
    assert sum(row["macs"] for row in layers) == facts["macs"]
    rows = {row["name"]: row for row in layers}
    assert rows["encoder.0.attention"]["output"] == [128, 512]
    assert rows["decoder.5.feedforward.expand"]["output"] == [128, 2048]
    assert rows["decoder.0.cross_attention"]["macs"] == 4 * 128 * 512**2 + 2 * 128**2 * 512
    assert rows["output"]["output"] == [128, 37_000]
    assert rows["output"]["parameters"] == 0  # shared with the embedding, counted there
    assert sum("attention" in name and "norm" not in name for name in rows) == 18


def test_show_prints_layers_shapes_parameters_and_macs(command):
    lines = command("show", "transformer-base").out.splitlines()
    assert lines[0].startswith("transformer-base: Vaswani et al.")
    assert lines[1].split() == ["layer", "kind", "output", "parameters", "MACs"]
    row = next(line for line in lines if line.startswith("encoder.0.attention"))
    assert row.split()[1:] == ["MultiHeadAttention", "128x512", "1,050,624", "150,994,944"]
    assert "parameters 63,082,496; published 63,082,496" in lines[-2]
    assert f"MACs {transformer_macs(*BASE, time=128):,}" in lines[-1]


def test_every_network_can_be_shown(command):
    for name in NETWORKS:
        facts = json.loads(command("show", name, "--json").out)
        assert facts["name"] == name
        assert facts["parameters"] == read_index().networks[name].parameters
        assert facts["macs"] > 0


def test_an_unknown_network_lists_the_near_ones(mistake):
    said = mistake("show", "transformer-bse")
    assert said.startswith("unknown network 'transformer-bse': did you mean transformer-base")
    assert mistake("show", "xxxxxxxx").endswith("`landmark list` shows what there is")
    said = mistake("show", "gpt2-")
    assert said.endswith("did you mean gpt2-medium or gpt2-large or gpt2-xl?")
    said = mistake("show", "lstm-shakespeare")
    assert said.startswith("'lstm-shakespeare' is a recipe of the system lstm")
    assert mistake("show", "nin").startswith("'nin' is a system; its networks: nin-cifar10, ")


def test_show_prints_alexnet_s_layers_beside_the_paper_s(command):
    lines = command("show", "alexnet").out.splitlines()
    assert lines[0].startswith("alexnet: Krizhevsky, Sutskever and Hinton")
    beside = lines.index(
        "beside Krizhevsky et al. 2012, figure 2; parameters by its kernel shapes:"
    )
    first = lines[beside + 2].split("|")
    assert first[0].split() == ["1:", "96", "of", "11x11x3", "55x55x96", "34,944", "-"]
    assert first[1].split() == ["55x55x96", "34,944", "105,415,200"]
    assert "parameters 60,965,224; published 60,965,224" in lines[-3]
    assert lines[-2] == "published error on ImageNet: top-1 40.7 %, top-5 18.2 % (10 crops)"
    assert lines[-1].endswith("published 724,406,816 for one image of 227 x 227")


def test_show_as_json_has_the_published_table_and_error(command):
    facts = json.loads(command("show", "googlenet", "--json").out)
    assert facts["published_macs"] == facts["macs"] == 1_582_671_872
    assert facts["auxiliary_parameters"] == 3_188_840 + 3_190_888
    assert facts["published_error"] == {"top1": None, "top5": 10.07, "measured": "1 crop"}
    block = facts["published_layers"]["layers"][2]
    assert block["paper"]["name"] == "inception (3a)"
    assert (block["paper"]["parameters"], block["parameters"]) == ("159K", 163_696)
    assert json.loads(command("show", "nin-cifar10", "--json").out)["published_layers"] is None


def test_show_compare_prints_a_table_and_draws_a_chart(command, tmp_path):
    chart = tmp_path / "chart.png"
    lines = command("show", "--compare", "--output", chart).out.splitlines()
    assert lines[0].split()[:4] == ["network", "year", "MACs", "parameters"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:-2]}
    assert rows["alexnet"][:3] == ["2012", "724,406,816", "60,965,224"]
    assert rows["alexnet"][3:] == ["40.70", "18.20", "10", "crops"]
    assert rows["googlenet"][3:5] == ["-", "10.07"]
    macs = [int(row[1].replace(",", "")) for row in rows.values()]
    assert macs == sorted(macs)
    assert lines[-1] == str(chart)
    assert chart.read_bytes().startswith(b"\x89PNG")


def test_show_compare_as_json_says_the_same(command, tmp_path):
    chart = tmp_path / "chart.svg"
    answer = json.loads(command("show", "--compare", "--output", chart, "--json").out)
    assert answer["figure"] == str(chart)
    rows = {row["name"]: row for row in answer["networks"]}
    assert rows["resnet-50"]["published_error"]["top1"] == 22.85
    assert rows["resnet-50"]["parameters"] == 25_557_032
    assert "layers" not in rows["resnet-50"]


def test_show_needs_a_network_or_compare_and_not_both(mistake, tmp_path):
    assert mistake("show").startswith("show needs a network or --compare: try `landmark show ")
    said = mistake("show", "alexnet", "--compare")
    assert said == "show --compare takes no network, but 'alexnet' is given: leave it out"
    said = mistake("show", "--compare", "--output", tmp_path / "chart.txt")
    assert "a figure cannot be written as 'txt'" in said


@pytest.mark.parametrize("name", ["transformer-embedded", "translation", "gan-gaussian"])
@pytest.mark.parametrize("options", [[], ["--bare"]])
def test_a_printed_recipe_is_read_back_as_the_same(command, tmp_path, name, options):
    answer = command("recipe", name, *options)
    assert answer.code == 0
    assert ("  # " in answer.out) is (not options)
    path = tmp_path / "mine.yaml"
    path.write_text(answer.out, encoding="utf-8")
    assert resolve(str(path)) == resolve(name)


def test_a_recipe_is_printed_with_its_overrides(command):
    text = command("recipe", "transformer-embedded", "model.dropout=0.25", "data.corpus_seed=7").out
    values = yaml.safe_load(text)
    assert values["model"]["dropout"] == 0.25
    assert values["data"]["corpus_seed"] == 7
    assert "dropout: 0.25  # Dropout probability" in text


def test_a_printed_recipe_trains_from_its_file(command, tmp_path, tiny):
    path = tmp_path / "mine.yaml"
    path.write_text(command("recipe", "transformer-embedded", *tiny, "seed=3").out)
    answer = command("train", path, "--run", tmp_path / "run")
    assert answer.code == 0
    trained = load_config(Run.open(tmp_path / "run"))
    printed = resolve(str(path))
    assert trained.seed == 3
    # Only the vocabulary is filled in: everything else is as printed.
    expected = as_yaml(printed).replace("  vocab_size: null", "  vocab_size: 500")
    assert as_yaml(trained) == expected


def test_an_unknown_recipe_suggests_the_nearest(mistake):
    for name in ("recipe", "train"):
        said = mistake(name, "transformer-embeded")
        assert said == "unknown recipe 'transformer-embeded': did you mean transformer-embedded?"


def test_show_stages_lists_what_fine_tuning_can_freeze(command, mistake):
    """And with the head they are the whole network."""
    found = json.loads(command("show", "resnet-50", "--stages", "--json").out)
    stages = found["stages"]
    assert [stage["name"] for stage in stages] == ["stem", *(f"body.{n}" for n in range(4))]
    total = sum(stage["parameters"] for stage in [*stages, found["head"]])
    assert total == 25_557_032
    lines = command("show", "resnet-50", "--stages").lines
    assert lines[1].split() == ["1", "stem", "9,536", "parameters"]
    assert lines[-1].split() == ["head", "classifier", "2,049,000", "parameters"]
    assert "only image networks have stages" in mistake("show", "transformer-base", "--stages")
