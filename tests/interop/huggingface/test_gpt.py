"""GPT-2 and the first GPT against `transformers`, both ways, through whole runs."""

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from landmark.core.errors import UserError
from landmark.interop.huggingface.folder import read_config, read_weights
from landmark.interop.huggingface.gpt import read_gpt, write_gpt
from landmark.layers.packing import Packing
from landmark.models.transformer.gpt import GPT, GPTConfig
from landmark.tasks.huggingface import export_to_hf, import_model
from landmark.tasks.loading import load
from tests.interop.huggingface.foreign import first_gpt_folder, gpt2_folder, gpt2_model

PROMPTS = ["A dog runs in", "the quick brown fox", "Ein großer Hund"]


@pytest.fixture(scope="module", params=["gpt2", "first"])
def folder(request, tmp_path_factory):
    make = gpt2_folder if request.param == "gpt2" else first_gpt_folder
    return make(tmp_path_factory.mktemp("theirs") / request.param)


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    return import_model(str(folder), tmp_path_factory.mktemp("ours") / "run")


def theirs_of(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder).eval()


@torch.inference_mode()
def our_logits(model, tokens):
    """(B, T) -> (B, T, V)"""
    packing = Packing.full(*tokens.shape)
    return model.logits(model(tokens.flatten(), packing)).view(*tokens.shape, -1)


@torch.inference_mode()
def assert_same_logits(ours, theirs):
    tokens = torch.randint(
        0, ours.config.vocab_size, (3, 20), generator=torch.Generator().manual_seed(1)
    )
    expected = theirs(tokens).logits
    assert expected.std() > 0.5  # so that 1e-4 means something
    torch.testing.assert_close(our_logits(ours, tokens), expected, atol=1e-4, rtol=0)


def greedy(theirs, tokens, length):
    said = theirs.generate(
        torch.tensor([tokens]),
        max_new_tokens=length,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
    )
    return said[0, len(tokens) :].tolist()


def test_an_imported_model_has_the_same_logits(folder, run):
    assert_same_logits(load(run).model, theirs_of(folder))


def test_an_imported_model_says_the_same_greedily(folder, run):
    pipeline, theirs = load(run), theirs_of(folder)
    pipeline.end = None  # random weights may say it at any time
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for prompt in PROMPTS:
        tokens = pipeline.encode_prompt(prompt)
        assert tokens == tokenizer(prompt, add_special_tokens=False)["input_ids"]
        (said,) = pipeline.generate(prompt, 15, sampling=None)
        assert list(said.tokens) == greedy(theirs, tokens, 15)


def padded_folder(folder, rows):
    """A GPT-2 whose embedding has more rows than its vocabulary has entries."""
    gpt2_folder(folder)
    gpt2_model(rows).save_pretrained(folder)
    return folder


