"""`landmark translate`."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from landmark.cli.options import (
    Beam,
    Checkpoint,
    Device,
    Engine,
    Ensemble,
    Json,
    LengthPenalty,
    RunFolder,
    To,
)
from landmark.core.errors import UserError

if TYPE_CHECKING:
    from landmark.decoding.stepwise import SamplingConfig
    from landmark.tasks.translation.document import Paragraph
    from landmark.tasks.translation.pipeline import (
        AttentionMap,
        Translation,
        TranslationPipeline,
    )

_BLOCK = 1000  # lines translated together


def translate(
    run: RunFolder,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Sentences; none: read stdin.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Translate a file, a sentence a line.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="With --file: write here, safe from interruptions.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --output: go on where it was interrupted.")
    ] = False,
    document: Annotated[
        bool, typer.Option("--document", help="Lines are running text: cut it into sentences.")
    ] = False,
    to: To = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    n_best: Annotated[int, typer.Option(min=1, help="Translations to print for each.")] = 1,
    prefix: Annotated[
        str | None, typer.Option(help="Begin every translation with these words.")
    ] = None,
    glossary: Annotated[
        Path | None, typer.Option(help="A .tsv of terms and how they must be translated.")
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw instead of searching.")] = False,
    temperature: Annotated[float | None, typer.Option(min=0.01, help="With --sample.")] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="With --sample.")] = None,
    top_p: Annotated[float | None, typer.Option(min=0.01, max=1, help="With --sample.")] = None,
    seed: Annotated[int | None, typer.Option(help="With --sample.")] = None,
    ensemble: Ensemble = None,
    engine: Engine = "torch",
    attention: Annotated[
        Path | None, typer.Option(help="Draw the cross-attention of one sentence to this file.")
    ] = None,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Translate sentences, a file, or stdin to stdout line by line."""
    from landmark.tasks.loading import load
    from landmark.tasks.translation.glossary import Glossary

    _check_places(texts or [], file, output, resume, attention)
    _check_ensemble(texts or [], ensemble or [])
    if document and (n_best > 1 or attention or prefix):
        raise UserError("--document goes with none of --n-best, --attention and --prefix")
    options: dict[str, Any] = {
        "beam": beam,
        "length_penalty": length_penalty,
        "n_best": n_best,
        "sampling": _sampling(sample, beam, temperature, top_k, top_p, seed),
        "seed": 1 if seed is None else seed,
        "language": to,
        "prefix": (prefix or "").strip(),
        "glossary": Glossary.read(glossary) if glossary else None,
    }
    others = ensemble or []
    pipeline = load(run, checkpoint, device, ensemble=others, engine=engine, task="translation")
    name = "" if texts else str(file or "stdin")
    job = Job(pipeline, options, document, as_json, name)
    if attention and texts:
        _translate_and_draw(job, texts[0], attention)
    elif file:
        _translate_file(job, file, output, resume, [run, *others], engine, glossary)
    else:
        _translate_blocks(job, [texts] if texts else _standard_input())


