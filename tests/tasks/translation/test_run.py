import dataclasses

import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.loader import Place
from landmark.data.shards import TokenStore
from landmark.engine.run import Run
from landmark.models.transformer.translator import VARIANTS, Translator
from landmark.tasks.catalog import NETWORKS, RECIPES, load_catalog
from landmark.tasks.training import load_config, resolve, train
from landmark.tasks.translation.run import TranslationRun, assemble, prepare

CPU = torch.device("cpu")


@pytest.fixture
def config(tiny_run):
    return load_config(Run.open(tiny_run))


def test_preparation_fills_in_the_tokenizers_vocabulary(tmp_path, tiny):
    config = resolve("transformer-embedded", tiny)
    assert config.model.vocab_size is None
    prepared = prepare(config, tmp_path, lambda record: None)
    assert prepared.model.vocab_size == 500
    assert dataclasses.replace(prepared, model=config.model) == config


def test_a_vocabulary_given_must_be_the_tokenizers(tmp_path, tiny):
    right = resolve("transformer-embedded", [*tiny, "model.vocab_size=500"])
    assert prepare(right, tmp_path, lambda record: None).model.vocab_size == 500
    wrong = resolve("transformer-embedded", [*tiny, "model.vocab_size=501"])
    with pytest.raises(UserError, match="vocab_size is 501, the tokenizer has 500"):
        prepare(wrong, tmp_path, lambda record: None)


def test_the_seed_decides_the_initial_weights(config, tiny_run):
    first, again = (assemble(config, tiny_run, CPU).objective.model for _ in range(2))
    other = assemble(dataclasses.replace(config, seed=2), tiny_run, CPU).objective.model
    weights = [model.target_embedding.weight for model in (first, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_training_is_shuffled_and_validation_is_not(config, tiny_run):
    assembly = assemble(config, tiny_run, CPU)
    for loader, split in ((assembly.source, "train"), (assembly.validation, "valid")):
        plans = [[tuple(batch) for batch in loader.plan(epoch)] for epoch in range(6)]
        assert any(plan != plans[0] for plan in plans) is (split == "train")
        numbers = sorted(number for batch in plans[0] for number in batch)
        assert numbers == list(range(len(TokenStore(tiny_run / "data" / split))))


def test_bpe_dropout_is_for_training_only(config, tiny_run):
    batches = dataclasses.replace(config.batches, bpe_dropout=0.9)
    config = dataclasses.replace(config, batches=batches)
    assembly = assemble(config, tiny_run, CPU)
    for loader, split in ((assembly.source, "train"), (assembly.validation, "valid")):
        store = TokenStore(tiny_run / "data" / split)
        pieces = loader.samples.collate(0, range(20)).target_packing.lengths - 1
        whole = [len(store["target", number]) for number in range(20)]
        assert (pieces.sum() > sum(whole)) if split == "train" else (pieces.tolist() == whole)


def test_the_schedule_knows_width_and_length_of_the_training(config, tiny_run):
    cosine = config.schedule
    assert cosine.name == "cosine"
    optimizer = assemble(config, tiny_run, CPU).optimizers["model"]
    last = optimizer.set_rate(config.trainer.max_steps)
    noam = dataclasses.replace(cosine, name="noam", rate=1.0, warmup_steps=4)
    optimizer = assemble(dataclasses.replace(config, schedule=noam), tiny_run, CPU).optimizers
    assert optimizer["model"].set_rate(4) == pytest.approx(16**-0.5 * 4**-0.5)
    assert last < cosine.rate


def test_accumulation_cuts_each_batch_into_parts(config, tiny_run):
    trainer = dataclasses.replace(config.trainer, accumulate=3)
    assembly = assemble(dataclasses.replace(config, trainer=trainer), tiny_run, CPU)
    parts = next(assembly.source.stream(Place()))
    assert len(parts) == 3
    whole = assembly.source.plan(0)[0]
    assert sorted(s for part in parts for s in part.samples) == sorted(int(n) for n in whole)


def test_every_variant_is_a_network_that_can_be_shown():
    assert {f"transformer-{name}" for name in VARIANTS} <= set(NETWORKS)


def test_own_data_must_be_named(tmp_path):
    with pytest.raises(UserError, match="give --source and --target"):
        train("translation", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_every_translator_has_the_papers_adam_unless_it_is_raced():
    load_catalog()
    configs = {name: resolve(name) for name in RECIPES}
    found = {
        name: (config.optimizer.betas, config.optimizer.epsilon)
        for name, config in configs.items()
        if config.task == "translation"
    }
    assert found.pop("race-transformer") == ((0.9, 0.999), 1e-8)
    assert set(found.values()) == {((0.9, 0.98), 1e-9)}
    own = TranslationRun().optimizer  # of a file of one's own
    assert (own.betas, own.epsilon) == ((0.9, 0.98), 1e-9)


@pytest.mark.parametrize(("size", "paper"), [("base", 3.3e18), ("big", 2.3e19)])
def test_training_costs_less_than_the_paper_estimates_from_its_gpus(size, paper):
    """Its figure is time x GPUs x their rate, so it bounds the arithmetic, by a few times."""
    config, network = resolve(f"transformer-{size}-wmt14"), NETWORKS[f"transformer-{size}"]
    with torch.device("meta"):
        parameters = list(network.build().parameters())
    matrices = sum(parameter.numel() for parameter in parameters if parameter.dim() == 2)
    operations = 6 * matrices * config.batches.tokens * config.trainer.max_steps
    assert 0.2 * paper < operations < 0.5 * paper


def test_multi30k_has_the_published_size():
    """Wu et al. 2021: at most 3 million parameters with 10,000 subwords."""
    config = resolve("transformer-multi30k", ["model.vocab_size=10000"])
    with torch.device("meta"):
        model = Translator(config.model)
    assert sum(parameter.numel() for parameter in model.parameters()) == 2_605_568
    shape = config.model
    assert (shape.encoder_layers, shape.decoder_layers, shape.num_heads) == (4, 4, 4)
    assert (shape.hidden_size, shape.inner_size, shape.dropout) == (128, 256, 0.3)
