import subprocess
import sys

import pytest
from tokenizers import Tokenizer, models, trainers

from landmark.data.running_text.wordpiece import WordPieceConfig, WordPieceTokenizer
from landmark.data.subword_training import LONGEST_WORD, cut_long_words, train_subwords
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig

STALL = "a" * 250_000  # 35 seconds of training in one piece, on the machine this was written on


@pytest.mark.parametrize("text", [STALL, f"x {STALL}\ty", " " * 70_000, f"{STALL} {STALL[:300]}"])
def test_long_words_are_cut_and_nothing_is_lost(text: str) -> None:
    pieces = list(cut_long_words([text]))
    assert "".join(pieces) == text
    assert max(len(word) for piece in pieces for word in piece.split(" ")) <= LONGEST_WORD


def test_lines_of_ordinary_words_stay_whole() -> None:
    lines = ["A line.", "", " ".join(["word"] * 1000), "b" * LONGEST_WORD]
    assert list(cut_long_words(lines)) == lines


def test_a_tokenizer_learns_from_an_endless_word_and_cuts_it_without_loss() -> None:
    tokenizer = SubwordTokenizer.train([STALL, "a text"], TokenizerConfig(vocab_size=300))
    (numbers,) = tokenizer.encode([STALL])
    assert tokenizer.decode([numbers]) == [STALL]
    assert len(tokenizer.extended([STALL, "another text"] * 2, 5)) > len(tokenizer)


def test_word_pieces_are_learnt_from_an_endless_word() -> None:
    tokenizer = WordPieceTokenizer.train(
        lambda: [STALL, "a text of words"] * 2, WordPieceConfig(vocab_size=40)
    )
    assert len(tokenizer.encode("a text")) > 0


def test_what_the_lines_raise_reaches_the_caller() -> None:
    def lines():
        yield "one"
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        train_subwords(Tokenizer(models.BPE()), lines(), trainers.BpeTrainer(show_progress=False))


INTERRUPTED = """
import signal, sys
from tokenizers import Tokenizer, models, trainers
from landmark.data.subword_training import train_subwords

def interrupt(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 1.0)
try:
    quiet = trainers.BpeTrainer(show_progress=False)
    train_subwords(Tokenizer(models.BPE()), ["a" * 600_000], quiet)
    print("trained")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_signal_ends_a_long_training() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=True
    )
    assert done.stdout == "interrupted\n"
