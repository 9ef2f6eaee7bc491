"""Validation by translation: BLEU and samples of held-out sentences."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field

from landmark.core.configuration import settings
from landmark.data.shards import TokenStore
from landmark.data.tokenizer import SubwordTokenizer
from landmark.data.translation.text_form import TextForm, one_line
from landmark.decoding.beam_search import SearchConfig
from landmark.engine.assembly import Stopping
from landmark.metrics.translation import bleu
from landmark.models.translation import TranslationModel
from landmark.tasks.searching import SourceRequest, TorchEngine

_BLOCK = 64  # sentences between two looks at whether to stop


@settings
class ValidationConfig:
    """Validation: what to compute in addition to the loss."""

    bleu: bool = False
    """Also translate validation sentences greedily and report BLEU (early stopping:
    trainer.monitor=bleu).
    """
    sentences: Annotated[int, Field(ge=1)] = 200
    """bleu: number of sentences, spread evenly over the validation pairs."""
    samples: Annotated[int, Field(ge=0)] = 3
    """bleu: number of translations to show."""


class BleuEvaluator:
    """Greedy translations of held-out sentences by the model as it stands."""

    def __init__(
        self,
        model: TranslationModel,
        tokenizer: SubwordTokenizer,
        store: TokenStore,
        form: TextForm,
        search: SearchConfig,
        config: ValidationConfig,
        device: torch.device,
    ) -> None:
        self.tokenizer, self.form, self.config = tokenizer, form, config
        self.engine = TorchEngine(model, tokenizer.begin, tokenizer.end, device)
        count = min(config.sentences, len(store))
        chosen = np.linspace(0, len(store) - 1, count).astype(int).tolist()
        sources = [tuple(store["source", number].tolist()) for number in chosen]
        self.sources = tokenizer.source.decode(sources)
        self.references = tokenizer.decode([store["target", n].tolist() for n in chosen])
        longest = model.config.max_length
        self.requests = [
            SourceRequest(min(longest, search.max_length(len(source) + 1)), source=source)
            for source in sources
        ]
        self.translations: list[str] = []
        self.step = 0

    def __call__(self, step: int, stopping: Stopping) -> Mapping[str, float] | None:
        """BLEU in the model's own form of text; None if the training was told to stop."""
        said: list[Sequence[int]] = []
        for start in range(0, len(self.requests), _BLOCK):
            if stopping():
                return None
            found = self.engine.search(self.requests[start : start + _BLOCK], 1, 0.0)
            said += [hypotheses[0].tokens for hypotheses in found]
        self.step, self.translations = (
            step,
            [one_line(text) for text in self.tokenizer.decode(said)],
        )
        return {"bleu": bleu(self.translations, self.references, self.form.is_tokenized)}

    def remarks(self) -> Iterator[Mapping[str, Any]]:
        """A few of the newest translations, for the log and to be read."""
        columns = (self.sources, self.translations, self.references)
        rows = list(zip(*columns, strict=True))[:: max(1, len(self.sources) // 3)]
        names = ("source", "translation", "reference")
        samples = [dict(zip(names, row, strict=True)) for row in rows[: self.config.samples]]
        if samples:
            yield {"kind": "samples", "step": self.step, "samples": samples}
            lines = [f"{name:<11}  {text}" for sample in samples for name, text in sample.items()]
            yield {"kind": "note", "text": textwrap.indent("\n".join(lines), "  ")}
