"""Other libraries' translation models, each trained as its own trainer does, behind one protocol.

Runs in the peers' environment (see peers.py), not in ours: it imports nothing of Landmark. The
first line of standard input is a job; the answer is what was built. Every further line asks for a
round over all batches and is answered with its seconds.

    echo '{"peer": "marian", ...}' | PEERS_PYTHON benchmarks/translation_trainers.py
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

UNKNOWN, PADDING, BEGIN, END = range(4)
Rows = Sequence[Sequence[int]]
Step = Callable[[Rows, Rows], None]


def padded(rows: Rows) -> Tensor:
    """(B, T), filled up on the right."""
    tensors = [torch.tensor(row) for row in rows]
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=PADDING)


def closed(rows: Rows) -> Tensor:
    return padded([[*row, END] for row in rows])


def build_marian(job: dict[str, Any]) -> tuple[nn.Module, Step]:
    """MarianMTModel with the label smoother and the optimiser of transformers' Trainer."""
    from transformers import MarianConfig, MarianMTModel
    from transformers.trainer_pt_utils import LabelSmoother

    sides = {
        f"{side}_{name}": job[value]
        for side in ("encoder", "decoder")
        for name, value in (
            ("layers", "layers"),
            ("ffn_dim", "inner"),
            ("attention_heads", "heads"),
        )
    }
    config = MarianConfig(
        vocab_size=job["vocabulary"],
        d_model=job["width"],
        dropout=job["dropout"],
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PADDING,
        eos_token_id=END,
        forced_eos_token_id=END,
        decoder_start_token_id=BEGIN,
        attn_implementation="sdpa",
        **sides,
    )
    model = MarianMTModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    smoother = LabelSmoother(epsilon=job["smoothing"])

    def step(sources: Rows, targets: Rows) -> None:
        source, labels = closed(sources), closed(targets)
        inputs = model.prepare_decoder_input_ids_from_labels(labels)
        output = model(
            input_ids=source,
            attention_mask=(source != PADDING).long(),
            decoder_input_ids=inputs,
            use_cache=False,
        )
        smoother(output, labels.masked_fill(labels == PADDING, -100)).backward()
        optimizer.step()
        model.zero_grad()

    return model, step


def build_joeynmt(job: dict[str, Any]) -> tuple[nn.Module, Step]:
    """JoeyNMT's Model, Batch and loss, as in TrainManager._train_step."""
    from joeynmt.batch import Batch
    from joeynmt.model import build_model
    from joeynmt.vocabulary import Vocabulary

    specials = SimpleNamespace(
        **{"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"},
        **{"unk_id": UNKNOWN, "pad_id": PADDING, "bos_id": BEGIN, "eos_id": END},
        **{"sep_token": None, "sep_id": None, "lang_tags": []},
    )
    side = {
        "type": "transformer",
        "hidden_size": job["width"],
        "ff_size": job["inner"],
        "num_layers": job["layers"],
        "num_heads": job["heads"],
        "dropout": job["dropout"],
        "layer_norm": "post",
        "embeddings": {
            "embedding_dim": job["width"],
            "scale": True,
            "dropout": job["dropout"],
        },
    }
    words = [str(number) for number in range(END + 1, job["vocabulary"])]
    vocabulary = Vocabulary(words, specials)
    shape = {"encoder": side, "decoder": side, "tied_embeddings": True, "tied_softmax": True}
    model = build_model(shape, vocabulary, vocabulary)
    model.loss_function = ("crossentropy", job["smoothing"])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def step(sources: Rows, targets: Rows) -> None:
        source = closed(sources)
        batch = Batch(
            src=source,
            src_length=(source != PADDING).sum(1),
            src_prompt_mask=None,
            trg=padded([[BEGIN, *row, END] for row in targets]),
            trg_prompt_mask=None,
            indices=torch.arange(len(sources)),
            device=torch.device("cpu"),
            pad_index=PADDING,
            eos_index=END,
        )
        batch.sort_by_src_length()
        loss = model(return_type="loss", **vars(batch))[0]
        batch.normalize(loss, normalization="tokens").backward()
        optimizer.step()
        model.zero_grad()

    return model, step


