"""The peers' own environment, apart from ours: made once, then found again.

Prints the path of its Python, for the benchmarks that start peers as processes of their own.
Versions follow constraints.txt, so that peers compute with the same torch as we do.
joeynmt and eole ask for far more than training needs (spaCy, fastText, audio codecs); they are
installed alone, with what their imports need.

    python benchmarks/peers.py
"""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv-peers"
STEPS: tuple[tuple[str, ...], ...] = (
    ("torch", "transformers", "ctranslate2", "x-transformers"),
    (
        "sentencepiece",
        "subword-nmt",
        "sacrebleu",
        "tensorboard",
        "matplotlib",
        "pyyaml",
        "packaging",
    ),
    (
        "importlib_metadata",
        "configargparse",
        "pyonmttok",
        "pyahocorasick",
        "pydantic",
        "six",
        "rich",
    ),
    ("--no-deps", "joeynmt>=2.3", "eole"),
)


def peers_python() -> Path:
    """The Python of the peers' environment, which is made if it is missing or of other packages."""
    python, mark = FOLDER / "bin" / "python", FOLDER / "installed"
    if not python.exists():
        venv.create(FOLDER, with_pip=True)
    done = mark.read_text().splitlines() if mark.exists() else []
    for step in STEPS:
        if " ".join(step) not in done:
            print(f"Installing {' '.join(step)} into {FOLDER} (once)", file=sys.stderr)
            command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            command += ["-c", ROOT / "constraints.txt", *step]
            subprocess.run(command, check=True, stdout=sys.stderr)
            done.append(" ".join(step))
            mark.write_text("\n".join(done))
    return python


if __name__ == "__main__":
    print(peers_python())
