"""Captioning speed: our beam search against transformers' VisionEncoderDecoderModel.

Both have the same random weights: a ViT and a post-norm decoder, otherwise of the sizes of
caption-transformer-flickr8k. The peer's decoder is Marian's, with our table of positions (pre-norm,
we norm the places once more, which the peer cannot do). Our learned place embedding, which the
peer does not have, is zero; the peer's class token is cut off, as we leave it out. Before
anything is timed, the logits must agree to 1e-4; how many best captions agree is printed.
Random weights end a caption anywhere, so </s> may not be said: every caption has 20 words, and
both search as many steps. fp32, one thread, use_cache=True, torch.inference_mode, both with torch's
fused attention. The systems take turns, so that a busy machine disturbs all alike; the ratio is of
processor time, the best of several rounds. "reading" is the image network alone; where the
decoder is not as wide as the ViT, the peer projects its memory again at every step.

    python benchmarks/captioning_speed.py [--shapes NAME ...] [--images 32 1] [--rounds 3] [--onnx]
"""

import argparse
import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from landmark.decoding.blocking import Blocking
from landmark.interop.onnx_captioner import save_captioner_onnx
from landmark.layers.layout import pack_linear
from landmark.layers.packing import Packing
from landmark.models.captioning.build import build_captioner
from landmark.models.captioning.captioner import Captioner
from landmark.models.captioning.transformer import CaptionTransformer, CaptionTransformerConfig
from landmark.models.transformer.vit import ViTConfig
from landmark.tasks.onnx_writer import OnnxWriter
from landmark.tasks.searching import Decoding, SourceRequest, TorchEngine

PEER, OURS, ONNX = "transformers", "landmark", "landmark-onnx"
READING = "reading"
PADDING, BEGIN, END = 0, 1, 2
TARGET = 1.5
DECODER = CaptionTransformerConfig(vocab_size=3000, norm="post")
SHAPES = {
    # The places of the recipes' images (88 pixels: 11x11), without a projection in the peer.
    "88px": ViTConfig(image_size=88, patch_size=8, hidden_size=256, num_heads=4, num_layers=6),
    # ViT-Ti/16 as it is published: 14x14 places of 192 numbers, which both project to 256.
    "vit-ti16": ViTConfig(image_size=224, hidden_size=192, num_heads=3),
}
Search = Callable[[Tensor], list[list[int]]]
"""Images to their best captions."""


def captioner(encoder: ViTConfig) -> CaptionTransformer:
    """Ours, on random weights that let captions depend on the image and not go in circles."""
    torch.manual_seed(0)
    config = dataclasses.replace(DECODER, encoder=encoder)
    model = build_captioner(config).eval().requires_grad_(False)
    assert isinstance(model, CaptionTransformer)
    for parameter in model.parameters():
        if parameter.dim() < 2:  # biases and norms, which begin as zeros and ones
            parameter += 0.1 * torch.randn_like(parameter)
    for block in model.blocks():  # or the last word, whose embedding is the output, comes again
        block.feedforward.contract.weight *= 16
    if encoder.hidden_size == config.hidden_size:
        torch.nn.init.eye_(model.project.weight)  # the peer has no projection then
        torch.nn.init.zeros_(model.project.bias)
    torch.nn.init.zeros_(model.place.weight)
    return model


def peer_of(model: CaptionTransformer) -> Any:
    """transformers' VisionEncoderDecoderModel that computes the same."""
    import transformers

    shape = model.config
    encoder: Any = shape.encoder
    vision = transformers.ViTConfig(
        image_size=encoder.image_size,
        patch_size=encoder.patch_size,
        num_channels=encoder.channels,
        hidden_size=encoder.hidden_size,
        intermediate_size=encoder.inner_size or 4 * encoder.hidden_size,
        num_hidden_layers=encoder.num_layers,
        num_attention_heads=encoder.num_heads,
        layer_norm_eps=1e-6,
        hidden_act="gelu",
    )
    decoder = transformers.MarianConfig(
        vocab_size=shape.vocab_size,
        d_model=shape.hidden_size,
        encoder_layers=shape.decoder_layers,
        decoder_layers=shape.decoder_layers,
        encoder_attention_heads=shape.num_heads,
        decoder_attention_heads=shape.num_heads,
        encoder_ffn_dim=shape.inner_size,
        decoder_ffn_dim=shape.inner_size,
        activation_function=shape.activation,
        scale_embedding=True,
        max_position_embeddings=shape.max_length,
        is_decoder=True,
        pad_token_id=PADDING,
        bos_token_id=BEGIN,
        eos_token_id=END,
        decoder_start_token_id=BEGIN,
        forced_eos_token_id=None,
    )
    peer = transformers.VisionEncoderDecoderModel(
        encoder=transformers.ViTModel(vision, add_pooling_layer=False),
        decoder=transformers.MarianForCausalLM(decoder),
    ).eval()
    peer.load_state_dict(_renamed(model))
    peer.encoder.register_forward_hook(_without_class_token)
    return peer


def _without_class_token(module: Any, inputs: Any, output: Any) -> Any:
    output.last_hidden_state = output.last_hidden_state[:, 1:]
    return output


