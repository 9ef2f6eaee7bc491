"""Translators of two vocabularies, or of SentencePiece's: training, use, exports."""

import io

import pytest
import sentencepiece
import torch

import landmark
from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.data.foreign.sentencepiece import SentencePieceTokenizer
from landmark.data.shards import TokenStore
from landmark.tasks.exporting import export_run
from landmark.tasks.training import train

SEPARATE = "tokenizer.separate=true"
PIECES = "tokenizer.kind=sentencepiece"
KINDS = {
    "separate": ("transformer-embedded", [SEPARATE, "batches.bpe_dropout=0.2"]),
    "recurrent-separate": ("seq2seq-embedded", [SEPARATE]),
    "pieces": ("transformer-embedded", [PIECES]),
    "separate-pieces": ("transformer-embedded", [PIECES, SEPARATE]),
}
TEXTS = [pair.source for pair in corpus.draw("test", 25, seed=1)]
OWN = [(f"The zebra number {n} runs.", f"Das Zebra Nummer {n} rennt.") for n in range(30)]


@pytest.fixture(scope="module", params=KINDS)
def run(request, tmp_path_factory, tiny, tiny_recurrent):
    recipe, settings = KINDS[request.param]
    shape = tiny if recipe.startswith("transformer") else tiny_recurrent
    folder = tmp_path_factory.mktemp("vocabularies") / request.param
    return train(recipe, folder, [*shape, *settings])


@pytest.fixture(scope="module")
def pipeline(run):
    return landmark.load(run.folder, device="cpu")


def test_each_side_has_its_embeddings(run, pipeline):
    model, tokenizer = pipeline.model, pipeline.tokenizer
    assert model.target_embedding.num_embeddings == len(tokenizer.target)
    assert model.source_embedding.num_embeddings == len(tokenizer.source)
    assert model.output.weight is model.target_embedding.weight
    is_separate = "separate" in run.folder.name
    assert (tokenizer.source is not tokenizer.target) == is_separate
    assert (model.source_embedding is not model.target_embedding) == is_separate
    assert pipeline.config.model.source_vocab_size == (
        len(tokenizer.source) if is_separate else None
    )


def test_the_stored_tokens_are_those_of_each_side(run, pipeline):
    store = TokenStore(run.folder / "data/train")
    pair = next(iter(corpus.draw("train", 1, pipeline.config.data.corpus_seed)))
    assert store["source", 0].tolist() == pipeline.tokenizer.source.encode([pair.source])[0]
    assert store["target", 0].tolist() == pipeline.tokenizer.target.encode([pair.target])[0]


def test_translations_and_figures_read_each_side_in_its_own_pieces(pipeline):
    (found,) = pipeline.translate(TEXTS[:1])
    assert found.text == pipeline.tokenizer.target.decode([found.tokens])[0]
    seen = pipeline.attention(TEXTS[0], "Ein Hund.")
    assert "".join(seen.source).replace("</s>", "").strip() == TEXTS[0]
    assert "".join(seen.target).replace("</s>", "").strip() == "Ein Hund."


def test_exports_say_the_same(run, pipeline):
    names = ["onnx"] + ["ctranslate2"] * pipeline.config.model.architecture.startswith("trans")
    expected = pipeline.translate(TEXTS, beam=3)
    for name in names:
        export_run(run.folder, name)
        found = landmark.load(run.folder, engine=name).translate(TEXTS, beam=3)
        assert [one.tokens for one in found] == [one.tokens for one in expected]
        scores = [one.score for one in expected]
        assert [one.score for one in found] == pytest.approx(scores, abs=1e-4)


def test_training_goes_on_and_others_begin_from_it(run, tmp_path, tiny, tiny_recurrent):
    recipe, settings = KINDS[run.folder.name]
    shape = tiny if recipe.startswith("transformer") else tiny_recurrent
    again = train(recipe, tmp_path / "run", [*shape, *settings, "trainer.max_steps=3"])
    more = [*shape, *settings, "trainer.max_steps=5"]
    assert train(recipe, again.folder, more, resume="auto").steps()[-1] == 5
    table = tmp_path / "own.tsv"
    table.write_text("".join(f"{a}\t{b}\n" for a, b in OWN), encoding="utf-8")
    own = ["data.corpus=files", f"data.source=['{table}']", f"init_from={run.folder}"]
    short = ["trainer.max_steps=2", "batches.tokens=300", "threads=1"]
    tuned = train(recipe, tmp_path / "tuned", [*own, *short])
    first, second = (landmark.load(one.folder) for one in (run, tuned))
    assert first.tokenizer.to_text() == second.tokenizer.to_text()
    weights = [one.model.source_embedding.weight for one in (first, second)]
    assert weights[0].shape == weights[1].shape
    assert not torch.equal(*weights)


def test_hugging_face_takes_one_shared_vocabulary_only(run, tmp_path):
    if run.folder.name == "pieces":
        folder = export_run(run.folder, "hf", output=tmp_path / "hf")
        import transformers

        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        ours = landmark.load(run.folder).tokenizer.encode(TEXTS)
        assert [row[:-1] for row in tokenizer(TEXTS)["input_ids"]] == ours
    else:
        with pytest.raises(UserError, match=r"cannot be exported to hf|only a Transformer goes"):
            export_run(run.folder, "hf", output=tmp_path / "hf")


def test_a_users_models_are_taken_by_flag(command, own_data, tmp_path, tiny):
    files = []
    for side, lines in (("en", ["A dog runs."] * 9), ("de", ["Ein Hund rennt."] * 9)):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, vocab_size=30, minloglevel=2,
            hard_vocab_limit=False,
        )  # fmt: skip
        files.append(tmp_path / f"{side}.model")
        files[-1].write_bytes(model.getvalue())
    words = ["train", "translation", *own_data.options(), *tiny, "trainer.max_steps=1"]
    pairs = [word for file in files for word in ("--sentencepiece", file)]
    for count, flags in ((1, pairs[:2]), (2, pairs)):
        answer = command(*words, *flags, "--run", tmp_path / f"run{count}")
        assert answer.code == 0, answer.err
        tokenizer = landmark.load(tmp_path / f"run{count}").tokenizer
        libraries = [sentencepiece.SentencePieceProcessor(model_file=str(file)) for file in files]
        text = "A dog. Ein Hund."
        assert tokenizer.encode([text]) == libraries[0].encode([text])
        assert tokenizer.encode_targets([text]) == libraries[count - 1].encode([text])
        assert isinstance(tokenizer.source, SentencePieceTokenizer)
    answer = command(*words, *pairs, *pairs, "--run", tmp_path / "run3")
    assert answer.code == 2
    assert "give one model, or the source's and the target's" in answer.err
