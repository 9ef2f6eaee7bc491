import pytest
import torch

VOCABULARY, BEGIN, END = 5, 1, 2


class PrefixState:
    """Remembers, for each row, its sentence and what it said; and the sentences kept."""

    def __init__(self, sentences: int, beam: int) -> None:
        self.rows = [(number, ()) for number in range(sentences) for _ in range(beam)]
        self.sentences, self.beam = list(range(sentences)), beam

    def select_rows(self, rows: torch.Tensor) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]

    def select_sentences(self, sentences: torch.Tensor) -> None:
        self.sentences = [self.sentences[place] for place in sentences.tolist()]


class TableSpeaker:
    """Log-probabilities that depend on the sentence and on everything said so far."""

    begin, end, vocabulary = BEGIN, END, VOCABULARY

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def start(self, sentences: int, beam: int) -> PrefixState:
        return PrefixState(sentences, beam)

    def table(self, sentence: int, said: tuple[int, ...]) -> torch.Tensor:
        seed = sum((place + 1) * 31 * (token + 7) ** 3 for place, token in enumerate(said))
        generator = torch.Generator().manual_seed(seed + 101 * sentence + 7919 * self.seed)
        return torch.randn(VOCABULARY, generator=generator).log_softmax(0)

    def step(self, tokens: torch.Tensor, state: PrefixState) -> torch.Tensor:
        owners = [number for number in state.sentences for _ in range(state.beam)]
        assert [sentence for sentence, _ in state.rows] == owners
        state.rows = [
            (sentence, (*said, token))
            for (sentence, said), token in zip(state.rows, tokens.tolist(), strict=True)
        ]
        return torch.stack([self.table(sentence, said) for sentence, said in state.rows])

    def total(self, sentence: int, spoken: tuple[int, ...]) -> float:
        """The log-probability of saying just this (with </s>, if it is to end)."""
        return sum(
            self.table(sentence, (BEGIN, *spoken[:place]))[token].item()
            for place, token in enumerate(spoken)
        )


@pytest.fixture
def speaker() -> TableSpeaker:
    return TableSpeaker()
