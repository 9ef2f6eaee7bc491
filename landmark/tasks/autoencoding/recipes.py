"""The autoencoder of Adam's paper, on which bias correction is tried."""

from landmark.data.images.corpus import ImageDataConfig
from landmark.data.images.samples import ImageBatchConfig
from landmark.engine.settings import TrainerConfig
from landmark.optim.adam_paper import CONSTANT, adam
from landmark.tasks.autoencoding.run import AutoencodingRun
from landmark.tasks.catalog import recipe


@recipe("race-vae", system="adam", summary="a variational autoencoder on MNIST: figure 4")
def race_vae() -> AutoencodingRun:
    """588 updates a pass, of a hundred images as in Kingma and Welling 2013."""
    return AutoencodingRun(
        data=ImageDataConfig(corpus="mnist", validation=0.02),
        optimizer=adam(),
        schedule=CONSTANT,
        batches=ImageBatchConfig(size=100),
        trainer=TrainerConfig(
            epochs=100,
            log_every=118,
            validate_every=588,
            checkpoint_every=588,
            keep_last=1,
            monitor="loss",
        ),
    )
