"""Writing speed of GPT-2 on random weights: our pipeline against transformers' generate.

Both have the same weights and prompts, write greedily, in float32, one prompt or several at a time,
and must say the same tokens; ours in 8 bits is reported beside them. The peer lives in an
environment of its own (benchmarks/peers.py); every system is a process that loads once and then
answers timed rounds in turns, so that a busy machine disturbs all alike. The best round counts.

    python benchmarks/generation_speed.py [--sizes 10M 30M 124M] [--rounds 5] [--output FILE]
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worker import ask, workers

SIZES = {  # layers, width, heads, vocabulary
    "10M": (6, 320, 5, 8000),
    "30M": (8, 512, 8, 8000),
    "124M": (12, 768, 12, 50_257),
}
CONTEXT = 1024
SYSTEMS = ("transformers", "landmark", "landmark-int8")
PEER, OURS = SYSTEMS[:2]
TARGETS = {"10M": 1.5, "30M": 1.5, "124M": 1.1}
_FIRST = 0x100  # the character of token 0
Write = Callable[[list[list[int]], int], list[list[int]]]
"""Prompts and a number of tokens to the tokens written."""


def landmark_worker(name: str, folder: str, threads: int) -> Write:
    """Our pipeline, on a vocabulary of one made-up character a token."""
    import torch
    from safetensors.torch import load_file

    torch.set_num_threads(threads)
    from landmark.data.running_text.character import CharacterTokenizer
    from landmark.layers.layout import store_by_columns
    from landmark.models.transformer.gpt import GPT, GPTConfig
    from landmark.tasks.language_model.pipeline import GenerationPipeline

    class Bare(GenerationPipeline):
        """A pipeline without a run."""

        def __init__(self, model: GPT) -> None:
            self.model, self.device, self.context = model, torch.device("cpu"), CONTEXT
            self.tokenizer = CharacterTokenizer(map(_character, range(model.config.vocab_size)))
            self.opening, self.end = "", None
            store_by_columns(self.model)

    settings = json.loads((Path(folder) / "settings.json").read_text())
    model = GPT(GPTConfig(**settings["ours"])).eval()
    model.load_state_dict(load_file(Path(folder) / "ours.safetensors"), strict=False)
    pipeline = Bare(model)
    if name.endswith("int8"):
        pipeline.quantize()

    def write(prompts: list[list[int]], length: int) -> list[list[int]]:
        texts = ["".join(map(_character, prompt)) for prompt in prompts]
        written = pipeline.generate(texts, length, sampling=None, batch_size=len(texts))
        return [list(one.tokens) for one in written]

    return write


def _character(token: int) -> str:
    return chr(_FIRST + token)


def transformers_worker(folder: str, threads: int) -> Write:
    """The peer with the same weights, through its own `generate`."""
    import torch
    from safetensors.torch import load_file
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.set_num_threads(threads)
    settings = json.loads((Path(folder) / "settings.json").read_text())
    model = GPT2LMHeadModel(GPT2Config(**settings["peer"])).eval()
    found = model.load_state_dict(load_file(Path(folder) / "peer.safetensors"), strict=False)
    assert not found.unexpected_keys, found.unexpected_keys
    model.tie_weights()

    @torch.inference_mode()
    def write(prompts: list[list[int]], length: int) -> list[list[int]]:
        given = torch.tensor(prompts)
        answer = model.generate(
            given,
            attention_mask=torch.ones_like(given),
            do_sample=False,
            max_new_tokens=length,
            pad_token_id=0,
        )
        said: list[list[int]] = answer[:, given.shape[1] :].tolist()
        return said

    return write


def serve(name: str, folder: str, threads: int) -> None:
    """Load once, then answer each line of prompts with a line of tokens and seconds."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    write = (
        transformers_worker(folder, threads)
        if name == PEER
        else landmark_worker(name, folder, threads)
    )
    for line in sys.stdin:
        question = json.loads(line)
        started = time.perf_counter()
        said = write(question["prompts"], question["length"])
        seconds = time.perf_counter() - started
        print(json.dumps({"seconds": seconds, "tokens": said}), file=answers, flush=True)


