"""How fast images are named and learnt from: ours against plain eager PyTorch and torchvision.

    python benchmarks/vision_speed.py inference [--compiled] [--int8] [--batch 16] [--rounds 7]
    python benchmarks/vision_speed.py training [--recipe resnet-cifar]
    python benchmarks/vision_speed.py input [--recipe resnet-cifar] [OVERRIDES]
    python benchmarks/vision_speed.py cost --recipe resnet50-imagenet --images 1281167 --batch 8

inference: torchvision's networks as they come, eager, in inference mode; the same weights in our
engine (channels-last, folded batch norms; compiled too, if asked for) and exported to ONNX. All
must say the same (but for int8, if asked for). training: one update of a recipe's network by our
trainer against the same network in a plain loop, and in one whose images and weights lie channels-
last in memory, as ours do. Our gain is that of the layout, and so depends on the processor's
convolution kernels: on one machine 1.23 with AVX-512 and 1.14 with ONEDNN_MAX_CPU_ISA=AVX2, the
layout alone 1.22 and 1.13 (processor time, 64 images, one thread, a busy AMD EPYC, 2026-11-19).
Each system is a process that builds once and then answers timed rounds in turns, so that a busy
machine disturbs all alike; the best round counts. input: images a second that are prepared, that
are learnt from, and both at once. cost: the multiply-adds of a recipe's whole training, and its
days on one thread, by the processor time of its best update (--rounds) of a few images (--batch;
--images: how many a pass has).
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from worker import ask, workers

sys.path.insert(0, str(Path(__file__).parent.parent))  # whose tests know torchvision

NETWORKS = ("alexnet", "vgg11", "resnet18", "resnet50")
EAGER, OURS, COMPILED = "torchvision", "landmark", "landmark-compiled"
ONNX, INT8 = "onnx", "onnx-int8"
TARGETS = {OURS: 1.2, ONNX: 1.4}
PLAIN, LAST, TRAINER = "plain", "plain-channels-last", "landmark"
TRAINING_TARGET = 1.15
Step = Callable[[], list[float]]
"""One timed piece of work; some numbers that all systems must agree on."""


def inference_step(system: str, question: dict[str, Any]) -> Step:
    """A network of torchvision in a system, and one batch through it."""
    import torch

    from landmark.interop.torchvision import read_torchvision
    from landmark.models.vision import build_network
    from landmark.tasks.image_classification.engine import OnnxImageEngine, TorchImageEngine
    from tests.interop.foreign_network import built
    from tests.torchvision_beside import torchvision

    name = question["network"]
    theirs = built(getattr(torchvision.models, name), weights=None)
    noise = torch.Generator().manual_seed(1)
    images = torch.randn(question["batch"], 3, 224, 224, generator=noise)
    if system == EAGER:
        run: Callable[[Any], Any] = torch.inference_mode()(theirs)
    else:
        found = read_torchvision(theirs.state_dict(), Path(name))
        with torch.device("meta"):
            network = build_network(found.config)
        network.load_state_dict(found.state, assign=True)
        del theirs
        if system in (ONNX, INT8):
            from landmark.interop.onnx_classifier import GRAPH, IMAGES, save_classifier
            from landmark.interop.onnx_int8 import quantize_graph

            with tempfile.TemporaryDirectory() as folder:
                save_classifier(network.eval(), found.config, Path(folder))
                if system == INT8:
                    quantize_graph(Path(folder, GRAPH), IMAGES, [images.numpy()])
                run = OnnxImageEngine(Path(folder)).scores
        else:
            run = TorchImageEngine(network, compiled=system == COMPILED).scores

    def step() -> list[float]:
        scores: list[float] = run(images)[0, :5].tolist()
        return scores

    return step


def training_step(system: str, question: dict[str, Any]) -> Step:
    """A recipe's network, and one update with one batch of noise."""
    import torch

    from landmark.models.vision import build_network
    from landmark.tasks.training import resolve

    config = resolve(question["recipe"])
    torch.manual_seed(0)
    network = build_network(config.model)  # type: ignore[attr-defined]
    shape = config.model  # type: ignore[attr-defined]
    size = (question["batch"], shape.channels, shape.image_size, shape.image_size)
    images, labels = torch.randn(size), torch.randint(shape.classes, (question["batch"],))
    if system == LAST:
        network = network.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    if system in (PLAIN, LAST):
        return _plain_step(network, config, images, labels)
    return _our_step(network, config, images, labels)


def _plain_step(network: Any, config: Any, images: Any, labels: Any) -> Step:
    import torch

    settings = config.optimizer
    if settings.name == "sgd":
        optimizer: Any = torch.optim.SGD(
            network.parameters(),
            1e-3,
            momentum=settings.momentum,
            nesterov=settings.nesterov,
            weight_decay=settings.weight_decay,
        )
    else:
        optimizer = torch.optim.AdamW(network.parameters(), 1e-3)
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=config.objective.label_smoothing)

    def step() -> list[float]:
        optimizer.zero_grad()
        loss = criterion(network(images), labels)
        loss.backward()
        optimizer.step()
        return [loss.item()]

    return step


