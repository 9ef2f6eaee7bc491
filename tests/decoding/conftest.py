"""A speaker whose every log-probability is known, to check searches against enumeration."""

import pytest
import torch


class PrefixState:
    """Remembers, for each row, its sentence and what it said; and the sentences kept."""

    def __init__(self, sentences: int, beam: int) -> None:
        self.rows: list[tuple[int, tuple[int, ...]]] = [
            (number, ()) for number in range(sentences) for _ in range(beam)
        ]
        self.sentences, self.beam = list(range(sentences)), beam

    def select_rows(self, rows: torch.Tensor) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]

    def select_sentences(self, sentences: torch.Tensor) -> None:
        self.sentences = [self.sentences[place] for place in sentences.tolist()]

    def say(self, tokens: torch.Tensor) -> None:
        """Each row says its token; rows must be in the order of the sentences kept."""
        owners = [number for number in self.sentences for _ in range(self.beam)]
        assert [sentence for sentence, _ in self.rows] == owners
        self.rows = [
            (sentence, (*said, token))
            for (sentence, said), token in zip(self.rows, tokens.tolist(), strict=True)
        ]


class TableSpeaker:
    """Says what a table says, which depends on the sentence and on everything said so far."""

    vocabulary, begin, end = 5, 1, 2

    def __init__(self) -> None:
        self.batch_sizes: list[int] = []
        """How many rows it was asked about, step by step."""

    def start(self, sentences: int, beam: int = 1) -> PrefixState:
        return PrefixState(sentences, beam)

    def step(self, tokens: torch.Tensor, state: PrefixState) -> torch.Tensor:
        self.batch_sizes.append(len(tokens))
        state.say(tokens)
        log_probabilities = [self.table(sentence, said) for sentence, said in state.rows]
        return 3 + torch.stack(log_probabilities)  # any constant: a speaker gives logits

    def table(self, sentence: int, said: tuple[int, ...]) -> torch.Tensor:
        """Log-probabilities of the next token; what was said begins with <s>."""
        seed = sum((place + 1) * 31 * (token + 7) ** 3 for place, token in enumerate(said))
        generator = torch.Generator().manual_seed(seed + 101 * sentence)
        return torch.randn(self.vocabulary, generator=generator).log_softmax(0)

    def total(self, sentence: int, spoken: tuple[int, ...]) -> float:
        """The log-probability of saying just this (with </s>, if it is to end)."""
        return sum(
            self.table(sentence, (self.begin, *spoken[:place]))[token].item()
            for place, token in enumerate(spoken)
        )


@pytest.fixture
def speaker() -> TableSpeaker:
    return TableSpeaker()
