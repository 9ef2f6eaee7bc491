"""Adam's race on sparse features: figure 1 of its paper."""

from landmark.data.understanding.corpus import TaskConfig
from landmark.engine.settings import TrainerConfig
from landmark.optim.adam_paper import FALLING, adam
from landmark.tasks.bag_of_words.run import BagOfWordsRun
from landmark.tasks.catalog import recipe


@recipe(
    "race-bag-of-words",
    system="adam",
    summary="logistic regression on bags of words, SST-2 instead of IMDB: figure 1",
)
def race_bag_of_words() -> BagOfWordsRun:
    return BagOfWordsRun(
        data=TaskConfig(corpus="sst2", text="sentence"),
        optimizer=adam(),
        schedule=FALLING,
        trainer=TrainerConfig(
            epochs=45,
            log_every=100,
            validate_every=500,
            checkpoint_every=500,
            keep_last=1,
            monitor="accuracy",
            higher_is_better=True,
        ),
    )
