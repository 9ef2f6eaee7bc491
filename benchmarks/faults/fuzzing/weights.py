"""Weights of other libraries: safetensors, and both kinds of files that torch.save has made."""

import io
import json
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

from benchmarks.faults.fuzzing.target import Target


def read(path: Path) -> object:
    """As an import reads and checks them; a suffix of its own would name the kind."""
    from landmark.interop.tensor_file import read_state, refuse_nonfinite

    content = path.read_bytes()
    if not content.startswith((b"PK", b"\x80")):
        path = path.with_suffix(".safetensors")
        path.write_bytes(content)
    state = read_state(path)
    for name, tensor in state.items():
        if tensor.is_floating_point():
            refuse_nonfinite(name, tensor, path)
        tensor.float().reshape(-1)
    return state


def good() -> list[bytes]:
    import torch
    from safetensors.torch import save

    state = OrderedDict({"a.weight": torch.arange(6.0).view(2, 3), "a.bias": torch.zeros(2)})
    state["a.count"] = torch.tensor(3)
    files = []
    for content in (state, {"state_dict": {f"module.{n}": t for n, t in state.items()}, "step": 3}):
        for as_zip in (True, False):
            file = io.BytesIO()
            torch.save(content, file, _use_new_zipfile_serialization=as_zip)
            files.append(file.getvalue())
    return [save(dict(state)), *files]


def hostile() -> list[bytes]:
    """Programs, archives that swell, views of one number that claim to be a million million."""
    import torch

    program = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), program)
    files = [program.getvalue(), b"PK\x05\x06" + bytes(18), b"\x80\x02}q\x00.", b"\x80\x02c"]
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a/data.pkl", "a/data/0", "a/version"):
            archive.writestr(name, bytes(1 << 24))
    files.append(bomb.getvalue())
    for state in (
        {"a": torch.zeros(1).expand(1 << 20, 1 << 20)},
        {"a": torch.eye(3).to_sparse()},
        {"a": torch.full((3,), float("nan"))},
        {"a": torch.zeros(2, dtype=torch.complex64)},
        {("a", 1): torch.zeros(2)},
        {"a": torch.empty(3, device="meta")},
        {"a": torch.quantize_per_tensor(torch.zeros(2), 1.0, 0, torch.qint8)},
    ):
        file = io.BytesIO()
        torch.save(state, file)
        files.append(file.getvalue())
    for header in (
        {"a": {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}},
        {"a": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]}},
        {"a": {"dtype": "F64", "shape": [0, 1 << 62], "data_offsets": [0, 0]}},
        {"__metadata__": {"a": 3}},
        [],
    ):
        text = json.dumps(header).encode()
        files.append(struct.pack("<Q", len(text)) + text + bytes(4))
    return [*files, struct.pack("<Q", 1 << 63), struct.pack("<Q", 200_000) + b"[" * 200_000]


TOKENS = (
    b'"dtype":"BF16"', b'"shape":[0]', b"ctorch\nFloatTensor\n", b"cbuiltins\nbytearray\n",
    b"ccollections\nOrderedDict\n", b"R", b"(", b"t", b"}", b"u", b".", b"\x85R",
    b"J\xff\xff\xff\x7f",
    b"ctorch._utils\n_rebuild_tensor_v2\n", b"q\x01h\x01", b"PK\x01\x02", b"PK\x03\x04",
)  # fmt: skip
TARGETS = [Target("weights", ".pth", good, read, hostile, TOKENS)]
