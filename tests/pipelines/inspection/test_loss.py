from landmark.pipelines.inspection.loss import loss_points

LOG = [
    {"kind": "data", "tokens": 7},
    {"kind": "train", "step": 10, "loss": 4.0, "weight": 100.0, "seconds": 60.0},
    {"kind": "valid", "step": 15, "loss": 3.5, "best": True},
    {"kind": "train", "step": 20, "loss": 3.0, "weight": 300.0, "seconds": 180.0},
    {"kind": "end", "step": 20, "seconds": 180.0},
]


def test_a_loss_has_its_step_and_the_tokens_and_minutes_until_then():
    assert loss_points(LOG, "train") == {
        "loss": [
            {"loss": 4.0, "step": 10, "tokens": 100.0, "minutes": 1.0},
            {"loss": 3.0, "step": 20, "tokens": 400.0, "minutes": 3.0},
        ]
    }
    assert loss_points(LOG, "valid") == {
        "loss": [{"loss": 3.5, "step": 15, "tokens": 250.0, "minutes": 2.0}]
    }


def test_a_log_that_does_not_tell_leaves_it_out():
    records = [{"kind": "valid", "step": 15, "loss": 3.5, "best": True}]
    assert loss_points(records, "valid") == {"loss": [{"loss": 3.5, "step": 15}]}
    assert loss_points(records, "train") == {}


def test_every_player_has_its_loss():
    records = [{"kind": "train", "step": 1, "generator_loss": 1.0, "discriminator_loss": 2.0}]
    assert set(loss_points(records, "train")) == {"generator loss", "discriminator loss"}
