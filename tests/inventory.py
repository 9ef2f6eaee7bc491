"""A golden inventory of what a user sees: commands, recipes, and how tiny runs answer.

`python -m tests.inventory > now.json` prints it, `python -m tests.inventory FILE` writes it to a
file; a change of the package's surface is then a difference to tests/inventory.json. Command lines
that were meant to work and do not are told on stderr.
"""

import contextlib
import enum
import io
import itertools
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import typing
import warnings
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
os.environ["COLUMNS"] = "200"

ROOT = Path(__file__).resolve().parent.parent
BOTTLES = "".join(f"{n} green bottles hanging on the wall,\n" for n in range(99, 9, -1))
TASK = """\
template: "{text} green bottles hanging on the"
candidates: [wall, table]
examples: [{text: "98", answer: wall}]
questions: [{text: "97", answer: wall}, {text: "96", answer: table}, {text: "95"}]
"""
PROBLEM = """\
import torch
from torch import nn


class Line:
    def __init__(self, seed):
        self.parameters = [nn.Parameter(torch.tensor(1.0 + seed))]

    def loss(self, step):
        return self.parameters[0].square()

    def validate(self):
        return self.parameters[0].square()
"""
FEW = "threads=1 trainer.max_steps=4 trainer.validate_every=2 trainer.checkpoint_every=2"
FEW += " trainer.log_every=1 trainer.keep_last=5"
PAIRS = "data.train_pairs=300 data.valid_pairs=20 tokenizer.vocab_size=500 batches.tokens=200"
WIDTH = "model.hidden_size=16 model.num_heads=2"
TRANSFORMER = f"{WIDTH} model.inner_size=32 model.encoder_layers=1 model.decoder_layers=1"
TRANSFORMER += " model.max_length=64"
LONG = f"{WIDTH} model.inner_size=32 model.encoder_layers=1 model.decoder_layers=1"
LONG += " model.max_length=256"
READ = "--text page.txt schedule.warmup_steps=1"
SMALL = f"{WIDTH} model.num_layers=2"
SUBWORDS = "tokenizer.kind=subwords tokenizer.vocab_size=300"
OWN = "data.train=own.tsv data.text=first data.label=class batches.size=8 trainer.patience=null"
IMAGES = "batches.size=16 batches.workers=0 device=cpu"

TRAININGS = f"""
train transformer-embedded {FEW} {PAIRS} {LONG} --run runs/translation
train transformer-embedded {FEW} {PAIRS} {LONG} seed=2 --run runs/second
train transformer-embedded {FEW} {PAIRS} {LONG} --reverse --run runs/back
train seq2seq-embedded {FEW} {PAIRS} model.embedding_size=12 model.hidden_size=16 --run runs/recurrent
train translation {FEW} {TRANSFORMER} tokenizer.vocab_size=300 batches.tokens=200 --source a.en --target a.de --valid-source b.en --valid-target b.de --run runs/own
train translation {FEW} {TRANSFORMER} tokenizer.vocab_size=300 batches.tokens=200 data.corpus=files 'data.source=[a.en, a.en]' 'data.target=[a.de, a.fr]' 'data.target_languages=[de, fr]' --run runs/languages
train translation {FEW} {LONG} batches.tokens=200 --source a.en --target a.de --init-from runs/translation --run runs/tuned
train translation {FEW} {TRANSFORMER} tokenizer.vocab_size=300 batches.tokens=200 --source a.en --target a.de --extra-source b.en --extra-target b.de --clean --device cpu --run-directory runs/more
train gpt {FEW} {SMALL} {READ} model.max_length=64 tokenizer.vocab_size=300 data.separate_documents=false batches.streams=4 batches.length=16 trainer.validate_every=1 --run runs/gpt
train gpt {FEW} {READ} model.hidden_size=12 model.num_heads=1 model.num_layers=1 model.max_length=64 tokenizer.vocab_size=300 data.separate_documents=false batches.streams=4 batches.length=16 trainer.validate_every=1 --run runs/gpt-12
train gpt {FEW} {READ} model.hidden_size=8 model.num_heads=1 model.num_layers=1 model.max_length=64 tokenizer.vocab_size=300 data.separate_documents=false batches.streams=4 batches.length=16 trainer.validate_every=1 --run runs/gpt-8
train language-model {FEW} {READ} model.embedding_size=8 model.hidden_size=12 model.num_layers=2 batches.streams=5 batches.length=16 --run runs/lstm
train language-model {FEW} {READ} --valid-text page.txt {SUBWORDS} batches.length=8 batches.streams=5 model.cell=gru model.embedding_size=8 model.hidden_size=12 --run runs/gru
train language-model {FEW} {READ} 'model={{architecture: gpt}}' {SMALL} model.max_length=40 {SUBWORDS} batches.length=32 --run runs/pieces
train bert {FEW} {SMALL} {READ} model.max_length=64 tokenizer.vocab_size=300 --run runs/bert
train understanding {FEW} {OWN} init_from=runs/bert --run runs/understanding
train understanding {FEW} {OWN} data.text2=second --init-from runs/pieces --run runs/pairs
train understanding {FEW} {OWN} data.label=grade data.kind=regression init_from=runs/bert --run runs/grades
train lenet5-digits {FEW} {IMAGES} data.limit=64 --run runs/digits
train image-files {FEW} {IMAGES} --data images --strict --run runs/images
train vit-digits {FEW} {SMALL} batches.workers=0 data.limit=64 --run runs/vit
train gan-gaussian {FEW} --run runs/gan
train race-vae {FEW} data.corpus=digits model.image_size=8 model.hidden_size=30 model.latent_size=5 device=cpu --run runs/vae
train race-bag-of-words {FEW} data.corpus=files data.text=text "data.train=['class.tsv']" "data.valid=['class.tsv']" batches.size=40 --run runs/bag
train hello threads=1 trainer.max_steps=2 --run runs/hello --tensorboard --profile
"""  # noqa: E501
"""A tiny run of every task; most, by the options that a user's own data come with."""