class NumberVocabulary:
    """What eole asks of a vocabulary whose words are already numbers."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, token: str) -> int:
        names = {"<unk>": UNKNOWN, "<blank>": PADDING, "<s>": BEGIN, "</s>": END}
        return names.get(token, UNKNOWN)


def build_eole(job: dict[str, Any]) -> tuple[nn.Module, Step]:
    """eole's model, loss, optimiser and batch processor, as its Trainer puts them together."""
    from eole.config.run import TrainConfig
    from eole.models.model import get_model_class
    from eole.trainer import BatchProcessor
    from eole.utils import Statistics
    from eole.utils.loss import LossCompute
    from eole.utils.optimizers import Optimizer

    config = TrainConfig(**eole_settings(job))
    vocabulary = NumberVocabulary(job["vocabulary"])
    vocabularies = {"src": vocabulary, "tgt": vocabulary, "specials": {"pad_token": "<blank>"}}
    model = get_model_class(config.model).for_training(config.model, vocabularies, config.training)
    model.to("cpu").train()
    optimizer = Optimizer.from_config(model, config)
    loss = LossCompute.from_config(config, model, vocabularies)
    processor = BatchProcessor(model, loss, optimizer, 0, "data_parallel", False, False, 1.0, 1)

    def step(sources: Rows, targets: Rows) -> None:
        source, count = closed(sources), sum(len(row) + 1 for row in targets)
        batch = {
            "src": source,
            "srclen": (source != PADDING).sum(1),
            "tgt": padded([[BEGIN, *row, END] for row in targets]),
            **{"images": None, "prefix_len": None},
            **{"cid": ["corpus"] * len(sources), "cid_line_number": range(len(sources))},
        }
        optimizer.zero_grad(set_to_none=True)
        processor.process_batch(batch, count, 1, Statistics(), Statistics())
        optimizer.step()

    return model, step


def eole_settings(job: dict[str, Any]) -> dict[str, Any]:
    """Its recipe's settings at our size: biases and one shared matrix, as everyone else has."""
    embeddings = {"word_vec_size": job["width"], "position_encoding_type": "SinusoidalInterleaved"}
    model = {
        "architecture": "transformer",
        "layers": job["layers"],
        "hidden_size": job["width"],
        "heads": job["heads"],
        "transformer_ff": job["inner"],
        **{"add_qkvbias": True, "add_ffnbias": True},
        **{"share_embeddings": True, "share_decoder_embeddings": True},
        "embeddings": embeddings,
    }
    training = {
        **{"optim": "adam", "learning_rate": 1e-4, "max_grad_norm": 0, "normalization": "tokens"},
        **{"dropout": [job["dropout"]], "attention_dropout": [0.0]},
        **{"label_smoothing": job["smoothing"], "self_attn_backend": "pytorch"},
        **{"world_size": 0, "gpu_ranks": [], "param_init_method": "xavier_uniform"},
    }
    vocabularies = {"src_vocab": "numbers", "tgt_vocab": "numbers", "share_vocab": True}
    return {**vocabularies, "data": {}, "model": model, "training": training}


BUILDERS = {
    "marian": (build_marian, "transformers"),
    "joeynmt": (build_joeynmt, "joeynmt"),
    "eole": (build_eole, "eole"),
}


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries may print
    job = json.loads(sys.stdin.readline())
    torch.set_num_threads(job["threads"])
    torch.manual_seed(1)
    build, package = BUILDERS[job["peer"]]
    model, step = build(job)
    built = {
        "parameters": sum(weight.numel() for weight in model.parameters() if weight.requires_grad),
        "version": f"{package} {version(package)}, torch {torch.__version__}",
    }
    print(json.dumps(built), file=answers, flush=True)
    model.train()
    clock = getattr(time, job["clock"])
    for _ in sys.stdin:
        started = clock()
        for sources, targets in job["batches"]:
            step(sources, targets)
        print(json.dumps({"seconds": clock() - started}), file=answers, flush=True)


if __name__ == "__main__":
    main()
