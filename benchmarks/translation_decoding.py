"""Translation speed of one trained run: our search, CTranslate2 and transformers' generate.

All use the same weights, vocabulary and sentences. The peer is the architecture of transformers
that holds the run: M2M100 for pre-norm, Marian for post-norm, with our table of positions (theirs
order sines and cosines differently). It lives in an environment of its own (benchmarks/peers.py);
every system is a process that loads once and then answers timed rounds in turns, so that a busy
machine disturbs all alike. Sentences are sorted by length and batched; each system takes the
batch size of three that was fastest in its first rounds. The best of the other rounds counts.

    python benchmarks/translation_decoding.py RUN --source FILE [--sentences 500] [--rounds 5]
"""

import argparse
import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worker import ask, workers

SYSTEMS = {  # name: the batch sizes to choose from, in source tokens; in sentences for the peer
    "transformers": (32, 64, 128),
    "landmark": (1000, 2000, 4000),
    "ctranslate2": (1000, 2000, 4000),
    "ctranslate2-int8": (1000, 2000, 4000),
}
PEER, OURS = "transformers", "landmark"
BEGIN, END, PADDING = 1, 2, 0
Translate = Callable[[list[list[int]], list[int], int, int], list[list[int]]]
"""Sources, limits, beam and batch size to the best translations."""


def landmark_worker(name: str, run: str, threads: int) -> Translate:
    """Our own search, or CTranslate2 behind the same interface."""
    import torch

    torch.set_num_threads(threads)
    from landmark.engine.run import Run
    from landmark.tasks.loading import load
    from landmark.tasks.translation import engine as torch_engine
    from landmark.tasks.translation import exported

    engine = (
        load(run, device="cpu").engine
        if name == OURS
        else exported.load_engine(Run.open(Path(run)), name, threads)
    )

    def translate(
        sources: list[list[int]], limits: list[int], beam: int, size: int
    ) -> list[list[int]]:
        decoding = torch_engine.Decoding(batch_tokens=size * beam)
        requests = [
            torch_engine.SourceRequest(limit, source=tuple(s))
            for s, limit in zip(sources, limits, strict=True)
        ]
        return [list(best[0].tokens) for best in engine.search(requests, beam, 0.6, decoding)]

    return translate


def transformers_worker(folder: str, threads: int) -> Translate:
    """The peer with the run's weights, through its own `generate`."""
    import torch
    import transformers
    from safetensors.torch import load_file

    torch.set_num_threads(threads)
    settings = json.loads((Path(folder) / "settings.json").read_text())
    config = getattr(transformers, settings["kind"] + "Config")(**settings["config"])
    name = "MarianMTModel" if settings["kind"] == "Marian" else "M2M100ForConditionalGeneration"
    model = getattr(transformers, name)(config).eval()
    weights = load_file(Path(folder) / "model.safetensors")
    table = weights.pop("positions")
    found = model.load_state_dict(weights, strict=False)
    assert not found.unexpected_keys, found.unexpected_keys
    for stack in (model.model.encoder, model.model.decoder):
        if settings["kind"] == "Marian":
            stack.embed_positions.weight.data[:] = table
        else:  # the padding's row comes first
            stack.embed_positions.weights[1 : 1 + len(table)] = table
    model.tie_weights()

    @torch.inference_mode()
    def translate(
        sources: list[list[int]], limits: list[int], beam: int, size: int
    ) -> list[list[int]]:
        order = sorted(range(len(sources)), key=lambda number: len(sources[number]))
        found: list[list[int]] = [[] for _ in sources]
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            longest = max(len(sources[number]) for number in chosen) + 1
            rows = [[*sources[number], END] for number in chosen]
            padded = torch.tensor([row + [PADDING] * (longest - len(row)) for row in rows])
            answer = model.generate(
                input_ids=padded,
                attention_mask=(padded != PADDING).long(),
                num_beams=beam,
                do_sample=False,
                max_new_tokens=max(limits[number] for number in chosen),
                **({"length_penalty": 0.6, "early_stopping": True} if beam > 1 else {}),
            )
            for number, said in zip(chosen, answer.tolist(), strict=True):
                words = said[1:]
                found[number] = words[: words.index(END)] if END in words else words
        return found

    return translate


