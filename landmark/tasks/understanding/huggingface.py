"""Fine-tuned BERTs as folders that `transformers` loads."""

from pathlib import Path

from landmark.core.errors import UserError
from landmark.data.running_text.wordpiece import WordPieceTokenizer
from landmark.engine.run import Run
from landmark.interop.huggingface.export import write_model, write_wordpiece_tokenizer
from landmark.interop.huggingface.understander import write_understander
from landmark.models.transformer.bert import BERTConfig
from landmark.tasks.card import ExportOptions, Report
from landmark.tasks.huggingface import architecture, export_model
from landmark.tasks.understanding.pipeline import UnderstandingPipeline
from landmark.tasks.understanding.run import UnderstandingRun


def export_understander(
    run: Run, config: UnderstandingRun, options: ExportOptions, report: Report
) -> Path:
    """Write a fine-tuned BERT and its vocabulary as a folder of Hugging Face; returns where."""
    shape = config.model
    if not isinstance(shape, BERTConfig):
        raise UserError(
            f"{run.folder}: of fine-tuned models, only a BERT goes to hf: this is "
            f"{architecture(config)}"
        )

    def fill(partial: Path, checkpoint: Path) -> None:
        pipeline = UnderstandingPipeline(run, config, options.checkpoint, "cpu")
        tokenizer = pipeline.reader.tokenizer
        assert isinstance(tokenizer, WordPieceTokenizer)  # as every BERT's is
        labels = pipeline.labels
        write_model(partial, *write_understander(pipeline.model, tokenizer.padding, labels))
        write_wordpiece_tokenizer(partial, tokenizer, shape.max_length, shape.segments)

    return export_model(run, options, fill)
