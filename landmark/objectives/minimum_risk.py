"""Minimum-risk training: of the translations that a model believes in, the good ones shall gain.

Shen et al. 2016, arXiv 1512.02433. The risk of a sentence is 1 - BLEU, expected over some
candidates, each as probable as the model finds it. As in Edunov et al. 2018, arXiv 1711.04956, the
candidates come from beam search, their log-probabilities are means over tokens, and the plain loss
stays beside the risk. It is for the end of a training: a model that knows nothing yet has no good
translations among its likely ones.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from landmark.core.turn import Turn
from landmark.data.batch import TranslationBatch
from landmark.data.translation.pairs import collate_pairs
from landmark.decoding.beam_search import SearchConfig, beam_search
from landmark.layers.packing import Packing
from landmark.layers.projection import token_losses
from landmark.metrics.translation import sentence_bleu
from landmark.models.translation import TranslationModel
from landmark.objectives.translation import TranslationConfig, TranslationObjective
from landmark.objectives.understanding import grouped_logsumexp

Write = Callable[[Sequence[Sequence[int]]], list[str]]
"""Tokens to texts."""


@dataclasses.dataclass(frozen=True)
class Language:
    """What is needed to speak: the tokens around a sentence, and how tokens become text."""

    begin: int
    end: int
    write: Write


class MinimumRiskObjective(TranslationObjective):
    """One player, one turn a batch: references and candidates go through the model together."""

    def __init__(
        self,
        model: TranslationModel,
        config: TranslationConfig,
        language: Language,
        search: SearchConfig,
    ) -> None:
        super().__init__(model, config)
        self.language, self.search = language, search

    def turns(self, batch: TranslationBatch, step: int) -> Iterator[Turn]:
        found = self._candidates(batch)
        risks = self._risks(batch, found)
        owners = [number for number, its in enumerate(found) for _ in its]
        sentences = [tokens for its in found for tokens in its]
        extended = self._extended(batch, sentences, owners)
        hidden = self.model(
            extended.source, extended.source_packing, extended.target, extended.target_packing
        )
        count = batch.num_tokens
        plain = self._compare(hidden[:count], batch.labels, self.config.label_smoothing)
        output = self.model.output
        losses = token_losses(hidden[count:], output.weight, extended.labels[count:], output.bias)
        lengths = extended.target_packing.lengths[batch.target_packing.batch_size :]
        of_sentences = torch.tensor(owners, device=losses.device)
        expected = expected_risk(losses, lengths, risks, of_sentences)
        # Each sentence counts as in the plain loss: as often as it has tokens.
        risk = (expected * batch.target_packing.lengths).sum()
        share = self.config.risk
        loss = (1 - share) * plain.loss_sum + share * risk
        metrics = {"nll": plain.nll_sum, "accuracy": plain.correct, "risk": risk.detach()}
        yield Turn("model", loss, count, metrics)

    def _candidates(self, batch: TranslationBatch) -> list[list[tuple[int, ...]]]:
        """What the model, as it is used, finds likeliest for each source."""
        was_training, packing = self.model.training, batch.source_packing
        beam, longest = self.config.candidates, self.model.config.max_length - 1
        limits = [
            min(self.search.max_length(length), longest) for length in packing.lengths.tolist()
        ]
        self.model.eval()
        try:
            with torch.inference_mode():
                state = self.model.start(batch.source, packing, beam, max(limits))
                found = beam_search(
                    self.model,
                    state,
                    limits,
                    self.language.begin,
                    self.language.end,
                    beam,
                    self.search.length_penalty,
                    batch.source.device,
                )
        finally:
            self.model.train(was_training)
        return [[hypothesis.tokens for hypothesis in its] for its in found]

    def _risks(self, batch: TranslationBatch, found: Sequence[Sequence[Sequence[int]]]) -> Tensor:
        """1 - BLEU of all candidates in their order. (C,)"""
        answers = _sentences(batch.labels, batch.target_packing)
        references = [
            text for text, its in zip(self.language.write(answers), found, strict=True) for _ in its
        ]
        hypotheses = self.language.write([tokens for its in found for tokens in its])
        return 1 - torch.tensor(sentence_bleu(hypotheses, references), device=batch.labels.device)

    def _extended(
        self, batch: TranslationBatch, candidates: Sequence[Sequence[int]], owners: Sequence[int]
    ) -> TranslationBatch:
        """The batch with candidates behind it, each beside the source of its owner."""
        sources = _sentences(batch.source, batch.source_packing)
        answers = _sentences(batch.labels, batch.target_packing)
        together = collate_pairs(
            [*sources, *(sources[owner] for owner in owners)],
            [*answers, *candidates],
            self.language.begin,
            self.language.end,
        )
        return together.to(batch.source.device)


def _sentences(tokens: Tensor, packing: Packing) -> list[list[int]]:
    """The token lists of a packed batch, without the </s> that closes each."""
    return [its[:-1].tolist() for its in tokens.cpu().split(packing.lengths.tolist())]


def expected_risk(losses: Tensor, lengths: Tensor, risks: Tensor, owners: Tensor) -> Tensor:
    """Each sentence's mean risk of its candidates, weighted by how probable the model finds them.

    losses: of all candidates' tokens (N,); lengths, risks, owners: of the C candidates; -> (B,)
    """
    rows = torch.repeat_interleave(torch.arange(len(lengths), device=losses.device), lengths)
    scores = -losses.new_zeros(len(lengths)).index_add(0, rows, losses) / lengths
    count = int(owners.max()) + 1
    probabilities = (scores - grouped_logsumexp(scores, owners, count)[owners]).exp()
    return scores.new_zeros(count).index_add(0, owners, probabilities * risks)
