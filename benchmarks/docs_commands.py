"""Run the commands that README and docs show.

    python benchmarks/docs_commands.py                        # all, with trainings cut short
    python benchmarks/docs_commands.py README.md docs/gpt.md  # of these pages
    python benchmarks/docs_commands.py --whole README.md      # trainings to their end: hours

A block of commands is run if a comment stands before it: `<!-- run -->` if it takes a second
(`make test` runs those as well, and compares what is shown with what is printed), `<!-- slow -->`
if it takes longer. The blocks of a page share a folder with my.en, my.de, my.txt and the like.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_MARK = re.compile(r"<!-- (run|slow) -->")
_LANDMARK = re.compile(r"(\.venv/bin/)?landmark [a-z]")
_SHELL = re.compile(r"(\$ |python |torchrun |\.venv/bin/|awk |cut |paste |for |cat |tail )")
_SHORT = " trainer.max_steps=20 trainer.validate_every=10 trainer.checkpoint_every=10"


@dataclass
class Command:
    """A line of shell in a page, and the lines that the page shows below it."""

    page: Path
    number: int
    line: str
    mark: str = ""
    shown: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.number}"

    def landmark_words(self) -> Iterator[list[str]]:
        """The words after each `landmark` of the line: it may hold pipes and several commands."""
        lexer = shlex.shlex(self.line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set("();<>|&"):
                yield from _after_landmark(words)
                words = []
            else:
                words.append(word)


def _after_landmark(words: list[str]) -> Iterator[list[str]]:
    if words[:1] in (["landmark"], [".venv/bin/landmark"]):
        yield words[1:]
    elif "-m" in words and words[words.index("-m") + 1] == "landmark":
        yield words[words.index("-m") + 2 :]


def commands(page: Path) -> Iterator[Command]:
    """What a page's blocks of code show as typed.

    In a block with lines that begin with "$ ", those are commands and the rest is what they print.
    """
    for mark, start, block in blocks(page, "", "sh", "console"):
        prompted = any(line.lstrip().startswith("$ ") for line in block)
        command: Command | None = None
        for number, line in enumerate(block, start):
            text = line.strip()
            if command and _goes_on(command.line):
                command.line = command.line.removesuffix("\\") + f"\n{text}"
            elif text.startswith("$ ") if prompted else _is_command(text):
                if command:
                    yield command
                command = Command(page, number, text.removeprefix("$ "), mark)
            elif command:
                command.shown.append(line)
        if command:
            yield command


def blocks(page: Path, *languages: str) -> Iterator[tuple[str, int, list[str]]]:
    """The blocks of code in some languages: mark, number of the first line, lines."""
    mark, inside, block, start = "", None, [], 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = re.fullmatch(r"\s*```(\w*)", line)
        if fence and inside is None:
            inside, block, start = fence[1], [], number + 1
        elif fence:
            if inside in languages:
                yield mark, start, block
            inside, mark = None, ""
        elif inside is not None:
            block.append(line)
        elif line.strip():
            found = _MARK.fullmatch(line.strip())
            mark = found[1] if found else ""


def _is_command(text: str) -> bool:
    return bool(_LANDMARK.match(text) or _SHELL.match(text)) or text.startswith("make ")


def _goes_on(line: str) -> bool:
    """Whether a command goes on in the next line: a backslash, or a quote that is open."""
    if line.endswith("\\"):
        return True
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return True
    return False


def inline(page: Path) -> Iterator[tuple[int, list[str]]]:
    """Commands in running text, as `landmark show --compare`; those with … or | are left out."""
    fenced = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced:
            for code in re.findall(r"`(landmark [^`]+)`", line):
                if not re.search(r"…|\.\.\.|\\\||\[[A-Z]", code):
                    yield number, shlex.split(code)[1:]


def write_own_data(folder: Path) -> None:
    """What the pages call a user's own: my.en and my.de, test.en and test.de, my.txt, photos/."""
    from PIL import Image
    from sklearn.datasets import load_digits

    from landmark.data.embedded import corpus

    pairs = list(corpus.draw("train", 2000, seed=5))
    for name, lines in {
        "my.en": [pair.source for pair in pairs],
        "my.de": [pair.target for pair in pairs],
        "my.txt": [pair.source for pair in pairs],
        "test.en": [pair.source for pair in pairs[:50]],
        "test.de": [pair.target for pair in pairs[:50]],
    }.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    digits = load_digits()
    for target, name in enumerate(("cats", "dogs")):
        (folder / "photos" / name).mkdir(parents=True)
        for number, image in enumerate(digits.images[digits.target == target][:60]):
            picture = Image.fromarray((image * 15.9).astype("uint8")).resize((64, 64))
            picture.save(folder / "photos" / name / f"{number}.jpg")
    (folder / "docs").symlink_to(ROOT / "docs")
    (folder / "benchmarks").symlink_to(ROOT / "benchmarks")


def run_page(page: Path, whole: bool) -> list[str]:
    """Run a page's marked commands in one folder; the places of those that failed."""
    marked = [command for command in commands(page) if command.mark]
    if not marked:
        return []
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        write_own_data(Path(folder))
        for command in marked:
            line = command.line if whole else _shortened(command.line)
            print(f"{command.place}: {line}", flush=True)
            begun = time.monotonic()
            path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
            result = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, check=False)
            print(f"-- {time.monotonic() - begun:.1f} s, exit code {result.returncode}", flush=True)
            if result.returncode:
                failed.append(command.place)
    return failed


def _shortened(line: str) -> str:
    """A training of twenty updates."""
    if not re.match(r"(\.venv/bin/)?landmark train ", line) or "trainer.max_steps" in line:
        return line
    return line.partition(" #")[0].rstrip() + _SHORT


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the commands that README and docs show.")
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES)
    parser.add_argument("--whole", action="store_true", help="trainings to their end")
    given = parser.parse_args()
    failed = [place for page in given.pages for place in run_page(page.resolve(), given.whole)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
    print("all commands ended with exit code 0")


if __name__ == "__main__":
    main()
