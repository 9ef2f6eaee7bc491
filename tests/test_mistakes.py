"""What goes wrong for a newcomer: each mistake gets one clear line and exit code 2, and no file
is lost or left half-written.
"""

import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.faults.storage import filled, read_only, small_disk
from tests.cli.test_mistakes_without_torch import PROGRAM

STEPS = "trainer.max_steps=2 trainer.validate_every=2 trainer.checkpoint_every=2"
PAIRS = f"tokenizer.vocab_size=400 model.hidden_size=16 model.inner_size=16 {STEPS}"

# mistake: words, and what the line says. `mt`, `lm` and `im` are a translator, a GPT and a LeNet.
NAMES_AND_PATHS = {
    "a command misspelt": ("trian", "did you mean train"),
    "a recipe as a command": ("gpt-shakespeare", "did you mean `landmark train gpt-shakespeare`"),
    "no recipe": ("train", "train needs a recipe: try `landmark train"),
    "data but no recipe": ("train --text my.txt", "for --text: gpt, "),
    "a recipe misspelt": ("train trnasformer-embedded", "unknown recipe .*transformer-embedded"),
    "a system for a recipe": ("train transformer", "is a system, .* its recipes: transformer-emb"),
    "a network for a recipe": ("train resnet-50", "is a network of resnet, .* its recipes: "),
    "a run for a recipe": ("train mt", "is a run, .*train mt/recipe.yaml --run mt --resume"),
    "a folder for a recipe": ("train photos", "photos: is a folder: name a recipe"),
    "a recipe file missing": ("train missing.yaml", "missing.yaml: there is no such file"),
    "an option of another task": ("train gpt --source my.en", "recipes for --source: translation"),
    "a setting with dashes": ("train gpt --epochs 3", "settings are given .* trainer.max_steps=5"),
    "a system misspelt": ("list transfromer", "did you mean transformer"),
    "a word after --json": ("list --json garbage", "unknown system 'garbage'"),
    "a task misspelt": ("list --task translatoin", "translation"),
    "a network misspelt": ("show resnet-51", "did you mean resnet-1?5"),
    "a figure misspelt": ("figure atention", "did you mean attention"),
    "a data set misspelt": ("data get mnsit", "did you mean mnist|choose from"),
    "no run": ("translate", r"needs RUN, the run directory: landmark translate .*RUN \[TEXT\]"),
    "a run that is not there": ("translate missing hello", "missing: there is no such run"),
    "a file for a run": ("translate my.en hello", "my.en: is not a run"),
    "a folder for a run": ("evaluate photos", "photos: is not a run: it has no recipe.yaml"),
    "a verb of another task": ("translate lm hello", "'language-model', .* it has .*generate"),
    "a file for a text": ("translate mt my.en", "my.en: is a file, not a text: give --file my.en"),
    "a folder for a text": ("translate mt photos", "photos: is a folder, not a text"),
    "an input that is not there": ("translate mt --file missing.txt", "missing.txt: there is no"),
    "a folder for an input": ("translate mt --file photos", "photos: is not a file"),
    "texts and a file": ("translate mt hello --file my.en", "give texts or --file, not both"),
    "output without a file": ("translate mt hello --output o", "--output needs --file"),
    "no image": ("classify im", "classify needs IMAGE"),
    "an option misspelt": ("translate mt hello --baem 2", "No such option: --baem .*--beam"),
    "an option of another verb": ("translate mt hello --split test", "--split does not fit"),
    "options that exclude each other": ("translate mt hi --sample --beam 2", "not both"),
    "a negative number": ("translate mt hello --beam -4", "--beam.* greater than or equal to 1"),
    "a word for a number": ("translate mt hello --beam many", "--beam"),
    "a format misspelt": ("export mt --to onxx", "no export to 'onxx': it has .*onnx"),
    "no format": ("export mt", "export needs --to, format: "),
    "weights that are not there": ("import torchvision missing.pth", "missing.pth: there is no"),
    "a folder of runs that is not there": ("runs --folder missing", "missing: there is no such"),
    "one run to compare": ("runs compare mt", "at least two different runs"),
}  # fmt: skip

