"""Systems to compare, each a process of its own that loads once and then answers questions."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from peers import peers_python


@contextmanager
def workers(
    script: str, places: Mapping[str, str], threads: int, peer: str
) -> Iterator[dict[str, Any]]:
    """`script --worker NAME PLACE` for each system; the peer in the peers' environment."""
    processes = {}
    try:
        for name, place in places.items():
            python = str(peers_python()) if name == peer else sys.executable
            processes[name] = subprocess.Popen(
                [python, script, "--worker", name, place, "--threads", str(threads)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": str(threads), "TQDM_DISABLE": "1"},
            )
        yield processes
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def ask(process: Any, question: dict[str, Any]) -> dict[str, Any]:
    """The answer to a question, a line of JSON each."""
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        sys.exit("a worker died; its last words are above")
    answer: dict[str, Any] = json.loads(line)
    return answer
