"""Fine-tuned BERTs, loaded by `transformers`: the same answers."""

import json

import pytest
import torch
import transformers

from landmark.tasks.huggingface import export_to_hf, import_model
from landmark.tasks.loading import load
from landmark.tasks.training import train
from tests.interop.huggingface.foreign import (
    LINES,
    bert_config,
    bert_tokenizer,
    randomized,
    wordpiece,
)

STEPS = [
    "trainer.max_steps=4",
    "trainer.validate_every=4",
    "trainer.checkpoint_every=4",
    "schedule.rate=0.01",
    "schedule.warmup_steps=1",
]


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
    return load(run), export_to_hf(run, folder / "out")


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