@dataclass(frozen=True)
class Job:
    """How lines are translated and written, whatever they come from and go to."""

    pipeline: "TranslationPipeline"
    options: dict[str, Any]
    document: bool
    as_json: bool
    name: str
    """What the lines come from; "": sentences of the command line."""

    @property
    def lines_each(self) -> int:
        """Lines of output for a line of input."""
        return 1 if self.as_json else self.options["n_best"]

    def translate(self, lines: list[str], first: int) -> "Sequence[Translation | Paragraph]":
        from landmark.tasks.translation.document import translate_paragraphs

        options = {"first_number": first, "place": self._sentence, **self.options}
        if self.document:
            return translate_paragraphs(self.pipeline, lines, **options)
        return self.pipeline.translate(lines, **options)

    def check(self, line: str, number: int) -> None:
        """Refuse a line that is too long, unless it is to be cut into sentences."""
        if not self.document:
            place, language = self._sentence(number), self.options["language"]
            self.pipeline.check_source(line, place, language)

    def write(
        self, results: "Sequence[Translation | Paragraph]", first: int, target: TextIO
    ) -> None:
        for number, result in enumerate(results, first):
            for warning in self._warnings(result):
                print(f"warning: {self._place(number)}: {warning}", file=sys.stderr)
            for line in _lines(result, self.options["n_best"], self.as_json):
                print(line, file=target)

    def _warnings(self, result: "Translation | Paragraph") -> Iterator[str]:
        """What a reader of a translation should know, a line each."""
        from landmark.tasks.translation.document import Paragraph

        if result.unknown_words:
            yield f"never seen in training: {', '.join(result.unknown_words)}"
        sentences = result.sentences if isinstance(result, Paragraph) else (result,)
        yield from (self._cut(sentence) for sentence in sentences if not sentence.ended)

    def _cut(self, sentence: "Translation") -> str:
        """That a translation is not whole, why, and what to do."""
        count = len(sentence.tokens)
        is_long = count >= self.pipeline.max_length
        reason = "the model's most" if is_long else "the most for so short a source"
        advice = "split it, or give --document" if is_long and not self.document else "reword it"
        begins = f"{sentence.source[:40]!r}…"
        return f"the translation was cut at {count} tokens, {reason}: {advice} ({begins})"

    def _place(self, number: int) -> str:
        """How messages name a line."""
        return f"{self.name}:{number}" if self.name else f"sentence {number}"

    def _sentence(self, number: int) -> str:
        """How messages name the sentence in it."""
        return f"{self._place(number)}: the sentence" if self.name else self._place(number)


def _check_places(
    texts: Sequence[str],
    file: Path | None,
    output: Path | None,
    resume: bool,
    attention: Path | None,
) -> None:
    """Refuse ways in and out that do not go together."""
    if texts and file:
        raise UserError("give sentences or --file, not both")
    if (output and not file) or (resume and not output):
        raise UserError("--resume goes with --output, and --output with --file")
    if attention and len(texts) != 1:
        raise UserError("--attention draws one sentence: give exactly one")
    if file and file.exists() and not (file.is_file() or file.is_dir()):
        raise UserError(f"{file}: is no file that can be read twice: send it to standard input")


def _check_ensemble(texts: Sequence[str], ensemble: Sequence[Path]) -> None:
    """Refuse to translate the name of a run that was meant for the ensemble."""
    for text in texts if ensemble else []:
        if os.path.isdir(text):
            raise UserError(
                f"{text}: is a folder, not a sentence: repeat the option for each other run "
                f"(--ensemble {ensemble[-1]} --ensemble {text})"
            )


def _sampling(
    sample: bool,
    beam: int | None,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    seed: int | None,
) -> "SamplingConfig | None":
    """How to draw; None searches."""
    from landmark.decoding.stepwise import SamplingConfig

    if not sample and any(value is not None for value in (temperature, top_k, top_p, seed)):
        raise UserError("--temperature, --top-k, --top-p and --seed go with --sample")
    if sample and beam is not None:
        raise UserError("give --sample or --beam, not both")
    if not sample:
        return None
    return SamplingConfig(temperature=temperature or 1.0, top_k=top_k, top_p=top_p)


def _translate_and_draw(job: Job, text: str, picture: Path) -> None:
    """One sentence, and where the model looked while it wrote the translation."""
    (result,) = job.pipeline.translate([text], **job.options)
    job.write([result], 1, sys.stdout)
    draw_attention(job.pipeline.attention(text, result, job.options["language"]), picture)


def _translate_blocks(job: Job, blocks: Iterable[list[str]]) -> None:
    """Lines as they come, to stdout; each block is answered before the next is asked for."""
    for first, lines in _numbered(blocks):
        job.write(job.translate(lines, first), first, sys.stdout)
        sys.stdout.flush()


def _translate_file(
    job: Job,
    file: Path,
    output: Path | None,
    resume: bool,
    runs: list[Path],
    engine: str,
    glossary: Path | None,
) -> None:
    """A file in a stream of blocks: constant memory, order kept, progress where it is of use."""
    from landmark.cli.translation.resumable import ResumableFile
    from landmark.data.text_file import read_lines

    total = 0
    for total, line in enumerate(read_lines(file), 1):  # which also finds what cannot be read
        job.check(line, total)
    if output is None:
        _stream(job, file, sys.stdout, 0, total)
        return
    made_from = _origin(job, file, runs, engine, glossary)
    with ResumableFile(output, made_from, resume, job.lines_each) as grown:
        _stream(job, file, grown.file, grown.done, total)


