"""BERTs with the layer of a task against the classes of `transformers` for it."""

import pytest
import torch
import transformers

from landmark.core.errors import UserError
from landmark.data.understanding.corpus import Labels
from landmark.interop.huggingface.export import write_model
from landmark.interop.huggingface.understander import write_understander
from landmark.layers.packing import Packing
from landmark.models.transformer.bert import BERTConfig
from landmark.models.transformer.gpt import GPTConfig
from landmark.models.understanding import UnderstandingModel

VOCABULARY, PADDING = 60, 0
TOKENS = torch.randint(4, VOCABULARY, (4, 15), generator=torch.Generator().manual_seed(1))
SEGMENTS = torch.tensor([[0] * 6 + [1] * 9] * 4)
FAMILIES = {"post": "Bert", "pre": "RobertaPreLayerNorm"}


def understander(labels, **shape):
    torch.manual_seed(2)
    config = BERTConfig(
        vocab_size=VOCABULARY, hidden_size=24, num_heads=3, num_layers=2, max_length=32, **shape
    )
    model = UnderstandingModel(config, labels.num_outputs).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def exported(model, labels, folder, kind):
    """Ours as loaded by the class of theirs that a user would ask for."""
    write_model(folder, *write_understander(model, PADDING, labels))
    theirs, facts = kind.from_pretrained(folder, output_loading_info=True)
    assert not facts["missing_keys"]
    assert not facts["unexpected_keys"]
    return theirs.eval()


def hidden_states(model):
    packing = Packing.full(*TOKENS.shape)
    return model(TOKENS.flatten(), packing, SEGMENTS.flatten()), packing


def pooled_outputs(model):
    hidden, packing = hidden_states(model)
    return model.classify(model.summarize(hidden, packing), torch.arange(4), 4)


def assert_close(ours, theirs):
    assert theirs.std() > 0.1  # so that 1e-4 means something
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=0)


@pytest.mark.parametrize("norm", FAMILIES)
@torch.inference_mode()
def test_classes_are_told_apart_alike(norm, tmp_path):
    labels = Labels("classification", ("bad", "good", "odd"))
    model = understander(labels, norm=norm)
    kind = transformers.AutoModelForSequenceClassification
    theirs = exported(model, labels, tmp_path, kind)
    assert type(theirs).__name__ == f"{FAMILIES[norm]}ForSequenceClassification"
    assert theirs.config.id2label == {0: "bad", 1: "good", 2: "odd"}
    assert_close(pooled_outputs(model), theirs(TOKENS, token_type_ids=SEGMENTS).logits)


@pytest.mark.parametrize("norm", FAMILIES)
@torch.inference_mode()
def test_a_number_comes_out_as_it_is_and_not_in_deviations(norm, tmp_path):
    labels = Labels("regression", mean=2.5, deviation=1.5)
    model = understander(labels, norm=norm)
    kind = transformers.AutoModelForSequenceClassification
    theirs = exported(model, labels, tmp_path, kind)
    assert (theirs.config.num_labels, theirs.config.problem_type) == (1, "regression")
    numbers = pooled_outputs(model) * 1.5 + 2.5
    assert_close(numbers, theirs(TOKENS, token_type_ids=SEGMENTS).logits)


@pytest.mark.parametrize("norm", FAMILIES)
@torch.inference_mode()
def test_choices_are_weighed_alike(norm, tmp_path):
    labels = Labels("choice")
    model = understander(labels, norm=norm)
    theirs = exported(model, labels, tmp_path, transformers.AutoModelForMultipleChoice)
    assert type(theirs).__name__ == f"{FAMILIES[norm]}ForMultipleChoice"
    given = {"input_ids": TOKENS[None], "token_type_ids": SEGMENTS[None]}
    assert_close(pooled_outputs(model)[:, 0], theirs(**given).logits[0])


@pytest.mark.parametrize("norm", FAMILIES)
@pytest.mark.parametrize("pooler", [True, False])
@torch.inference_mode()
def test_every_token_is_tagged_alike(norm, pooler, tmp_path):
    labels = Labels("tagging", ("B-PER", "I-PER", "O"))
    model = understander(labels, norm=norm, pooler=pooler)
    theirs = exported(model, labels, tmp_path, transformers.AutoModelForTokenClassification)
    assert type(theirs).__name__ == f"{FAMILIES[norm]}ForTokenClassification"
    assert theirs.config.id2label == {0: "B-PER", 1: "I-PER", 2: "O"}
    tags = model.answer(hidden_states(model)[0]).view(4, 15, 3)
    assert_close(tags, theirs(TOKENS, token_type_ids=SEGMENTS).logits)


@pytest.mark.parametrize("norm", FAMILIES)
@torch.inference_mode()
def test_answers_start_and_end_alike(norm, tmp_path):
    labels = Labels("span")
    model = understander(labels, norm=norm)
    theirs = exported(model, labels, tmp_path, transformers.AutoModelForQuestionAnswering)
    assert type(theirs).__name__ == f"{FAMILIES[norm]}ForQuestionAnswering"
    found = theirs(TOKENS, token_type_ids=SEGMENTS)
    starts, ends = model.answer(hidden_states(model)[0]).view(4, 15, 2).unbind(2)
    assert_close(starts, found.start_logits)
    assert_close(ends, found.end_logits)


def test_what_theirs_cannot_be_is_refused():
    labels = Labels("classification", ("bad", "good"))
    shape = {"vocab_size": 9, "hidden_size": 8, "num_heads": 2, "num_layers": 1}
    for config in (BERTConfig(**shape, pooler=False), GPTConfig(**shape)):
        with pytest.raises(UserError, match="only a BERT with a pooler goes to hf"):
            write_understander(UnderstandingModel(config, 2), PADDING, labels)
