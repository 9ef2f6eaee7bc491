"""Validation by captioning: CIDEr-D and samples of held-out images."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field

from landmark.core.configuration import settings
from landmark.data.captions.source import CaptionedImages
from landmark.data.captions.text import caption_text
from landmark.data.images.form import ImageForm
from landmark.data.tokenizer import SubwordTokenizer
from landmark.engine.assembly import Stopping
from landmark.metrics.captions import CIDER, score_captions
from landmark.models.captioning.captioner import Captioner
from landmark.tasks.captioning.engine import image_requests, torch_engine

_BLOCK = 64  # images between two looks at whether to stop


@settings
class CaptionValidationConfig:
    """Validation: what to compute in addition to the loss."""

    cider: bool = True
    """Also describe validation images greedily and report CIDEr-D (early stopping:
    trainer.monitor=cider).
    """
    images: Annotated[int, Field(ge=1)] = 400
    """cider: number of images, spread evenly over the validation images."""
    samples: Annotated[int, Field(ge=0)] = 3
    """cider: number of captions to show."""


class CaptionEvaluator:
    """Greedy captions of held-out images by the model as it stands."""

    def __init__(
        self,
        model: Captioner,
        tokenizer: SubwordTokenizer,
        form: ImageForm,
        split: CaptionedImages,
        max_words: int,
        config: CaptionValidationConfig,
        device: torch.device,
    ) -> None:
        self.model, self.tokenizer, self.form, self.split = model, tokenizer, form, split
        self.config, self.max_words = config, max_words
        self.engine = torch_engine([model], tokenizer, device)
        count = min(config.images, len(split))
        self.chosen = np.linspace(0, len(split) - 1, count).astype(int).tolist()
        self.references = [
            [caption_text(text) for text in split.captions[number]] for number in self.chosen
        ]
        self.captions: list[str] = []
        self.step = 0

    def __call__(self, step: int, stopping: Stopping) -> Mapping[str, float] | None:
        """CIDEr-D and BLEU-4; None if the training was told to stop."""
        said: list[str] = []
        for start in range(0, len(self.chosen), _BLOCK):
            if stopping():
                return None
            pixels = [self.split.images[n] for n in self.chosen[start : start + _BLOCK]]
            requests = image_requests(self.model, self.form, pixels, self.max_words)
            found = self.engine.search(requests, 1, 0.0)
            said += self.tokenizer.decode([hypotheses[0].tokens for hypotheses in found])
        self.step, self.captions = step, said
        scores = score_captions(said, self.references, resamples=0)
        return {"cider": scores.value(CIDER), "bleu4": scores.value("BLEU-4")}

    def remarks(self) -> Iterator[Mapping[str, Any]]:
        """A few of the newest captions, for the log and to be read."""
        numbers = range(0, len(self.captions), max(1, len(self.captions) // 3))
        samples = [
            {"caption": self.captions[n], "reference": self.references[n][0]}
            for n in list(numbers)[: self.config.samples]
        ]
        if samples:
            yield {"kind": "samples", "step": self.step, "samples": samples}
            lines = [f"{name:<9}  {text}" for sample in samples for name, text in sample.items()]
            yield {"kind": "note", "text": textwrap.indent("\n".join(lines), "  ")}
