"""GPTs of ours, loaded by `transformers`, and theirs as runs: the same tokens, logits and words."""

import json

import pytest
import transformers

from landmark.core.errors import UserError
from landmark.tasks.huggingface import export_to_hf
from landmark.tasks.loading import load
from landmark.tasks.training import train
from tests.interop.huggingface.foreign import (
    DIFFICULT,
    LINES,
)

TEXT = "\n".join(LINES * 8) + "\n"
SHAPE = ["model.hidden_size=16", "model.num_heads=2", "model.num_layers=2", "threads=1"]
STEPS = [
    "trainer.max_steps=4",
    "trainer.validate_every=4",
    "trainer.checkpoint_every=4",
    "schedule.rate=0.01",
    "schedule.warmup_steps=1",
]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def train_gpt(folder, text, *settings):
    data = [f'data.text=["{text}"]', "data.corpus=files", "batches.length=16", "batches.streams=4"]
    return train("gpt", folder, [*SHAPE, *STEPS, *data, "model.max_length=32", *settings]).folder


@pytest.fixture(scope="module", params=["subwords", "characters"])
def gpt_run(request, tmp_path_factory, text):
    norm = "pre" if request.param == "subwords" else "post"
    kind = [f"tokenizer.kind={request.param}", "tokenizer.vocab_size=300", f"model.norm={norm}"]
    kind.append(f"data.separate_documents={'true' if request.param == 'subwords' else 'false'}")
    return train_gpt(tmp_path_factory.mktemp("runs") / request.param, text, *kind)


def test_a_gpt_of_ours_writes_the_same_with_them(gpt_run, tmp_path):
    folder = export_to_hf(gpt_run, tmp_path / "out")
    pipeline = load(gpt_run)
    pipeline.end = None
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    assert len(tokenizer) == model.config.vocab_size
    for prompt in ("the quick", "Ein Hund", "n"):
        tokens = tokenizer(prompt, return_tensors="pt")["input_ids"]
        assert tokens[0].tolist() == pipeline.encode_prompt(prompt)
        said = model.generate(
            tokens, max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0
        )[0, tokens.shape[1] :]
        (ours,) = pipeline.generate(prompt, 12, sampling=None)
        assert list(ours.tokens) == said.tolist()
        assert tokenizer.decode(said, skip_special_tokens=True) == ours.text


def test_the_vocabulary_of_a_gpt_cuts_difficult_text_alike(gpt_run, tmp_path):
    folder = export_to_hf(gpt_run, tmp_path / "out")
    ours, theirs = load(gpt_run).tokenizer, transformers.AutoTokenizer.from_pretrained(folder)
    texts = DIFFICULT if hasattr(ours, "backend") else [*LINES, "a\nb", ""]
    assert [theirs(text)["input_ids"] for text in texts] == ours.encode(texts)
    assert [theirs.decode(row) for row in ours.encode(texts)] == list(texts)


def test_an_export_lists_its_files_and_gives_way_to_the_next(gpt_run, tmp_path):
    folder = export_to_hf(gpt_run, tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["facts"]["target"] == "hf"
    assert manifest["files"].keys() == {
        "README.md",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    export_to_hf(gpt_run, folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(UserError, match="something other than an export"):
        export_to_hf(gpt_run, folder)
