"""The translation pipeline: sentences in, translations out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from landmark.core.errors import ItemError, UserError
from landmark.core.runtime import Precision, choose_device
from landmark.core.storage import read_own
from landmark.data.text_file import check_texts, is_valid
from landmark.data.tokenizer import words_of
from landmark.data.translation.pairs import pack_sources
from landmark.data.translation.preparation import WORDS
from landmark.data.translation.text_form import TextForm, one_line
from landmark.data.translation.vocabulary import load_subwords
from landmark.decoding.constraints import tokens_needed
from landmark.decoding.speaker import Hypothesis
from landmark.engine.run import Run
from landmark.models.translation import TranslationModel
from landmark.probes.attention import cross_attention
from landmark.tasks.card import OpenOptions, Report, precision_of, take_options
from landmark.tasks.searching import Engine, SourceRequest, TorchEngine, search_or_sample
from landmark.tasks.training import check_assets, load_config, load_weights
from landmark.tasks.translation.exported import ENGINES, load_engine
from landmark.tasks.translation.glossary import Glossary
from landmark.tasks.translation.options import TranslateOptions, TranslationOpenOptions
from landmark.tasks.translation.run import TranslationRun, build_model

Number = tuple[int, ...]
"""Which text one is: its sentence or line, then its part of that line, its part of that part …"""
_TORCH = "torch"
_SILENCE = Hypothesis((), 0.0, 0.0, True)
_ADVICE = "split it, as `landmark translate --document` does"
_QUOTED = 40  # characters of a sentence that a message quotes


class Sentence(NamedTuple):
    """A text to translate."""

    text: str
    place: str
    """How messages name it: file:12, or sentence 2."""
    number: Number
    """With the seed and the text it decides what is drawn."""


@dataclass(frozen=True)
class Translation:
    """One sentence's translation, with its runners-up."""

    source: str
    text: str
    score: float
    """The log-probability over the length penalty, whether it was searched or drawn."""
    log_probability: float
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
    n_best: int = 1
    """How many were asked for."""
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "source": self.source,
            "translation": self.text,
            "score": self.score,
            "log_probability": self.log_probability,
            "ended": self.ended,
            "unknown_words": list(self.unknown_words),
        }
        if self.n_best > 1:
            record["n_best"] = [{"text": text, "score": score} for text, score in self.alternatives]
        return record

    def lines(self) -> list[str]:
        """The translation; of several asked for, a line each: score, tab, text."""
        if self.n_best == 1:
            return [self.text]
        return [f"{score:.4f}\t{text}" for text, score in self.alternatives]


