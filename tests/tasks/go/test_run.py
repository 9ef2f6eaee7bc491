"""Trainings of Go networks: on games, by reinforcement, by self-play; exact to the bit."""

import numpy as np
import pytest
import torch

import landmark
from landmark.core.errors import UserError
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.go.rules.position import Position
from landmark.tasks.go.pipeline import GoPipeline
from landmark.tasks.go.reinforcement import POOL
from landmark.tasks.go.run import assemble
from landmark.tasks.go.self_play import FOLDER, read_games
from landmark.tasks.training import load_config, train
from tests.engine.test_session import assert_same_run, stop_after
from tests.tasks.go.conftest import KOMI, SIZE, random_games

STEPS = ["trainer.max_steps=6", "trainer.validate_every=3", "trainer.checkpoint_every=3"]
REINFORCE = ["learning.games=8", "learning.pool_every=2", "learning.evaluation_games=8"]
SELF_PLAY = [
    "learning.games=6", "learning.files=2", "learning.updates=2", "learning.evaluation_games=8",
    "learning.play.search.simulations=4", "learning.play.in_step=3", "learning.processes=0",
]  # fmt: skip


@pytest.fixture(scope="module")
def small(games) -> list[str]:
    return [
        f"data.games=[{games}]", f"data.size={SIZE}", f"data.komi={KOMI}", "model.width=18",
        "model.num_blocks=1", "model.pooling_blocks=[0]", "batches.size=32", "threads=1",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def expert(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "expert"
    return train("go-expert", folder, [*small, *STEPS]).folder


def test_learning_from_games_lowers_the_loss_and_is_evaluated(expert):
    losses = [r["loss"] for r in Run(expert).read_log() if r["kind"] == "valid"]
    assert losses[1] < losses[0]
    (scores,) = landmark.evaluate(expert)
    assert scores.positions > 100
    assert 0 <= scores.measured["accuracy"] <= 1
    assert scores.lines()[0] == f"test: {scores.positions:,} positions"


@pytest.mark.parametrize(
    ("recipe", "extra"), [("go-reinforce", REINFORCE), ("go-self-play", SELF_PLAY)]
)
def test_a_training_that_is_cut_off_goes_on_bit_for_bit(
    tmp_path, small, expert, monkeypatch, recipe, extra
):
    settings = [*small, *STEPS, *extra, f"init_from={expert}"]
    whole = train(recipe, tmp_path / "whole", settings).folder
    with monkeypatch.context() as patch:
        stop_after(patch, 4)
        with pytest.raises(RuntimeError, match="crash"):
            train(recipe, tmp_path / "broken", settings)
    broken = train(recipe, tmp_path / "broken", settings, resume="auto").folder
    assert_same_run(whole, broken, 6)
    if recipe == "go-self-play":
        _check_games(whole, broken)
    else:
        members = sorted(path.name for path in (whole / POOL).iterdir())
        assert members == ["step-000000", "step-000002", "step-000004"]
        first = load_tensors(whole / POOL / members[0], "model.safetensors")
        last = load_tensors(whole / POOL / members[2], "model.safetensors")
        assert any(not np.array_equal(first[name], last[name]) for name in first)


def _check_games(whole, broken):
    """Each generation's games are there, the same in both, and end as their rules say."""
    for generation in range(3):
        for number in range(2):
            name = f"{FOLDER}/generation-{generation:04d}/games-{number:03d}.npz"
            records, policies = read_games(whole / name, SIZE)
            again, others = read_games(broken / name, SIZE)
            assert records.tobytes() == again.tobytes()
            assert np.array_equal(policies, others)
            np.testing.assert_allclose(policies.astype(float).sum(1), 1, atol=0.02)
            assert len(np.unique(records["game"])) == 3


def test_a_process_plays_the_same_games_as_the_training_itself(tmp_path, small, expert):
    settings = [*small, *STEPS, *SELF_PLAY, "trainer.max_steps=1", f"init_from={expert}"]
    here = train("go-self-play", tmp_path / "here", settings).folder
    there = train("go-self-play", tmp_path / "there", [*settings, "learning.processes=1"]).folder
    for number in range(2):
        name = f"{FOLDER}/generation-0000/games-{number:03d}.npz"
        (records, policies), (again, others) = (
            read_games(run / name, SIZE) for run in (here, there)
        )
        assert records.tobytes() == again.tobytes()
        assert policies.tobytes() == others.tobytes()


def test_games_of_self_play_are_legal_and_counted_by_area(tmp_path, small, expert):
    settings = [*small, *STEPS, *SELF_PLAY, "learning.play.sure=1", "trainer.max_steps=2"]
    run = train("go-self-play", tmp_path / "run", [*settings, f"init_from={expert}"]).folder
    records, _ = read_games(run / FOLDER / "generation-0000" / "games-000.npz", SIZE)
    for game in np.unique(records["game"]):
        position = Position(SIZE, KOMI)
        moves = records[records["game"] == game]
        for move in moves:
            assert move["to_move"] == position.to_move
            position.play(position.to_move, int(move["move"]))  # raises where it is illegal
        if position.is_over:
            assert moves["result"][0] == 2 * position.score()


@pytest.mark.parametrize(("share", "borrowed"), [(0.25, 8), (0.0, 0)])
def test_a_share_of_each_batch_is_positions_of_the_expert_games(
    tmp_path, small, expert, share, borrowed
):
    settings = [*small, *STEPS, *SELF_PLAY, f"learning.expert_share={share}"]
    run = train("go-self-play", tmp_path, [*settings, "trainer.max_steps=1", f"init_from={expert}"])
    config = load_config(Run(run.folder))
    source = assemble(config, run.folder, torch.device("cpu")).source
    (batch,) = next(source.stream((0, 0)))
    assert len(batch.results) == 32
    # A move that was played is a target of 1; of a search's policy hardly ever one is.
    played = (batch.policy.max(1).values == 1).numpy()
    assert not played[: 32 - borrowed].all()
    assert played[32 - borrowed :].all()
    assert played[32 - borrowed :].size == borrowed


def test_a_lost_file_of_games_is_played_again(tmp_path, small, expert, monkeypatch):
    settings = [*small, *STEPS, *SELF_PLAY, f"init_from={expert}"]
    with monkeypatch.context() as patch:
        stop_after(patch, 4)
        with pytest.raises(RuntimeError, match="crash"):
            train("go-self-play", tmp_path / "run", settings)
    path = tmp_path / "run" / FOLDER / "generation-0000" / "games-001.npz"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=r"games-001\.npz: damaged or missing: take it away"):
        train("go-self-play", tmp_path / "run", settings, resume="auto")


def test_a_pool_of_another_run_is_refused(tmp_path, small, expert):
    settings = [*small, *STEPS, *REINFORCE]
    one = train("go-reinforce", tmp_path / "one", [*settings, f"init_from={expert}"]).folder
    other = train("go-reinforce", tmp_path / "other", [*settings, "trainer.max_steps=3"]).folder
    (one / POOL).rename(tmp_path / "away")
    (other / POOL).rename(one / POOL)
    with pytest.raises(UserError, match="is of another training: put"):
        train(str(one / "recipe.yaml"), one, ["trainer.max_steps=9"], resume="auto")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["data.komi=7"], r"komi 0\.5, not data\.komi=7"),
        (["data.size=9"], "no game to pack"),
        (
            ["learning.method=self-play", "model.architecture=alphago-policy"],
            r"set model\.architecture=residual",
        ),
        (
            ["learning.method=reinforce", "model.architecture=alphago-value"],
            "needs a policy to play with",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_in_one_line(tmp_path, small, settings, message):
    kept = [each for each in small if not each.startswith("model.")]
    with pytest.raises(UserError, match=message) as caught:
        train("go-expert", tmp_path / "run", [*kept, *settings])
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_a_run_begins_only_from_a_network_of_its_kind_and_size(tmp_path, small, expert):
    with pytest.raises(UserError, match=r"add model\.architecture=residual"):
        train(
            "alphago-policy",
            tmp_path / "run",
            [*(s for s in small if not s.startswith("model.")), f"init_from={expert}"],
        )
    four = random_games(tmp_path / "four", 60, size=4)
    with pytest.raises(UserError, match=r"add data\.size=5"):
        train(
            "go-expert",
            tmp_path / "run",
            [f"data.games=[{four}]", "data.size=4", f"data.komi={KOMI}", f"init_from={expert}"],
        )


@pytest.mark.parametrize("recipe", ["alphago-policy", "alphago-value"])
def test_the_papers_networks_learn_on_their_planes(tmp_path, games, recipe):
    settings = [
        f"data.games=[{games}]", f"data.size={SIZE}", f"data.komi={KOMI}", "model.filters=8",
        "model.num_layers=3", "batches.size=32", "threads=1", *STEPS,
    ]  # fmt: skip
    run = train(recipe, tmp_path / "run", settings).folder
    (record,) = [r for r in Run(run).read_log() if r["kind"] == "valid" and r["step"] == 6]
    assert ("accuracy" in record) == (recipe == "alphago-policy")
    assert ("value_error" in record) == (recipe == "alphago-value")


def test_a_network_judges_a_position_the_same_in_all_symmetries(expert):
    pipeline = landmark.load(expert, kind=GoPipeline)
    position, mirrored = Position(SIZE, KOMI), Position(SIZE, KOMI)
    for one, other in (("B2", "D2"), ("C3", "C3"), ("A1", "E1")):
        for board, vertex in ((position, one), (mirrored, other)):
            board.play(board.to_move, _point(vertex))
    found, again = pipeline.judge(position), pipeline.judge(mirrored)
    assert found.win_rate == pytest.approx(again.win_rate, abs=1e-4)
    assert sum(share for _, share in found.moves) == pytest.approx(1, abs=1e-5)
    assert _point("B2") not in dict(found.moves)
    with pytest.raises(UserError, match="plays on 5x5 boards, not on 9x9"):
        pipeline.judge(Position(9))


def _point(vertex: str) -> int:
    from landmark.go.rules.geometry import parse_vertex

    found = parse_vertex(vertex, SIZE)
    assert found is not None
    return found