def _renamed(model: CaptionTransformer) -> dict[str, Tensor]:
    """Our weights under the names of transformers."""
    network: Any = model.encoder_network
    weights = {
        "encoder.embeddings.cls_token": network.embedding.token,
        "encoder.embeddings.position_embeddings": network.embedding.position,
        "decoder.model.decoder.embed_tokens.weight": model.target_embedding.weight,
        "decoder.model.decoder.embed_positions.weight": model.position(
            torch.arange(model.config.max_length)
        ),
        "decoder.lm_head.weight": model.output.weight,
    }
    weights |= _layer(
        "encoder.embeddings.patch_embeddings.projection", network.embedding.projection
    )
    weights |= _layer("encoder.layernorm", network.norm)
    for number, block in enumerate(network.blocks):
        theirs = f"encoder.layers.{number}"
        weights |= _attention(f"{theirs}.attention", block.attention, "o_proj")
        weights |= _layer(f"{theirs}.layernorm_before", block.around_attention.norm)
        weights |= _layer(f"{theirs}.layernorm_after", block.around_feedforward.norm)
        weights |= _layer(f"{theirs}.mlp.fc1", block.feedforward.expand)
        weights |= _layer(f"{theirs}.mlp.fc2", block.feedforward.contract)
    if network.config.hidden_size != model.config.hidden_size:
        weights |= _layer("enc_to_dec_proj", model.project)
    for number, block in enumerate(model.blocks()):
        theirs = f"decoder.model.decoder.layers.{number}"
        weights |= _attention(f"{theirs}.self_attn", block.attention, "out_proj")
        weights |= _attention(f"{theirs}.encoder_attn", block.cross_attention, "out_proj")
        weights |= _layer(f"{theirs}.self_attn_layer_norm", block.around_attention.norm)
        weights |= _layer(f"{theirs}.encoder_attn_layer_norm", block.around_cross_attention.norm)
        weights |= _layer(f"{theirs}.final_layer_norm", block.around_feedforward.norm)
        weights |= _layer(f"{theirs}.fc1", block.feedforward.expand)
        weights |= _layer(f"{theirs}.fc2", block.feedforward.contract)
    return weights


def _attention(theirs: str, attention: Any, output: str) -> dict[str, Tensor]:
    """The keys' bias, which we do not add, is zero."""
    matrices, biases = attention.input.weight.chunk(3), attention.input.bias.chunk(3)
    weights = _layer(f"{theirs}.{output}", attention.output)
    for letter, matrix, bias in zip("qkv", matrices, biases, strict=True):
        weights[f"{theirs}.{letter}_proj.weight"] = matrix
        weights[f"{theirs}.{letter}_proj.bias"] = bias * (letter != "k")
    return weights


def _layer(theirs: str, ours: Any) -> dict[str, Tensor]:
    return {f"{theirs}.{name}": tensor for name, tensor in ours.state_dict().items()}


@torch.inference_mode()
def logits_of(
    model: CaptionTransformer, peer: Any, images: Tensor, tokens: Tensor
) -> tuple[Tensor, Tensor]:
    """Ours and theirs after each of given tokens. (B, C, H, W) and (B, T) -> twice (B, T, V)"""
    batch, time = tokens.shape
    places = Packing.full(batch, model.config.places or 1)
    hidden = model(images, places, tokens.flatten(), Packing.full(batch, time))
    theirs = peer(pixel_values=images, decoder_input_ids=tokens).logits
    return model.logits(hidden).view(batch, time, -1), theirs


def our_search(model: Captioner | OnnxWriter, places: int, beam: int, words: int) -> Search:
    """The engine of our pipeline."""

    def pack(images: Any) -> tuple[Tensor, Packing]:
        stacked = torch.stack(list(images)).contiguous(memory_format=torch.channels_last)
        return stacked, Packing.full(len(images), places)

    models: Any = [model]
    engine = TorchEngine(models, BEGIN, END, torch.device("cpu"), pack=pack)

    def search(images: Tensor) -> list[list[int]]:
        decoding = Decoding(Blocking(min_length=words), len(images) * places * beam)
        requests = [SourceRequest(words, source=image, size=places) for image in images]
        return [list(best[0].tokens) for best in engine.search(requests, beam, 0.0, decoding)]

    return search


def their_search(peer: Any, beam: int, words: int) -> Search:
    """Their own `generate`."""

    @torch.inference_mode()
    def search(images: Tensor) -> list[list[int]]:
        said: list[list[int]] = peer.generate(
            pixel_values=images,
            num_beams=beam,
            do_sample=False,
            min_new_tokens=words,
            max_new_tokens=words,
            length_penalty=0.0,
            use_cache=True,
            decoder_start_token_id=BEGIN,
            eos_token_id=END,
            pad_token_id=PADDING,
        ).tolist()
        return [row[1:] for row in said]

    return search


def onnx_search(model: CaptionTransformer, folder: Path, beam: int, words: int) -> Search:
    """Our engine on the model's ONNX export."""
    save_captioner_onnx(model, folder)
    graphs = OnnxWriter(folder, torch.get_num_threads(), model.config.vocab_size or 0)
    return our_search(graphs, model.config.places or 1, beam, words)