SETTINGS = {
    "a key misspelt": ("train gpt trainer.max_step=5", "unknown key .*did you mean max_steps"),
    "a key at the wrong place": ("train gpt max_steps=5", "did you mean trainer.max_steps"),
    "a key of another library": ("train gpt lr=0.1", "did you mean schedule.rate"),
    "a key without a value": ("train gpt dropout", "write key=value, as model.dropout=0.2"),
    "a word for a setting's number": ("train gpt trainer.max_steps=many", "integer .*'many'"),
    "a negative setting": ("train gpt trainer.max_steps=-1", "greater than or equal to 1 .*-1"),
    "a share above one": ("train gpt model.dropout=2", "model.dropout: .*less than 1 .*2"),
    "a key misspelt in a file": ("train typo.yaml", "typo.yaml:2: .*'model.dropuot': did you mean"),
    "a recipe file that is prose": (
        "train my.txt",
        "my.txt:1: a recipe file must contain `key: value`",
    ),
    "a device that is not there": ("train gpt --text my.txt --device cuda:7", "choose from auto"),
    "a number of threads": ("train gpt --threads -1", "--threads.* greater than or equal to 1"),
}
DATA = {
    "no pairs": (f"train translation {PAIRS}", "give --source and --target"),
    "one side of the pairs": (f"train translation {PAIRS} --source my.en", "or name the file"),
    "unequal lengths": (
        f"train translation {PAIRS} --source my.en --target short.de",
        "my.en has 120 lines but short.de has 50: they must correspond line by line",
    ),
    "one file for both sides": (
        f"train translation {PAIRS} --source my.en --target my.en",
        "my.en: is given for both sides",
    ),
    "an empty file of pairs": (
        f"train translation {PAIRS} --source empty --target empty", "empty: is empty"),
    "pairs that are blank": (
        f"train translation {PAIRS} --source blank --target blank.de", "no pair has words"),
    "pairs that are not there": (
        f"train translation {PAIRS} --source missing.en --target my.de", "missing.en: cannot be"),
    "a folder of pairs": (
        f"train translation {PAIRS} --source photos --target my.de", "photos: is a folder"),
    "Latin-1": (
        f"train translation {PAIRS} --source my.en --target latin1.de",
        r"latin1.de:\d+: not valid UTF-8 .*convert the file",
    ),
    "no text": ("train gpt", "give --text"),
    "an empty text": ("train gpt --text empty", "empty: is empty: give some text"),
    "a text of blank lines": ("train gpt --text blank", "blank: contains only blank lines"),
    "a folder for a text file": ("train gpt --text photos", "photos: is a folder, not a file"),
    "a text that is too short": (
        "train gpt tokenizer.kind=characters data.separate_documents=false --text one",
        "one: .*too short",
    ),
    "UTF-16": ("train gpt --text utf16.txt", "utf16.txt: is UTF-16, .* iconv -f UTF-16 -t UTF-8"),
    "UTF-16 without a mark": ("train gpt --text utf16le.txt", "utf16le.txt: is UTF-16"),
    "UTF-16 to translate": ("translate mt --file utf16.txt", "utf16.txt: is UTF-16"),
    "NUL bytes": ("train gpt --text nul.txt", "nul.txt:3: a NUL byte"),
    "a binary file": ("train gpt --text my.png", r"my.png:\d: (a NUL byte|not valid UTF-8)"),
    "half a gzip file": ("train gpt --text half.gz", "half.gz: damaged gzip file"),
    "scores that are no JSON": ("export lm --to hf --evaluation garbage.json", "garbage.json"),
    "no images": ("train image-files", "give --data FOLDER"),
    "an image folder that is not there": ("train image-files --data missing", "missing: does not"),
    "an image folder with nothing in it": (
        "train image-files --data nothing", "nothing: contains no images"),
    "an image folder with one class": ("train image-files --data oneclass", "is only one"),
    "a file for an image folder": ("train image-files --data my.txt", "my.txt: is neither a"),
    "a broken image": ("classify im broken.png", "broken.png: is damaged"),
    "text called .png": ("classify im text.png", "text.png: is not an image in"),
    "a class that training had not": ("evaluate im --file photos", "the class 'cats' is not in tr"),
    "a split that is not there": ("evaluate lm --split test", "choose from: train, valid"),
    "no references": ("evaluate mt --source my.en", "--source and --reference go together"),
    "a task file that is no JSON": ("prompt lm garbage.json", "garbage.json"),
}  # fmt: skip
RUNS = {
    "a run that is there already": (f"train gpt {STEPS} --run lm", "lm: exists: continue"),
    "nothing to resume": (f"train gpt {STEPS} --run new --resume", "new: there is no such run"),
    "other settings than it began with": (
        "train mt/recipe.yaml model.dropout=0.5 --run mt --resume",
        "mt: was trained with model.dropout=0.1, not 0.5",
    ),
    "somebody's folder for a run": (
        f"train gpt {STEPS} --text my.txt --run photos", "photos: is neither empty nor a run"),
    "a file for a new run": (f"train gpt {STEPS} --text my.txt --run one", "one: is a file"),
    "a new run inside a file": (f"train gpt {STEPS} --text my.txt --run one/x", "one: is a file"),
    "to begin from another task": (
        f"train gpt {STEPS} --text my.txt --init-from im", "im: is a run of task 'image-class"),
    "a checkpoint that is not there": (
        "translate mt hello --checkpoint 99", "mt: no checkpoint '99': choose from .*best"),
    "a device to translate on": ("translate mt hello --device cuda", "choose from auto, cpu"),
    "an export that was not made": (
        "translate mt hello --engine onnx", "there is no export yet: landmark export mt --to onnx"),
    "output over the input": ("translate mt --file my.en --output my.en", "is the input itself"),
    "output into a folder that is not there": (
        "translate mt --file my.en --output no/o.de", "there is no folder no"),
    "a folder for output": ("translate mt --file my.en --output photos", "photos: is a folder"),
    "output that was never begun": (
        "translate mt --file my.en --output o.de --resume", "o.de: there is nothing to resume"),
    "a figure's ending": (
        "figure losses mt --output losses.gif", r"as 'gif': .*ends in \.png"),
    "a picture's ending": (
        "classify im photos/cats/1.png --figure f.xyz", r"as 'xyz': .*ends in \.png"),
    "a figure over its image": (
        "classify im photos/cats/1.png --figure photos/cats/1.png", "is the input itself"),
    "a table's ending": (
        "classify im photos/cats/1.png --csv table.xlsx", r"name a \.csv file"),
    "an export over a file": ("export mt --to onnx --output my.en", "my.en: is a file"),
    "an export into somebody's folder": (
        "export mt --to onnx --output photos", "photos: contains something other than an export"),
    "weights that are none": (
        "import torchvision my.txt --run new", "my.txt: is not plain weights"),
    "a damaged safetensors file": (
        "import timm none.safetensors --run new", "none.safetensors: damaged"),
    "a folder without a model": ("import hf photos --run new", "photos: has no config.json"),
}  # fmt: skip
LIMITS = {
    "a beam without end": ("translate mt hello --beam 1000000", "--beam.*or equal to 1024"),
    "a list without end": ("translate mt hello --n-best 1000000", "--n-best.*equal to 1024"),
    "samples without end": ("generate lm a --samples 1000000000", "--samples.*equal to 100000"),
    "a text without end": ("generate lm a --length 1000000000", "--length.*equal to 1000000"),
    "a temperature near zero": ("generate lm a --temperature 1e-300", "at least 0.01, or 0 for"),
    "threads without end": ("evaluate lm --threads 1000000", "--threads.*equal to 1024"),
    "a setting of threads": (f"train gpt --text my.txt {STEPS} threads=1000000", "equal to 1024"),
    "workers without end": (
        f"train gpt --text my.txt {STEPS} batches.workers=100000", "batches.workers.*equal to 256"),
    "resamples without end": ("evaluate mt --bootstrap 1000000000", "--bootstrap.*to 100000"),
}  # fmt: skip
TABLE = NAMES_AND_PATHS | SETTINGS | DATA | RUNS | LIMITS


