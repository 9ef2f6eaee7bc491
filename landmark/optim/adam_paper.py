"""Settings of the experiments of Adam's paper, section 6: Kingma and Ba 2014, arXiv 1412.6980.

The rate is constant but for logistic regression, where it falls as 1 / sqrt(t). How strong L2 is
the paper does not say.
"""

from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig

FALLING = ScheduleConfig(name="inverse-sqrt", rate=1e-3, warmup_steps=0)
"""alpha / sqrt(t): section 6.1."""
CONSTANT = ScheduleConfig(name="constant", rate=1e-3, warmup_steps=0)


def adam(weight_decay: float = 0.0) -> OptimizerConfig:
    """Adam as its paper has it, on the cost with L2 or without."""
    return OptimizerConfig(
        name="adam", betas=(0.9, 0.999), epsilon=1e-8, weight_decay=weight_decay, decay="all"
    )