def serve(name: str, place: str, threads: int) -> None:
    """Load once, then answer each line of questions with a line of translations and seconds."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    translate = (
        transformers_worker(place, threads)
        if name == PEER
        else landmark_worker(name, place, threads)
    )
    for line in sys.stdin:
        question = json.loads(line)
        started = time.perf_counter()
        found = translate(
            question["sources"], question["limits"], question["beam"], question["size"]
        )
        seconds = time.perf_counter() - started
        print(json.dumps({"seconds": seconds, "tokens": found}), file=answers, flush=True)


def convert(run: str, folder: Path) -> None:
    """The run's weights under the names of transformers' M2M100 or Marian."""
    import torch
    from safetensors.torch import save_file

    from landmark.tasks.loading import load

    model = load(run, device="cpu").model
    config = model.config
    if config.tied != "all":
        sys.exit("the peer holds one matrix for all embeddings: model.tied must be 'all'")
    kind = "M2M100" if config.norm == "pre" else "Marian"
    weights = {"model.shared.weight": model.target_embedding.weight}
    weights["positions"] = model.position(torch.arange(config.max_length))
    for side, blocks in (("encoder", model.encoder), ("decoder", model.decoder)):
        for number, block in enumerate(blocks):
            weights |= _converted_block(f"model.{side}.layers.{number}", block)
        if kind == "M2M100":
            norm = model.encoder_norm if side == "encoder" else model.decoder_norm
            weights |= _prefixed(f"model.{side}.layer_norm", norm)
    ready = {name: tensor.detach().clone().contiguous() for name, tensor in weights.items()}
    save_file(ready, folder / "model.safetensors")
    settings = {
        "vocab_size": config.vocab_size,
        "d_model": config.hidden_size,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.num_heads,
        "decoder_attention_heads": config.num_heads,
        "encoder_ffn_dim": config.inner_size,
        "decoder_ffn_dim": config.inner_size,
        "activation_function": "relu",
        "scale_embedding": True,
        "max_position_embeddings": config.max_length,
        "pad_token_id": PADDING,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "decoder_start_token_id": BEGIN,
        "forced_eos_token_id": None,
    }
    (folder / "settings.json").write_text(json.dumps({"kind": kind, "config": settings}))


def _converted_block(prefix: str, block: Any) -> dict[str, Any]:
    """One block's weights; the keys' bias, which we do not add, is zero."""
    parts = {"self_attn": (block.attention, block.around_attention)}
    if hasattr(block, "cross_attention"):
        parts["encoder_attn"] = (block.cross_attention, block.around_cross_attention)
    weights = {}
    for name, (attention, around) in parts.items():
        matrices, biases = attention.input.weight.chunk(3), attention.input.bias.chunk(3)
        for letter, matrix, bias in zip("qkv", matrices, biases, strict=True):
            weights[f"{prefix}.{name}.{letter}_proj.weight"] = matrix
            weights[f"{prefix}.{name}.{letter}_proj.bias"] = bias * (letter != "k")
        weights |= _prefixed(f"{prefix}.{name}.out_proj", attention.output)
        weights |= _prefixed(f"{prefix}.{name}_layer_norm", around.norm)
    weights |= _prefixed(f"{prefix}.fc1", block.feedforward.expand)
    weights |= _prefixed(f"{prefix}.fc2", block.feedforward.contract)
    return weights | _prefixed(f"{prefix}.final_layer_norm", block.around_feedforward.norm)


def _prefixed(prefix: str, module: Any) -> dict[str, Any]:
    return {f"{prefix}.{name}": tensor for name, tensor in module.state_dict().items()}


def read_questions(run: str, source: Path, count: int) -> dict[str, Any]:
    """Sentences of a file as the run's tokens, and how long each translation may be."""
    from landmark.tasks.loading import load

    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip()][:count]
    pipeline = load(run, task="translation")
    sources = pipeline.tokenizer.encode([pipeline.source_form.read(line) for line in lines])
    return {"sources": sources, "limits": [2 * len(row) + 22 for row in sources]}


