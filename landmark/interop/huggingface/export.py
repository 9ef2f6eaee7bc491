"""A folder that Hugging Face's `transformers` loads: settings, weights and a vocabulary.

Every vocabulary but Marian's own is written as a tokenizer.json with all that it does inside, and
is loaded by their general class: theirs for GPT-2 or BERT would put parts of their own in place.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor

from landmark.core.storage import write_durably
from landmark.data.foreign.sentencepiece import SentencePieceTokenizer
from landmark.data.running_text.character import (
    CharacterTokenizer,
    ForeignSubwords,
    TextTokenizer,
)
from landmark.data.running_text.wordpiece import WordPieceTokenizer
from landmark.data.tokenizer import BEGIN, END, PADDING, UNKNOWN, SubwordTokenizer
from landmark.interop.huggingface.folder import CONFIG, GENERATION, SAFETENSORS
from landmark.interop.huggingface.tokenizer import ROLES, SETTINGS, WHOLE

_GENERAL = "PreTrainedTokenizerFast"


def write_model(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """config.json and model.safetensors."""
    _write_json(folder / CONFIG, config)
    write_durably(folder / SAFETENSORS, save(dict(tensors), metadata={"format": "pt"}))


def write_generation(folder: Path, settings: Mapping[str, Any]) -> None:
    """generation_config.json: how such a model writes, unless told otherwise."""
    known = {key: value for key, value in settings.items() if value is not None}
    _write_json(folder / GENERATION, known)


def write_text_tokenizer(folder: Path, tokenizer: TextTokenizer, max_length: int) -> None:
    """A language model's vocabulary."""
    if isinstance(tokenizer, CharacterTokenizer):
        _write(folder, _of_characters(tokenizer), {}, max_length)
    elif isinstance(tokenizer, ForeignSubwords):
        _write(folder, tokenizer.backend, tokenizer.roles, max_length)
    else:
        roles = {"begin": END, "end": END, "padding": PADDING, "unknown": UNKNOWN}
        _write(folder, tokenizer.backend, roles, max_length)


def text_ends(tokenizer: TextTokenizer) -> tuple[int | None, int | None]:
    """The numbers of the tokens that a text begins and ends with: ours begin with an end."""
    if isinstance(tokenizer, CharacterTokenizer):
        return None, None
    begin: int | None = tokenizer.end
    if isinstance(tokenizer, ForeignSubwords) and "begin" in tokenizer.roles:
        begin = tokenizer.backend.token_to_id(tokenizer.roles["begin"])
    return begin, tokenizer.end


def _of_characters(tokenizer: CharacterTokenizer) -> Tokenizer:
    """Each character an entry; one that is not there is an error, as it is with us."""
    numbers = {character: number for number, character in enumerate(tokenizer.characters)}
    backend = Tokenizer(models.WordLevel(numbers, unk_token=None))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
    backend.decoder = decoders.Fuse()
    return backend


def write_wordpiece_tokenizer(
    folder: Path, tokenizer: WordPieceTokenizer, max_length: int, segments: int
) -> None:
    """BERT's vocabulary, with [CLS] and [SEP] put around texts and pairs of them.

    A model that tells no segments apart has both texts of a pair in the first.
    """
    backend, roles = _copy(tokenizer.backend), tokenizer.roles
    first, between = roles["class"], roles["separator"]
    second = min(1, max(0, segments - 1))
    backend.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {between}",
        pair=f"{first} $A {between} $B:{second} {between}:{second}",
        special_tokens=[(first, tokenizer.begin), (between, tokenizer.separator)],
    )
    names = ["input_ids", "token_type_ids", "attention_mask"]
    _write(folder, backend, roles, max_length, {"model_input_names": names})


def write_translation_tokenizer(
    folder: Path, tokenizer: SubwordTokenizer, max_length: int, languages: tuple[str, str]
) -> None:
    """A translator's vocabulary: a space before each text, and its end after it.

    `languages`: of the source and (where there is no tag for it) of the target.
    """
    if isinstance(tokenizer, SentencePieceTokenizer):
        _write_marian(folder, tokenizer, max_length)
        return
    backend = _copy(tokenizer.backend)
    backend.normalizer = normalizers.Prepend(" ")
    backend.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    backend.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, tokenizer.end)]
    )
    roles = {"begin": BEGIN, "end": END, "padding": PADDING, "unknown": UNKNOWN}
    more = dict(zip(("source_lang", "target_lang"), languages, strict=True))
    _write(folder, backend, roles, max_length, more)


def _write_marian(folder: Path, tokenizer: SentencePieceTokenizer, max_length: int) -> None:
    for side, content in tokenizer.files.items():
        write_durably(folder / f"{side}.spm", content)
    _write_json(folder / "vocab.json", tokenizer.vocabulary)
    named = {ROLES[role]: tokenizer.roles[role] for role in ("end", "unknown", "padding")}
    settings = {"tokenizer_class": "MarianTokenizer", "model_max_length": max_length}
    _write_json(folder / SETTINGS, {**settings, **named})


def _write(
    folder: Path,
    backend: Tokenizer,
    roles: Mapping[str, str],
    max_length: int,
    more: Mapping[str, Any] | None = None,
) -> None:
    write_durably(folder / WHOLE, backend.to_str(pretty=False).encode())
    settings = {
        "tokenizer_class": _GENERAL,
        "model_max_length": max_length,
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        **(more or {}),
    }
    _write_json(
        folder / SETTINGS, {**settings, **{ROLES[role]: token for role, token in roles.items()}}
    )


def _copy(backend: Tokenizer) -> Tokenizer:
    return Tokenizer.from_str(backend.to_str())


def _write_json(path: Path, body: Mapping[str, Any]) -> None:
    text = json.dumps(dict(body), ensure_ascii=False, indent=2)
    write_durably(path, f"{text}\n".encode())
