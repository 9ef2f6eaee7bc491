"""Runs that were trained here, loaded by `transformers`: the same tokens, logits and words."""

import json
import shutil

import pytest
import torch
import transformers

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.layers.packing import Packing
from landmark.pipelines.filling import FillingPipeline
from landmark.pipelines.huggingface.importing import import_model
from landmark.pipelines.loading import load
from landmark.pipelines.translation.exported import export_run
from landmark.recipes.training import load_config, train
from tests.interop.huggingface.foreign import DIFFICULT, LINES, bert_folder

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
    kind.append(f"data.apart={'true' if request.param == 'subwords' else 'false'}")
    return train_gpt(tmp_path_factory.mktemp("runs") / request.param, text, *kind)


def test_a_gpt_of_ours_writes_the_same_with_them(gpt_run, tmp_path):
    folder = export_run(gpt_run, "hf", output=tmp_path / "out")
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
    folder = export_run(gpt_run, "hf", output=tmp_path / "out")
    ours, theirs = load(gpt_run).tokenizer, transformers.AutoTokenizer.from_pretrained(folder)
    texts = DIFFICULT if hasattr(ours, "backend") else [*LINES, "a\nb", ""]
    assert [theirs(text)["input_ids"] for text in texts] == ours.encode(texts)
    assert [theirs.decode(row) for row in ours.encode(texts)] == list(texts)


def test_a_bert_of_ours_fills_in_the_same_with_them(text, tmp_path):
    data = [f'data.text=["{text}"]', f'data.valid_text=["{text}"]', "tokenizer.vocab_size=200"]
    settings = ["model.inner_size=32", "model.max_length=32", "batches.tokens=200"]
    post = ["model.norm=post", "objective.next_sentence=false"]
    run = train("bert", tmp_path / "run", [*SHAPE, *STEPS, *data, *settings, *post]).folder
    folder = export_run(run, "hf")
    assert folder == run / "export/hf"
    pipeline = FillingPipeline(Run.open(run), load_config(Run.open(run)), None, "cpu")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    given = tokenizer("The [MASK] runs in the park.", return_tensors="pt")
    tokens = given["input_ids"][0]
    assert tokens.tolist() == pipeline.encode("The [MASK] runs in the park.").tolist()
    with torch.inference_mode():
        logits = model(**given).logits[0]
        hidden = pipeline.model(tokens, Packing.full(1, len(tokens)))
        torch.testing.assert_close(pipeline.model.heads.guess(hidden), logits, atol=1e-4, rtol=0)
    assert [tokenizer(t, add_special_tokens=False)["input_ids"] for t in DIFFICULT] == (
        pipeline.tokenizer.encode(DIFFICULT)
    )
    pair = tokenizer("A dog", "runs")
    first, between = pipeline.tokenizer.begin, pipeline.tokenizer.separator
    one, other = pipeline.tokenizer.encode(["A dog", "runs"])
    assert pair["input_ids"] == [first, *one, between, *other, between]
    assert pair["token_type_ids"] == [0] * (len(one) + 2) + [1] * (len(other) + 1)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_translator_of_ours_translates_the_same_with_them(norm, tiny, tmp_path):
    run = train("transformer-embedded", tmp_path / "run", [*tiny, f"model.norm={norm}"]).folder
    folder = export_run(run, "hf")
    pipeline = load(run)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    for sentence in ("The old woman reads a good book.", "a dog", "naïve 👍🏽 漢字"):
        given = tokenizer(sentence, return_tensors="pt")
        (source,) = pipeline.tokenizer.encode([sentence])
        assert given["input_ids"][0].tolist() == [*source, pipeline.tokenizer.end]
        limit = min(64, pipeline.config.search.max_length(len(source) + 1))
        given.pop("token_type_ids", None)
        said = model.generate(**given, num_beams=1, max_new_tokens=min(63, limit + 1))[0, 1:]
        (ours,) = pipeline.translate([sentence], beam=1)
        words = said.tolist()
        end = words.index(pipeline.tokenizer.end)
        assert list(ours.tokens)[:end] == words[:end]
        assert len(ours.tokens) in (end, limit)
        text = tokenizer.decode(ours.tokens, skip_special_tokens=True)
        assert text == pipeline.tokenizer.decode([ours.tokens])[0]
    decoded = [
        tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True)
        for text in DIFFICULT
    ]
    assert decoded == DIFFICULT
    again = load(import_model(str(folder), tmp_path / "again"))
    assert again.config.model.norm == norm
    assert again.tokenizer.encode(DIFFICULT) == pipeline.tokenizer.encode(DIFFICULT)
    sentences = ["The old woman reads a good book.", "a dog"]
    for ours, theirs in zip(
        pipeline.translate(sentences, beam=1), again.translate(sentences, beam=1), strict=True
    ):
        assert ours.text == theirs.text


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """A BERT of theirs, fine-tuned here."""
    folder = tmp_path_factory.mktemp("classifier")
    body = import_model(str(bert_folder(folder / "theirs")), folder / "body")
    rows = [f"{LINES[n % 3]}\t{('bad', 'good', 'odd')[n % 3]}" for n in range(24)]
    (folder / "own.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n", encoding="utf-8")
    data = [f"data.train={folder / 'own.tsv'}", "data.text=text", "data.label=label"]
    more = ["batches.size=8", "trainer.patience=null", "threads=1", f"init_from={body}"]
    return train("understanding", folder / "run", [*STEPS, *data, *more]).folder


def test_a_fine_tuned_bert_classifies_the_same_with_them(classifier, tmp_path):
    folder = export_run(classifier, "hf", output=tmp_path / "out")
    pipeline = load(classifier)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    assert type(model).__name__ == "BertForSequenceClassification"
    for text in ("A dog runs.", "le café"):
        with torch.inference_mode():
            chances = model(**tokenizer(text, return_tensors="pt")).logits[0].softmax(0)
        (ours,) = pipeline.predict(pipeline.examples_of([text]))
        theirs = {model.config.id2label[n]: chance for n, chance in enumerate(chances.tolist())}
        assert ours.probabilities == pytest.approx(theirs, abs=1e-5)
        assert ours.probabilities.keys() == {"bad", "good", "odd"}


def test_what_cannot_go_there_is_refused_and_leaves_nothing(recurrent_run, tmp_path):
    said = "only GPT, BERT and Transformer translators go to hf: .*'seq2seq'"
    with pytest.raises(UserError, match=said):
        export_run(recurrent_run, "hf", output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_form_that_a_tokenizer_cannot_make_is_refused(tiny_run, tmp_path, rewrite_recipe):
    run = shutil.copytree(tiny_run, tmp_path / "run")
    rewrite_recipe(run, "form: plain", "form: moses-lowercase")
    with pytest.raises(UserError, match="reads text in the form moses-lowercase"):
        export_run(run, "hf", output=tmp_path / "out")


def test_an_export_lists_its_files_and_gives_way_to_the_next(gpt_run, tmp_path):
    folder = export_run(gpt_run, "hf", output=tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["facts"]["target"] == "hf"
    assert manifest["files"].keys() == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    export_run(gpt_run, "hf", output=folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(UserError, match="not an export"):
        export_run(gpt_run, "hf", output=folder)
