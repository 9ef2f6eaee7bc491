"""Lexically constrained decoding: required phrases, by dynamic beam allocation.

Post & Vilar 2018, arXiv 1804.06609: hypotheses that have met the same number of phrase tokens
share a bank, and each bank has its share of the beam, so that hypotheses on their way to meet the
phrases are not crowded out by likelier ones that have met none. Departures: a bank's unused slots
go to the others one by one, the fuller banks first; phrases are recognised wherever they come to
stand, also overlapping (the automaton of Aho & Corasick 1975), so a half-begun phrase that breaks
off counts only what can still be used of it; and what no longer fits the limit is given up, so
that every hypothesis holds its phrases at the limit too.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from landmark.decoding.extension import Extensions, likeliest

Phrase = tuple[int, ...]

NARROWEST, WIDEST = 4, 32


def beam_width(phrases: Sequence[Phrase], beam: int) -> int:
    """How many hypotheses to keep: at least `beam`, and, within reason, one for each bank."""
    banks = sum(map(len, essential(phrases))) + 1
    # In steps, so that sentences of like need can be searched together.
    return max(beam, min(-(-banks // NARROWEST) * NARROWEST, WIDEST))


def essential(phrases: Iterable[Phrase]) -> list[Phrase]:
    """The phrases once each, without those that another one holds."""
    distinct = list(dict.fromkeys(phrases))
    return [
        phrase
        for phrase in distinct
        if not any(phrase != other and _holds(other, phrase) for other in distinct)
    ]


def tokens_needed(prefix: Sequence[int], phrases: Sequence[Phrase]) -> int:
    """Tokens, without </s>, that suffice for the prefix and then all phrases: less is refused."""
    automaton = _Automaton(phrases)
    node, met = automaton.read(prefix)
    unmet = [place for place in range(len(automaton.phrases)) if place not in met]
    left = sum(len(automaton.phrases[place]) for place in unmet)
    begun = max((automaton.progress(node, automaton.phrases[place]) for place in unmet), default=0)
    return len(prefix) + left - begun


def _holds(whole: Phrase, part: Phrase) -> bool:
    return any(
        whole[start : start + len(part)] == part for start in range(len(whole) - len(part) + 1)
    )


class _Automaton:
    """What matters of the tokens said so far: the longest end of them that begins a phrase."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        self.phrases = essential(phrases)
        prefixes = (phrase[:size] for phrase in self.phrases for size in range(len(phrase) + 1))
        self.nodes = list(dict.fromkeys([(), *prefixes]))
        self.alphabet = sorted({token for phrase in self.phrases for token in phrase})
        self._known = set(self.nodes)

    def after(self, node: Phrase, token: int) -> Phrase:
        """The node after one more token."""
        said = (*node, token)
        return next(said[cut:] for cut in range(len(said) + 1) if said[cut:] in self._known)

    def read(self, tokens: Sequence[int]) -> tuple[Phrase, set[int]]:
        """The node after these tokens, and the places of the phrases that they hold."""
        node: Phrase = ()
        met: set[int] = set()
        for token in tokens:
            node = self.after(node, token)
            met |= {place for place, phrase in enumerate(self.phrases) if self.ends(node, phrase)}
        return node, met

    def ends(self, node: Phrase, phrase: Phrase) -> bool:
        """Whether the phrase has just been completed."""
        return node[-len(phrase) :] == phrase

    def progress(self, node: Phrase, phrase: Phrase) -> int:
        """How many tokens of the phrase, but not all, have just been said."""
        sizes = range(min(len(node), len(phrase) - 1), 0, -1)
        return next((size for size in sizes if node[-size:] == phrase[:size]), 0)


