"""Training of a vocabulary by `tokenizers`, on any text, ended by a signal at once.

The library looks for the commonest pairs within words, whose time grows with the square of a word
of one letter, and it does not return to Python before it has finished.
"""

import re
import threading
from collections.abc import Iterable, Iterator

from tokenizers import Tokenizer, trainers

LONGEST_WORD = 256
"""Characters of a word, or of a run of spaces, that are learnt from in one piece."""
_TOO_LONG = re.compile(rf"(\S{{{LONGEST_WORD}}})(?=\S)|(\s{{{LONGEST_WORD}}})(?=\s)")


def cut_long_words(lines: Iterable[str]) -> Iterator[str]:
    """Lines whose words are no longer than LONGEST_WORD; the rest of a word is another line."""
    for line in lines:
        begin = 0
        for match in _TOO_LONG.finditer(line) if len(line) > LONGEST_WORD else ():
            yield line[begin : match.end()]
            begin = match.end()
        yield line[begin:]


def train_subwords(backend: Tokenizer, lines: Iterable[str], trainer: trainers.Trainer) -> None:
    """Train in a thread of its own, so that the main thread can answer a signal meanwhile."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            backend.train_from_iterator(lines, trainer)
        except BaseException as error:  # raised again where the training was asked for
            failed.append(error)

    thread = threading.Thread(target=work, name="train-subwords", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