def prepare(size: str, folder: Path) -> int:
    """Random weights under both names, written to a folder; how many there are."""
    import torch
    from safetensors.torch import save_file

    from landmark.models.transformer.gpt import GPT, GPTConfig

    layers, width, heads, vocabulary = SIZES[size]
    shape = {
        "vocab_size": vocabulary,
        "hidden_size": width,
        "num_heads": heads,
        "num_layers": layers,
        "max_length": CONTEXT,
    }
    torch.manual_seed(0)
    model = GPT(GPTConfig(**shape))
    for parameter in model.parameters():  # large enough that greedy texts do not go in circles
        torch.nn.init.normal_(parameter, std=0.05)
    state = {name: value for name, value in model.state_dict().items() if "output.w" not in name}
    state |= {n: v for n, v in model.state_dict().items() if "attention.output" in n}
    save_file(state, folder / "ours.safetensors")
    save_file(_renamed(model), folder / "peer.safetensors")
    peer = {
        "vocab_size": vocabulary,
        "n_positions": CONTEXT,
        "n_embd": width,
        "n_layer": layers,
        "n_head": heads,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    (folder / "settings.json").write_text(json.dumps({"ours": shape, "peer": peer}))
    return sum(parameter.numel() for parameter in model.parameters())


def _renamed(model: Any) -> dict[str, Any]:
    """A model's weights under the names of transformers, which multiplies from the other side."""
    weights = {
        "transformer.wte.weight": model.embedding.weight,
        "transformer.wpe.weight": model.position.weight,
        "transformer.ln_f.weight": model.norm.weight,
        "transformer.ln_f.bias": model.norm.bias,
    }
    for number, block in enumerate(model.blocks):
        parts = {
            "ln_1": block.around_attention.norm,
            "attn.c_attn": block.attention.input,
            "attn.c_proj": block.attention.output,
            "ln_2": block.around_feedforward.norm,
            "mlp.c_fc": block.feedforward.expand,
            "mlp.c_proj": block.feedforward.contract,
        }
        for name, part in parts.items():
            is_norm = name.startswith("ln")
            weights[f"transformer.h.{number}.{name}.weight"] = (
                part.weight if is_norm else part.weight.T
            )
            weights[f"transformer.h.{number}.{name}.bias"] = part.bias
    return {name: tensor.detach().clone().contiguous() for name, tensor in weights.items()}


def measure(
    processes: dict[str, Any], prompts: list[list[int]], length: int, rounds: int
) -> dict[str, dict[str, Any]]:
    """The best speed of each system in tokens a second, and what share of tokens are the peer's."""
    question = {"prompts": prompts, "length": length}
    said = {name: ask(process, question)["tokens"] for name, process in processes.items()}
    seconds: dict[str, list[float]] = {name: [] for name in processes}
    for _ in range(rounds):
        for name, process in processes.items():
            seconds[name].append(ask(process, question)["seconds"])
    count = len(prompts) * length
    speeds = {name: count / min(times) for name, times in seconds.items()}
    if said[OURS] != said[PEER]:
        print("the two say different tokens", file=sys.stderr)
    return {
        name: {
            "speed": speeds[name],
            "ratio": speeds[name] / speeds[PEER],
            "same": sum(
                one == other
                for row, peers in zip(said[name], said[PEER], strict=True)
                for one, other in zip(row, peers, strict=True)
            )
            / count,
            "seconds": seconds[name],
        }
        for name in processes
    }


def print_table(results: dict[str, dict[str, Any]], title: str, target: float) -> None:
    print(f"\n{title} (target {target})")
    print(f"{'system':<18}{'tokens/s':>12}{'ratio':>8}{'same tokens':>14}")
    for name, result in results.items():
        print(
            f"{name:<18}{result['speed']:>12.1f}{result['ratio']:>8.2f}{result['same']:>14.1%}",
            flush=True,
        )


def draw(measured: dict[str, dict[str, dict[str, Any]]], path: Path) -> None:
    """Bars of how many times as fast as the peer, a group for each measurement."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(10, 4), layout="constrained")
    for place, name in enumerate(SYSTEMS):
        bars = axes.bar(
            [group + 0.27 * (place - 1) for group in range(len(measured))],
            [results[name]["ratio"] for results in measured.values()],
            0.26,
            label=name,
        )
        axes.bar_label(bars, [f"{r[name]['speed']:.0f}" for r in measured.values()], fontsize=6)
    labels = [title.replace(", ", "\n") for title in measured]
    axes.set_xticks(range(len(measured)), labels, fontsize=6)
    axes.set_ylabel("speed against transformers (bars: tokens a second)", fontsize=8)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--prompts", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--prompt-length", type=int, default=32)
    parser.add_argument("--length", type=int, default=128, help="tokens to write after a prompt")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--output", type=Path, help="where to write .json and .png")
    parser.add_argument("--worker", nargs=2, metavar=("SYSTEM", "PLACE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve(*options.worker, options.threads[0])
        return
    import random

    measured = {}
    for size in options.sizes:
        draws, vocabulary = random.Random(1), SIZES[size][3]
        with tempfile.TemporaryDirectory() as folder:
            parameters = prepare(size, Path(folder))
            for threads in options.threads:
                with workers(__file__, dict.fromkeys(SYSTEMS, folder), threads, PEER) as processes:
                    for count in options.prompts:
                        prompts = [
                            [draws.randrange(vocabulary) for _ in range(options.prompt_length)]
                            for _ in range(count)
                        ]
                        title = f"{parameters / 1e6:.1f}M, {count} prompt(s), {threads} thread(s)"
                        measured[title] = measure(
                            processes, prompts, options.length, options.rounds
                        )
                        print_table(measured[title], title, TARGETS[size])
    print(f"\n{options.length} tokens a prompt, best of {options.rounds} rounds in turns")
    if options.output:
        options.output.with_suffix(".json").write_text(json.dumps(measured, indent=1))
        draw(measured, options.output.with_suffix(".png"))


if __name__ == "__main__":
    main()