WORKS = """
--version
--help
list
list --json
show transformer-base
show googlenet --json
show resnet-50 --stages --json
show --compare --json
recipe transformer-embedded
recipe lenet5-digits batches.size=7 --bare
data list
data list --json
doctor
doctor --json
runs
runs --json
runs compare runs/translation runs/second
runs compare runs/gpt runs/gan --output c.svg
train gan-gaussian threads=1 trainer.max_steps=6 trainer.validate_every=2 trainer.checkpoint_every=2 trainer.log_every=1 trainer.keep_last=5 --run runs/gan --resume
race --problem cli_line:Line --methods sgd,adam --steps 6 --rates 0.1,0.4 --jobs 1
race --problem cli_line:Line --methods sgd --steps 4 --rates 0.1 --seeds 1 --jobs 1 --run race2 --json
race --problem cli_line:Line --methods sgd --steps 4 --rates 0.1 --seeds 1 --jobs 1 --run race2 --json --resume
race race-logistic threads=1 data.corpus=digits --methods sgd,adam --steps 4 --rates 0.1 --seeds 1 --jobs 1 --json --run race3
rate-finder lenet5-digits data.limit=100 threads=1 --updates 20 --figure rates.png --json
translate runs/translation 'The dog sees a cat.' 'A bird sings.'
translate runs/translation < two.txt
translate runs/translation 'The dog sees a cat.' --json
translate runs/translation --file two.txt --output out.txt
translate runs/translation --file document.txt --document --json
translate runs/translation 'The dog sees.' --beam 1 --json
translate runs/translation 'The dog sees.' --length-penalty 0.2
translate runs/translation 'The dog sees.' --n-best 2 --json
translate runs/translation 'The dog sees.' --n-best 2 --prefix Der
translate runs/translation 'The dog sees.' --glossary terms.tsv
translate runs/translation 'The dog sees.' --sample --temperature 0.8 --top-k 5 --top-p 0.9 --seed 3 --json
translate runs/translation 'The dog sees.' --sample --n-best 2 --json
translate runs/translation 'The dog sees.' --ensemble runs/second --json
translate runs/translation 'The dog sees.' --attention attention.png
translate runs/translation 'The dog sees.' --checkpoint 2 --device cpu
translate runs/languages 'one 7' --to de
translate runs/translation 'The dog sees.' --to de
translate runs/recurrent 'The dog sees.' --json
translate runs/recurrent 'The dog sees.' --attention attention.svg
translate runs/own 'one 7'
translate runs/tuned 'one 7'
score runs/translation --source two.en --target two.de
score runs/translation --source two.tsv --json
score runs/translation --source two.en --target two.de --per-token --json
score runs/translation --source two.en --target two.de --per-token
score runs/languages --source two.en --target two.de --to fr --json
score runs/recurrent --source two.en --target two.de --json
align runs/translation --source two.en --target two.de
align runs/translation --source two.en --json
align runs/translation --source two.en --target two.de --layer 1 --head 2 --shift --figure align.png --line 2 --json
align runs/translation --choose --gold 6
align runs/translation --choose --gold 6 --json --figure choose.png
align runs/recurrent --source two.en --target two.de --json
evaluate runs/translation --source two.en --reference two.de
evaluate runs/translation --source two.en --reference two.de --json --output out.de
evaluate runs/translation --source two.en --reference two.de --against runs/second --bootstrap 20 --json
evaluate runs/translation --source two.en --reference two.de --against out.de --test randomization
evaluate runs/translation --source two.en --reference two.de --by-length length.png --bin-words 3 --bootstrap 0 --json
evaluate runs/translation --source two.en --reference two.de --beam 1 --ensemble runs/second --bootstrap 0
evaluate runs/translation --split depth-1 --join 2 --beam 1 --bootstrap 0 --json
evaluate runs/recurrent --source two.en --reference two.de --beam 1 --json
evaluate runs/understanding
evaluate runs/understanding --json
evaluate runs/understanding --file own.tsv --bootstrap 20 --json
evaluate runs/pairs --file own.tsv --json
evaluate runs/grades --json
evaluate runs/digits
evaluate runs/digits --json
evaluate runs/digits --split valid --confusion confusion.png
evaluate runs/digits --predictions predictions.csv --mistakes mistakes.png
evaluate runs/images --file images --json --ten-crop
evaluate runs/images --split valid --json
evaluate runs/vit --split valid --json
generate runs/gpt '99 green' --length 5
generate runs/gpt '99 green' --length 5 --json
generate runs/gpt --file prompts.txt --length 5 --samples 2 --batch-size 2 --json
generate runs/gpt '99 green' --length 5 --temperature 0.8 --top-k 5 --top-p 0.9 --repetition-penalty 1.1 --stop the --seed 3 --json
generate runs/gpt '99 green' --length 5 --int8 --speed
generate runs/gpt '99 green' --length 5 --speed --json
generate runs/lstm '99 green' --length 5 --json
generate runs/lstm --length 5
generate runs/hello h --length 4 --temperature 0
prompt runs/gpt task.yaml
prompt runs/gpt task.yaml --json
prompt runs/gpt task.yaml --show --shots 0
prompt runs/gpt free.yaml --json
prompt runs/pieces task.yaml --json
story runs/gpt --length 5 < turns.txt
story runs/gpt --length 5 --story page.txt --temperature 0.8 --top-k 5 --top-p 0.9 --repetition-penalty 1.1 --seed 2 --int8 < turns.txt
fill runs/bert 'green [MASK] hanging'
fill runs/bert 'green [MASK] hanging' --top-k 2 --json
fill runs/bert --json < fill.txt
embed runs/bert --file two.en
embed runs/bert < two.en
embed runs/bert --file two.en --output vectors.npy
embed runs/bert --file two.en --words --layer 0
embed runs/bert --file two.en --pooling pooled
embed runs/bert --neighbours green --count 2
embed runs/bert --neighbours 'A bird' --among two.en --json
embed runs/gpt --file two.en --pooling last
embed runs/lstm --file prompts.txt
predict runs/understanding 'the old man' 'a book'
predict runs/understanding 'the old man' --json
predict runs/understanding --file own.tsv --json
predict runs/pairs 'the old man' 'a book' --json
predict runs/grades 'the old man' --json
classify runs/images images/ant/0.png
classify runs/images images/ant/0.png images/bee/1.png --json --top 2 --figure classified.png
classify runs/images images/ant/0.png --ten-crop --device cpu
classify runs/images images --csv classified.csv --top 2
classify runs/digits images/ant/0.png --checkpoint 2
classify runs/vit images/ant/0.png --json
similar runs/images images/ant/0.png --among images
similar runs/images images/ant/0.png --among images --count 3 --figure similar.png --json
features runs/images images/ant/0.png
features runs/images images --output features.npy
features runs/vit images/ant/0.png --checkpoint 2
figure attention runs/gpt 'green bottles hanging'
figure attention runs/gpt 'green bottles hanging' --layer 1 --head 1 --json --output a.svg
figure attention runs/bert 'green bottles hanging' --json --output a.html
figure attention runs/bert 'green bottles hanging' --token bottles --words --json
figure next runs/gpt 'green bottles'
figure next runs/gpt 'green bottles' --top 3 --json
figure next runs/lstm 'green bottles' --json
figure losses runs/gpt runs/lstm
figure losses runs/translation runs/recurrent --by tokens --log --json
figure losses runs/digits runs/bag --by minutes --json
figure losses runs/gan runs/vae --json
figure neighbours runs/bert green bottles --count 3
figure neighbours runs/bert green bottles --count 3 --json
figure scaling runs/gpt runs/gpt-12 runs/gpt-8
figure scaling runs/gpt runs/gpt-12 runs/gpt-8 --seed 2 --json
figure gradients runs/lstm --length 10 --seed 2 --json
figure gates runs/lstm 'green bottles' --layer 1 --units 4
figure gates runs/gru 'green bottles' --json
figure cells runs/lstm page.txt --length 100
figure cells runs/lstm page.txt --length 100 --json
figure alignments runs/translation runs/recurrent
figure alignments runs/recurrent --source two.en --target two.de --json
figure exposure runs/translation --source two.en --reference two.de
figure exposure runs/translation --source two.en --reference two.de --json
figure sizes runs/translation runs/second --source two.en --reference two.de --beam 1
figure sizes runs/translation runs/second --source two.en --reference two.de --beam 1 --json
figure kernels runs/digits
figure kernels runs/digits --layer c1 --components 2 --json
figure filters
figure filters images/ant/0.png --kernel blur --json
figure maps runs/digits
figure maps runs/digits images/ant/0.png --layer c1 --json
figure receptive alexnet
figure receptive runs/digits --image valid:1 --gradients --json
figure saliency runs/digits
figure saliency runs/digits images/ant/0.png --class 3 --json
figure occlusion runs/digits --size 14 --stride 14
figure occlusion runs/digits images/ant/0.png --class 3 --size 14 --stride 14 --json
figure patches runs/vit
figure patches runs/vit images/ant/0.png --layer 1 --patch 1,1 --json
figure positions runs/vit
figure positions runs/vit --json
figure paths beale --method adam --steps 20
figure paths beale --method adam --rate 0.01 --steps 20 --json
figure rates momentum --surface ravine --steps 20
figure rates momentum --surface ravine --steps 20 --json
figure momentum
figure momentum --rate 0.01 --steps 20 --json
figure bias --steps 50
figure bias --beta2 0.99 --rate 0.01 --steps 50 --seed 2 --json
figure updates lenet5-digits threads=1 --steps 3
figure updates gan-gaussian threads=1 --steps 3 --json
figure updates runs/translation --steps 2 --json
average runs/second
average runs/digits --last 2
translate runs/second 'The dog sees.'
export runs/own --to ctranslate2
export runs/own --to ctranslate2 --int8 --output own-int8
translate runs/own 'one 7' --engine ctranslate2 --json
export runs/own --to onnx
translate runs/own 'one 7' --engine onnx --json
evaluate runs/own --source b.en --reference b.de --engine ctranslate2 --bootstrap 0 --json
export runs/digits --to onnx
classify runs/digits images/ant/0.png --engine onnx --json
export runs/digits --to onnx --int8
classify runs/digits images/ant/0.png --engine onnx-int8 --json
export runs/own --to hf --output own-hf
export runs/pieces --to hf --output pieces-hf
export runs/bert --to hf --output bert-hf
export runs/understanding --to hf --output understanding-hf
export runs/gpt --to hf --output gpt-hf
import hf pieces-hf --run runs/imported-pieces
generate runs/imported-pieces '99 green' --length 3 --json
import hf bert-hf --run runs/imported-bert
fill runs/imported-bert 'green [MASK] hanging' --json
import hf own-hf --run runs/imported-own
translate runs/imported-own 'one 7' --json
import torchvision google.pth --labels names.txt --run runs/imported-torchvision
classify runs/imported-torchvision images/ant/0.png --json
import timm vit.pth --network vit-ti16 --labels names.txt --run runs/imported-timm
classify runs/imported-timm images/ant/0.png --json
features runs/imported-timm images/ant/0.png
demo --run runs/demo --recipe transformer-embedded DEMO search.beam=1
"""  # noqa: E501
"""Command lines in an order that their own files allow, each meant to end with 0."""