def _origin(
    job: Job, file: Path, runs: list[Path], engine: str, glossary: Path | None
) -> dict[str, Any]:
    """All that a translated file depends on: it goes on only with the same."""
    from landmark.data.text_file import digest_file
    from landmark.engine.checkpoint import checkpoint_digest
    from landmark.engine.run import Run

    others = [Run.open(run).find_checkpoint(None) for run in runs[1:]]
    return {
        "file": digest_file(file),
        "runs": [str(run.resolve()) for run in runs],
        "weights": [checkpoint_digest(folder) for folder in (job.pipeline.checkpoint, *others)],
        "engine": engine,
        "glossary": digest_file(glossary) if glossary else None,
        "options": repr([(k, v) for k, v in sorted(job.options.items()) if k != "glossary"]),
        "document": job.document,
        "json": job.as_json,
    }


def _stream(job: Job, file: Path, target: TextIO, done: int, total: int) -> None:
    from itertools import islice

    from landmark.cli.tally import Tally
    from landmark.data.text_file import read_lines

    lines = islice(read_lines(file), done, None)
    with Tally("translated", total, done) as tally:
        for first, block in _numbered(iter(lambda: list(islice(lines, _BLOCK)), []), done + 1):
            job.write(job.translate(block, first), first, target)
            target.flush()
            tally.advance(len(block))


def _numbered(blocks: Iterable[list[str]], first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Each block with the number of its first line."""
    for block in blocks:
        yield first, block
        first += len(block)


def _standard_input() -> Iterator[list[str]]:
    """Whole lines of stdin, each time as many as have arrived."""
    if sys.stdin is None:  # the caller closed it
        return
    if sys.stdin.isatty():
        print("type sentences, a line each; Ctrl-D ends", file=sys.stderr)
    rest, first = b"", 1
    while True:
        read = os.read(sys.stdin.fileno(), 1 << 16)
        *lines, rest = (rest + read).split(b"\n")
        if not read and rest:
            lines.append(rest)
        if lines:
            yield [_decode(line, number) for number, line in enumerate(lines, first)]
        first += len(lines)
        if not read:
            return


def _decode(line: bytes, number: int) -> str:
    """A line of stdin as text; the first may begin with a byte order mark, as in files."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r")
    except UnicodeDecodeError:
        raise UserError(f"stdin:{number}: not valid UTF-8") from None


def _lines(result: "Translation | Paragraph", n_best: int, as_json: bool) -> list[str]:
    """What is printed of one translation."""
    from landmark.tasks.translation.document import Paragraph

    if isinstance(result, Paragraph):
        if not as_json:
            return [result.text]
        pieces = [
            {"source": s.source, "translation": s.text, "score": s.score, "ended": s.ended}
            for s in result.sentences
        ]
        record: dict[str, Any] = {"source": result.source, "translation": result.text}
        return [json.dumps({**record, "sentences": pieces}, ensure_ascii=False)]
    if as_json:
        record = {
            "source": result.source,
            "translation": result.text,
            "score": result.score,
            "ended": result.ended,
            "unknown_words": result.unknown_words,
        }
        if n_best > 1:
            record["n_best"] = [{"text": t, "score": s} for t, s in result.alternatives]
        return [json.dumps(record, ensure_ascii=False)]
    if n_best == 1:
        return [result.text]
    return [f"{score:.4f}\t{text}" for text, score in result.alternatives]


def draw_attention(attention: "AttentionMap", path: Path) -> None:
    """The mean over heads of the last decoder layer, as a picture."""
    from landmark.figures.figure import check_place
    from landmark.figures.translation.heatmap import save_heatmap

    weights = attention.weights[-1].mean(0)
    title = "Cross-attention, last layer, mean of heads"
    check_place(path)
    save_heatmap(attention.source, attention.target, weights, title, path)
