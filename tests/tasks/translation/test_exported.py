import json
import shutil
import sys

import numpy as np
import pytest
import torch

from landmark.core.configuration import as_values
from landmark.core.errors import DamagedError, UserError
from landmark.data.embedded import corpus
from landmark.data.tokenizer import SubwordTokenizer
from landmark.decoding.blocking import Blocking
from landmark.decoding.stepwise import SamplingConfig
from landmark.engine.run import Run
from landmark.interop.ctranslate2 import save_ctranslate2
from landmark.interop.onnx import save_onnx
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.tasks.exporting import export_run
from landmark.tasks.loading import load
from landmark.tasks.searching import Decoding, SourceRequest, TorchEngine
from landmark.tasks.translation import exported
from landmark.tasks.translation.exported import CTranslate2Engine, OnnxEngine, load_engine

pytest.importorskip("ctranslate2")
pytest.importorskip("onnxruntime")


def ask(source, limit, prefix=(), phrases=()):
    return SourceRequest(limit, tuple(prefix), phrases, tuple(source))


def engine_of(run, name, threads=1, checkpoint=None):
    return load_engine(Run.open(run), name, threads, checkpoint)


@pytest.fixture(scope="module")
def run(tiny_run, tmp_path_factory):
    """A copy of the tiny run, exported in every way."""
    folder = tmp_path_factory.mktemp("exported") / "run"
    shutil.copytree(tiny_run, folder)
    export_run(folder, "ctranslate2")
    export_run(folder, "ctranslate2", int8=True)
    export_run(folder, "onnx")
    return folder


@pytest.fixture(scope="module")
def pipeline(run):
    return load(run, device="cpu")


@pytest.fixture(scope="module")
def requests(pipeline):
    """200 sentences, those of unlike lengths with unlike limits."""
    sources = pipeline.tokenizer.encode([pair.source for pair in corpus.draw("test", 200, seed=1)])
    return [ask(tuple(source), min(64, 2 * len(source) + 6)) for source in sources]


@pytest.fixture(scope="module")
def odd(pipeline, tmp_path_factory):
    """Exports of a post-norm model with learned positions and nothing tied, random and decided."""
    folder = tmp_path_factory.mktemp("odd")
    config = TransformerConfig(
        vocab_size=len(pipeline.tokenizer),
        hidden_size=32,
        inner_size=48,
        num_heads=2,
        encoder_layers=2,
        decoder_layers=2,
        norm="post",
        positions="learned",
        tied="none",
        max_length=64,
    )
    torch.manual_seed(7)
    model = Translator(config).eval()
    with torch.no_grad():
        model.output.weight.mul_(4)
    pipeline.tokenizer.save(folder / "tokenizer.json")
    save_ctranslate2(model, pipeline.tokenizer, folder)
    save_onnx(model, folder)
    return folder, TorchEngine(model, 1, 2, torch.device("cpu"))


def agreement(ours, theirs):
    """The share of best hypotheses that are the same, and the largest gap of their numbers."""
    best = [(a[0], b[0]) for a, b in zip(ours, theirs, strict=True)]
    same = [(a, b) for a, b in best if a.tokens == b.tokens]
    gaps = [abs(a.log_probability - b.log_probability) for a, b in same]
    gaps += [abs(a.score - b.score) for a, b in same]
    return len(same) / len(best), max(gaps)


@pytest.mark.parametrize("name", ["ctranslate2", "onnx"])
def test_greedy_search_says_what_ours_does(run, pipeline, requests, name):
    engine = engine_of(run, name, 1)
    share, gap = agreement(
        pipeline.engine.search(requests, 1, 0.6), engine.search(requests, 1, 0.6)
    )
    assert share >= 0.995
    assert gap < 1e-3


