"""Training and inference beside a busy core: 1 thread or several, waiting busily or asleep.

torch's OpenMP (libgomp) lets threads that wait for others spin for 3 ms before they sleep. Where
another process has one of the cores, that spinning keeps the thread that is waited for from
running. Each way of waiting is a process that loads a small translation Transformer (a few updates
old) once and then answers rounds in turns, on the machine as it is and beside processes that only
count. Run it on a quiet machine: the last line says what else was running.

    python benchmarks/busy_core.py [--rounds 5] [--busy 1] [--threads 2] [--output FILE.json]
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from worker import ask

# libgomp's settings by name: the number of turns of the waiting loop before a thread sleeps.
WAITING = {
    "3 ms": {"GOMP_SPINCOUNT": "300000"},  # its default
    "0.1 ms": {"GOMP_SPINCOUNT": "10000"},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE"},
}
WORK = ("training", "greedy", "beam 4")
UPDATES, SENTENCES, BEAM_SENTENCES = 4, 40, 10
SETTINGS = [
    "data.train_pairs=2000",
    "data.valid_pairs=200",
    "trainer.max_steps=2",
    "trainer.average_last=0",
    "batches.tokens=1000",
]


def serve(folder: str) -> None:
    """Load once, then answer each line, which names the work, with a line of seconds."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    work = {"training": _training(folder), **_inference(folder)}
    for line in sys.stdin:
        started = time.perf_counter()
        work[json.loads(line)["work"]]()
        print(json.dumps({"seconds": time.perf_counter() - started}), file=answers, flush=True)


def _training(folder: str) -> Callable[[], None]:
    """A few updates, always of the same batches."""
    import torch

    from landmark.engine.run import Run
    from landmark.engine.session import build_trainer
    from landmark.tasks.task import task_named
    from landmark.tasks.training import load_config

    config = load_config(Run.open(Path(folder)))
    device = torch.device("cpu")
    assembly = task_named(config.task).assemble(config, Path(folder), device)
    trainer = build_trainer(config, assembly, device)
    stream = assembly.source.stream(trainer.state.place)
    batches = [next(stream) for _ in range(UPDATES)]

    def train() -> None:
        for parts in batches:
            trainer.update(parts)

    return train


def _inference(folder: str) -> dict[str, Callable[[], object]]:
    """Translations of the validation set's first sentences."""
    from landmark import load
    from landmark.data.embedded.corpus import draw

    pipeline = load(folder, device="cpu")
    sentences = [pair.source for pair in draw("valid", SENTENCES)]
    return {
        "greedy": lambda: pipeline.translate(sentences, beam=1),
        "beam 4": lambda: pipeline.translate(sentences[:BEAM_SENTENCES], beam=4),
    }


@contextmanager
def waiters(folder: str, threads: int) -> Iterator[dict[str, Any]]:
    """A process for one thread, and one for each way in which several threads wait."""
    environments = {"1 thread": {"OMP_NUM_THREADS": "1"}}
    for name, settings in WAITING.items():
        environments[f"{threads}, {name}"] = {"OMP_NUM_THREADS": str(threads), **settings}
    usual = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "MKL_"))}
    with ExitStack() as stack:
        found = {}
        for name, variables in environments.items():
            found[name] = subprocess.Popen(
                [sys.executable, __file__, "--worker", folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=usual | variables,
            )
            stack.callback(found[name].wait)
            stack.callback(found[name].kill)
        yield found


@contextmanager
def counters(count: int) -> Iterator[Callable[[bool], None]]:
    """Processes that compute without end while they are told to; at first they are stopped."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]

    def run(on: bool) -> None:
        for process in processes:
            process.send_signal(signal.SIGCONT if on else signal.SIGSTOP)

    try:
        run(False)
        yield run
    finally:
        for process in processes:
            process.kill()
            process.wait()


def other_load() -> str:
    """The cores that are taken while none of our processes computes."""

    def busy() -> int:
        user, nice, system = Path("/proc/stat").read_text().split()[1:4]
        return int(user) + int(nice) + int(system)

    if not Path("/proc/stat").exists():
        return f"load average {os.getloadavg()[0]:.1f}"
    before, seconds = busy(), 2.0
    time.sleep(seconds)
    return f"{(busy() - before) / os.sysconf('SC_CLK_TCK') / seconds:.1f}"


def measure(folder: str, rounds: int, busy: int, threads: int) -> dict[str, Any]:
    """Seconds of each round by the machine's state, the work and the way of waiting."""
    states = {"quiet": False, f"{busy} busy": True}
    with waiters(folder, threads) as processes, counters(busy) as count:
        for process in processes.values():  # once to warm up
            for work in WORK:
                ask(process, {"work": work})
        taken = [other_load()]
        seconds: dict[str, Any] = {
            state: {work: {name: [] for name in processes} for work in WORK} for state in states
        }
        for _ in range(rounds):
            for state, on in states.items():
                count(on)
                for work in WORK:
                    for name, process in processes.items():
                        answer = ask(process, {"work": work})
                        seconds[state][work][name].append(answer["seconds"])
            count(False)
            taken.append(other_load())
    return {"seconds": seconds, "cores taken by others before and after rounds": taken}


def print_table(seconds: dict[str, Any]) -> None:
    names = list(next(iter(next(iter(seconds.values())).values())))
    print(f"{'machine':<9}{'work':<11}" + "".join(f"{name:>18}" for name in names))
    for state, works in seconds.items():
        for work, times in works.items():
            cells = [f"{min(t):.2f} ({statistics.median(t):.2f})" for t in times.values()]
            print(f"{state:<9}{work:<11}" + "".join(f"{cell:>18}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--busy", type=int, default=1, help="processes that only count")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--output", type=Path, help="where to write all seconds as .json")
    parser.add_argument("--worker", metavar="RUN", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve(options.worker)
        return
    with tempfile.TemporaryDirectory() as place:
        folder = str(Path(place) / "run")
        train = ["train", "transformer-embedded", *SETTINGS, "threads=1", "--run", folder]
        command = [sys.executable, "-m", "landmark", *train]
        subprocess.run(command, check=True, capture_output=True)
        result = measure(folder, options.rounds, options.busy, options.threads)
    print_table(result["seconds"])
    taken = ", ".join(result["cores taken by others before and after rounds"])
    print(f"seconds, best (median) of {options.rounds} rounds in turns: {UPDATES} updates,")
    print(f"{SENTENCES} sentences greedily, {BEAM_SENTENCES} with a beam of 4")
    print(f"{os.cpu_count()} cores; taken by others before and after the rounds: {taken}")
    if options.output:
        options.output.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
