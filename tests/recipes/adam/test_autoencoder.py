import landmark
from landmark.data.images.form import ImageForm
from landmark.data.loader import Place
from landmark.tasks.autoencoding.run import assemble
from landmark.tasks.training import load_config

SMALL = [
    "data.corpus=digits",
    "model.image_size=8",
    "model.hidden_size=30",
    "model.latent_size=5",
    "trainer.max_steps=120",
    "trainer.log_every=20",
    "trainer.validate_every=60",
    "trainer.checkpoint_every=120",
    "threads=1",
    "device=cpu",
]


def test_an_autoencoder_learns_the_digits_of_numbers_from_0_to_1(tmp_path):
    run = landmark.train("race-vae", tmp_path / "run", SMALL)
    log = run.read_log()
    first, last = (
        next(r for r in records if r["kind"] == "valid") for records in (log, list(reversed(log)))
    )
    assert (first["step"], last["step"]) == (60, 120)
    assert last["loss"] < first["loss"] < 64 * 0.6932 + 20  # below a coin's toss for each pixel
    assert abs(last["loss"] - last["reconstruction"] - last["divergence"]) < 1e-6
    form = ImageForm.load(run.folder / "classes.json")
    assert (form.mean, form.deviation) == ((0.0,), (1.0,))
    assembly = assemble(load_config(run), run.folder, "cpu")
    batch = next(assembly.source.stream(Place()))[0]
    assert 0.0 <= batch.images.min() < 0.01
    assert 0.99 < batch.images.max() <= 1.0
    assert batch.images.shape[1:] == (1, 8, 8)


def test_a_pass_over_the_images_ends_it(tmp_path):
    settings = [s for s in SMALL if not s.startswith("trainer.max_steps")]
    run = landmark.train("race-vae", tmp_path / "run", [*settings, "trainer.epochs=0.5"])
    data, end = run.read_log()[0], run.read_log()[-1]
    assert end["step"] == data["max_steps"] == -(-data["batches"] // 2)