@pytest.mark.parametrize("engine", [CTranslate2Engine, OnnxEngine])
@pytest.mark.parametrize("beam", [1, 4])
def test_so_does_a_post_norm_model_with_learned_positions(odd, requests, engine, beam):
    folder, ours = odd
    some = requests[:60]
    share, gap = agreement(ours.search(some, beam, 0.6), engine(folder).search(some, beam, 0.6))
    assert share >= (0.995 if beam == 1 else 0.95)
    assert gap < 1e-3


@pytest.mark.parametrize("penalty", [0.0, 0.6, 2.0])
def test_beam_search_ranks_by_our_length_penalty(run, pipeline, requests, penalty):
    engine = engine_of(run, "ctranslate2", 1)
    ours, theirs = (e.search(requests, 4, penalty) for e in (pipeline.engine, engine))
    share, gap = agreement(ours, theirs)
    assert share >= 0.95
    assert gap < 1e-3
    for hypotheses in theirs:
        assert len(hypotheses) == 4
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)


def test_each_sentence_keeps_its_own_limit(run, pipeline, requests):
    mixed = [ask(r.source, 1 + n % 7) for n, r in enumerate(requests[:40])]
    engine = engine_of(run, "ctranslate2", 2)
    for beam in (1, 3):
        ours, theirs = (e.search(mixed, beam, 0.6) for e in (pipeline.engine, engine))
        share, gap = agreement(ours, theirs)
        assert share == 1
        assert [best.ended for best, *_ in theirs] == [best.ended for best, *_ in ours]
        assert gap < 1e-3
        for request, hypotheses in zip(mixed, theirs, strict=True):
            assert all(len(h.tokens) <= request.limit for h in hypotheses)


def test_eight_bits_mostly_agree(run, pipeline, requests):
    engine = engine_of(run, "ctranslate2-int8", 1)
    ours, theirs = (e.search(requests, 1, 0.0) for e in (pipeline.engine, engine))
    gaps = [a[0].log_probability - b[0].log_probability for a, b in zip(ours, theirs, strict=True)]
    assert np.mean(np.abs(gaps)) < 0.2 * np.mean([abs(a[0].log_probability) for a in ours])


@pytest.mark.parametrize("name", ["ctranslate2", "onnx"])
def test_a_prefix_is_kept_and_counted(run, pipeline, requests, name):
    free = pipeline.engine.search(requests[:10], 1, 0.6)
    begun = [
        ask(r.source, r.limit, hypotheses[0].tokens[: n % 4])
        for n, (r, hypotheses) in enumerate(zip(requests[:10], free, strict=True))
    ]
    found = engine_of(run, name, 1).search(begun, 1, 0.6)
    assert agreement(free, found) == (1.0, pytest.approx(0, abs=1e-3))
    forced = [ask(r.source, r.limit, (300, 301, 302)) for r in requests[:5]]
    found = engine_of(run, name, 1).search(forced, 1, 0.6)
    assert all(hypotheses[0].tokens[:3] == (300, 301, 302) for hypotheses in found)


def test_nothing_to_search_is_no_work(run):
    assert engine_of(run, "ctranslate2", 1).search([], 4, 0.6) == []


def test_onnx_blocks_what_pytorch_blocks(run, pipeline, requests):
    decoding = Decoding(Blocking(1, 6), 300)
    ours = pipeline.engine.search(requests[:30], 3, 0.6, decoding)
    theirs = engine_of(run, "onnx").search(requests[:30], 3, 0.6, decoding)
    for mine, other in zip(ours, theirs, strict=True):
        said = mine[0].tokens
        assert other[0].tokens == said
        assert len(said) == len(set(said)) >= 6


