"""The card of language models."""

from landmark.tasks.card import Card, Importer, Product, Verb

_HERE = "landmark.tasks.language_model"
_SHARED = "landmark.tasks"

CARD = Card(
    name="language-model",
    task=f"{_HERE}.run:TASK",
    panel="Language",
    recipes=(f"{_HERE}.recipes",),
    data_options=f"{_SHARED}.text_options:TextDataOptions",
    open=f"{_HERE}.pipeline:open_pipeline",
    open_options=f"{_SHARED}.card:PrecisionOptions",
    evaluate=Verb(
        name="evaluate",
        help="Language models: loss, perplexity and bits per character.",
        run=f"{_HERE}.evaluation:evaluate",
        options=f"{_HERE}.options:EvaluateOptions",
        check=f"{_HERE}.evaluation:check",
        unit="batches",
        done="evaluated",
    ),
    verbs=(
        Verb(
            name="generate",
            help="Generate text with a language model from a prompt.",
            run=f"{_HERE}.verbs:generate",
            options=f"{_HERE}.options:GenerateOptions",
            takes="texts",
            check=f"{_HERE}.verbs:check_generate",
            blank="",
            unit="prompts",
            done="continued",
        ),
        Verb(
            name="prompt",
            help="Few-shot prompting: ask a language model the questions of a task file.",
            run=f"{_HERE}.verbs:prompt",
            options=f"{_HERE}.options:PromptOptions",
            check=f"{_HERE}.verbs:check_prompt",
        ),
        Verb(
            name="story",
            help="Play a text adventure with a language model.",
            run=f"{_HERE}.story:tell",
            options=f"{_HERE}.options:StoryOptions",
            check=f"{_HERE}.story:check",
        ),
        Verb(
            name="embed",
            help="Embed texts or words as vectors, or find nearest neighbours.",
            run=f"{_SHARED}.embedding:embed",
            options=f"{_SHARED}.text_options:EmbedOptions",
            open_options=f"{_SHARED}.card:OpenOptions",
            takes="texts",
            check=f"{_SHARED}.embedding:check",
            products=(
                Product(
                    "output",
                    "Write the vectors to this .npy file, one row each (--words: names to a .tsv).",
                    f"{_SHARED}.embedding:write",
                    suffixes=(".npy",),
                    replaces_output=True,
                ),
            ),
            unit="texts",
            done="read",
        ),
    ),
    exports={
        "hf": Verb(
            name="hf",
            help="GPT in Hugging Face format, for transformers.",
            run=f"{_HERE}.huggingface:export_gpt",
            options=f"{_SHARED}.card:HuggingFaceExportOptions",
        )
    },
    imports={
        "hf": Importer(
            "GPT-2 and GPT (gpt2, openai-gpt)",
            "Import a GPT-2 or GPT from Hugging Face.",
            f"{_HERE}.huggingface:import_gpt",
            f"{_SHARED}.importing:HuggingFaceOptions",
            f"{_HERE}.huggingface:accepts_gpt",
        )
    },
    begins_from=("language-model",),
)