def check(model: CaptionTransformer, peer: Any) -> float:
    """The largest difference of the logits of both; ends it where that is above 1e-4."""
    images, size = noise(model, 2), model.config.vocab_size or 0
    tokens = torch.randint(0, size, (2, 12), generator=torch.Generator().manual_seed(1))
    ours, theirs = logits_of(model, peer, images, tokens)
    difference = (ours - theirs).abs().max().item()
    if not difference <= 1e-4:
        sys.exit(f"the logits differ by {difference:.1e}: this is not one model")
    return difference


def noise(model: CaptionTransformer, count: int) -> Tensor:
    encoder: Any = model.config.encoder
    side = encoder.image_size
    return torch.randn(
        count, encoder.channels, side, side, generator=torch.Generator().manual_seed(1)
    )


@torch.inference_mode()
def race(systems: dict[str, Callable[[], Any]], rounds: int) -> dict[str, dict[str, Any]]:
    """The best processor and wall time of each, in turns, and what each said at first."""
    results = {name: {"said": run(), "cpu": [], "wall": []} for name, run in systems.items()}
    for _ in range(rounds):
        for name, run in systems.items():
            cpu, wall = time.process_time(), time.perf_counter()
            run()
            results[name]["cpu"].append(time.process_time() - cpu)
            results[name]["wall"].append(time.perf_counter() - wall)
    return results


def measure(shape: str, options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """A row of the table for each system, number of images, and part of the work."""
    model = captioner(SHAPES[shape])
    peer, network = peer_of(model), model.encoder_network
    assert network is not None
    pack_linear(model)  # as our pipeline does
    difference = check(model, peer)
    print(f"{shape}: logits differ by {difference:.1e} at the most")
    searches = {
        PEER: their_search(peer, options.beam, options.words),
        OURS: our_search(model, model.config.places or 1, options.beam, options.words),
    }
    if options.onnx:
        searches[ONNX] = onnx_search(model, folder, options.beam, options.words)
    rows = []
    for count in options.images:
        images = noise(model, count)
        captioning = {name: partial(run, images) for name, run in searches.items()}
        reading = {
            PEER: partial(peer.encoder, images),
            OURS: partial(network.spatial, images.contiguous(memory_format=torch.channels_last)),
        }
        repeats = options.rounds if count > 1 else 3 * options.rounds
        for what, systems in (("captions", captioning), (READING, reading)):
            results = race(systems, repeats)
            for name, result in results.items():
                row = {"shape": shape, "images": count, "what": what, "system": name}
                for clock in ("cpu", "wall"):
                    row[clock] = min(result[clock]) / count
                    row[f"{clock}_ratio"] = min(results[PEER][clock]) / min(result[clock])
                if what != READING:
                    pairs = zip(result["said"], results[PEER]["said"], strict=True)
                    row["same"] = sum(one == other for one, other in pairs) / count
                rows.append(row)
                print_row(row)
    return rows


def print_row(row: dict[str, Any]) -> None:
    same = f"{row['same']:.0%}" if "same" in row else "-"
    print(
        f"{row['shape']:<10}{row['images']:>7}  {row['what']:<10}{row['system']:<15}"
        f"{1000 * row['cpu']:>12.1f}{1000 * row['wall']:>12.1f}"
        f"{row['cpu_ratio']:>8.2f}{row['wall_ratio']:>8.2f}{same:>8}",
        flush=True,
    )


def print_settings(options: argparse.Namespace) -> None:
    import transformers

    decoder = DECODER
    print(
        f"beam {options.beam}, {options.words} words of {DECODER.vocab_size}, images at once;\n"
        f"decoder: {decoder.decoder_layers} layers of {decoder.hidden_size} "
        f"({decoder.inner_size} inside), {decoder.num_heads} heads, {decoder.norm}-norm; fp32, "
        f"1 thread, use_cache, inference_mode, sdpa;\ntorch {torch.__version__}, transformers "
        f"{transformers.__version__}; best of {options.rounds} rounds in turns (one image: three "
        f"times as many); target {TARGET}"
    )
    for name, shape in SHAPES.items():
        changed = {
            field.name: getattr(shape, field.name)
            for field in dataclasses.fields(shape)
            if field.name in ("image_size", "patch_size", "hidden_size", "num_heads", "num_layers")
        }
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in changed.items()))
    print(
        f"{'shape':<10}{'images':>7}  {'what':<10}{'system':<15}{'cpu ms/image':>12}"
        f"{'wall ms':>12}{'ratio':>8}{'wall':>8}{'same':>8}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--images", type=int, nargs="+", default=[32, 1], help="images at a time")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--words", type=int, default=20, help="words of each caption")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--onnx", action="store_true", help="time our ONNX export, too")
    parser.add_argument("--output", type=Path, help="where to write the rows as .json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print_settings(options)
    rows = []
    for shape in options.shapes:
        with tempfile.TemporaryDirectory() as folder:
            rows += measure(shape, options, Path(folder))
    if options.output:
        options.output.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
