"""A loaded translation run: sentences in, translations out."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device, derive_seed
from landmark.data.foreign.sentencepiece import load_subwords
from landmark.data.text_file import is_valid
from landmark.data.tokenizer import words_of
from landmark.data.translation.pairs import pack_sources
from landmark.data.translation.preparation import WORDS
from landmark.data.translation.text_form import TextForm
from landmark.decoding.constraints import tokens_needed
from landmark.decoding.request import Request
from landmark.decoding.speaker import Hypothesis
from landmark.decoding.stepwise import SamplingConfig
from landmark.engine.run import Run
from landmark.models.translation import TranslationModel
from landmark.probes.attention import cross_attention
from landmark.tasks.training import load_weights
from landmark.tasks.translation.engine import Engine, TorchEngine
from landmark.tasks.translation.glossary import Glossary
from landmark.tasks.translation.run import TranslationRun, build_model

Place = Callable[[int], str]
"""How messages name the n-th text."""
Number = tuple[int, ...]
"""Which text one is: its sentence or line, then its part of that line, its part of that part …"""
_SILENCE = Hypothesis((), 0.0, 0.0, True)
_ADVICE = "split it, as `landmark translate --document` does"
_LINE_BREAKS = re.compile(r"[\r\n]+")  # a translation is one line


def _sentence(number: int) -> str:
    return f"sentence {number}"


@dataclass(frozen=True)
class Translation:
    """One sentence's translation, with its runners-up."""

    source: str
    text: str
    score: float
    alternatives: tuple[tuple[str, float], ...]
    """The n best, best first: text and score."""
    unknown_words: tuple[str, ...]
    """Words of the source that the model never saw in training."""
    tokens: tuple[int, ...]
    """The best translation as the model said it: in tokens …"""
    said: str
    """… and as text in the model's own form, which papers score (data/translation/text_form)."""
    ended: bool
    """Whether it came to its end; if not, it was cut at as many tokens as it has."""


