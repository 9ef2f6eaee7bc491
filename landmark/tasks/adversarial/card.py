"""The card of generative adversarial networks."""

from landmark.tasks.card import Card, Verb

_HERE = "landmark.tasks.adversarial"

CARD = Card(
    name="adversarial",
    task=f"{_HERE}.run:TASK",
    panel="Images",
    recipes=(f"{_HERE}.recipes",),
    open=f"{_HERE}.pipeline:open_pipeline",
    evaluate=Verb(
        name="evaluate",
        help="GANs: mean and standard deviation of samples and data, their "
        "Jensen-Shannon divergence, and how far the discriminator is from 1/2.",
        run=f"{_HERE}.evaluation:evaluate",
        options=f"{_HERE}.options:EvaluateOptions",
        unit="samples",
        done="drawn",
    ),
    verbs=(
        Verb(
            name="sample",
            help="Sample from a GAN, one number per line.",
            summary="Sample from a generative model: images or numbers.",
            run=f"{_HERE}.verbs:sample",
            options=f"{_HERE}.options:SampleOptions",
            unit="samples",
            done="drawn",
        ),
    ),
)