class PhraseGuide:
    """A guide for beam search that brings B sentences to hold their phrases."""

    def __init__(
        self,
        phrases: Sequence[Sequence[Phrase]],
        limits: Sequence[int],
        end: int,
        beam: int,
        prefixes: Sequence[Sequence[int]] | None = None,
        device: torch.device | None = None,
    ) -> None:
        _check(phrases, limits, end, prefixes or [()] * len(limits))
        self.end, self.beam = end, beam
        automata = [_Automaton(its) for its in phrases]
        places = max(len(automaton.phrases) for automaton in automata)
        nodes = max(len(automaton.nodes) for automaton in automata)
        letters = max(len(automaton.alphabet) for automaton in automata)
        shapes = {"alphabet": (letters,), "lengths": (places,), "after": (nodes, letters + 1)}
        shapes |= dict.fromkeys(("progress", "following", "ends"), (nodes, places))
        # Filled with -1: no token of an alphabet, no following one.
        tables = {
            name: np.full((len(automata), *shape), -1, np.int64) for name, shape in shapes.items()
        }
        for place, automaton in enumerate(automata):
            _fill({name: table[place] for name, table in tables.items()}, automaton)
        self._tables = {name: torch.from_numpy(table).to(device) for name, table in tables.items()}
        self._tables["limits"] = torch.tensor(limits, device=device)
        # What each hypothesis has said, as far as it matters.
        self._nodes = torch.zeros(len(limits), beam, dtype=torch.int64, device=device)
        self._met = (self._tables["lengths"] <= 0)[:, None].repeat(1, beam, 1)

    def extend(self, totals: Tensor, log_probabilities: Tensor, length: int) -> Extensions:
        """Candidates in the order in which the banks take turns. (B, 2K) or fewer"""
        extensions = self._candidates(totals, log_probabilities)
        nodes, met = self._advance(extensions)
        remaining = self._remaining(nodes, met)
        fits = length + remaining <= self._tables["limits"][:, None]
        allowed = torch.where(extensions.words == self.end, met.all(-1), fits)
        best = extensions.totals.masked_fill(~allowed, -torch.inf)
        order = best.argsort(dim=1, descending=True)
        extensions = Extensions(best, extensions.rows, extensions.words).pick(order)
        turns = _turns(remaining.gather(1, order), extensions.totals > -torch.inf)
        return extensions.pick(turns.argsort(dim=1)[:, : 2 * self.beam])

    def follow(self, chosen: Extensions) -> None:
        self._nodes, self._met = self._advance(chosen)

    def keep(self, sentences: Tensor) -> None:
        self._tables = {name: table[sentences] for name, table in self._tables.items()}
        self._nodes, self._met = self._nodes[sentences], self._met[sentences]

    def _candidates(self, totals: Tensor, log_probabilities: Tensor) -> Extensions:
        """The likeliest of each hypothesis, and whatever gets on with one of its phrases."""
        batch, beam = totals.shape
        likely = likeliest(totals.reshape(-1, 1), log_probabilities, 2 * beam)
        following = self._look_up("following", self._nodes).masked_fill(self._met, -1)
        following = following.flatten(0, 1)  # (B * K, P)
        places = torch.arange(following.shape[1], device=totals.device)
        twice = following[:, :, None] == following[:, None]
        is_known = (following[:, :, None] == likely.words[:, None]).any(-1) | (
            twice & (places[:, None] > places)
        ).any(-1)
        gained = log_probabilities.gather(1, following.clamp(min=0))
        onward = (totals.reshape(-1, 1) + gained).masked_fill(
            is_known | (following < 0), -torch.inf
        )
        best = torch.cat((likely.totals, onward), 1)
        words = torch.cat((likely.words, following.clamp(min=0)), 1)
        rows = torch.arange(beam, device=totals.device)[:, None].expand(-1, best.shape[1])
        return Extensions(
            best.view(batch, -1), rows.flatten().expand(batch, -1), words.view(batch, -1)
        )

    def _advance(self, extensions: Extensions) -> tuple[Tensor, Tensor]:
        """The nodes (B, N) and the phrases met (B, N, P) of hypotheses so extended."""
        letters = extensions.words[:, :, None] == self._tables["alphabet"][:, None]  # (B, N, A)
        letter = torch.where(letters.any(-1), letters.to(torch.uint8).argmax(-1) + 1, 0)
        before = self._look_up("after", self._nodes.gather(1, extensions.rows))
        nodes = before.gather(2, letter[:, :, None])[:, :, 0]
        sentence = torch.arange(len(nodes), device=nodes.device)[:, None]
        return nodes, self._met[sentence, extensions.rows] | (self._look_up("ends", nodes) == 1)

    def _remaining(self, nodes: Tensor, met: Tensor) -> Tensor:
        """Tokens that suffice to meet all phrases: the unmet, less what is begun of one. (B, N)"""
        lengths = self._tables["lengths"][:, None].masked_fill(met, 0)
        begun = self._look_up("progress", nodes).masked_fill(met, 0)
        return lengths.sum(-1) - begun.amax(-1)

    def _look_up(self, name: str, nodes: Tensor) -> Tensor:
        """The table's rows for nodes (B, N) of its sentences."""
        sentence = torch.arange(len(nodes), device=nodes.device)[:, None]
        return self._tables[name][sentence, nodes]


def _check(
    phrases: Sequence[Sequence[Phrase]],
    limits: Sequence[int],
    end: int,
    prefixes: Sequence[Sequence[int]],
) -> None:
    for number, (its, limit, prefix) in enumerate(zip(phrases, limits, prefixes, strict=True)):
        if not its or any(not phrase or end in phrase for phrase in its):
            raise ValueError(
                f"sentence {number}: no phrase, an empty one or one with the end token"
            )
        needed = tokens_needed(prefix, its) + 1
        if needed > limit:
            raise ValueError(
                f"sentence {number}: its phrases need {needed} tokens, its limit is {limit}"
            )


def _fill(tables: dict[str, NDArray[np.int64]], automaton: _Automaton) -> None:
    """Write one sentence's automaton as tables over the numbers of its nodes and letters."""
    numbers = {node: number for number, node in enumerate(automaton.nodes)}
    tables["alphabet"][: len(automaton.alphabet)] = automaton.alphabet
    tables["after"].fill(0)  # a token of no phrase leads to the root
    for place, phrase in enumerate(automaton.phrases):
        tables["lengths"][place] = len(phrase)
    for node, number in numbers.items():
        for letter, token in enumerate(automaton.alphabet, 1):
            tables["after"][number, letter] = numbers[automaton.after(node, token)]
        for place, phrase in enumerate(automaton.phrases):
            begun = automaton.progress(node, phrase)
            tables["progress"][number, place] = begun
            tables["following"][number, place] = phrase[begun]
            tables["ends"][number, place] = automaton.ends(node, phrase)


def _turns(remaining: Tensor, is_candidate: Tensor) -> Tensor:
    """When each candidate's turn comes: all banks' best, then all their second best …

    Candidates come best first, (B, N); in a round, banks with less remaining go first.
    """
    banks = int(remaining.amax()) + 1
    in_bank = torch.nn.functional.one_hot(remaining, banks)  # (B, N, banks)
    rounds = in_bank.cumsum(1).gather(2, remaining[:, :, None])[:, :, 0]
    return (rounds * banks + remaining).masked_fill(~is_candidate, torch.iinfo(torch.int64).max)
