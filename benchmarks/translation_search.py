"""Choose how to search on a validation set: BLEU for each length penalty and channel weight.

Each sentence is searched once; its hypotheses are then ranked by (log P(y|x) + λ log P(x|y)) /
((5 + |y|) / 6)^alpha for every alpha and λ. λ needs a run that has learnt both ways, or another of
the other direction (--back). BLEU rewards translations as long as the references, so the table
says beside it how long they are: words of the translations for each of the references.

    python benchmarks/translation_search.py runs/transformer-multi30k --split valid --beam 10
"""

import argparse
from collections.abc import Sequence

from landmark.decoding.neighbour import NeighbourConfig
from landmark.decoding.request import Request
from landmark.decoding.speaker import Hypothesis, penalize
from landmark.metrics.translation import score_translations
from landmark.pipelines.loading import load
from landmark.pipelines.translation.channel import rank_by_channel
from landmark.pipelines.translation.evaluation import split_pairs
from landmark.pipelines.translation.translation import TranslationPipeline


def main() -> None:
    options = read_options()
    asked = None
    if options.neighbours:
        count, share, temperature = options.neighbours
        asked = NeighbourConfig(count=int(count), share=share, temperature=temperature)
    pipeline = load(options.run, back=options.back, neighbours=asked, task="translation")
    pairs = split_pairs(pipeline, options.split)
    print(
        f"{options.run}: {options.split}, {len(pairs):,} sentences, beam {options.beam}, "
        f"readings {options.readings}, neighbours {options.neighbours}"
    )
    sources = [source for source, _ in pairs]
    found, channel = search(pipeline, sources, options.beam, options.readings)
    form = pipeline.target_form()
    references = [form.read(target) for _, target in pairs]
    print("BLEU, and words for each word of the reference")
    columns = "".join(f"{f'alpha {alpha:g}':>16}" for alpha in options.penalties)
    print(f"{'λ':>6}{columns}")
    for weight in options.channels if pipeline.back else [0.0]:
        cells = ""
        for alpha in options.penalties:
            best = [
                max(zip(its, back, strict=True), key=lambda h: score(*h, weight, alpha))[0]
                for its, back in zip(found, channel, strict=True)
            ]
            said = pipeline.tokenizer.decode([hypothesis.tokens for hypothesis in best])
            bleu = score_translations(said, references, form.is_tokenized)[0].value
            words = sum(map(_words, said)) / sum(map(_words, references))
            cells += f"{bleu:>9.2f}{words:>7.3f}"
        print(f"{weight:>6g}{cells}", flush=True)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--back", help="a run of the other direction")
    parser.add_argument("--split", default="valid")
    parser.add_argument("--beam", type=int, default=10)
    parser.add_argument(
        "--neighbours", type=_numbers, help="how many, their share and temperature: 32,0.5,10"
    )
    parser.add_argument("--readings", type=int, default=1, help="ways to cut a source")
    parser.add_argument(
        "--penalties", type=_numbers, default=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.8]
    )
    parser.add_argument(
        "--channels", type=_numbers, default=[0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0]
    )
    return parser.parse_args()


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split(",")]


def _words(text: str) -> int:
    return len(text.split())


def search(
    pipeline: TranslationPipeline, texts: Sequence[str], beam: int, readings: int = 1
) -> tuple[list[list[Hypothesis]], list[list[float]]]:
    """The hypotheses of each text, and of each log P(x|y): zeros where nobody can look back."""
    form, search = pipeline.target_form(), pipeline.config.search
    sources = pipeline.encode_sources(texts, form, str)
    requests = [
        Request(tuple(tokens), min(pipeline.max_length, search.max_length(len(tokens) + 1)))
        for tokens in sources
    ]
    requests = [pipeline.reader.read_again(request, readings - 1) for request in requests]
    found = pipeline.engine.search(requests, beam, search.length_penalty)
    if pipeline.back is None:
        return found, [[0.0] * len(its) for its in found]
    ranked = rank_by_channel(pipeline, pipeline.back, texts, found, form, 1.0, 0.0)
    return ranked, [[its.score - its.log_probability for its in row] for row in ranked]


def score(hypothesis: Hypothesis, channel: float, weight: float, alpha: float) -> float:
    """What the package ranks by."""
    length = len(hypothesis.tokens) + hypothesis.ended
    return (hypothesis.log_probability + weight * channel) / penalize(length, alpha)


if __name__ == "__main__":
    main()