RUNS = ["translation", "recurrent", "gpt", "lstm", "bert", "understanding", "digits", "vit"]
RUNS += ["gan", "vae", "bag", "missing"]
VERBS = """
translate RUN 'The dog sees.'
score RUN --source two.en --target two.de
align RUN --source two.en --target two.de
generate RUN green --length 3
prompt RUN task.yaml
story RUN --length 3
fill RUN 'green [MASK]'
embed RUN --file two.en
predict RUN 'the old man'
classify RUN images/ant/0.png
similar RUN images/ant/0.png --among images
features RUN images/ant/0.png
evaluate RUN
evaluate RUN --file two.en
evaluate RUN --source two.en --reference two.de --bootstrap 0
evaluate RUN --ten-crop
evaluate RUN --split valid --confusion c.png
average RUN
export RUN --to hf
export RUN --to ctranslate2
export RUN --to ctranslate2 --int8
export RUN --to onnx --int8
figure attention RUN green
figure next RUN green
figure losses RUN
figure neighbours RUN green
figure scaling RUN RUN RUN
figure gates RUN green
figure cells RUN page.txt --length 20
figure alignments RUN
figure exposure RUN --source two.en --reference two.de
figure sizes RUN --source two.en --reference two.de
figure kernels RUN
figure maps RUN
figure receptive RUN
figure saliency RUN
figure occlusion RUN --size 28
figure patches RUN
figure positions RUN
figure updates RUN --steps 1
runs compare RUN runs/gpt
train understanding data.train=own.tsv data.text=first data.label=class threads=1 trainer.max_steps=1 init_from=RUN --run again/RUN
"""  # noqa: E501
"""Each verb on a run of each task and on none: exit codes alone."""