@dataclass(frozen=True)
class AttentionMap:
    """Cross-attention of one sentence: how much each target piece looks at each source piece."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Tensor  # (layers, heads, T, S)


def open_pipeline(
    run: Run, config: TranslationRun, options: OpenOptions, report: Report
) -> "TranslationPipeline":
    """A translation run, alone or with others as an ensemble, and what searches."""
    engine, ensemble = _TORCH, []
    if isinstance(options, TranslationOpenOptions):
        engine, ensemble = options.engine, list(options.ensemble)
    if ensemble and engine != _TORCH:
        raise UserError("an ensemble is searched with torch: leave out --engine")
    if engine not in (_TORCH, *ENGINES):
        known = ", ".join((_TORCH, *ENGINES))
        raise UserError(f"no engine {engine!r}: a translator has {known}")
    precision = precision_of(options) or "fp32"
    if precision != "fp32" and engine != _TORCH:
        raise UserError(
            f"--precision {precision} is for torch: an export has a precision of its own"
        )
    others = [Run.open(folder) for folder in ensemble]
    configs = [translation_config(other) for other in others]
    pipeline = _open_one(run, config, options.checkpoint, options.device, precision)
    pipeline.average_with(
        [
            _open_one(other, its, None, options.device, precision)
            for other, its in zip(others, configs, strict=True)
        ]
    )
    if engine != _TORCH:
        pipeline.engine = load_engine(run, engine, checkpoint=options.checkpoint)
    return pipeline


def translation_config(run: Run) -> TranslationRun:
    """The configuration of a translation run; a run of another task is refused."""
    config = load_config(run)
    if not isinstance(config, TranslationRun):
        raise UserError(f"{run.folder}: is a run of task {config.task!r}, not 'translation'")
    return config


def _open_one(
    run: Run, config: TranslationRun, checkpoint: str | None, device: str, precision: Precision
) -> "TranslationPipeline":
    check_assets(run)
    return TranslationPipeline(run, config, checkpoint, device, precision)


class TranslationPipeline:
    """A run's model and tokenizer, ready to translate."""

    def __init__(
        self,
        run: Run,
        config: TranslationRun,
        checkpoint: str | None,
        device: str,
        precision: Precision = "fp32",
    ) -> None:
        self.run, self.config, self.precision = run, config, precision
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
        self.checkpoints = [self.checkpoint]
        """Those of all members of an ensemble."""
        self.name = str(run.folder)
        self._use([self.model])

    def _use(self, models: Sequence[TranslationModel]) -> None:
        """Search with these models, averaged if there are several: the shortest rules."""
        begin, end = self.tokenizer.begin, self.tokenizer.end
        self.engine: Engine = TorchEngine(models, begin, end, self.device, self.precision)
        self.max_length: int = min(model.config.max_length for model in models)

    def average_with(self, others: Sequence["TranslationPipeline"]) -> None:
        """Search with the mean of this run's and other runs' probabilities: an ensemble."""
        if not others:
            return
        for other in others:
            _check_alike(self, other)
        self.checkpoints += [other.checkpoint for other in others]
        self.name = " + ".join([self.name, *(other.name for other in others)])
        self._use([self.model, *(other.model for other in others)])

    @cached_property
    def known_words(self) -> frozenset[str]:
        """The source words of the training data."""
        path = self.run.folder / WORDS
        if not path.is_file():
            return frozenset()
        return frozenset(read_own(path, "put the run's own back").decode(errors="replace").split())

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
        self, texts: Sequence[str], options: TranslateOptions | None = None, **keywords: Any
    ) -> list[Translation]:
        """Translate sentences, in any number; results come in the order given, blank for blank.

        Options as TranslateOptions or by keyword. A draw depends on the seed, the sentence and its
        number, from 1. Every translation begins with `prefix`, and holds what the glossary asks
        for.
        """
        chosen = take_options(TranslateOptions, options, keywords)
        return self.translate_sentences(number_texts(texts), chosen)

    def translate_sentences(
        self,
        sentences: Sequence[Sentence],
        options: TranslateOptions,
        glossary: Glossary | None = None,
    ) -> list[Translation]:
        """The same for sentences that have a place and a number; a glossary may be read already."""
        if glossary is None and options.glossary:
            glossary = Glossary.read(options.glossary)
        form = self.target_form(options.to)
        prefix, shortest = options.prefix.strip(), options.min_length
        requests = self._requests(sentences, form, prefix, glossary, shortest)
        numbers = [sentences[index].number for index in requests]
        asked = list(requests.values())
        hypotheses = search_or_sample(self.engine, asked, numbers, self.config.search, options)
        found = dict(zip(requests, hypotheses, strict=True))
        return [
            self._result(sentence, found.get(index, [_SILENCE]), options.n_best, form)
            for index, sentence in enumerate(sentences)
        ]

    def attention(
        self,
        text: str,
        translation: str | Translation | None = None,
        to: str | None = None,
    ) -> AttentionMap:
        """Cross-attention while the translation (by default the model's own) is written."""
        form = self.target_form(to)
        if translation is None:
            translation = self.translate([text], to=to)[0]
        if isinstance(translation, Translation):
            target = list(translation.tokens)
        else:
            target = self.encode_targets([translation], ["the translation"], form)[0]
        source, end = self.encode_sources([text], ["the sentence"], form)[0], self.tokenizer.end
        packed, packing = pack_sources([source], end)
        longest = self.max_length  # a search may end there, without </s>
        inputs = torch.tensor([self.tokenizer.begin, *target][:longest], device=self.device)
        weights = cross_attention(
            self.model, packed.to(self.device), packing.to(self.device), inputs
        )
        return AttentionMap(
            tuple(self.tokenizer.source.pieces([*source, end])),
            tuple(self.tokenizer.target.pieces([*target, end][:longest])),
            weights.cpu(),
        )

    def encode_sources(
        self,
        texts: Sequence[str],
        subjects: Sequence[str],
        form: TextForm,
        advice: str = "split it",
    ) -> list[list[int]]:
        """Source texts as the model reads them, after the tag of the language asked for.

        subjects: what messages call each; advice: what to do with one that is too long.
        """
        tag = [self.tokenizer.tag(form.language)] if self.config.data.tags else []
        read = [self.source_form.read(text) for text in texts]
        encoded = self._encode(self.tokenizer.encode, read, subjects, len(tag), advice)
        return [tag + source for source in encoded]

    def encode_targets(
        self, texts: Sequence[str], subjects: Sequence[str], form: TextForm
    ) -> list[list[int]]:
        """Given translations as the model would say them."""
        read = [form.read(text) for text in texts]
        return self._encode(self.tokenizer.encode_targets, read, subjects)

    def _encode(
        self,
        encode: Callable[[Sequence[str]], list[list[int]]],
        texts: Sequence[str],
        subjects: Sequence[str],
        room: int = 0,
        advice: str = "split it",
    ) -> list[list[int]]:
        limit = self.max_length - 1 - room
        for named, text in zip(subjects, texts, strict=True):
            if not is_valid(text):
                raise ItemError(f"{named} is not valid UTF-8")
        encoded = encode(texts)
        for named, text, tokens in zip(subjects, texts, encoded, strict=True):
            if len(tokens) > limit:
                raise ItemError(
                    f"{named} has {len(tokens)} tokens, but the model takes at most "
                    f"{limit}: {advice} ({text[:_QUOTED]!r}…)"
                )
        return encoded

    def check_sources(self, sentences: Sequence[Sentence], to: str | None = None) -> None:
        """Refuse sentences that the model cannot take, before any is translated."""
        self._requests(sentences, self.target_form(to), "", None)

    def _requests(
        self,
        sentences: Sequence[Sentence],
        form: TextForm,
        prefix: str,
        glossary: Glossary | None,
        min_length: int = 0,
    ) -> dict[int, SourceRequest]:
        """What to search for, by the place of each text among them; not for blank ones."""
        texts = [sentence.text for sentence in sentences]
        subjects = [subject(sentence.place) for sentence in sentences]
        sources = self.encode_sources(texts, subjects, form, _ADVICE)
        begun: list[int] = []
        if prefix:
            try:
                (begun,) = self.encode_targets([prefix], ["the prefix"], form)
            except ItemError as error:  # no fault of any sentence
                raise UserError(str(error)) from None
        return {
            index: self._request(
                sources[index],
                begun,
                self._phrases(sentence.text, glossary, form),
                sentence.place,
                min_length,
            )
            for index, sentence in enumerate(sentences)
            if sentence.text.strip()
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
        min_length: int,
    ) -> SourceRequest:
        usual = self.config.search.max_length(len(source) + 1)
        limit = min(self.max_length, max(usual, min_length + 1))
        needed = tokens_needed(tuple(prefix), phrases) + 1  # and </s>
        if needed > limit:
            what = "the prefix has" if prefix and not phrases else "prefix and glossary ask for"
            raise ItemError(
                f"{place}: {what} {needed - 1} tokens, but its translation may have "
                f"{limit - 1}: shorten them"
            )
        return SourceRequest(limit, tuple(prefix), phrases, tuple(source))

    def fits(self, text: str) -> bool:
        """Whether a text is short enough to be translated in one piece."""
        tag = 1 if self.config.data.tags else 0
        (tokens,) = self.tokenizer.encode([self.source_form.read(text)])
        return len(tokens) + tag < self.max_length

    def _result(
        self, sentence: Sentence, hypotheses: list[Hypothesis], n_best: int, form: TextForm
    ) -> Translation:
        if not hypotheses:
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
        chosen = hypotheses[:n_best]
        decoded = self.tokenizer.decode([hypothesis.tokens for hypothesis in chosen])
        said = [one_line(line) for line in decoded]
        ranked = tuple(
            (form.write(line), hypothesis.score)
            for line, hypothesis in zip(said, chosen, strict=True)
        )
        unknown, best = self.unknown_words(sentence.text), chosen[0]
        warnings = unknown_warnings(sentence.place, unknown)
        if not best.ended:
            cut = self.cut_warning(sentence.place, sentence.text, len(best.tokens), "--document")
            warnings = (*warnings, cut)
        return Translation(
            source=sentence.text,
            text=ranked[0][0],
            score=best.score,
            log_probability=best.log_probability,
            alternatives=ranked,
            unknown_words=unknown,
            tokens=best.tokens,
            said=said[0],
            ended=best.ended,
            n_best=n_best,
            warnings=warnings,
        )

    def cut_warning(self, place: str, source: str, count: int, way_out: str = "") -> str:
        """That a translation is not whole, why, and what to do."""
        is_long = count >= self.max_length
        reason = "the model's maximum" if is_long else "the maximum for such a short source"
        advice = f"split it, or give {way_out}" if is_long and way_out else "reword it"
        begins = f"{source[:_QUOTED]!r}…"
        said = f"the translation was truncated at {count} tokens, {reason}: {advice} ({begins})"
        return f"{place}: {said}"


