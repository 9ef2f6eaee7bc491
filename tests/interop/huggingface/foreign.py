"""Small models of `transformers` with random weights, and vocabularies trained on the spot."""

import io
from pathlib import Path

import sentencepiece
import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from torch import nn

END_OF_TEXT = "<|endoftext|>"
LINES = [
    "A dog runs in the park, and nobody can stop it; it has run for 3 hours.",
    "Ein großer Hund läuft im Park – seit 3 Stunden, «wirklich»!",
    "Le café naïf coûte 12,50 € l'après-midi. Ça va?",
    "مرحبا بالعالم، كيف الحال؟",
    "你好,世界。漢字と仮名。 안녕하세요",
    "Привет, мир! Ёлка и й.",
    "the quick brown fox jumps over the lazy dog again and again",
]
DIFFICULT = [
    "",
    " ",
    "   leading and trailing   ",
    "two\nlines\r\nand\ttabs\n\n\n",
    "e\u0301 a\u0308 o\u0302\u0301 n\u0303: combining marks; Å Å \u1e9b\u0323",
    "👩‍👩‍👧‍👦 family, 🏳️‍🌈 flag, 👍🏽 skin, 🇩🇪 letters",
    "السلام عليكم ورحمة الله ١٢٣ \u200fwith\u200e marks",
    "漢字かな交じり文 ㍿ ﷺ 한국어 조합 \u1112\u1161\u11ab",
    "no\u00a0break, thin\u2009space, ideographic\u3000space, zero\u200bwidth, \ufeffmark",
    "control \x01\x02\x7f\x85 \u2028 line \u2029 paragraph",
    "x" * 300,
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ﬁ ligature ½ ² ™ İstanbul ẞ ß ſ",
    "don't we'll I'M they'RE '' `` -- ... !!! ??? @user #tag http://a.b/c?d=e&f=g",
    "1234567890 3.14159 1,000,000 0x1F600 ٣٤",
    "हिन्दी में ज़्यादा ภาษาไทย עִבְרִית",
    "\\u0041 \\n <b>&amp;</b> {json: [1, 2]}",
    "> > >> quoted",
]
"""A page of difficult Unicode."""


def randomized(model: nn.Module, seed: int = 0, spread: float = 0.2) -> nn.Module:
    """Every weight drawn anew, those too that begin as zeros or ones.

    A larger `spread` of the matrices that mix makes a model say more than one thing.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            mixes = parameter.dim() > 1 and "shared" not in name and "embed" not in name
            drawn = torch.randn(parameter.shape, generator=generator)
            parameter.add_(drawn * (spread if mixes else 0.2))
        for name, buffer in model.named_buffers():
            if name == "final_logits_bias":
                buffer.copy_(torch.randn(buffer.shape, generator=generator))
    return model.eval()


def byte_level(special: list[str], size: int = 400) -> Tokenizer:
    """Byte-pair encoding on bytes, as GPT-2 and RoBERTa have it."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator(LINES, trainer)
    return backend


def first_gpt() -> Tokenizer:
    """Byte-pair encoding of lower-cased words, as OpenAI's first GPT has it."""
    backend = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.BPEDecoder(suffix="</w>")
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False
    )
    backend.train_from_iterator(LINES, trainer)
    return backend


def wordpiece(lowercase: bool = True) -> Tokenizer:
    """Pieces of words, as BERT has them."""
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    backend.train_from_iterator(LINES, trainer)
    backend.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return backend


def save_pair_files(backend: Tokenizer, folder: Path) -> None:
    """vocab.json and merges.txt, as they were before tokenizer.json."""
    folder.mkdir(exist_ok=True)
    backend.model.save(str(folder))


def gpt2_model(vocab_size: int, **settings) -> transformers.GPT2LMHeadModel:
    config = transformers.GPT2Config(
        vocab_size=vocab_size,
        n_positions=32,
        n_embd=24,
        n_layer=2,
        n_head=3,
        bos_token_id=0,
        eos_token_id=0,
        **settings,
    )
    return randomized(transformers.GPT2LMHeadModel(config))


