import numpy as np
import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.translation.pairs import pack_sources
from landmark.interop.onnx_seq2seq import save_seq2seq_onnx
from landmark.models.recurrent.seq2seq import Seq2seq, Seq2seqConfig
from landmark.tasks.onnx_writer import OnnxWriter

pytest.importorskip("onnxruntime")
SOURCES = [[5, 6, 7], [10], [11, 12, 13, 14, 15]]
END, VOCABULARY = 2, 40


def model(**changes: object) -> Seq2seq:
    torch.manual_seed(0)
    shape = {"embedding_size": 6, "hidden_size": 8, "encoder_layers": 2, "decoder_layers": 2}
    built = Seq2seq(
        Seq2seqConfig(**({"vocab_size": VOCABULARY, "max_length": 20} | shape | changes))
    )
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return built.eval()


@pytest.mark.parametrize(
    "changes",
    [
        {"cell": "lstm", "score": "additive"},
        {"cell": "gru", "score": "dot"},
        {"cell": "rnn", "score": "bilinear"},
        {"cell": "rnn-relu", "score": "mlp"},
        {"cell": "lstm", "score": "last"},
        {"cell": "gru", "score": "mean"},
        {"cell": "lstm", "score": "additive", "num_heads": 2},
        {"cell": "lstm", "score": "dot", "input_feeding": False, "tied": "none"},
    ],
    ids=lambda changes: "-".join(map(str, changes.values())),
)
@pytest.mark.parametrize("beams", [1, 2])
@torch.no_grad()
def test_onnx_runtime_computes_what_the_model_does(tmp_path, changes, beams) -> None:
    ours = model(**changes)
    save_seq2seq_onnx(ours, tmp_path)
    graphs = OnnxWriter(tmp_path, 1, VOCABULARY)
    packed, packing = pack_sources(SOURCES, END)
    states = [speaker.start(packed, packing, beams, 10) for speaker in (ours, graphs)]
    random = np.random.default_rng(0)
    for step in range(5):
        rows = len(SOURCES if step < 3 else [0, 1]) * beams
        tokens = torch.from_numpy(random.integers(4, VOCABULARY, rows))
        expected, logits = ours.step(tokens, states[0]), graphs.step(tokens, states[1])
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)
        if step == 2:  # two of the three sentences go on, their rows turned round
            rows = torch.tensor([2, 0])
            kept = torch.stack([rows * beams + beam for beam in reversed(range(beams))], 1)
            for state in states:
                state.select_rows(kept.flatten())
                state.select_sentences(rows)


def test_a_cell_that_onnx_does_not_have_is_refused(tmp_path) -> None:
    with pytest.raises(UserError, match="lstm-peephole network has no ONNX export"):
        save_seq2seq_onnx(model(cell="lstm-peephole"), tmp_path)