REFUSED = """
nothing
translate
translate runs/translation --beams 3
show
show nothing
show alexnet --compare
show transformer-base --stages
rate-finder nothing
rate-finder lenet5-digits --lowest 1 --highest 0.1
recipe nothing
recipe transformer-embedded model.width=3
recipe transformer-embedded model.hidden_size=many
train nothing
train missing.yaml
train transformer-embedded --text page.txt
train language-model --source a.en --target a.de
train translation --target a.de
train translation --valid-text a.de
train image-files --run again/images
train transformer-embedded --run runs/translation
train transformer-embedded --run again/resumed --resume step-3
train transformer-embedded --device quark
race nothing
race --problem nothing:Line
race race-logistic --methods magic
data get nothing
runs compare runs/gpt
runs compare runs/gpt runs/gpt
runs compare runs/gpt runs/missing
translate runs/translation 'The dog sees.' --n-best 0
translate runs/translation 'The dog sees.' --n-best 6 --beam 5
translate runs/translation 'The dog sees.' --sample --beam 3
translate runs/translation 'The dog sees.' --seed 3
translate runs/translation 'The dog sees.' --top-k 3
translate runs/translation 'The dog sees.' --sample --top-p 0
translate runs/translation 'The dog sees.' --engine warp
translate runs/translation 'The dog sees.' --engine compiled
translate runs/translation --file two.txt --output new.txt --resume
translate runs/translation 'The dog sees.' --engine onnx
translate runs/translation 'The dog sees.' --checkpoint 99
translate runs/translation 'The dog sees.' --device quark
translate runs/translation 'The dog sees.' --output out.txt
translate runs/translation 'The dog sees.' --glossary page.txt
translate runs/translation 'The dog sees.' --ensemble runs/gpt
translate runs/translation 'The dog sees.' --document --n-best 2
translate runs/translation 'The dog sees.' 'A bird.' --attention a.png
translate runs/translation --file missing.txt
translate runs/translation < bad.txt
translate runs/languages 'one 7'
translate runs/languages 'one 7' --to it
score runs/translation
score runs/translation --source two.en --target page.txt
align runs/translation
align runs/translation --choose --layer 1
align runs/translation --source two.en --gold 5
align runs/translation --source two.en --layer 9
evaluate runs/translation --split nothing
evaluate runs/translation --source two.en
evaluate runs/translation --strict
evaluate runs/translation --file own.tsv
evaluate runs/translation --source two.en --reference two.de --against runs/translation
evaluate runs/understanding --beam 4
evaluate runs/understanding --split valid --file own.tsv
evaluate runs/understanding --split test
evaluate runs/digits --beam 4
evaluate runs/digits --split nothing
evaluate runs/images --file missing
generate runs/gpt green --file prompts.txt
generate runs/gpt green --length 0
generate runs/gpt green --temperature -1
generate runs/gpt green --top-p 2
generate runs/lstm green --int8
prompt runs/gpt missing.yaml
prompt runs/gpt task.yaml --shots 9
story runs/gpt --story missing.txt
fill runs/bert 'no blank'
fill runs/bert '[MASK]' --top-k 0
fill runs/bert < bad.txt
embed runs/bert missing.txt
embed runs/bert --file two.en --output vectors.txt
embed runs/bert --file two.en --layer 7
embed runs/bert --neighbours green --words
embed runs/gpt --file two.en --pooling pooled
predict runs/understanding --file two.en
predict runs/understanding < two.en
predict runs/understanding text --file own.tsv
predict runs/pairs 'the old man'
classify runs/images missing.png
classify runs/images names.txt
classify runs/images images/ant/0.png --top 0
classify runs/images images/ant/0.png --figure c.txt
classify runs/images images/ant/0.png --csv c.txt
classify runs/images images/ant/0.png --engine onnx
similar runs/images images/ant/0.png
similar runs/images images/ant/0.png --among names.txt
features runs/images images --output features.csv
average runs/second --last 0
export runs/translation --to nothing
export runs/translation
export runs/digits --to ctranslate2
import hf ./missing --run again/hf
import hf images --run again/hf
import hf pieces-hf --run runs/gpt
import torchvision missing.pth --run again/torchvision
import torchvision names.txt --run again/torchvision
import timm missing.pth --run again/timm
figure nothing
figure attention runs/gpt green --output a.txt
figure attention runs/gpt green --layer 9
figure attention runs/gpt green --token blue
figure losses runs/gpt --by weeks
figure losses runs/gpt runs/gpt
figure scaling runs/gpt runs/gpt-12
figure gates runs/gpt green
figure cells runs/lstm missing.txt
figure kernels runs/digits --components 99
figure kernels runs/digits --layer c3 --components 2
figure kernels runs/digits --layer c9
figure filters missing.png
figure filters --kernel nothing
figure maps runs/digits --layer f6
figure receptive nothing
figure receptive gpt2
figure saliency runs/digits --class cat
figure occlusion runs/digits --size 99
figure patches runs/vit --patch middle
figure patches runs/vit --layer 9
figure gradients --length 1
figure gradients runs/missing
figure paths nothing
figure rates nothing
figure bias --steps 0
figure updates nothing
"""
"""Mistakes: exit codes alone."""