def gpt2_folder(folder: Path, **settings) -> Path:
    """A GPT-2 with its vocabulary."""
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=byte_level([END_OF_TEXT]),
        bos_token=END_OF_TEXT,
        eos_token=END_OF_TEXT,
        unk_token=END_OF_TEXT,
    )
    tokenizer.save_pretrained(folder)
    gpt2_model(len(tokenizer), **settings).save_pretrained(folder)
    return folder


def first_gpt_folder(folder: Path) -> Path:
    """OpenAI's first GPT with its vocabulary."""
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=first_gpt(), unk_token="<unk>"
    )
    tokenizer.save_pretrained(folder)
    config = transformers.OpenAIGPTConfig(
        vocab_size=len(tokenizer), n_positions=32, n_embd=24, n_layer=2, n_head=3
    )
    randomized(transformers.OpenAIGPTLMHeadModel(config)).save_pretrained(folder)
    return folder


def bert_config(
    vocab_size: int,
    kind: type[transformers.PreTrainedConfig] = transformers.BertConfig,
    **settings,
) -> transformers.PreTrainedConfig:
    shape = {
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 40,
        "max_position_embeddings": 32,
    }
    return kind(vocab_size=vocab_size, **{**shape, **settings})


def bert_folder(folder: Path, kind: type = transformers.BertForPreTraining, **settings) -> Path:
    """A BERT with its vocabulary."""
    tokenizer = bert_tokenizer(wordpiece())
    tokenizer.save_pretrained(folder)
    randomized(kind(bert_config(len(tokenizer), **settings))).save_pretrained(folder)
    return folder


def bert_tokenizer(backend: Tokenizer) -> transformers.PreTrainedTokenizerFast:
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def distilbert_folder(folder: Path) -> Path:
    tokenizer = bert_tokenizer(wordpiece())
    tokenizer.save_pretrained(folder)
    config = transformers.DistilBertConfig(
        vocab_size=len(tokenizer),
        dim=24,
        n_layers=2,
        n_heads=3,
        hidden_dim=40,
        max_position_embeddings=32,
    )
    randomized(transformers.DistilBertForMaskedLM(config)).save_pretrained(folder)
    return folder


def sentencepiece_model(lines: list[str], size: int) -> bytes:
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines * 3),
        model_writer=content,
        vocab_size=size,
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        character_coverage=1.0,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return content.getvalue()


def marian_vocabulary(folder: Path) -> dict[str, int]:
    """source.spm, target.spm and vocab.json, whose numbers are neither's."""
    import json

    folder.mkdir(exist_ok=True)
    pieces: dict[str, None] = dict.fromkeys(("</s>", "<unk>"))
    for side, lines in (("source", LINES[:4]), ("target", LINES[2:])):
        content = sentencepiece_model(lines, 110)
        (folder / f"{side}.spm").write_bytes(content)
        processor = sentencepiece.SentencePieceProcessor(model_proto=content)
        pieces |= dict.fromkeys(sorted(processor.id_to_piece(n) for n in range(len(processor))))
    tokens = [*pieces, ">>fra<<", "<pad>"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False))
    return vocabulary


def marian_folder(folder: Path, **settings) -> Path:
    """A Marian translator with its vocabulary, as OPUS-MT's are."""
    vocabulary = marian_vocabulary(folder)
    padding = vocabulary["<pad>"]
    transformers.MarianTokenizer(
        source_spm=str(folder / "source.spm"),
        target_spm=str(folder / "target.spm"),
        vocab=str(folder / "vocab.json"),
        source_lang="en",
        target_lang="de",
    ).save_pretrained(folder)
    shape = {
        "d_model": 24,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 3,
        "decoder_attention_heads": 3,
        "encoder_ffn_dim": 40,
        "decoder_ffn_dim": 40,
        "max_position_embeddings": 128,
        "activation_function": "swish",
        "scale_embedding": True,
    }
    config = transformers.MarianConfig(
        vocab_size=len(vocabulary),
        pad_token_id=padding,
        eos_token_id=0,
        decoder_start_token_id=padding,
        forced_eos_token_id=0,
        **{**shape, **settings},
    )
    model = randomized(transformers.MarianMTModel(config), spread=0.6)
    model.generation_config.bad_words_ids = [[padding]]
    model.generation_config.num_beams = 2
    model.save_pretrained(folder)
    return folder
