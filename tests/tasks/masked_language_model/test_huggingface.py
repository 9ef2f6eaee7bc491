"""BERTs of ours, loaded by `transformers`, and theirs as runs: the same logits and words."""

import pytest
import torch
import transformers

from landmark.layers.packing import Packing
from landmark.tasks.huggingface import export_to_hf, import_model
from landmark.tasks.loading import load
from landmark.tasks.training import train
from tests.interop.huggingface.foreign import (
    DIFFICULT,
    LINES,
    bert_folder,
    byte_level,
    distilbert_folder,
    randomized,
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
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_bert_of_ours_fills_in_the_same_with_them(norm, text, tmp_path):
    data = [f'data.text=["{text}"]', f'data.valid_text=["{text}"]', "tokenizer.vocab_size=200"]
    settings = ["model.inner_size=32", "model.max_length=32", "batches.tokens=200"]
    norms = [f"model.norm={norm}", "objective.next_sentence=false"]
    run = train("bert", tmp_path / "run", [*SHAPE, *STEPS, *data, *settings, *norms]).folder
    notes = []
    folder = export_to_hf(run, report=notes.append)
    assert (folder, notes) == (run / "export/hf", [])
    pipeline = load(run)
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
    again = load(import_model(str(folder), tmp_path / "again"))
    assert again.config.model.norm == norm
    with torch.inference_mode():
        hidden = again.model(tokens, Packing.full(1, len(tokens)))
        torch.testing.assert_close(again.model.heads.guess(hidden), logits, atol=1e-4, rtol=0)


def test_a_layer_without_a_place_there_is_left_out_with_a_warning(tmp_path):
    run = import_model(str(bert_folder(tmp_path / "theirs")), tmp_path / "post")
    notes = []
    export_to_hf(run, report=notes.append)
    assert notes == []  # a post-norm BERT keeps it
    (tmp_path / "text.txt").write_text(f"{TEXT}\n\n{TEXT}", encoding="utf-8")
    files = [f'data.{name}=["{tmp_path / "text.txt"}"]' for name in ("text", "valid_text")]
    settings = ["model.max_length=32", "batches.tokens=200", "tokenizer.vocab_size=200"]
    pairs = [*SHAPE, *STEPS, *files, *settings, "objective.next_sentence=true"]
    export_to_hf(train("bert", tmp_path / "run", pairs).folder, report=notes.append)
    said = "warning: left out: the layer that says whether a sentence follows another"
    assert notes == [{"kind": "note", "text": said}]


def test_a_bert_of_one_segment_has_both_texts_of_a_pair_in_it(tmp_path):
    run = import_model(str(bert_folder(tmp_path / "theirs", type_vocab_size=1)), tmp_path / "run")
    folder = export_to_hf(run)
    pair = transformers.AutoTokenizer.from_pretrained(folder)("A dog", "runs", return_tensors="pt")
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    assert model(**pair).logits.isfinite().all()


def roberta_folder(folder):
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=byte_level(ROBERTA),
        unk_token="<unk>",
        pad_token="<pad>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
    )
    tokenizer.save_pretrained(folder)
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=40,
        max_position_embeddings=34,
        type_vocab_size=1,
    )
    randomized(transformers.RobertaForMaskedLM(config)).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("make", "mask", "theirs"),
    [
        (bert_folder, "[MASK]", transformers.BertForPreTraining),
        (distilbert_folder, "[MASK]", transformers.DistilBertForMaskedLM),
        (roberta_folder, "<mask>", transformers.RobertaForMaskedLM),
    ],
)
def test_blanks_are_filled_in_as_theirs_would(make, mask, theirs, tmp_path):
    folder = make(tmp_path / "theirs")
    pipeline = load(import_model(str(folder), tmp_path / "run"))
    text = f"The {mask} runs in the park."
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    between, first = tokenizer.sep_token_id, tokenizer.cls_token_id
    inner = tokenizer(text, add_special_tokens=False)["input_ids"]
    tokens = torch.tensor([[first, *inner, between]])
    assert pipeline.encode(text).tolist() == tokens[0].tolist()
    with torch.inference_mode():
        outputs = theirs.from_pretrained(folder).eval()(tokens)
    logits = outputs.prediction_logits if "prediction_logits" in outputs else outputs.logits
    at_blank = logits[tokens == tokenizer.mask_token_id][0]
    special = torch.tensor(tokenizer.all_special_ids)
    at_blank[special] = -torch.inf  # ours guesses text
    likeliest = at_blank.softmax(0).topk(5)
    guesses = pipeline.fill(text, 5).blanks[0]
    words = tokenizer.convert_ids_to_tokens(likeliest.indices.tolist())
    assert [guess.token for guess in guesses] == words
    torch.testing.assert_close(
        torch.tensor([guess.probability for guess in guesses]), likeliest.values, atol=1e-5, rtol=0
    )
