"""A pretrained body with a head for a task: fine-tuning as GPT (2018) and BERT (2019) do it.

Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training"; Devlin et al.
2019, arXiv 1810.04805. A GPT, and an LSTM in its stead, sums a sequence up in its last token's
state; a BERT in its pooled first. What an example's sequences sum up to is added, as GPT does with
the two orders of a pair. There is dropout before each head, and no more than a matrix in it.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from landmark.layers.dropout import Dropout
from landmark.layers.packing import Packing
from landmark.models.recurrent.language_model import (
    RecurrentLanguageModel,
    RecurrentLanguageModelConfig,
)
from landmark.models.transformer.bert import BERT, BERTConfig
from landmark.models.transformer.gpt import GPT, GPTConfig

BodyConfig = BERTConfig | GPTConfig | RecurrentLanguageModelConfig
_SPREAD = 0.02  # standard deviation of a fresh head's weights


def build_body(config: BodyConfig) -> nn.Module:
    """The network that reads."""
    if isinstance(config, BERTConfig):
        return BERT(config)
    return GPT(config) if isinstance(config, GPTConfig) else RecurrentLanguageModel(config)


class UnderstandingModel(nn.Module):
    """Tokens in, hidden states out, and from them what the task asks for.

    N tokens in S sequences of B examples, K outputs.
    """

    def __init__(self, config: BodyConfig, num_outputs: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.config = config
        self.body = build_body(config)
        self.dropout = Dropout(dropout)
        self.head = nn.Linear(config.hidden_size, num_outputs)
        nn.init.normal_(self.head.weight, std=_SPREAD)
        nn.init.zeros_(self.head.bias)

    def forward(self, tokens: Tensor, packing: Packing, segments: Tensor) -> Tensor:
        """Hidden states of all tokens. (N,) -> (N, D)"""
        if isinstance(self.body, BERT):
            hidden: Tensor = self.body(tokens, packing, segments if self.body.segment else None)
            return hidden
        if isinstance(self.body, RecurrentLanguageModel):
            body = self.body
            states, _ = body.recurrent(body.embedding(tokens), packing)
            return body.dropout(states)
        hidden = self.body(tokens, packing)
        return hidden

    def summarize(self, hidden: Tensor, packing: Packing) -> Tensor:
        """One vector a sequence. (N, D) -> (S, D)"""
        if isinstance(self.body, BERT):
            return self.body.pool(hidden, packing)
        return hidden.index_select(0, torch.cumsum(packing.lengths, 0) - 1)

    def classify(self, summaries: Tensor, owners: Tensor, size: int) -> Tensor:
        """Outputs for each example, its sequences added up. (S, D) -> (B, K)"""
        added = summaries.new_zeros(size, summaries.shape[1]).index_add(0, owners, summaries)
        return self.answer(added)

    def answer(self, states: Tensor) -> Tensor:
        """Outputs for each state: of choices, words or tokens. (M, D) -> (M, K)"""
        outputs: Tensor = self.head(self.dropout(states))
        return outputs

    @property
    def predicts(self) -> nn.Linear | None:
        """What says the next token, if the body is a language model."""
        output = getattr(self.body, "output", None)
        return output if isinstance(output, nn.Linear) else None


def rate_share(
    num_layers: int, decay: float, frozen_layers: int, frozen_embeddings: bool
) -> Callable[[str], float]:
    """The part of the learning rate that each parameter takes, by its name.

    The head takes all of it, each layer below `decay` of the one above, the embeddings the least;
    what is frozen takes none.
    """

    def share(name: str) -> float:
        layer = layer_of(name, num_layers)
        if layer == 0:
            return 0.0 if frozen_embeddings or frozen_layers else decay ** (num_layers + 1)
        return 0.0 if layer <= frozen_layers else decay ** (num_layers + 1 - layer)

    return share


def layer_of(name: str, num_layers: int) -> int:
    """0: embeddings; 1 … L: the layers; L + 1: what comes after them, and the head."""
    if not name.startswith("body."):
        return num_layers + 1
    parts = name.split(".")
    if parts[1] in ("blocks", "recurrent"):
        return 1 + next(int(part) for part in parts if part.isdigit())
    is_below = parts[1] in ("embedding", "position", "segment", "embedding_norm")
    return 0 if is_below else num_layers + 1