def test_no_batch_of_ctranslate2_is_larger_than_asked_for(run, requests, monkeypatch):
    engine, built = engine_of(run, "ctranslate2", 1), []
    whole, submit = engine.search(requests, 3, 0.6), engine._submit

    def watch(batch, beam):
        built.append((sum(len(request.source) + 1 for request in batch) * beam, len(batch)))
        return submit(batch, beam)

    monkeypatch.setattr(engine, "_submit", watch)
    for one, other in zip(engine.search(requests, 3, 0.6, Decoding(None, 200)), whole, strict=True):
        assert one[0].tokens == other[0].tokens
    assert all(tokens <= 200 or count == 1 for tokens, count in built)
    assert max(tokens for tokens, _ in built) > 150


def test_what_ctranslate2_cannot_do_is_refused(run, requests):
    engine = engine_of(run, "ctranslate2", 1)
    with pytest.raises(UserError, match="glossary needs the PyTorch engine"):
        engine.search([ask((5, 6), 9, phrases=((7,),))], 4, 0.6)
    with pytest.raises(UserError, match="need the PyTorch engine \\(or onnx\\)"):
        engine.search(requests[:1], 4, 0.6, Decoding(Blocking(2)))
    with pytest.raises(UserError, match="sampling needs the PyTorch engine"):
        engine.sample(requests[:1], [1], 1, SamplingConfig(), 0.6)


def test_a_missing_export_names_the_command(tiny_run):
    with pytest.raises(UserError, match=r"no export yet: landmark export .*ctranslate2 --int8$"):
        engine_of(tiny_run, "ctranslate2-int8", 1)
    with pytest.raises(UserError, match="has torch, ctranslate2, ctranslate2-int8, onnx"):
        load(tiny_run, engine="tensorrt")


def test_an_export_of_other_weights_is_stale(run):
    with pytest.raises(UserError, match=r"was made from step-0000\d\d.*--checkpoint 4$"):
        engine_of(run, "ctranslate2", 1, checkpoint="4")


def test_a_missing_library_is_named(run, monkeypatch):
    for module, name in (("ctranslate2", "ctranslate2"), ("onnxruntime", "onnx")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(UserError, match=rf"{module} is not installed.*landmark\[deploy\]"):
            engine_of(run, name, 1)


def test_a_damaged_export_is_not_used(run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    path = tmp_path / "run/export/ctranslate2/model.bin"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=r"model\.bin: damaged.*export again"):
        engine_of(tmp_path / "run", "ctranslate2", 1)


@pytest.mark.parametrize("name", ["ctranslate2", "onnx"])
def test_an_export_takes_as_many_threads_as_torch_whatever_it_was_trained_with(
    run, pipeline, name, monkeypatch
):
    assert pipeline.config.threads == 1
    made = []
    for engine in ("CTranslate2Engine", "OnnxEngine"):
        monkeypatch.setattr(exported, engine, lambda folder, threads: made.append(threads))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    load(run, device="cpu", engine=name)
    assert made == [7]


def test_the_export_says_where_it_comes_from_and_works_without_us(run, pipeline):
    import ctranslate2
    from tokenizers import Tokenizer

    folder = run / "export" / "ctranslate2"
    facts = json.loads((folder / "manifest.json").read_text())["facts"]
    assert facts["checkpoint"] == pipeline.checkpoint.name
    assert facts["weights"] == "float32"
    assert facts["text"] == {"form": "plain", "languages": ["en", "de"], "tags": {}}
    assert facts["search"] == as_values(pipeline.config.search)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    translator = ctranslate2.Translator(str(folder))
    tokens = tokenizer.encode(" The dog sees a cat.", add_special_tokens=False).tokens
    best = translator.translate_batch([tokens], beam_size=1, max_decoding_length=32)[0]
    numbers = [tokenizer.token_to_id(token) for token in best.hypotheses[0]]
    said = tokenizer.decode(numbers).strip()
    source = SubwordTokenizer.load(folder / "tokenizer.json").encode(["The dog sees a cat."])[0]
    ours = pipeline.engine.search([ask(tuple(source), 32)], 1, 0.0)[0][0]
    assert said == pipeline.tokenizer.decode([ours.tokens])[0].strip()