def test_rows_that_pad_a_vocabulary_are_left_out_with_a_note(tmp_path):
    entries = len(transformers.AutoTokenizer.from_pretrained(gpt2_folder(tmp_path / "own")))
    rows = (entries // 64 + 1) * 64
    folder, said = padded_folder(tmp_path / "theirs", rows), []
    run = import_model(str(folder), tmp_path / "run", said.append)
    (note,) = [record["text"] for record in said]
    assert f"has {rows:,} rows for {entries:,} tokens: those behind, which only pad it" in note
    ours, theirs = load(run).model, theirs_of(folder)
    assert ours.config.vocab_size == entries
    tokens = torch.arange(20)[None]
    with torch.inference_mode():
        expected = theirs(tokens).logits[..., :entries]
    torch.testing.assert_close(our_logits(ours, tokens), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("more", [7, 2048])
def test_rows_that_padding_does_not_explain_are_refused(tmp_path, more):
    entries = len(transformers.AutoTokenizer.from_pretrained(gpt2_folder(tmp_path / "own")))
    odd = entries // 8 * 8 + 8 + more
    folder = padded_folder(tmp_path / "theirs", odd)
    with pytest.raises(UserError, match="the tokenizer does not belong to the weights"):
        import_model(str(folder), tmp_path / "run")


def test_an_exported_run_is_the_same_model_and_vocabulary_again(run, folder, tmp_path):
    exported = export_to_hf(run, tmp_path / "out")
    theirs = theirs_of(exported)
    assert_same_logits(load(run).model, theirs)
    first, again = (
        load_file(folder / "model.safetensors"),
        load_file(exported / "model.safetensors"),
    )
    assert first.keys() == again.keys()
    for name, tensor in again.items():
        expected = first[name].clone()
        if name.endswith("c_attn.bias"):
            expected.chunk(3)[1].zero_()  # the keys' bias, which softmax ignores
        assert torch.equal(tensor, expected), name
    before, after = (transformers.AutoTokenizer.from_pretrained(f) for f in (folder, exported))
    assert before(PROMPTS)["input_ids"] == after(PROMPTS)["input_ids"]
    assert before.eos_token == after.eos_token


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_model_of_ours_is_the_same_with_them(norm, tmp_path):
    from landmark.interop.huggingface.export import write_model

    torch.manual_seed(2)
    model = GPT(GPTConfig(vocab_size=50, hidden_size=24, num_heads=3, num_layers=2, norm=norm))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    write_model(tmp_path, *write_gpt(model.eval(), None, None))
    theirs = theirs_of(tmp_path)
    assert type(theirs).__name__ == ("GPT2LMHeadModel" if norm == "pre" else "OpenAIGPTLMHeadModel")
    assert_same_logits(model, theirs)


def test_a_width_of_its_own_inside_is_kept_by_gpt2_and_refused_by_the_first(tmp_path):
    shape = {"vocab_size": 9, "hidden_size": 8, "num_heads": 2, "num_layers": 1, "inner_size": 12}
    config, tensors = write_gpt(GPT(GPTConfig(**shape)), None, None)
    assert config["n_inner"] == 12
    assert tensors["transformer.h.0.mlp.c_fc.weight"].shape == (8, 12)
    with pytest.raises(UserError, match="four times as wide"):
        write_gpt(GPT(GPTConfig(**shape, norm="post")), None, None)


def test_files_of_the_bare_body_and_with_masks_are_read_too(tmp_path):
    theirs = gpt2_model(60)
    theirs.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    bare = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
    bare["h.0.attn.bias"] = torch.ones(1, 1, 32, 32)
    bare["h.0.attn.masked_bias"] = torch.tensor(-1e4)
    bare["lm_head.weight"] = bare["wte.weight"].clone()
    save_file(bare, tmp_path / "model.safetensors")
    shape, state = read_gpt(read_config(tmp_path), read_weights(tmp_path))
    model = GPT(shape).eval()
    model.load_state_dict(state, strict=False)
    assert_same_logits(model, theirs)


def test_half_precision_becomes_single(tmp_path):
    gpt2_model(60).to(torch.bfloat16).save_pretrained(tmp_path)
    _, state = read_gpt(read_config(tmp_path), read_weights(tmp_path))
    assert {tensor.dtype for tensor in state.values()} == {torch.float32}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"activation_function": "relu"}, "activation_function 'relu' is not supported"),
        ({"layer_norm_epsilon": 1e-3}, "layer_norm_epsilon 0.001 is not supported"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings False"),
        ({"n_head": 5}, "5 heads do not divide a width of 24"),
        ({"n_layer": "two"}, "n_layer is 'two': it must be a whole number"),
        ({"n_layer": 3}, "have no 'h.2.attn.c_attn.weight'"),
        ({"n_layer": 1}, "have 'h.1.attn.c_attn.bias', which the model of config.json has not"),
        ({"n_positions": 16}, r"wpe.weight has shape \(32, 24\), but config.json asks for \(16,"),
    ],
)
def test_what_does_not_fit_is_refused(change, said, tmp_path):
    gpt2_model(60).save_pretrained(tmp_path)
    config = read_config(tmp_path) | change
    with pytest.raises(UserError, match=said):
        read_gpt(config, read_weights(tmp_path))


def test_an_output_of_its_own_is_refused(tmp_path):
    gpt2_model(60).save_pretrained(tmp_path)
    weights = read_weights(tmp_path)
    weights.tensors["lm_head.weight"] = torch.zeros(60, 24)
    with pytest.raises(UserError, match=r"lm_head.weight is not the embedding"):
        read_gpt(read_config(tmp_path), weights)
