"""AlphaGo's stages as recipes, and the small residual network that does all of them at once."""

from landmark.engine.settings import TrainerConfig
from landmark.models.go.alphago import (
    AlphagoPolicy,
    AlphagoPolicyConfig,
    AlphagoValue,
    AlphagoValueConfig,
)
from landmark.models.go.network import GoNetwork
from landmark.models.go.residual import GoResNet, GoResNetConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import Network, System, add_system, recipe
from landmark.tasks.go.config import GoDataConfig, GoRun, ReinforceConfig, SelfPlayConfig

add_system(
    System(
        "alphago",
        "Silver et al., Mastering the game of Go with deep neural networks and tree search, "
        "Nature 529",
        2016,
        "Go",
        (
            Network(
                "alphago-policy",
                AlphagoPolicy,
                AlphagoPolicyConfig(size=19),
                GoNetwork.judge_one,
                3_882_793,
                note="48 planes, 13 layers of 192 filters, 19x19",
            ),
            Network(
                "alphago-value",
                AlphagoValue,
                AlphagoValueConfig(size=19),
                GoNetwork.judge_one,
                3_980_162,
                note="49 planes, 19x19",
            ),
            Network(
                "go-resnet-5x48",
                GoResNet,
                GoResNetConfig(),
                GoNetwork.judge_one,
                note="policy, value, ownership and score of 9x9, of our own",
            ),
        ),
        what="policy and value networks with a search",
    )
)


def _trainer(max_steps: int, every: int, **settings: object) -> TrainerConfig:
    return TrainerConfig(
        max_steps=max_steps,
        log_every=50,
        validate_every=every,
        checkpoint_every=every,
        keep_last=2,
        clip_norm=5.0,
        **settings,  # type: ignore[arg-type]
    )


def _cosine(rate: float, warmup_steps: int = 100) -> ScheduleConfig:
    return ScheduleConfig(name="cosine", rate=rate, warmup_steps=warmup_steps)


_SGD = OptimizerConfig(name="sgd", momentum=0.9, nesterov=True, weight_decay=1e-4)


@recipe(
    "go-expert",
    system="alphago",
    summary="policy, value, ownership and score from expert games, one small network for 9x9",
)
def go_expert() -> GoRun:
    return GoRun(
        optimizer=_SGD,
        schedule=_cosine(0.05),
        trainer=_trainer(4000, 500, ema_decay=0.999),
    )


@recipe(
    "alphago-policy",
    system="alphago",
    summary="stage 1 of the paper: a policy network on 48 planes from expert games",
)
def alphago_policy() -> GoRun:
    return GoRun(
        model=AlphagoPolicyConfig(filters=48, num_layers=7),
        optimizer=_SGD,
        schedule=_cosine(0.01),
        trainer=_trainer(4000, 500),
    )


@recipe(
    "alphago-value",
    system="alphago",
    summary="stage 3 of the paper: a value network, one position of each game",
)
def alphago_value() -> GoRun:
    return GoRun(
        data=GoDataConfig(one_per_game=True),
        model=AlphagoValueConfig(filters=48, num_layers=7),
        optimizer=_SGD,
        schedule=_cosine(0.005),
        trainer=_trainer(1000, 100),
    )


@recipe(
    "go-reinforce",
    system="alphago",
    summary="stage 2 of the paper: the policy plays against its earlier selves (--init-from RUN)",
    minutes=18.8,
    reaches="72.5 % won against its beginning, moves drawn",
)
def go_reinforce() -> GoRun:
    return GoRun(
        learning=ReinforceConfig(),
        optimizer=OptimizerConfig(name="sgd"),
        schedule=ScheduleConfig(name="constant", rate=0.02, warmup_steps=0),
        trainer=_trainer(150, 25, monitor="won", higher_is_better=True),
    )


@recipe(
    "go-self-play",
    system="alphago",
    summary="expert iteration: the network learns from its own search (--init-from RUN)",
    minutes=48.0,
    reaches="98.0 % won against GNU Go level 10, 1 s a move",
)
def go_self_play() -> GoRun:
    return GoRun(
        learning=SelfPlayConfig(),
        optimizer=_SGD,
        schedule=_cosine(0.01),
        trainer=_trainer(3000, 100, ema_decay=0.99, monitor="won", higher_is_better=True),
    )
