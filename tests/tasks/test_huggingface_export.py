"""Runs that were trained here, loaded by `transformers`: the same tokens, logits and words."""

import json
import shutil

import pytest
import torch
import transformers

from landmark.core.errors import UserError
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.engine.run import Run
from landmark.interop.huggingface.export import write_model, write_translation_tokenizer
from landmark.interop.huggingface.marian import write_translator
from landmark.layers.packing import Packing
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.tasks.huggingface import import_model
from landmark.tasks.loading import load
from landmark.tasks.masked_language_model.pipeline import FillingPipeline
from landmark.tasks.training import load_config, train
from landmark.tasks.translation.exports import export_run
from tests.interop.huggingface.foreign import (
    DIFFICULT,
    LINES,
    bert_config,
    bert_folder,
    bert_tokenizer,
    randomized,
    wordpiece,
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


def filler(run):
    opened = Run.open(run)
    return FillingPipeline(opened, load_config(opened), None, "cpu")


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_bert_of_ours_fills_in_the_same_with_them(norm, text, tmp_path):
    data = [f'data.text=["{text}"]', f'data.valid_text=["{text}"]', "tokenizer.vocab_size=200"]
    settings = ["model.inner_size=32", "model.max_length=32", "batches.tokens=200"]
    norms = [f"model.norm={norm}", "objective.next_sentence=false"]
    run = train("bert", tmp_path / "run", [*SHAPE, *STEPS, *data, *settings, *norms]).folder
    notes = []
    folder = export_run(run, "hf", report=notes.append)
    assert (folder, notes) == (run / "export/hf", [])
    pipeline = filler(run)
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
    again = filler(import_model(str(folder), tmp_path / "again"))
    assert again.config.model.norm == norm
    with torch.inference_mode():
        hidden = again.model(tokens, Packing.full(1, len(tokens)))
        torch.testing.assert_close(again.model.heads.guess(hidden), logits, atol=1e-4, rtol=0)


def test_a_layer_without_a_place_there_is_left_out_with_a_warning(tmp_path):
    run = import_model(str(bert_folder(tmp_path / "theirs")), tmp_path / "post")
    notes = []
    export_run(run, "hf", report=notes.append)
    assert notes == []  # a post-norm BERT keeps it
    (tmp_path / "text.txt").write_text(f"{TEXT}\n\n{TEXT}", encoding="utf-8")
    files = [f'data.{name}=["{tmp_path / "text.txt"}"]' for name in ("text", "valid_text")]
    settings = ["model.max_length=32", "batches.tokens=200", "tokenizer.vocab_size=200"]
    pairs = [*SHAPE, *STEPS, *files, *settings, "objective.next_sentence=true"]
    export_run(train("bert", tmp_path / "run", pairs).folder, "hf", report=notes.append)
    said = "warning: left out: the layer that says whether a sentence follows another"
    assert notes == [{"kind": "note", "text": said}]


def test_a_bert_of_one_segment_has_both_texts_of_a_pair_in_it(tmp_path):
    run = import_model(str(bert_folder(tmp_path / "theirs", type_vocab_size=1)), tmp_path / "run")
    folder = export_run(run, "hf")
    pair = transformers.AutoTokenizer.from_pretrained(folder)("A dog", "runs", return_tensors="pt")
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    assert model(**pair).logits.isfinite().all()


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
    assert again.config.data.languages == ("en", "de")
    assert again.tokenizer.encode(DIFFICULT) == pipeline.tokenizer.encode(DIFFICULT)
    sentences = ["The old woman reads a good book.", "a dog"]
    for ours, theirs in zip(
        pipeline.translate(sentences, beam=1), again.translate(sentences, beam=1), strict=True
    ):
        assert ours.text == theirs.text


def test_a_translator_into_several_languages_is_told_which_by_a_tag(tmp_path):
    tokenizer = SubwordTokenizer.train(LINES, TokenizerConfig(vocab_size=300), ("de", "fr"))
    torch.manual_seed(4)
    shape = TransformerConfig(
        vocab_size=len(tokenizer), hidden_size=16, inner_size=16, num_heads=2, norm="pre"
    )
    write_model(tmp_path, *write_translator(Translator(shape), 1, 2, 0))
    write_translation_tokenizer(tmp_path, tokenizer, 64, ("en", "de"))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    (source,) = tokenizer.encode(["A dog runs."])
    for language in tokenizer.tags:
        given = theirs(f"<2{language}>A dog runs.")["input_ids"]
        assert given == [tokenizer.tag(language), *source, tokenizer.end]
    with pytest.raises(UserError, match=r"several languages \(de, fr\) cannot be imported again"):
        import_model(str(tmp_path), tmp_path / "run")


@pytest.fixture(scope="module", params=["Bert", "RobertaPreLayerNorm"])
def body(request, tmp_path_factory):
    """A body of theirs to fine-tune here, and what its classes' names begin with."""
    folder = tmp_path_factory.mktemp("body")
    tokenizer = bert_tokenizer(wordpiece())
    tokenizer.save_pretrained(folder / "theirs")
    shape = {"pad_token_id": 0, "max_position_embeddings": 33}
    kind = getattr(transformers, f"{request.param}Config")
    config = bert_config(len(tokenizer), kind, **shape)
    model = getattr(transformers, f"{request.param}Model")(config)
    randomized(model).save_pretrained(folder / "theirs")
    return import_model(str(folder / "theirs"), folder / "run"), request.param


def fine_tuned(body, folder, name, content, *settings):
    """A run of a task on a file, exported."""
    (folder / name).write_text(content, encoding="utf-8")
    more = ["batches.size=8", "trainer.patience=null", "threads=1", f"init_from={body}"]
    data = [f"data.train={folder / name}", *settings]
    run = train("understanding", folder / "run", [*STEPS, *data, *more]).folder
    return load(run), export_run(run, "hf", output=folder / "out")


def table(answers):
    """Texts in a column, and answers in turn in the next."""
    rows = [f"{LINES[n % 3]}\t{answers[n % len(answers)]}" for n in range(24)]
    return "\n".join(["text\tlabel", *rows]) + "\n"


def test_a_fine_tuned_bert_classifies_the_same_with_them(body, tmp_path):
    pipeline, folder = fine_tuned(body[0], tmp_path, "own.tsv", table(("bad", "good", "odd")))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    assert type(model).__name__ == f"{body[1]}ForSequenceClassification"
    texts = ["A dog runs.", "le café", "the quick brown fox jumps over the lazy dog"]
    with torch.inference_mode():
        padded = tokenizer(texts, return_tensors="pt", padding=True)
        chances = model(**padded).logits.softmax(1).tolist()
    for ours, row in zip(pipeline.predict(pipeline.examples_of(texts)), chances, strict=True):
        theirs = {model.config.id2label[n]: chance for n, chance in enumerate(row)}
        assert ours.probabilities == pytest.approx(theirs, abs=1e-5)
        assert ours.probabilities.keys() == {"bad", "good", "odd"}


def test_a_bert_that_gives_numbers_gives_the_same_with_them(body, tmp_path):
    numbers = table(("100.5", "250", "-30"))
    pipeline, folder = fine_tuned(body[0], tmp_path, "own.tsv", numbers, "data.kind=regression")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    for text in ("A dog runs.", "le café"):
        with torch.inference_mode():
            (said,) = model(**tokenizer(text, return_tensors="pt")).logits[0].tolist()
        (ours,) = pipeline.predict(pipeline.examples_of([text]))
        assert ours.answer == pytest.approx(said, abs=1e-2)
        assert abs(said) > 1  # so that it means something


def test_a_bert_that_tags_words_tags_the_same_with_them(body, tmp_path):
    tags = "\n".join(
        "".join(f"{word}\t{len(word) % 3}\n" for word in line.split()) for line in LINES * 2
    )
    pipeline, folder = fine_tuned(body[0], tmp_path, "own.conll", tags, "data.kind=tagging")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    assert type(model).__name__ == f"{body[1]}ForTokenClassification"
    words = ["A", "dog", "runs", "in", "the", "park"]
    given = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    with torch.inference_mode():
        guesses = model(**given).logits[0].argmax(1).tolist()
    owners = given.word_ids()
    theirs = [model.config.id2label[guesses[owners.index(n)]] for n in range(len(words))]
    (ours,) = pipeline.predict(pipeline.examples_of([" ".join(words)]))
    assert list(ours.answer) == theirs


def test_a_bert_that_answers_finds_the_same_with_them(body, tmp_path):
    rows = [{"question": "who?", "context": "a dog runs", "answers": ["dog"]}] * 16
    content = "".join(json.dumps(row) + "\n" for row in rows)
    pipeline, folder = fine_tuned(body[0], tmp_path, "own.jsonl", content, "data.kind=span")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    assert type(model).__name__ == f"{body[1]}ForQuestionAnswering"
    question, context = "who?", "the quick brown fox and a dog"
    given = tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True)
    spans = given.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        found = model(**given)
    inside = [n for n, side in enumerate(given.sequence_ids()) if side == 1]
    starts, ends = (
        logits[0, inside].log_softmax(0) for logits in (found.start_logits, found.end_logits)
    )
    (ours,) = pipeline.predict(pipeline.examples_of([question, context]))
    first = next(n for n, place in enumerate(inside) if spans[place][0] == ours.number)
    stop = ours.number + len(ours.answer)
    last = next(n for n, place in enumerate(inside) if spans[place][1] == stop)
    assert ours.probability == pytest.approx(float((starts[first] + ends[last]).exp()), abs=1e-5)


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