@pytest.fixture(scope="module")
def house(tmp_path_factory, tiny_run, pretrained_runs, digits_run):
    """A folder with three runs, and with files of every kind that somebody may have."""
    folder = tmp_path_factory.mktemp("house")
    for name, run in {"mt": tiny_run, "lm": pretrained_runs["gpt"], "im": digits_run}.items():
        shutil.copytree(run, folder / name)
    english = [f"Sentence {n} has a dog and {n % 7} cats." for n in range(120)]
    german = [f"Satz {n} hat einen größeren Hund und {n % 7} Katzen." for n in range(120)]
    one, two = ("".join(f"{line}\n" for line in lines) for lines in (english, german))
    image = Image.effect_noise((20, 20), 90)
    with contextlib.chdir(folder):
        files = {
            "my.en": one, "my.de": two, "my.txt": one, "empty": "", "blank": "\n  \n" * 60,
            "blank.de": "\n" * 120,
            "one": "a\n", "short.de": "".join(f"{line}\n" for line in german[:50]),
            "typo.yaml": "task: translation\nmodel: {dropuot: 0.1}\n", "text.png": "hello",
            "garbage.json": '{"questions": [', "none.safetensors": "nothing",
        }  # fmt: skip
        for name, text in files.items():
            Path(name).write_text(text, encoding="utf-8", newline="")
        Path("utf16.txt").write_text(one, encoding="utf-16")
        Path("utf16le.txt").write_text(one, encoding="utf-16-le")
        Path("latin1.de").write_text(two, encoding="latin-1")
        Path("nul.txt").write_bytes(b"one\ntwo\nthr\0ee\n" * 99)
        Path("half.gz").write_bytes(gzip.compress(one.encode())[:-20])
        Path("nothing").mkdir()
        Path("runs").mkdir()
        for place in ("photos/cats", "photos/dogs", "oneclass/cats"):
            Path(place).mkdir(parents=True)
            for number in (1, 2):
                image.save(f"{place}/{number}.png")
        image.save("my.png")
        Path("broken.png").write_bytes(Path("my.png").read_bytes()[:200])
    return folder


