"""BERT, RoBERTa (pre-norm too) and DistilBERT against `transformers`, both ways."""

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from landmark.core.errors import UserError
from landmark.interop.huggingface.bert import read_bert, write_bert
from landmark.interop.huggingface.export import write_model
from landmark.interop.huggingface.folder import read_config, read_weights
from landmark.layers.packing import Packing
from landmark.models.transformer.bert import BERTConfig, PretrainedBERT
from tests.interop.huggingface.foreign import bert_config, randomized

VOCABULARY = 60
SEGMENTS = torch.tensor([[0] * 8 + [1] * 12] * 3)


def read(folder):
    """A folder as our model, and the notes on it."""
    shape, state, notes = read_bert(read_config(folder), read_weights(folder))
    model = PretrainedBERT(shape).eval()
    missing = model.load_state_dict(state, strict=False)
    assert missing.missing_keys == ["heads.output.weight"]  # the embedding's
    assert not missing.unexpected_keys
    return model, notes


def some_tokens(first=2):
    return torch.randint(first, VOCABULARY, (3, 20), generator=torch.Generator().manual_seed(1))


@torch.inference_mode()
def our_outputs(model, tokens, segments=None):
    """Hidden states, guesses of every token, and whether the second segment follows."""
    packing = Packing.full(*tokens.shape)
    hidden = model(tokens.flatten(), packing, None if segments is None else segments.flatten())
    grid = (*tokens.shape, -1)
    pooled = model.bert.pool(hidden, packing)
    follows = model.heads.follows(pooled)
    return hidden.view(grid), model.heads.guess(hidden).view(grid), follows


