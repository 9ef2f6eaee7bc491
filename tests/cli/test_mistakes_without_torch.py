"""Mistakes in names and paths are answered before torch is imported, which takes seconds."""

import json
import os
import subprocess
import sys

PROGRAM = """
import contextlib, io, json, sys
from landmark.cli.main import run
for words in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = run(list(words))
    heavy = [name for name in ("torch", "matplotlib") if name in sys.modules]
    print(json.dumps([words, code, said.getvalue(), heavy]))
    if heavy:
        break
"""
MISTAKES = [
    "nonsense", "trian", "train", "train nonsense", "train x.yaml", "train folder",
    "train gpt --source a", "train translation --text a", "train --source a", "train resnet-50",
    "recipe nonsense", "show nonsense", "show resnet", "list nonsense", "list --task nonsense",
    "translate no/such/run x", "translate folder x", "translate", "evaluate nonsense",
    "generate nonsense x", "classify nonsense a.png", "average nonsense",
    "export nonsense --to onnx", "export run --to nothing", "import torchvision missing.pth",
    "import nonsense", "runs compare a b", "figure nonsense", "figure attention nonsense",
    "figure losses nonsense", "figure receptive nonsense", "figure updates nonsense",
    "race nonsense", "demo --recipe nonsense", "data get nonsense",
    "classify run a.png", "generate run x", "translate run --file missing.txt",
    "translate run x --output out.txt", "translate run x --beam 2 --sample",
    "translate run x --nonsense", "translate run x --split test",
]  # fmt: skip
"""`run` is one of the translation task."""
ANSWERS = ["list", "list transformer", "list --json", "--help", "translate --help", "runs"]


def test_no_mistake_in_a_name_or_a_path_imports_torch(tiny_run, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "run").symlink_to(tiny_run)
    lines = [line.split() for line in [*MISTAKES, *ANSWERS]]
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    answers = [json.loads(line) for line in process.stdout.splitlines()]
    for words, code, said, heavy in answers:
        assert not heavy, f"{' '.join(words)} imports {heavy}: {said}"
        assert code == (0 if " ".join(words) in ANSWERS else 2), (words, said)
        assert said.count("\n") == (code > 0), (words, said)
    assert len(answers) == len(lines)