def _our_step(network: Any, config: Any, images: Any, labels: Any) -> Step:
    import torch

    from landmark.data.batch import ImageBatch
    from landmark.objectives.classification import ClassificationObjective
    from landmark.optim.optimizer import ScheduledOptimizer

    network = network.to(memory_format=torch.channels_last)
    images = images.contiguous(memory_format=torch.channels_last)  # as our batches are
    objective = ClassificationObjective(network, config.objective, [])
    optimizer = ScheduledOptimizer(network, config.optimizer, lambda step: 1e-3)
    trainer = _trainer(config, objective, {"model": optimizer})

    def step() -> list[float]:
        trainer.state.start_window()
        trainer.update([ImageBatch(images, labels)])
        return [trainer.state.summary()["loss"]]

    return step


def _trainer(config: Any, objective: Any, optimizers: Any, source: Any = None) -> Any:
    import torch

    from landmark.engine.assembly import Assembly
    from landmark.engine.trainer import Trainer

    device = torch.device("cpu")
    assembly = Assembly(objective, optimizers, source)
    return Trainer(config.trainer, assembly, device, config.seed)


BUILDERS = {"inference": inference_step, "training": training_step}


def serve(system: str, what: str, threads: int) -> None:
    """Build when asked for something new; answer every question with seconds and numbers."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    import torch

    torch.set_num_threads(threads)
    built: tuple[Any, Step] | None = None
    for line in sys.stdin:
        question = json.loads(line)
        if built is None or built[0] != question:
            built = None  # the old one goes before the new one comes
            step = BUILDERS[what](system, question)
            step()  # the first is to warm up, or to compile
            built = question, step
        started = time.perf_counter()
        numbers = built[1]()
        seconds = time.perf_counter() - started
        print(json.dumps({"seconds": seconds, "numbers": numbers}), file=answers, flush=True)


def race(
    processes: dict[str, Any], question: dict[str, Any], rounds: int
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """The best time of each system, in turns, and the numbers each came to at first."""
    first = {name: ask(process, question) for name, process in processes.items()}
    best = {name: answer["seconds"] for name, answer in first.items()}
    for _ in range(rounds):
        for name, process in processes.items():
            best[name] = min(best[name], ask(process, question)["seconds"])
    return best, {name: answer["numbers"] for name, answer in first.items()}


def measure_inference(options: argparse.Namespace) -> dict[str, Any]:
    """Every network in every system, and the geometric means of how many times as fast."""
    systems = [EAGER, OURS, *([COMPILED] if options.compiled else []), ONNX]
    systems += [INT8] if options.int8 else []
    results: dict[str, dict[str, float]] = {}
    print(f"images a second, batch {options.batch}, {options.threads} threads, in brackets: times")
    print(f"{'network':<12}" + "".join(f"{system:>22}" for system in systems), flush=True)
    with workers(__file__, dict.fromkeys(systems, "inference"), options.threads, "") as processes:
        for network in options.networks:
            question = {"network": network, "batch": options.batch}
            best, numbers = race(processes, question, options.rounds)
            for system in systems:
                if system == INT8:  # rounds
                    continue
                agree(numbers[EAGER], numbers[system], f"{network}, {system}")
            results[network] = {system: options.batch / best[system] for system in systems}
            print_row(network, results[network], systems)
    means = {
        system: math.exp(
            sum(math.log(row[system] / row[EAGER]) for row in results.values()) / len(results)
        )
        for system in systems[1:]
    }
    for system, mean in means.items():
        target = f" (target {TARGETS[system]})" if system in TARGETS else ""
        print(f"geometric mean, {system}: {mean:.3f}{target}")
    return {"images_per_second": results, "geometric_means": means}


def print_row(name: str, speeds: dict[str, float], systems: list[str]) -> None:
    cells = (f"{speeds[s]:.1f} ({speeds[s] / speeds[systems[0]]:.2f})" for s in systems)
    print(f"{name:<12}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


def agree(expected: list[float], found: list[float], what: str) -> None:
    """End it where two systems came to different numbers."""
    scale = max(1.0, *map(abs, expected))
    if any(abs(a - b) > 1e-3 * scale for a, b in zip(expected, found, strict=True)):
        sys.exit(f"{what}: says {found}, not {expected}")


def measure_training(options: argparse.Namespace) -> dict[str, Any]:
    """One update of the recipe's network in a plain loop and by our trainer."""
    import torch

    systems = [PLAIN, LAST, TRAINER]
    with workers(__file__, dict.fromkeys(systems, "training"), options.threads, "") as processes:
        question = {"recipe": options.recipe, "batch": options.batch}
        best, numbers = race(processes, question, options.rounds)
    for system in systems[1:]:
        agree(numbers[PLAIN], numbers[system], "the first losses")
    ratio, layout = best[PLAIN] / best[TRAINER], best[PLAIN] / best[LAST]
    kernels = os.environ.get("ONEDNN_MAX_CPU_ISA") or torch.backends.cpu.get_cpu_capability()
    print(f"{options.recipe}, an update of {options.batch} images, {options.threads} threads,")
    print(f"kernels for {kernels}")
    for system in systems:
        print(f"{system:<20}{1000 * best[system]:>10.1f} ms")
    print(f"times as fast: {ratio:.3f} (target {TRAINING_TARGET}), by channels-last {layout:.3f}")
    return {"seconds": best, "ratio": ratio, "channels_last": layout, "kernels": kernels}