def catalog() -> dict[str, Any]:
    """The names of all there is, and every recipe's settings (change here when they move)."""
    from landmark.core.configuration import as_values
    from landmark.tasks.card import CARDS
    from landmark.tasks.catalog import NETWORKS, RECIPES, SYSTEMS, load_catalog
    from landmark.tasks.training import resolve

    load_catalog()
    return {
        "tasks": sorted(CARDS),
        "systems": sorted(SYSTEMS),
        "networks": sorted(NETWORKS),
        "recipes": {name: flatten(as_values(resolve(name))) for name in RECIPES},
    }


def flatten(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted key."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        inside = isinstance(value, dict) and value
        flat |= flatten(value, f"{prefix}{key}.") if inside else {f"{prefix}{key}": value}
    return flat


def commands() -> dict[str, Any]:
    """Every command's arguments and options."""
    import typer

    from landmark.cli.main import build_app

    found: dict[str, Any] = {}

    def walk(command: Any, path: str) -> None:
        found[path] = {
            parameter.name: describe(parameter)
            for parameter in command.params
            if parameter.name != "help"
        }
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{path} {name}")

    walk(typer.main.get_command(build_app()), "landmark")
    return found


def describe(parameter: Any) -> dict[str, Any]:
    """What a parser is told about one argument or option."""
    kind = parameter.type_descriptor.annotation
    many = typing.get_origin(kind) in (list, tuple)
    kind = typing.get_args(kind)[0] if many else kind
    choices: Any = None
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        choices = [member.value for member in kind]
    elif typing.get_origin(kind) is typing.Literal:
        choices = list(typing.get_args(kind))
    facts = {
        "kind": parameter.param_type_name,
        "flags": [*parameter.opts, *parameter.secondary_opts],
        "type": "choice" if choices else getattr(kind, "__name__", str(kind)),
        "choices": choices,
        "min": parameter.min,
        "max": parameter.max,
        "multiple": many,
        "nargs": parameter.nargs,
        "is_flag": getattr(parameter, "is_flag", False),
        "required": parameter.required,
        "default": plain(parameter.default),
        "hidden": parameter.hidden,
    }
    return {key: value for key, value in facts.items() if value is not None}


def plain(value: Any) -> Any:
    """A default value as JSON has it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def call(line: str) -> tuple[int | str, str, str]:
    """Exit code (or the exception that a user would see a traceback of), stdout and stderr."""
    from landmark.cli.main import run

    words, _, given = line.partition(" < ")
    stdin = Path(given or os.devnull).open(encoding="utf-8")  # noqa: SIM115 (closed below)
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    previous, sys.stdin = sys.stdin, stdin
    code: int | str
    try:
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            code = run(shlex.split(words))
    except SystemExit as end:
        code = f"SystemExit {end.code}"
    except Exception as error:
        code = f"traceback: {type(error).__name__}"
        print(f"{type(error).__name__}: {error}", file=streams[1])
    finally:
        sys.stdin = previous
        stdin.close()
    out, err = (stream.buffer.getvalue().decode() for stream in streams)  # type: ignore[attr-defined]
    return code, out, err


def keys(value: Any, path: str = "") -> set[str]:
    """The key paths of a JSON value; a list is [], whatever its length."""
    if isinstance(value, dict):
        return set().union(*(keys(inner, f"{path}.{key}") for key, inner in value.items())) or {
            f"{path}{{}}"
        }
    if isinstance(value, list):
        return set().union(*(keys(inner, f"{path}[]") for inner in value)) or {f"{path}[]"}
    return {path}


def json_keys(out: str) -> list[str]:
    """The key paths of one JSON document, or of all JSON lines together."""
    try:
        documents = [json.loads(out)]
    except ValueError:
        documents = [json.loads(line) for line in out.splitlines()]
    return sorted(set().union(*(keys(one) for one in documents)))


def prepare_files() -> None:
    """A user's own texts, tables and images, in the current folder."""
    import numpy as np
    from PIL import Image

    for language, word in (("en", "one"), ("de", "eins"), ("fr", "un")):
        Path(f"a.{language}").write_text("".join(f"{word} {n}\n" for n in range(60)))
        Path(f"b.{language}").write_text("".join(f"{word} {n}\n" for n in range(60, 70)))
    two = ("The dog sees a cat.", "A bird sings.", "Der Hund sieht eine Katze.", "Ein Vogel singt.")
    words = ["the", "old", "man", "reads", "a", "good", "book", "bad", "film"]
    sentences = [" ".join(words[(n + k) % 9] for k in range(3 + n % 4)) for n in range(61)]
    table = itertools.pairwise(sentences)
    rows = [f"{a}\t{b}\t{'ab'[n % 2]}\t{n / 60}\n" for n, (a, b) in enumerate(table)]
    marked = [f"{text}\t{'ab'[n % 2]}\n" for n, text in enumerate(sentences[:40])]
    files = {
        "two.en": f"{two[0]}\n{two[1]}\n",
        "two.txt": f"{two[0]}\n{two[1]}\n",
        "two.de": f"{two[2]}\n{two[3]}\n",
        "two.tsv": f"{two[0]}\t{two[2]}\n{two[1]}\t{two[3]}\n",
        "document.txt": f"{two[0]} {two[1]}\n\n{two[1]}\n",
        "terms.tsv": "dog\tDampfschiff\n",
        "page.txt": BOTTLES.replace(",\n", ".\n\n"),
        "own.tsv": "first\tsecond\tclass\tgrade\n" + "".join(rows),
        "class.tsv": "text\tlabel\n" + "".join(marked),
        "prompts.txt": "99 green\n98 green\n",
        "turns.txt": "99 gr\n\nthe wall\n/seed\n",
        "fill.txt": "green [MASK] hanging\n99 [MASK] [MASK]\n",
        "task.yaml": TASK,
        "free.yaml": 'template: "{text}"\nquestions: [{text: "97 green"}]\n',
        "cli_line.py": PROBLEM,
        "names.txt": "ant\nbee\ncat\n",
    }
    for name, text in files.items():
        Path(name).write_text(text)
    Path("bad.txt").write_bytes(b"one\n\xff\n")
    noise = np.random.default_rng(1)
    for place, name in enumerate(("ant", "bee", "cat")):
        (Path("images") / name).mkdir(parents=True)
        for n in range(12):
            pixels = noise.integers(60 * place, 60 * place + 120, (28, 28, 1)).astype("uint8")
            Image.fromarray(pixels.repeat(3, 2)).save(f"images/{name}/{n}.png")


def prepare_networks() -> None:
    """Networks of torchvision and timm with random weights, made in a process of its own."""
    make = """
import torch
from tests.torchvision_beside import torchvision
import timm
google = torchvision.models.GoogLeNet(num_classes=3, aux_logits=False, init_weights=False)
torch.save(google.state_dict(), "google.pth")
vit = timm.create_model("vit_tiny_patch16_224", num_classes=3)
torch.save({"state_dict": vit.state_dict()}, "vit.pth")
"""
    place = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-W", "ignore", "-c", make], env=place, check=True)


def answers(told: typing.TextIO) -> tuple[dict[str, Any], float]:
    """What every command line does, by the line; and the seconds of it all."""
    began, found = time.monotonic(), {}
    demo = f"{FEW} {PAIRS} {LONG}"
    for line in (TRAININGS + WORKS.replace("DEMO", demo)).strip().splitlines():
        if not line:
            continue
        at = time.monotonic()
        code, out, err = call(line)
        found[line] = {"exit": code, "lines": len(out.splitlines())}
        if code == 0 and "--json" in line:
            found[line]["keys"] = json_keys(out)
        if (seconds := time.monotonic() - at) > 3:
            print(f"{seconds:.1f} s: {line[:150]}", file=told)
        if code != 0:
            last = err.strip().splitlines()[-1:] or [""]
            print(f"does not work ({code}): {line[:150]}\n    {last[0][:300]}", file=told)
    crossed = [
        verb.replace("again/RUN", f"again/{run}").replace("RUN", f"runs/{run}")
        for verb in VERBS.strip().splitlines()
        for run in RUNS
    ]
    for line in [*crossed, *REFUSED.strip().splitlines()]:
        if line in found:  # with more told of it
            continue
        at = time.monotonic()
        found[line] = {"exit": call(line)[0]}
        if (seconds := time.monotonic() - at) > 3:
            print(f"{seconds:.1f} s: {line[:150]}", file=told)
    return found, time.monotonic() - began


def main() -> None:
    """Take the inventory in a folder of its own."""
    target = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    result = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # torch's profiler prints past sys.stdout
    sys.path.insert(0, str(ROOT))
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            prepare_files()
            prepare_networks()
            runs, seconds = answers(sys.stderr)
        finally:
            os.chdir(home)
    inventory = {"commands": commands(), **catalog(), "runs": runs}
    text = json.dumps(inventory, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    print(f"{len(runs)} command lines in {seconds:.0f} seconds", file=sys.stderr)
    if target:
        target.write_text(text, encoding="utf-8")
    else:
        result.write(text)
        result.close()


if __name__ == "__main__":
    main()