def contents(folder):
    """Every file with its bytes, and every folder."""
    return {
        path.relative_to(folder): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("name", TABLE)
def test_a_mistake_gets_one_line_and_costs_nothing(house, monkeypatch, mistake, name):
    monkeypatch.chdir(house)
    words, said = TABLE[name]
    before = contents(house)
    answer = mistake(*words.split(), worked=True)
    assert re.search(said, answer), answer
    assert len(answer) < 600
    assert contents(house) == before


def test_names_and_paths_are_answered_without_torch(house):
    lines = [words.split() for words, _ in NAMES_AND_PATHS.values()]
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        cwd=house,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    answers = [json.loads(line) for line in process.stdout.splitlines()]
    for words, code, said, heavy in answers:
        assert not heavy, f"{' '.join(words)} imports {heavy}"
        assert (code, said.count("\n")) == (2, 1), (words, said)
    assert len(answers) == len(lines)


@pytest.mark.parametrize(
    ("package", "words", "remedy"),
    [
        ("onnx", "export mt --to onnx", "pip install 'landmark[deploy]'"),
        ("ctranslate2", "export mt --to ctranslate2", "pip install 'landmark[deploy]'"),
        ("torch.utils.tensorboard", "train gpt --text my.txt --tensorboard", "[tensorboard]"),
        ("wandb", "train gpt --text my.txt --wandb", "pip install 'landmark[wandb]'"),
        (
            "datasets",
            "data from-hf photos --text text --output o.txt",
            "pip install 'landmark[datasets]'",
        ),
    ],
)
def test_an_extra_that_is_not_installed(house, monkeypatch, mistake, package, words, remedy):
    monkeypatch.chdir(house)
    monkeypatch.setitem(sys.modules, package, None)
    before = contents(house)
    assert remedy in mistake(*words.split(), worked=True)
    assert contents(house) == before


def test_windows_files_train_and_translate_as_others_do(house, tmp_path, command, tiny):
    weights, answers = [], []
    for number, change in enumerate(
        [str.encode, lambda text: text.replace("\n", "\r\n").encode("utf-8-sig")]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        for side in ("my.en", "my.de"):
            (folder / side).write_bytes(change((house / side).read_text(encoding="utf-8")))
        words = ["--source", folder / "my.en", "--target", folder / "my.de", *tiny, *STEPS.split()]
        assert command("train", "translation", *words, "--run", folder / "run").code == 0
        newest = (folder / "run/checkpoints").glob("step-*/model.safetensors")
        weights.append([path.read_bytes() for path in newest])
        answers.append(command("translate", house / "mt", "--file", folder / "my.en").out)
    assert weights[0] == weights[1] != []
    assert answers[0] == answers[1]
    assert answers[0].count("\n") == 120


def test_a_line_of_100_000_characters(house, tmp_path, command, mistake, tiny):
    long = "word " * 20_000
    (tmp_path / "long.txt").write_text(f"{long}\n")
    for side in ("my.en", "my.de"):
        text = (house / side).read_text(encoding="utf-8") + f"{long}\n"
        (tmp_path / side).write_text(text, encoding="utf-8")
    files = ["--source", tmp_path / "my.en", "--target", tmp_path / "my.de"]
    settings = [*tiny, *STEPS.split(), "--run", tmp_path / "run"]
    answer = command("train", "translation", *files, *settings)
    assert answer.code == 0
    assert "warning: left out: 1 longer than 63 tokens" in answer.err
    before = contents(tmp_path)
    for output in ([], ["--output", tmp_path / "long.de"]):
        words = ["translate", house / "mt", "--file", tmp_path / "long.txt", *output]
        assert "long.txt:1: the sentence has" in mistake(*words, worked=True)
    assert contents(tmp_path) == before


def test_an_image_that_is_broken_is_left_out_of_a_training(house, tmp_path, command):
    shutil.copytree(house / "photos", tmp_path / "photos")
    for name in ("cats", "dogs"):
        for number in range(3, 9):
            shutil.copy(tmp_path / f"photos/{name}/1.png", tmp_path / f"photos/{name}/{number}.png")
    shutil.copy(house / "broken.png", tmp_path / "photos/cats/broken.png")
    settings = ["model={architecture: lenet}", *STEPS.split(), "--run", tmp_path / "run"]
    answer = command("train", "image-files", "--data", tmp_path / "photos", *settings)
    assert answer.code == 0, answer.err
    assert re.search(
        r"^warning: skipped 1 of 15 images: .*broken\.png: is damaged", answer.err, re.M
    )


def test_an_interrupted_output_goes_on(house, tmp_path, command, mistake, monkeypatch):
    from landmark.tasks.translation.pipeline import TranslationPipeline

    words = ["translate", house / "mt", "--file", house / "my.en", "--output", tmp_path / "o.de"]
    with monkeypatch.context() as patch:
        patch.setattr(TranslationPipeline, "translate_sentences", interrupt)
        answer = command(*words)
    assert answer.code == 130
    said = "o.de: progress saved; continue with the same command and --resume"
    assert [line.endswith(said) for line in answer.err.splitlines()] == [True, False]
    assert answer.err.endswith("\nlandmark: interrupted\n")
    assert "continue with --resume, or delete" in mistake(*words)
    assert command(*words, "--resume").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["o.de"]
    assert (tmp_path / "o.de").read_text().count("\n") == 120


def interrupt(*arguments):
    raise KeyboardInterrupt


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_training_that_is_stopped_says_how_to_go_on(tmp_path, tiny, command, number, code):
    steps = ["trainer.max_steps=200", "trainer.validate_every=200", "trainer.checkpoint_every=200"]
    words = ["train", "transformer-embedded", *tiny, *steps, "--run", str(tmp_path / "run")]
    process = subprocess.Popen(
        [sys.executable, "-m", "landmark", *words], stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if line.startswith("step "):
            break
    process.send_signal(number)
    said = process.stderr.read().splitlines()[-1]
    assert process.wait() == code
    name = signal.Signals(number).name
    stopped = rf"stopped by {name} after step (\d+), all saved; continue with the same command "
    stopped += "and --resume"
    step = int(re.fullmatch(stopped, said)[1])
    answer = command(*words, "--resume")
    assert answer.code == 0
    first = re.search(r"^step (\d+)/200: ", answer.err, re.M)
    assert step < int(first[1]) <= step + 3  # a line every third step


@pytest.fixture
def disk(tmp_path):
    try:
        with small_disk(tmp_path / "disk") as folder:
            yield folder
    except PermissionError as error:
        pytest.skip(f"{error}: tests/faults has other means")


def test_a_full_disk(house, disk, mistake, tiny):
    with filled(disk, 2):
        said = mistake("train", "transformer-embedded", *tiny, "--run", disk / "run", worked=True)
        assert "No space left on device" in said
        assert not list(disk.rglob("recipe.yaml"))
        picture = disk / "losses.png"
        said = mistake("figure", "losses", house / "mt", "--output", picture, worked=True)
        assert "No space left on device" in said
        words = ["export", house / "im", "--to", "onnx", "--output", disk / "onnx"]
        assert "No space left on device" in mistake(*words, worked=True)
        left = [path.name for path in disk.rglob("*") if path.is_file()]
        assert left == ["ballast"]


def test_a_folder_that_is_read_only(house, disk, mistake, tiny):
    text = disk / "text"
    text.write_text("A dog.\n")
    words = {
        "run": ["train", "transformer-embedded", *tiny, "--run", disk / "run"],
        "figure": ["figure", "losses", house / "mt", "--output", disk / "losses.png"],
        "export": ["export", house / "im", "--to", "onnx", "--output", disk / "onnx"],
        "output": ["translate", house / "mt", "--file", text, "--output", disk / "o.de"],
    }
    with read_only(disk):
        for line in words.values():
            assert "Read-only file system" in mistake(*line, worked=True)
    assert list(disk.iterdir()) == [text]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_device_is_no_traceback(buffered, unbuffered):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "landmark", "list"]
        place = buffered | {"PYTHONUNBUFFERED": unbuffered}
        answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=place)  # noqa: PLW1510
    assert (answer.returncode, answer.stderr) == (2, "landmark: No space left on device\n")


def test_piping_into_head(buffered):
    line = f"set -o pipefail; {sys.executable} -m landmark list --json | head -1"
    answer = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=buffered)  # noqa: PLW1510
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.count("\n") == 1