def measure(
    processes: dict[str, Any], questions: dict[str, Any], beam: int, rounds: int
) -> dict[str, dict[str, Any]]:
    """The best speed of each system, with the batch size it chose and what it said."""
    results: dict[str, dict[str, Any]] = {}
    for name, process in processes.items():  # warms up and finds the best batch size
        tried = {
            size: ask(process, {**questions, "beam": beam, "size": size}) for size in SYSTEMS[name]
        }
        size = min(tried, key=lambda size: tried[size]["seconds"])
        results[name] = {"batch": size, "seconds": [], "tokens": tried[size]["tokens"]}
    for _ in range(rounds):
        for name, process in processes.items():
            question = {**questions, "beam": beam, "size": results[name]["batch"]}
            results[name]["seconds"].append(ask(process, question)["seconds"])
    count = len(questions["sources"])
    reference = results[OURS]["tokens"]
    for result in results.values():
        result["speed"] = count / min(result["seconds"])
        said = result.pop("tokens")
        result["same"] = sum(a == b for a, b in zip(said, reference, strict=True)) / count
    for result in results.values():
        result["ratio"] = result["speed"] / results[PEER]["speed"]
    return results


def print_table(results: dict[str, dict[str, Any]], title: str) -> None:
    print(f"\n{title}")
    print(f"{'system':<18}{'sentences/s':>12}{'ratio':>8}{'batch':>8}{'same as ours':>14}")
    for name, result in results.items():
        print(
            f"{name:<18}{result['speed']:>12.1f}{result['ratio']:>8.2f}{result['batch']:>8}"
            f"{result['same']:>14.1%}"
        )


def draw(measured: dict[str, dict[str, dict[str, Any]]], path: Path) -> None:
    """Bars of sentences a second, a group for each way of searching."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    for place, name in enumerate(SYSTEMS):
        bars = axes.bar(
            [group + 0.2 * (place - 1.5) for group in range(len(measured))],
            [results[name]["speed"] for results in measured.values()],
            0.19,
            label=name,
        )
        axes.bar_label(bars, [f"{r[name]['ratio']:.1f}x" for r in measured.values()], fontsize=7)
    axes.set_xticks(range(len(measured)), list(measured))
    axes.set_ylabel("sentences a second")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="?")
    parser.add_argument("--source", type=Path, help="sentences, plain or gzipped")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--output", type=Path, help="where to write .json and .png")
    parser.add_argument("--worker", nargs=2, metavar=("SYSTEM", "PLACE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve(*options.worker, options.threads[0])
        return
    if not options.run or not options.source:
        parser.error("a run and --source are needed")
    from landmark.tasks.exporting import export_run

    for int8 in (False, True):
        export_run(options.run, "ctranslate2", int8=int8)
    questions = read_questions(options.run, options.source, options.sentences)
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        convert(options.run, Path(folder))
        places = {name: folder if name == PEER else options.run for name in SYSTEMS}
        for threads in options.threads:
            with workers(__file__, places, threads, PEER) as processes:
                for beam in options.beams:
                    title = f"{'greedy' if beam == 1 else f'beam {beam}'}, {threads} thread(s)"
                    measured[title] = measure(processes, questions, beam, options.rounds)
                    print_table(measured[title], title)
    print(f"\n{len(questions['sources'])} sentences, best of {options.rounds} rounds in turns")
    if options.output:
        options.output.with_suffix(".json").write_text(json.dumps(measured, indent=1))
        draw(measured, options.output.with_suffix(".png"))


if __name__ == "__main__":
    main()
