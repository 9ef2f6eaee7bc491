"""What `landmark translate`, `score` and `align` do with a translation run."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence

from landmark.core.errors import ItemError, UserError
from landmark.data.translation.parallel_text import Pair
from landmark.tasks.card import Item, Record, Remark, Report, answer
from landmark.tasks.searching import beam_of
from landmark.tasks.translation.alignment import (
    Alignment,
    AttentionChoice,
    HeadScores,
    align_block,
    check_choice,
    default_choice,
    gold_pairs,
    try_choices,
)
from landmark.tasks.translation.document import Paragraph, translate_documents
from landmark.tasks.translation.glossary import Glossary
from landmark.tasks.translation.options import (
    AlignOptions,
    ScoreOptions,
    TranslateOptions,
    TranslateVerbOptions,
)
from landmark.tasks.translation.pipeline import (
    Sentence,
    Translation,
    TranslationPipeline,
)
from landmark.tasks.translation.run import TranslationRun
from landmark.tasks.translation.scoring import PairScore, encode_placed, perplexity, score_block

Blocks = Iterable[Sequence[Item]]


def check_language(config: TranslationRun, to: str | None) -> None:
    """Refuse a language that the run does not translate into, or none where it has several."""
    known = config.data.tags or (config.data.languages[1],)
    if to is None and len(known) > 1:
        raise UserError(f"the run translates into {', '.join(known)}: name one by --to")
    if to is not None and to not in known:
        raise UserError(f"the run does not translate into {to!r}: only {', '.join(known)}")


def check_length(config: TranslationRun, min_length: int) -> None:
    """Refuse a shortest translation that is longer than the model's longest."""
    longest = config.model.max_length - 1
    if min_length > longest:
        raise UserError(f"--min-length {min_length}: the model writes at most {longest} tokens")


def check_translate(config: TranslationRun, options: TranslateVerbOptions, has_input: bool) -> None:
    """Refuse what does not go with the run, and a glossary that cannot be read."""
    check_language(config, options.to)
    check_length(config, options.min_length)
    beam_of(config.search.beam, options)
    if options.glossary:
        Glossary.read(options.glossary)


def translate(
    pipeline: TranslationPipeline, blocks: Blocks, options: TranslateVerbOptions, report: Report
) -> Iterator[Record]:
    """A translation of each text; with --document, a paragraph."""
    glossary = Glossary.read(options.glossary) if options.glossary else None

    def translated(block: Sequence[Item]) -> Sequence[Translation | Paragraph]:
        sentences = [Sentence(item.value, item.place, (item.number,)) for item in block]
        if options.document:
            return translate_documents(pipeline, sentences, options, glossary)
        return pipeline.translate_sentences(sentences, options, glossary)

    return answer(blocks, translated)


def check_score(config: TranslationRun, options: ScoreOptions, has_input: bool) -> None:
    check_language(config, options.to)


def score(
    pipeline: TranslationPipeline, blocks: Blocks, options: ScoreOptions, report: Report
) -> Iterator[Record]:
    """The log-probability of each translation; in the end that of all."""
    count, tokens, totals = 0, 0, []

    def scored(block: Sequence[Item]) -> Sequence[PairScore]:
        pairs = [_pair(item) for item in block]
        encoded = encode_placed(pipeline, pairs, [item.place for item in block], options.to)
        return score_block(pipeline, pairs, encoded, options.per_token)

    for record in answer(blocks, scored):
        if isinstance(record, PairScore):
            count, tokens = count + 1, tokens + len(record.pieces)
            totals.append(record.log_probability)
        yield record
    if count:
        total = math.fsum(totals)
        yield Remark(
            f"{count:,} pairs, {tokens:,} tokens: log-probability {total:.2f}, "
            f"perplexity {perplexity(total, tokens):.4f}"
        )


def _pair(item: Item) -> Pair:
    """Both sides; of a file without a second one, the columns of its lines."""
    source, target = item.value
    if target is not None:
        return source, target
    columns = source.split("\t")
    if len(columns) != 2:
        raise ItemError(
            f"{item.place}: {len(columns)} tab-separated columns where a sentence and its "
            "translation were expected (or name the file with the other side by --target)"
        )
    return columns[0], columns[1]


def check_align(config: TranslationRun, options: AlignOptions, has_input: bool) -> None:
    """Refuse what is to be aligned twice, or not at all."""
    check_language(config, options.to)
    if options.choose and has_input:
        raise UserError("--choose tries every layer and head on gold alignments: give no others")
    if not options.choose and not has_input:
        raise UserError("give --source (and --target), or --choose")


def align(
    pipeline: TranslationPipeline, blocks: Blocks, options: AlignOptions, report: Report
) -> Iterator[Record]:
    """Which source word each target word comes from; with --choose, who tells it best."""
    if options.choose:
        gold = gold_pairs(pipeline, options.gold)
        yield HeadScores(tuple(try_choices(pipeline, gold)))
        return
    choice = _choice(pipeline, options)
    yield Remark(f"attention of {choice}")

    def aligned(block: Sequence[Item]) -> Sequence[Alignment]:
        is_own = block[0].value[1] is None
        pairs = _own_pairs(pipeline, block, options) if is_own else [i.value for i in block]
        encoded = encode_placed(pipeline, pairs, [item.place for item in block], options.to)
        found = align_block(pipeline, pairs, encoded, choice, options.to)
        return [
            dataclasses.replace(one, is_own=is_own, number=item.number)
            for one, item in zip(found, block, strict=True)
        ]

    yield from answer(blocks, aligned)


def _own_pairs(
    pipeline: TranslationPipeline, block: Sequence[Item], options: AlignOptions
) -> list[Pair]:
    """Sentences with the model's own translations."""
    sentences = [Sentence(item.value[0], item.place, (item.number,)) for item in block]
    results = pipeline.translate_sentences(sentences, TranslateOptions(to=options.to))
    return [(result.source, result.text) for result in results]


def _choice(pipeline: TranslationPipeline, options: AlignOptions) -> AttentionChoice:
    """What was asked for; where nothing was, what aligns best."""
    head, shift = options.head, options.shift
    if options.layer is None:
        default = default_choice(pipeline)
        if head == "mean" or shift is not None:
            shifted = default.shifted if shift is None else shift
            return AttentionChoice(default.layer, None if head else default.head, shifted)
        return default
    number = None if head in (None, "mean") else int(head or 0)
    choice = AttentionChoice(options.layer, number, bool(shift))
    check_choice(pipeline, choice)
    return choice