def spread(model):
    """A model with every weight moved, those too that begin as zeros or ones."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def assert_close(ours, theirs):
    assert theirs.std() > 0.3  # so that 1e-4 means something
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=0)


def test_a_pretrained_bert_has_the_same_outputs(tmp_path):
    theirs = randomized(transformers.BertForPreTraining(bert_config(VOCABULARY)))
    theirs.save_pretrained(tmp_path)
    ours, notes = read(tmp_path)
    assert (notes, ours.config.pooler) == ([], True)
    tokens = some_tokens()
    with torch.inference_mode():
        expected = theirs(tokens, token_type_ids=SEGMENTS)
    _, guesses, follows = our_outputs(ours, tokens, SEGMENTS)
    assert_close(guesses, expected.prediction_logits)
    assert_close(follows, expected.seq_relationship_logits)


def test_texts_of_different_lengths_are_read_as_padded_ones(tmp_path):
    theirs = randomized(transformers.BertForMaskedLM(bert_config(VOCABULARY)))
    theirs.save_pretrained(tmp_path)
    ours, _ = read(tmp_path)
    tokens, lengths = some_tokens(), torch.tensor([20, 7, 13])
    visible = torch.arange(20) < lengths[:, None]
    with torch.inference_mode():
        expected = theirs(tokens, attention_mask=visible.long()).logits[visible]
        hidden = ours(tokens[visible], Packing(lengths))
        assert_close(ours.heads.guess(hidden), expected)


def test_what_a_folder_lacks_is_done_without(tmp_path):
    theirs = randomized(transformers.BertForMaskedLM(bert_config(VOCABULARY)))
    theirs.save_pretrained(tmp_path)
    ours, notes = read(tmp_path)
    assert (notes, ours.config.pooler, ours.bert.pooler) == ([], False, None)
    assert not ours.heads.next.weight.any()
    tokens = some_tokens()
    with torch.inference_mode():
        assert_close(our_outputs(ours, tokens)[1], theirs(tokens).logits)


def test_the_layer_of_a_task_is_left_out_and_missing_guesses_begin_anew(tmp_path):
    theirs = randomized(transformers.BertForSequenceClassification(bert_config(VOCABULARY)))
    theirs.save_pretrained(tmp_path)
    (ours, notes), (again, _) = read(tmp_path), read(tmp_path)
    assert notes == [
        "the folder has no layers that guess hidden tokens: they begin anew, untrained",
        "classifier.bias, classifier.weight: the layer of a task that was left out",
    ]
    assert ours.heads.transform.weight.any()
    assert torch.equal(ours.heads.transform.weight, again.heads.transform.weight)
    tokens = some_tokens()
    with torch.inference_mode():
        expected = theirs.bert(tokens)
        hidden, _, _ = our_outputs(ours, tokens)
        assert_close(hidden, expected.last_hidden_state)
        pooled = ours.bert.pool(hidden.flatten(0, 1), Packing.full(3, 20))
        assert_close(pooled, expected.pooler_output)


def test_a_roberta_reads_its_positions_from_the_third_on(tmp_path):
    shape = bert_config(VOCABULARY).to_dict() | {
        "max_position_embeddings": 34,
        "pad_token_id": 1,
        "layer_norm_eps": 1e-3,
    }
    theirs = randomized(
        transformers.RobertaForMaskedLM(transformers.RobertaConfig(**_plain(shape)))
    )
    theirs.save_pretrained(tmp_path)
    ours, _ = read(tmp_path)
    assert ours.config.max_length == 32
    tokens = some_tokens()
    with torch.inference_mode():
        assert_close(our_outputs(ours, tokens)[1], theirs(tokens).logits)


def _plain(shape):
    return {
        key: value for key, value in shape.items() if key not in ("model_type", "architectures")
    }


def test_a_distilbert_has_neither_segments_nor_a_pooler(tmp_path):
    config = transformers.DistilBertConfig(
        vocab_size=VOCABULARY,
        dim=24,
        n_layers=2,
        n_heads=3,
        hidden_dim=40,
        max_position_embeddings=32,
    )
    theirs = randomized(transformers.DistilBertForMaskedLM(config))
    theirs.save_pretrained(tmp_path)
    ours, notes = read(tmp_path)
    assert (notes, ours.config.segments, ours.config.pooler) == ([], 0, False)
    tokens = some_tokens()
    with torch.inference_mode():
        assert_close(our_outputs(ours, tokens)[1], theirs(tokens).logits)


def test_older_names_and_stored_copies_are_read_too(tmp_path):
    theirs = randomized(transformers.BertForPreTraining(bert_config(VOCABULARY)))
    theirs.save_pretrained(tmp_path)
    older = {}
    for name, tensor in load_file(tmp_path / "model.safetensors").items():
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        older[name.replace("LayerNorm.bias", "LayerNorm.beta")] = tensor
    older["cls.predictions.decoder.weight"] = older[
        "bert.embeddings.word_embeddings.weight"
    ].clone()
    older["cls.predictions.decoder.bias"] = older["cls.predictions.bias"].clone()
    older["bert.embeddings.position_ids"] = torch.arange(32)[None]
    save_file(older, tmp_path / "model.safetensors")
    ours, _ = read(tmp_path)
    with torch.inference_mode():
        assert_close(our_outputs(ours, some_tokens())[1], theirs(some_tokens()).prediction_logits)


def our_bert(segments, pooler, norm="post"):
    """A small BERT of ours with weights that tell differences."""
    torch.manual_seed(3)
    config = BERTConfig(
        vocab_size=VOCABULARY,
        hidden_size=24,
        num_heads=3,
        num_layers=2,
        max_length=32,
        segments=segments,
        pooler=pooler,
        norm=norm,
    )
    return spread(PretrainedBERT(config).eval())


@pytest.mark.parametrize(
    ("segments", "pooler", "kind"),
    [
        (2, True, transformers.BertForPreTraining),
        (2, False, transformers.BertForMaskedLM),
        (0, False, transformers.AutoModelForMaskedLM),
    ],
)
def test_a_model_of_ours_is_the_same_with_them(segments, pooler, kind, tmp_path):
    ours = our_bert(segments, pooler)
    write_model(tmp_path, *write_bert(ours, padding=0))
    theirs, tokens = kind.from_pretrained(tmp_path).eval(), some_tokens()
    given = SEGMENTS if segments else None
    with torch.inference_mode():
        expected = theirs(tokens, token_type_ids=given)
    _, guesses, follows = our_outputs(ours, tokens, given)
    if pooler:
        assert_close(guesses, expected.prediction_logits)
        assert_close(follows, expected.seq_relationship_logits)
    else:
        assert_close(guesses, expected.logits)
    again, _ = read(tmp_path)
    same = [
        torch.equal(a, b)
        for a, b in zip(
            our_outputs(again, tokens, given), our_outputs(ours, tokens, given), strict=True
        )
    ]
    assert same[:2] == [True, True]


@pytest.mark.parametrize(("segments", "pooler"), [(2, True), (2, False), (0, False)])
@pytest.mark.parametrize("padding", [0, 3])
def test_a_pre_norm_model_of_ours_is_their_pre_norm_roberta(segments, pooler, padding, tmp_path):
    ours = our_bert(segments, pooler, norm="pre")
    write_model(tmp_path, *write_bert(ours, padding=padding))
    theirs, facts = transformers.AutoModelForMaskedLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert type(theirs).__name__ == "RobertaPreLayerNormForMaskedLM"
    assert not facts["missing_keys"]
    tokens, given = some_tokens(first=4), SEGMENTS if segments else None
    hidden, guesses, _ = our_outputs(ours, tokens, given)
    with torch.inference_mode():
        assert_close(guesses, theirs.eval()(tokens, token_type_ids=given).logits)
        if pooler:
            body = transformers.AutoModel.from_pretrained(tmp_path).eval()
            pooled = ours.bert.pool(hidden.flatten(0, 1), Packing.full(3, 20))
            assert_close(pooled, body(tokens, token_type_ids=given).pooler_output)
    again, notes = read(tmp_path)
    assert (notes, again.config.norm, again.config.pooler) == ([], "pre", pooler)
    assert torch.equal(our_outputs(again, tokens, given)[1], guesses)


def test_the_longest_text_has_a_place_with_their_pre_norm_roberta(tmp_path):
    config = BERTConfig(
        vocab_size=9, hidden_size=8, num_heads=2, num_layers=1, max_length=12, norm="pre"
    )
    write_model(tmp_path, *write_bert(PretrainedBERT(config), padding=5))
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    assert theirs(torch.ones(1, 12, dtype=torch.int64)).logits.shape == (1, 12, 9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden_act": "relu"}, "hidden_act 'relu' is not supported: only 'gelu'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type 'relative_key'"),
        ({"is_decoder": True}, "is_decoder True"),
        ({"num_attention_heads": 5}, "5 heads do not divide a width of 24"),
        ({"num_hidden_layers": 3}, "have no 'encoder.layer.2"),
        ({"intermediate_size": 41}, r"has shape \(40, 24\), but config.json asks for \(41, 24\)"),
    ],
)
def test_what_does_not_fit_is_refused(change, said, tmp_path):
    transformers.BertForMaskedLM(bert_config(VOCABULARY)).save_pretrained(tmp_path)
    with pytest.raises(UserError, match=said):
        read_bert(read_config(tmp_path) | change, read_weights(tmp_path))
