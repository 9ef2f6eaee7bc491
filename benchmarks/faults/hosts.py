"""Whether a training over two hosts comes through a cut cable.

The hosts are two network namespaces of this machine, joined by a veth pair. They train one tiny
translator on a shared folder, and a second one whose cable is cut in the middle: both ends must
say so within the timeout and a few seconds. With the cable mended, the same commands with --resume
must end with the weights, optimiser state and log of the first, bit for bit. Prints the figures.

Needs Linux with `unshare`, `nsenter` (util-linux) and `ip` (iproute2), as root or where users may
make namespaces of their own. The machine's network is not touched: the namespaces are made for one
process, in a process namespace that takes all that runs in it along when it ends.

    python -m benchmarks.faults.hosts [--steps 50] [--only-cut]
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from benchmarks.faults.group import (
    RECIPE,
    ROOT,
    TRANSLATOR,
    Torchrun,
    differences,
    is_alive,
    torchrun,
    train_words,
    wait_until,
)
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.tasks.training import train

TIMEOUT = 5
SETTINGS = [*TRANSLATOR, "model.dropout=0", f"trainer.timeout={TIMEOUT}"]
PROGRAMS = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux"}
ADDRESSES = ("10.77.0.1", "10.77.0.2")
CABLE = "cable"


def isolated() -> list[str]:
    """What to put before a command so that it has a network and processes of its own."""
    command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return command if os.geteuid() == 0 else [*command, "--user", "--map-root-user"]


def missing_program() -> str | None:
    """The command that installs what is not there."""
    packages = {package for name, package in PROGRAMS.items() if not shutil.which(name)}
    return f"apt-get install {' '.join(sorted(packages))}" if packages else None


def refusal() -> str | None:
    """Why this machine lets us make no namespaces."""
    probe = [*isolated(), "ip", "link", "add", CABLE, "type", "veth", "peer", "name", "end"]
    result = subprocess.run(probe, capture_output=True, text=True, check=False)
    return result.stderr.strip() or "unshare failed" if result.returncode else None


class Hosts:
    """This process's network as the first host, another one's as the second, and the cable."""

    def __init__(self) -> None:
        self.second = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        here = os.readlink("/proc/self/ns/net")
        wait_until(lambda: os.readlink(f"/proc/{self.second.pid}/ns/net") != here, "a second host")
        end = [CABLE, "netns", str(self.second.pid)]
        self.ip(0, "link", "add", CABLE, "type", "veth", "peer", "name", *end)
        for host, address in enumerate(ADDRESSES):
            self.ip(host, "address", "add", f"{address}/24", "dev", CABLE)
            self.ip(host, "link", "set", "lo", "up")
            self.ip(host, "link", "set", CABLE, "up")

    def at(self, host: int) -> list[str]:
        """What to put before a command so that it runs on a host."""
        return ["nsenter", f"--net=/proc/{self.second.pid}/ns/net"] if host else []

    def ip(self, host: int, *words: str) -> None:
        subprocess.run([*self.at(host), "ip", *words], check=True)

    def plug(self, connected: bool) -> None:
        """Mend the cable, or cut it: what is sent then is lost without an answer."""
        self.ip(0, "link", "set", CABLE, "up" if connected else "down")

    @contextmanager
    def training(
        self, folder: Path, settings: Sequence[str], *extra: str
    ) -> Iterator[list[Torchrun]]:
        """One torchrun with one process on each of the hosts."""
        common = ["--nnodes=2", "--nproc-per-node=1", f"--master-addr={ADDRESSES[0]}"]
        with ExitStack() as stack:
            yield [
                stack.enter_context(
                    torchrun(
                        train_words(folder, settings, *extra),
                        folder.with_name(f"{folder.name}-host-{host}.txt"),
                        layout=[*common, "--master-port=29500", f"--node-rank={host}"],
                        before=self.at(host),
                        environment={"GLOO_SOCKET_IFNAME": CABLE},
                    )
                )
                for host in (0, 1)
            ]


def finish(groups: Sequence[Torchrun]) -> None:
    """Wait for both ends, which must be good ones."""
    for group in groups:
        if group.finish():
            raise RuntimeError(group.text())


def cut_cable(
    hosts: Hosts, groups: Sequence[Torchrun], run: Run, step: int
) -> list[dict[str, Any]]:
    """Cut the cable after a step, mend it when both processes have ended; what each end did."""
    groups[0].await_step(run, step)
    ranks = [process for group in groups for process in group.ranks().values()]
    hosts.plug(False)
    started, ended = time.monotonic(), dict[int, float]()

    def all_ended() -> bool:
        for process in ranks:
            if not is_alive(process):
                ended.setdefault(process, time.monotonic() - started)
        return len(ended) == 2

    wait_until(all_ended, "both ends to notice", 60)
    hosts.plug(True)
    for group in groups:
        group.finish()
    return [
        {"seconds": ended[process], "said": group.complaints(), "frames": group.frames()}
        for process, group in zip(ranks, groups, strict=True)
    ]


def stage(folder: Path, steps: int, undisturbed: bool) -> dict[str, Any]:
    """All of it, inside the first host; what came of it."""
    settings, hosts = [*SETTINGS, f"trainer.max_steps={steps}"], Hosts()
    one, whole, cut = folder / "one", folder / "whole", folder / "cut"
    train(RECIPE, one, settings)
    if undisturbed:
        with hosts.training(whole, settings) as groups:
            finish(groups)
    with hosts.training(cut, settings) as groups:
        ends = cut_cable(hosts, groups, Run(cut), steps // 3)
    reached = Run(cut).steps()[-1]
    with hosts.training(cut, settings, "--resume") as groups:
        finish(groups)
    hosts.second.send_signal(signal.SIGKILL)
    return {
        "from_one_process": [largest_difference(one, run) for run in (whole, cut) if run.exists()],
        "ends": ends,
        "resumed_from": reached,
        "differing": differences(whole, cut) if undisturbed else [],
    }


def largest_difference(one: Path, two: Path) -> float:
    """Between any two weights of the same place."""
    mine, theirs = (
        load_tensors(Run(run).find_checkpoint("latest"), "model.safetensors") for run in (one, two)
    )
    return max((mine[name] - theirs[name]).abs().max().item() for name in mine)


def between_hosts(folder: Path, steps: int, undisturbed: bool = True) -> dict[str, Any]:
    """Play it all (or only what is cut) in namespaces of its own; what came of it."""
    inside = [sys.executable, "-m", "benchmarks.faults.hosts", "--inside", str(folder)]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [*isolated(), *inside, "--steps", str(steps), *["--only-cut"] * (not undisturbed)],
        env=variables, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    if result.returncode:
        raise RuntimeError(result.stderr)
    story: dict[str, Any] = json.loads((folder / "story.json").read_text())
    return story


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50, help="length of each training")
    parser.add_argument("--only-cut", action="store_true", help="compare with one process only")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        torch.set_num_threads(1)
        story = stage(options.inside, options.steps, not options.only_cut)
        (options.inside / "story.json").write_text(json.dumps(story))
        return
    if reason := missing_program() or refusal():
        sys.exit(f"two hosts cannot be made here: {reason}")
    with tempfile.TemporaryDirectory() as folder:
        story = between_hosts(Path(folder), options.steps, not options.only_cut)
    apart = max(story["from_one_process"])
    print(f"{options.steps} steps over two hosts: weights within {apart:.1e} of one process's")
    for host, end in enumerate(story["ends"]):
        print(f"host {host} ended {end['seconds']:.1f} s after the cut: {' '.join(end['said'])}")
    compared = "not compared" if options.only_cut else "bit-equal to the undisturbed"
    print(f"resumed from step {story['resumed_from']}:", story["differing"] or compared)
    sys.exit(1 if story["differing"] else 0)


if __name__ == "__main__":
    main()