def measure_input(options: argparse.Namespace) -> dict[str, Any]:
    """Images a second: prepared alone, learnt from alone, and both at once."""
    import torch

    from landmark.data.loader import Place
    from landmark.tasks.task import task_named
    from landmark.tasks.training import resolve

    torch.set_num_threads(options.threads)
    config = resolve(options.recipe, options.overrides)
    with tempfile.TemporaryDirectory() as folder:
        task = task_named(config.task)
        config = task.prepare(config, Path(folder), lambda record: None)
        assembly = task.assemble(config, Path(folder), torch.device("cpu"))
        trainer = _trainer(config, assembly.objective, assembly.optimizers, assembly.source)

        def timed(batches: Iterator[Any], work: Callable[[Any], None]) -> float:
            work(next(batches))  # workers start, kernels are chosen
            started, count = time.perf_counter(), 0
            for parts in islice(batches, options.batches):
                count += sum(len(part.labels) for part in parts)
                work(parts)
            return count / (time.perf_counter() - started)

        def stream() -> Any:
            return assembly.source.stream(Place())

        one = stream()
        fixed = next(one)
        one.close()
        speeds = {
            "prepared": timed(stream(), lambda parts: None),
            "learnt from": timed(iter(lambda: fixed, None), trainer.update),
            "both at once": timed(stream(), trainer.update),
        }
    print(f"{options.recipe}, images a second, {config.batches.workers} workers")
    for what, speed in speeds.items():
        print(f"{what:<14}{speed:>10.0f}")
    spare = speeds["prepared"] / speeds["learnt from"]
    print(f"prepared {spare:.1f} times as fast as learnt from")
    return {"images_per_second": speeds, "spare": spare}


def measure_cost(options: argparse.Namespace) -> dict[str, Any]:
    """What a recipe's whole training takes."""
    import torch

    from landmark.models.vision import build_network
    from landmark.probes.anatomy import dissect
    from landmark.tasks.training import resolve

    config = resolve(options.recipe)
    shape, trainer = config.model, config.trainer  # type: ignore[attr-defined]
    if trainer.epochs and not options.images:
        sys.exit(f"{options.recipe} is {trainer.epochs} passes: say how many --images a pass has")
    images = round(trainer.epochs * options.images) if trainer.epochs else 0
    images = images or trainer.max_steps * config.batches.size  # type: ignore[attr-defined]
    with torch.device("meta"):
        one = torch.empty(1, shape.channels, shape.image_size, shape.image_size)
        macs = dissect(build_network(shape), lambda network: network(one)).macs

    torch.set_num_threads(1)
    step = training_step(TRAINER, {"recipe": options.recipe, "batch": options.batch})
    step()
    seconds = []
    for _ in range(options.rounds):
        started = time.process_time()
        step()
        seconds.append(time.process_time() - started)
    speed = options.batch / min(seconds)
    days = images / speed / 86_400
    print(
        f"{options.recipe}: {macs:,} MACs an image, {images:,} images, {macs * images:.1e} in all"
    )
    print(f"{speed:.3g} images a second (batches of {options.batch}): ", end="")
    print(f"{float(f'{days:.2g}'):g} days of one thread")
    return {"macs": macs, "images": images, "images_per_second": speed, "days": days}


MEASURES = {
    "inference": measure_inference,
    "training": measure_training,
    "input": measure_input,
    "cost": measure_cost,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=MEASURES)
    parser.add_argument("overrides", nargs="*", help="input: settings of the recipe")
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=NETWORKS)
    parser.add_argument("--recipe", default="resnet-cifar")
    parser.add_argument("--compiled", action="store_true", help="inference: compiled, too")
    parser.add_argument("--int8", action="store_true", help="inference: ONNX in int8, too")
    parser.add_argument("--batch", type=int, help="default: 16, for training 128")
    parser.add_argument("--images", type=int, help="cost: how many a pass over the data has")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batches", type=int, default=40, help="input: how many are timed")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, help="a JSON file for the numbers")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if options.worker:
        serve(*options.worker, options.threads)
        return
    if options.what is None:
        parser.error(f"say what to measure: {', '.join(MEASURES)}")
    options.batch = options.batch or (128 if options.what == "training" else 16)
    result = MEASURES[options.what](options)
    if options.output:
        facts = {"what": options.what, "threads": options.threads, "batch": options.batch}
        options.output.write_text(json.dumps(facts | result, indent=2))


if __name__ == "__main__":
    main()
