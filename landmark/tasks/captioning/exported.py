"""A captioner's export as an engine in PyTorch's place."""

from typing import TYPE_CHECKING, cast

import torch

from landmark.engine.run import Run
from landmark.interop.library import library
from landmark.models.captioning.captioner import Captioner
from landmark.tasks.captioning.engine import torch_engine
from landmark.tasks.exporting import open_export
from landmark.tasks.onnx_writer import OnnxWriter
from landmark.tasks.searching import Engine

if TYPE_CHECKING:
    from landmark.tasks.captioning.pipeline import CaptioningPipeline


def load_engine(run: Run, pipeline: "CaptioningPipeline", checkpoint: str | None) -> Engine:
    """The engine of a run's ONNX export; refuses one that is missing, damaged or outdated."""
    library("onnxruntime")
    folder = open_export(run, "onnx", checkpoint)
    graphs = OnnxWriter(folder, torch.get_num_threads(), len(pipeline.tokenizer))
    graphs.config.places = pipeline.config.model.places
    return torch_engine([cast(Captioner, graphs)], pipeline.tokenizer, torch.device("cpu"))