@dataclass(frozen=True)
class AttentionMap:
    """Cross-attention of one sentence: how much each target piece looks at each source piece."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Tensor  # (layers, heads, T, S)


class TranslationPipeline:
    """A run's model and tokenizer, ready to translate."""

    def __init__(
        self, run: Run, config: TranslationRun, checkpoint: str | None, device: str
    ) -> None:
        self.run, self.config = run, config
        self.device = choose_device(device)
        self.tokenizer = load_subwords(run.folder / "tokenizer.json")
        source, target = config.data.languages
        self.source_form = TextForm(config.tokenizer.form, source)
        self.target_forms = {
            language: TextForm(config.tokenizer.form, language)
            for language in config.data.tags or (target,)
        }
        self.model = build_model(config.model).eval()
        self.checkpoint = load_weights(self.model, run, checkpoint, len(self.tokenizer))
        self.model.to(self.device)
        self.use([self.model])

    def use(self, models: Sequence[TranslationModel]) -> None:
        """Search with these models, averaged if there are several: the shortest rules."""
        begin, end = self.tokenizer.begin, self.tokenizer.end
        self.engine: Engine = TorchEngine(models, begin, end, self.device)
        self.max_length: int = min(model.config.max_length for model in models)

    @cached_property
    def known_words(self) -> frozenset[str]:
        """The source words of the training data."""
        path = self.run.folder / WORDS
        return (
            frozenset(path.read_text(encoding="utf-8").split()) if path.is_file() else frozenset()
        )

    def unknown_words(self, text: str) -> tuple[str, ...]:
        """Words of a text that training never showed, also not in another case."""
        if not self.known_words:
            return ()
        strange = [
            word
            for word in words_of(text)
            if not {word, word.lower(), word.capitalize()} & self.known_words
        ]
        return tuple(dict.fromkeys(strange))

    def target_form(self, language: str | None = None) -> TextForm:
        """The form of a target language; of the only one, if none is named."""
        known = ", ".join(self.target_forms)
        if language is None and len(self.target_forms) > 1:
            raise UserError(f"{self.run.folder}: translates into {known}: name one by --to")
        if language is None:
            return next(iter(self.target_forms.values()))
        if language not in self.target_forms:
            raise UserError(
                f"{self.run.folder}: does not translate into {language!r}: only {known}"
            )
        return self.target_forms[language]

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int | None = None,
        length_penalty: float | None = None,
        n_best: int = 1,
        sampling: SamplingConfig | None = None,
        seed: int = 1,
        first_number: int = 1,
        numbers: Sequence[Number] | None = None,
        place: Place = _sentence,
        language: str | None = None,
        prefix: str = "",
        glossary: Glossary | None = None,
    ) -> list[Translation]:
        """Translate sentences, in any number; results come in the order given, blank for blank.

        A draw depends on the seed, the sentence and its number, which counts from `first_number`
        or is given in `numbers`; messages name the sentence as `place` does.
        Every translation begins with `prefix`, and holds what the glossary asks for.
        """
        if isinstance(texts, str):
            raise UserError("translate takes a list of sentences, not one string")
        if sampling and glossary:
            raise UserError("a glossary is honoured by search, not by sampling: give one of them")
        search = self.config.search
        beam = max(search.beam, n_best) if beam is None else beam
        if not 1 <= n_best <= beam:
            raise UserError(f"n_best {n_best} of a beam of {beam}: give 1 to {beam}, or widen it")
        penalty = search.length_penalty if length_penalty is None else length_penalty
        form = self.target_form(language)
        known = numbers or [(number,) for number in range(first_number, first_number + len(texts))]
        places = [place(number[0]) for number in known]
        requests = self._requests(texts, places, form, prefix, glossary)
        if sampling:
            seeds = [derive_seed(seed, "draw", *known[index]) for index in requests]
            hypotheses = self.engine.sample(list(requests.values()), n_best, sampling, seeds)
        else:
            hypotheses = self.engine.search(list(requests.values()), beam, penalty)
        found = dict(zip(requests, hypotheses, strict=True))
        return [
            self._result(text, found.get(index, [_SILENCE]), n_best, form)
            for index, text in enumerate(texts)
        ]

    def attention(
        self,
        text: str,
        translation: str | Translation | None = None,
        language: str | None = None,
    ) -> AttentionMap:
        """Cross-attention while the translation (by default the model's own) is written."""
        form = self.target_form(language)
        if translation is None:
            translation = self.translate([text], language=language)[0]
        if isinstance(translation, Translation):
            target = list(translation.tokens)
        else:
            target = self.encode_targets([translation], form, _sentence)[0]
        source, end = self.encode_sources([text], form, _sentence)[0], self.tokenizer.end
        packed, packing = pack_sources([source], end)
        longest = self.max_length  # a search may end there, without </s>
        inputs = torch.tensor([self.tokenizer.begin, *target][:longest], device=self.device)
        weights = cross_attention(
            self.model, packed.to(self.device), packing.to(self.device), inputs
        )
        pieces = self.tokenizer.pieces
        return AttentionMap(
            tuple(pieces([*source, end])), tuple(pieces([*target, end][:longest])), weights.cpu()
        )

    def encode_sources(
        self,
        texts: Sequence[str],
        form: TextForm,
        place: Place,
        first_number: int = 1,
        advice: str = "split it",
    ) -> list[list[int]]:
        """Source texts as the model reads them, after the tag of the language asked for.

        advice: what to do with one that is too long.
        """
        tag = [self.tokenizer.tag(form.language)] if self.config.data.tags else []
        read = [self.source_form.read(text) for text in texts]
        encode = self.tokenizer.encode
        encoded = self._encode(encode, read, place, first_number, len(tag), advice)
        return [tag + source for source in encoded]

    def encode_targets(
        self, texts: Sequence[str], form: TextForm, place: Place, first_number: int = 1
    ) -> list[list[int]]:
        """Given translations as the model would say them."""
        read = [form.read(text) for text in texts]
        return self._encode(self.tokenizer.encode_targets, read, place, first_number)

    def _encode(
        self,
        encode: Callable[[Sequence[str]], list[list[int]]],
        texts: Sequence[str],
        place: Place,
        first_number: int,
        room: int = 0,
        advice: str = "split it",
    ) -> list[list[int]]:
        limit = self.max_length - 1 - room
        for number, text in enumerate(texts, first_number):
            if not is_valid(text):
                raise UserError(f"{place(number)} is not valid UTF-8")
        encoded = encode(texts)
        for number, (text, tokens) in enumerate(zip(texts, encoded, strict=True), first_number):
            if len(tokens) > limit:
                raise UserError(
                    f"{place(number)} has {len(tokens)} tokens, but the model takes at most "
                    f"{limit}: {advice} ({text[:40]!r}…)"
                )
        return encoded

    def _requests(
        self,
        texts: Sequence[str],
        places: Sequence[str],
        form: TextForm,
        prefix: str,
        glossary: Glossary | None,
    ) -> dict[int, Request]:
        """What to search for, by the place of each text among them; not for blank ones."""
        sources = self.encode_sources(texts, form, places.__getitem__, 0, _ADVICE)
        said = [prefix] if prefix else []
        begun = [token for row in self.encode_targets(said, form, _prefix) for token in row]
        return {
            index: self._request(
                sources[index], begun, self._phrases(text, glossary, form), places[index]
            )
            for index, text in enumerate(texts)
            if text.strip()
        }

    def _phrases(
        self, text: str, glossary: Glossary | None, form: TextForm
    ) -> tuple[tuple[int, ...], ...]:
        """The terms that a glossary requires in the translation of a text, as tokens."""
        if glossary is None:
            return ()

        def encode(terms: Sequence[str]) -> list[list[int]]:
            return self.tokenizer.encode_targets([form.read(term) for term in terms])

        return glossary.phrases(text, encode, self.max_length - 1)

    def _request(
        self,
        source: list[int],
        prefix: list[int],
        phrases: tuple[tuple[int, ...], ...],
        place: str,
    ) -> Request:
        limit = min(self.max_length, self.config.search.max_length(len(source) + 1))
        needed = tokens_needed(tuple(prefix), phrases) + 1  # and </s>
        if needed > limit:
            what = "the prefix has" if prefix and not phrases else "prefix and glossary ask for"
            raise UserError(
                f"{place}: {what} {needed - 1} tokens, but its translation may have "
                f"{limit - 1}: shorten them"
            )
        return Request(tuple(source), limit, tuple(prefix), phrases)

    def check_source(self, text: str, place: str, language: str | None = None) -> None:
        """Refuse a text that is too long to be translated in one piece."""
        # A token is a byte at least, but for a tag and a space before the text.
        if len(text.encode()) + 2 >= self.max_length:
            form = self.target_form(language)
            self.encode_sources([text], form, lambda _: place, advice=_ADVICE)

    def fits(self, text: str) -> bool:
        """Whether a text is short enough to be translated in one piece."""
        tag = 1 if self.config.data.tags else 0
        (tokens,) = self.tokenizer.encode([self.source_form.read(text)])
        return len(tokens) + tag < self.max_length

    def _result(
        self, text: str, hypotheses: list[Hypothesis], n_best: int, form: TextForm
    ) -> Translation:
        if not hypotheses:
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
        chosen = hypotheses[:n_best]
        decoded = self.tokenizer.decode([hypothesis.tokens for hypothesis in chosen])
        said = [_LINE_BREAKS.sub(" ", line) for line in decoded]
        ranked = tuple(
            (form.write(line), hypothesis.score)
            for line, hypothesis in zip(said, chosen, strict=True)
        )
        (best, score), unknown = ranked[0], self.unknown_words(text)
        spoken, ended = chosen[0].tokens, chosen[0].ended
        return Translation(text, best, score, ranked, unknown, spoken, said[0], ended)


def _prefix(number: int) -> str:
    return "the prefix"