def subject(place: str, noun: str = "sentence") -> str:
    """A text as the subject of a message: "sentence 2", or "file:12: the sentence"."""
    return place if place.startswith("sentence ") else f"{place}: the {noun}"


def unknown_warnings(place: str, words: Sequence[str]) -> tuple[str, ...]:
    """That words were never seen in training, if there are any."""
    return (f"{place}: never seen in training: {', '.join(words)}",) if words else ()


def number_texts(texts: Sequence[str]) -> list[Sentence]:
    """Texts by their numbers, from 1; what is no text is refused."""
    for number, text in enumerate(check_texts(texts), 1):
        if not isinstance(text, str):
            raise UserError(f"sentence {number} is no text but of type {type(text).__name__}")
    return [Sentence(text, f"sentence {n}", (n,)) for n, text in enumerate(texts, 1)]


def _check_alike(one: TranslationPipeline, other: TranslationPipeline) -> None:
    """Only what speaks of the same tokens in the same languages can be averaged."""
    if one.tokenizer.to_text() != other.tokenizer.to_text():
        raise UserError(
            f"{other.run.folder}: has another vocabulary than {one.run.folder}: an ensemble needs "
            "runs of one tokenizer (train with tokenizer.file=RUN/tokenizer.json)"
        )
    for name in ("tokenizer.form", "data.languages", "data.tags"):
        group, _, key = name.partition(".")
        values = [getattr(getattr(p.config, group), key) for p in (one, other)]
        if values[0] != values[1]:
            raise UserError(f"{other.run.folder}: has {name} {values[1]!r}, not {values[0]!r}")
