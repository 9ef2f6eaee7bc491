"""`landmark embed`."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.options import Checkpoint, Device, Json, RunFolder
from landmark.cli.text.filling import read_input

if TYPE_CHECKING:
    from landmark.tasks.embedding import EmbeddingPipeline, Neighbour


class Pooling(StrEnum):
    """How the vectors of a text's tokens become one."""

    mean = "mean"
    first = "first"
    last = "last"
    pooled = "pooled"


def embed(
    run: RunFolder,
    file: Annotated[
        Path | None,
        typer.Argument(help="Texts, one a line; - or none: stdin.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="A .npy file for the vectors, a row each; none: JSON to stdout."),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="Vectors of the words in each text, not of the texts.")
    ] = False,
    pooling: Annotated[
        Pooling,
        typer.Option(help="Of all tokens, of the first ([CLS]), of the last, or BERT's pooler."),
    ] = Pooling.mean,
    layer: Annotated[
        int, typer.Option(min=-1, help="0: what the first layer reads; -1: the model's output.")
    ] = -1,
    neighbours: Annotated[
        str | None,
        typer.Option(help="Print what is nearest to this: words or, with a file, its lines."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many neighbours.")] = 10,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Make vectors of texts or words with a BERT or a language model, or find what is near."""
    from landmark.core.errors import UserError
    from landmark.tasks.embedding import load_embedder

    if neighbours is not None and (output or words):
        raise UserError("--neighbours prints names: it goes with neither --output nor --words")
    if output and (output.suffix != ".npy" or as_json):
        raise UserError("--output names a .npy file; JSON goes to stdout without it")
    pipeline = load_embedder(run, checkpoint, device)
    if neighbours is not None:
        if file is None:
            found = pipeline.nearest_words(neighbours, count)
        else:
            found = pipeline.nearest_texts(
                neighbours, read_input(file), count, pooling=pooling.value, layer=layer
            )
        _print_neighbours(found, as_json)
        return
    texts = read_input(file)
    if words:
        _give_words(pipeline, texts, layer, output)
    else:
        _give_texts(pipeline, texts, pooling, layer, output)


def _print_neighbours(found: "list[Neighbour]", as_json: bool) -> None:
    if as_json:
        print(json.dumps([near._asdict() for near in found], ensure_ascii=False))
    else:
        for near in found:
            print(f"{near.cosine:.4f}  {near.text}")


def _give_texts(
    pipeline: "EmbeddingPipeline",
    texts: list[str],
    pooling: Pooling,
    layer: int,
    output: Path | None,
) -> None:
    vectors = pipeline.embed(texts, pooling=pooling.value, layer=layer)
    if output:
        _save(output, vectors)
        return
    for text, vector in zip(texts, vectors.tolist(), strict=True):
        print(json.dumps({"text": text, "vector": vector}, ensure_ascii=False))


def _give_words(
    pipeline: "EmbeddingPipeline", texts: list[str], layer: int, output: Path | None
) -> None:
    """JSON, or the vectors of all words and, in a .tsv beside, the line and the word of each."""
    import numpy as np

    found = [pipeline.embed_words(text, layer=layer) for text in texts]
    if output:
        rows = [(number, each) for number, line in enumerate(found, 1) for each in line]
        width = pipeline.config.model.hidden_size
        _save(output, np.array([each.vector for _, each in rows], np.float32).reshape(-1, width))
        lines = "".join(f"{number}\t{each.word}\n" for number, each in rows)
        output.with_suffix(".tsv").write_text(lines, encoding="utf-8")
        return
    for text, line in zip(texts, found, strict=True):
        made = [{"word": each.word, "vector": each.vector.tolist()} for each in line]
        print(json.dumps({"text": text, "words": made}, ensure_ascii=False))


def _save(path: Path, vectors: object) -> None:
    import numpy as np

    with path.open("wb") as file:
        np.save(file, np.asarray(vectors))
    print(path)
