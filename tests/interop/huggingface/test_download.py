"""Models from a server on this machine that answers as the Hugging Face Hub does."""

import hashlib
import http.server
import json
import threading
from urllib.parse import unquote, urlsplit

import pytest

from landmark.core.errors import UserError
from landmark.interop.huggingface import download
from landmark.interop.huggingface.download import fetch_model

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "config.json": b'{"model_type": "gpt2"}',
    "tokenizer.json": b"{}",
    "model.safetensors": bytes(range(256)) * 1000,
    "README.md": b"not wanted",
    "onnx/model.onnx": b"not wanted",
    "pytorch_model.bin": b"not wanted: there is a better one",
}


class Hub:
    """Serves files; `faults` are done once each, in turn, to requests of a file's content."""

    def __init__(self, files):
        self.files, self.faults, self.asked = dict(files), [], []
        self.listing_status, self.knows_ranges = 200, True
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                url = urlsplit(self.path)
                hub.asked.append((url.path, self.headers.get("Range")))
                hub.token = self.headers.get("Authorization")
                if url.path.startswith("/api/"):
                    self.answer(hub.listing_status, json.dumps(hub.listing()).encode())
                    return
                content = hub.files[unquote(url.path).partition(f"/resolve/{COMMIT}/")[2]]
                fault = hub.faults.pop(0) if hub.faults else None
                self.send_content(content, fault)

            def send_content(self, content, fault):
                start = 0
                if hub.knows_ranges and (given := self.headers.get("Range")):
                    start = int(given.removeprefix("bytes=").removesuffix("-"))
                rest = content[start:]
                status = 206 if start else 200
                if fault == "status":
                    self.answer(503, b"")
                elif fault == "broken":
                    self.answer(status, rest, promised=len(rest), sent=len(rest) // 2)
                elif fault == "damaged":
                    self.answer(status, b"\0" * len(rest))
                else:
                    self.answer(status, rest)

            def answer(self, status, content, promised=None, sent=None):
                self.send_response(status)
                self.send_header("Content-Length", str(promised or len(content)))
                self.end_headers()
                self.wfile.write(content[:sent])

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def listing(self):
        siblings = []
        for name, content in self.files.items():
            entry = {"rfilename": name, "size": len(content)}
            if name.endswith((".safetensors", ".bin")):
                entry["lfs"] = {
                    "sha256": hashlib.sha256(content).hexdigest(),
                    "size": len(content),
                    "pointerSize": 130,
                }
            else:
                header = f"blob {len(content)}\0".encode()
                entry["blobId"] = hashlib.sha1(header + content).hexdigest()
            siblings.append(entry)
        return {"sha": COMMIT, "siblings": siblings}

    def contents_asked(self):
        return [path.rpartition("/")[2] for path, _ in self.asked if "/resolve/" in path]


@pytest.fixture
def hub(monkeypatch, tmp_path):
    opened = Hub(FILES)
    monkeypatch.setenv("HF_ENDPOINT", f"{opened.url}/")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LANDMARK_DATA", raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    yield opened
    opened.server.shutdown()
    opened.server.server_close()


def silent(record):
    pass


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def wanted(*names):
    return {name: FILES[name] for name in names}


def test_what_we_read_of_a_model_comes_and_nothing_else(hub, tmp_path):
    records = []
    folder = fetch_model("somebody/some-model", records.append)
    assert folder == tmp_path / f"cache/landmark/huggingface/somebody--some-model/{COMMIT}"
    assert contents(folder) == wanted("config.json", "tokenizer.json", "model.safetensors")
    assert hub.asked[0] == ("/api/models/somebody/some-model/revision/main", None)
    assert hub.asked[1][0] == f"/somebody/some-model/resolve/{COMMIT}/config.json"
    assert records[-1] == {
        "kind": "download",
        "name": "model.safetensors",
        "done": 256_000,
        "total": 256_000,
    }
    assert [path.name for path in folder.parent.iterdir()] == [COMMIT]


def test_a_model_that_is_here_is_not_downloaded_again(hub):
    first = fetch_model("gpt2", silent)
    hub.asked.clear()
    assert fetch_model("gpt2", silent) == first
    assert hub.contents_asked() == []


def test_weights_in_several_files_come_with_their_index(hub):
    body = {"weight_map": {"a": "model-00001-of-00002.safetensors"}}
    del hub.files["model.safetensors"]
    hub.files["model.safetensors.index.json"] = json.dumps(body).encode()
    hub.files["model-00001-of-00002.safetensors"] = b"one"
    hub.files["model-00002-of-00002.safetensors"] = b"two"
    folder = fetch_model("gpt2", silent)
    assert {path.name for path in folder.glob("*model*")} == {
        "model.safetensors.index.json",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    }


def test_a_pickle_comes_where_there_is_nothing_better(hub):
    del hub.files["model.safetensors"]
    assert (fetch_model("gpt2", silent) / "pytorch_model.bin").is_file()


def test_a_broken_download_goes_on_where_it_stopped(hub):
    hub.faults = [None, None, "broken", "broken", "status"]
    notes = []
    folder = fetch_model("gpt2", lambda r: notes.append(r) if r["kind"] == "note" else None)
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    ranges = [given for path, given in hub.asked if path.endswith("model.safetensors")]
    assert ranges == [None, "bytes=128000-", "bytes=192000-", "bytes=192000-"]
    assert "the connection was lost after 128,000 of 256,000 bytes" in notes[0]["text"]


def test_a_server_that_knows_no_ranges_sends_all_of_it_again(hub):
    hub.faults, hub.knows_ranges = [None, None, "broken"], False
    folder = fetch_model("gpt2", silent)
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_what_came_damaged_is_fetched_anew(hub):
    hub.faults = ["damaged", None, None, "damaged"]
    folder = fetch_model("gpt2", silent)
    assert contents(folder) == wanted("config.json", "tokenizer.json", "model.safetensors")
    assert hub.contents_asked().count("model.safetensors") == 2


def test_giving_up_leaves_no_folder_but_keeps_what_has_come(hub):
    hub.faults = [None, None] + ["broken"] * download.ATTEMPTS
    with pytest.raises(UserError, match=r"model\.safetensors: could not be downloaded .* is kept"):
        fetch_model("gpt2", silent)
    hub.asked.clear()
    hub.faults = []
    folder = fetch_model("gpt2", silent)
    assert hub.contents_asked() == ["model.safetensors"]
    assert hub.asked[-1][1] is not None
    assert contents(folder) == wanted("config.json", "tokenizer.json", "model.safetensors")


def test_a_token_is_sent_if_there_is_one(hub, monkeypatch):
    fetch_model("one", silent)
    assert hub.token is None
    monkeypatch.setenv("HF_TOKEN", "secret")
    fetch_model("other", silent)
    assert hub.token == "Bearer secret"


@pytest.mark.parametrize(
    ("status", "said"),
    [(404, "there is no such model, or no revision 'main'"), (401, "set HF_TOKEN"), (500, "500")],
)
def test_a_refusal_is_told(status, said, hub):
    hub.listing_status = status
    with pytest.raises(UserError, match=said):
        fetch_model("gpt2", silent)
    assert len(hub.asked) == (download.ATTEMPTS if status == 500 else 1)


def test_a_model_without_settings_or_weights_is_refused(hub):
    del hub.files["model.safetensors"], hub.files["pytorch_model.bin"]
    with pytest.raises(UserError, match="has no weights for PyTorch"):
        fetch_model("gpt2", silent)
    del hub.files["config.json"]
    with pytest.raises(UserError, match=r"has no config\.json"):
        fetch_model("gpt2", silent)


def test_a_server_of_another_kind_is_told(hub, monkeypatch):
    monkeypatch.setattr(hub, "listing", lambda: {"sha": "../../..", "siblings": []})
    with pytest.raises(UserError, match="does not answer as the Hugging Face Hub does"):
        fetch_model("gpt2", silent)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UserError, match="check the connection, or HF_ENDPOINT"):
        fetch_model("gpt2", silent)


@pytest.mark.parametrize("name", ["", "../x", "a/b/c", "a b", "a/..", "http://x"])
def test_what_is_no_name_is_refused_before_anything_is_asked(name, hub):
    with pytest.raises(UserError, match="neither a folder nor a model name"):
        fetch_model(name, silent)
    assert hub.asked == []