SCREEN = """
import json, sys
from landmark.cli.main import run
for words in json.loads(sys.argv[1]):
    print("exit code", run(words), flush=True)
"""


LOOKING = ["--help", "train --help", "list", "list gpt", "runs", "nonsense"]


@pytest.mark.parametrize(
    ("terminal", "codes", "works"),
    [
        ({"NO_COLOR": "1"}, r"\x1b\[(\d+;)*[349]\d(;\d+)*m", True),
        ({"TERM": "dumb"}, r"\x1b", False),
    ],
)
def test_a_narrow_terminal_without_colours(house, tmp_path, terminal, codes, works):
    small = "model.hidden_size=16 model.num_heads=2 model.num_layers=1 model.max_length=32"
    text = f"train gpt --text {house}/my.txt {STEPS} {small} batches.length=16 threads=1"
    working = [text, f"evaluate {house}/mt --split valid", "show resnet-50"]
    words = [line.split() for line in [*LOOKING, *(working if works else [])]]
    leader, follower = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SCREEN, json.dumps(words)],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "20", "PYTHONPATH": os.pathsep.join(sys.path), **terminal},
    )
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is gone when the process is
        while read := os.read(leader, 1 << 16):
            shown += read
    os.close(leader)
    assert process.wait() == 0
    text = shown.decode()
    assert re.findall(r"exit code (\d)", text) == [*"000002", *("000" if works else "")]
    assert "Traceback" not in text
    assert not re.search(codes, text)
