"""A run's export as an engine in PyTorch's place."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch

from landmark.core.errors import UserError
from landmark.data.translation.vocabulary import load_subwords
from landmark.decoding.speaker import Hypothesis, penalize
from landmark.decoding.stepwise import SamplingConfig
from landmark.engine.run import Run
from landmark.interop.library import library
from landmark.models.transformer.translator import Translator
from landmark.tasks.exporting import open_export
from landmark.tasks.onnx_writer import OnnxWriter
from landmark.tasks.searching import (
    PLAIN,
    Decoding,
    Engine,
    SourceRequest,
    TorchEngine,
    batches_of,
)
from landmark.tasks.translation.options import BATCH_TOKENS

ENGINES = ("ctranslate2", "ctranslate2-int8", "onnx")
TOKENIZER = "tokenizer.json"
# So small that scores stay log-probabilities, but not 0, which would let CTranslate2 stop before
# its beam is full.
_NO_PENALTY = 1e-9


def load_engine(
    run: Run, name: str, threads: int | None = None, checkpoint: str | None = None
) -> Engine:
    """The engine of a run's export; refuses one that is missing, damaged or of other weights."""
    library("onnxruntime" if name == "onnx" else "ctranslate2")
    folder = open_export(run, name, checkpoint)
    count = threads or torch.get_num_threads()
    return OnnxEngine(folder, count) if name == "onnx" else CTranslate2Engine(folder, count)


class CTranslate2Engine:
    """Searches with CTranslate2 on processors, a batch a thread.

    Greedy search is the same as ours. So is beam search in what it extends and when it stops; its
    hypotheses are ranked here by our length penalty, since CTranslate2 has another. Where more of
    them end in the last step than the beam is wide, it drops the least likely, and we the lowest
    after the penalty.
    """

    def __init__(self, folder: Path, threads: int = 1) -> None:
        tokenizer = load_subwords(folder / TOKENIZER)
        self._sources, self._tokens = tokenizer.source.names(), tokenizer.target.names()
        self._numbers = {token: number for number, token in enumerate(self._tokens)}
        try:
            self._translator = library("ctranslate2").Translator(
                str(folder), device="cpu", inter_threads=threads, intra_threads=1
            )
        except (RuntimeError, ValueError) as error:
            raise UserError(f"{folder}: CTranslate2 cannot read it: {error}") from None

    def search(
        self,
        requests: Sequence[SourceRequest],
        beam: int,
        length_penalty: float,
        decoding: Decoding = PLAIN,
    ) -> list[list[Hypothesis]]:
        if any(request.phrases for request in requests):
            raise UserError("a glossary needs the PyTorch engine")
        if decoding.blocking:
            raise UserError(
                "--no-repeat-ngram and --min-length need the PyTorch engine (or onnx): "
                "CTranslate2 gives other scores with them"
            )
        found: dict[int, list[Hypothesis]] = {}
        batches = list(batches_of(requests, range(len(requests)), beam, decoding.batch_tokens))
        while batches:
            jobs = [(batch, self._submit([requests[n] for n in batch], beam)) for batch in batches]
            # One limit holds for a whole batch. Who went beyond his own starts again among equals.
            beyond = defaultdict(list)
            for batch, (limit, answers) in jobs:
                for number, answer in zip(batch, answers, strict=True):
                    own = requests[number].limit
                    result = _result(answer)
                    if own < limit and any(len(said) >= own for said in result.hypotheses):
                        beyond[own].append(number)
                    else:
                        found[number] = self._ranked(result, own, length_penalty)
            batches = list(beyond.values())
        hypotheses = [found[number] for number in range(len(requests))]
        return self._with_prefixes(requests, hypotheses, length_penalty)

    def sample(
        self,
        requests: Sequence[SourceRequest],
        seeds: Sequence[int],
        draws: int,
        sampling: SamplingConfig,
        length_penalty: float,
        decoding: Decoding = PLAIN,
    ) -> list[list[Hypothesis]]:
        """CTranslate2 draws from generators that cannot be seeded a sentence."""
        raise UserError("sampling needs the PyTorch engine: CTranslate2 has no seed a sentence")

    def _submit(self, requests: list[SourceRequest], beam: int) -> tuple[int, list[Any]]:
        """Start a batch; returns the limit it runs with, and answers to wait for."""
        limit = max(request.limit for request in requests)
        prefixed = any(request.prefix for request in requests)
        answers = self._translator.translate_batch(
            [_spell(self._sources, request.source) for request in requests],
            [_spell(self._tokens, r.prefix) for r in requests] if prefixed else None,
            asynchronous=True,
            beam_size=beam,
            num_hypotheses=beam,
            length_penalty=_NO_PENALTY,
            return_scores=True,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,
        )
        return limit, answers

    def _ranked(self, result: Any, limit: int, alpha: float) -> list[Hypothesis]:
        """The hypotheses of one sentence by our penalty, best first."""
        ranked = []
        for said, total in zip(result.hypotheses, result.scores, strict=True):
            tokens = tuple(self._numbers[token] for token in said)
            ranked.append(_hypothesis(tokens, float(total), limit, alpha))
        return sorted(ranked, key=lambda hypothesis: -hypothesis.score)

    def _with_prefixes(
        self, requests: Sequence[SourceRequest], found: list[list[Hypothesis]], alpha: float
    ) -> list[list[Hypothesis]]:
        """Count the prefixes' log-probabilities too, which CTranslate2 leaves out."""
        numbers = [number for number, request in enumerate(requests) if request.prefix]
        if not numbers:
            return found
        scored = self._translator.score_batch(
            [_spell(self._sources, requests[number].source) for number in numbers],
            [_spell(self._tokens, requests[number].prefix) for number in numbers],
            max_input_length=0,
            max_batch_size=BATCH_TOKENS,
            batch_type="tokens",
        )
        for number, score in zip(numbers, scored, strict=True):
            request = requests[number]
            gained = sum(score.log_probs[: len(request.prefix)])
            found[number] = [
                _hypothesis(one.tokens, one.log_probability + gained, request.limit, alpha)
                for one in found[number]
            ]
        return found


class OnnxEngine(TorchEngine):
    """Our own searches over the two graphs, which ONNX Runtime computes."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        tokenizer = load_subwords(folder / TOKENIZER)
        graphs = OnnxWriter(folder, threads, len(tokenizer))
        models = [cast(Translator, graphs)]  # it starts and steps as one
        super().__init__(models, tokenizer.begin, tokenizer.end, torch.device("cpu"))


def _spell(names: Sequence[str], numbers: Sequence[int]) -> list[str]:
    return [names[number] for number in numbers]


def _result(answer: Any) -> Any:
    """Wait for CTranslate2; what it cannot do is said in its own words."""
    try:
        return answer.result()
    except (RuntimeError, ValueError) as error:
        raise UserError(f"CTranslate2: {str(error).splitlines()[0]}") from None


def _hypothesis(tokens: tuple[int, ...], total: float, limit: int, alpha: float) -> Hypothesis:
    """With the score that our searches give: </s> counts, where the limit left room for it."""
    ended = len(tokens) < limit
    return Hypothesis(tokens, total, total / penalize(len(tokens) + ended, alpha), ended)
