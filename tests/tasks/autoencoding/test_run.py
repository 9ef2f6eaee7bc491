import landmark
from landmark.data.images.form import ImageForm
from landmark.data.loader import Place
from landmark.engine.run import Run
from landmark.tasks.autoencoding.run import assemble
from landmark.tasks.training import load_config


def test_an_autoencoder_learns_the_digits_of_numbers_from_0_to_1(autoencoder):
    run = Run(autoencoder)
    log = run.read_log()
    first, last = (
        next(r for r in records if r["kind"] == "valid") for records in (log, list(reversed(log)))
    )
    assert (first["step"], last["step"]) == (200, 400)
    assert last["loss"] < first["loss"] < 64 * 0.6932 + 20  # below a coin's toss for each pixel
    assert abs(last["loss"] - last["reconstruction"] - last["divergence"]) < 1e-6
    form = ImageForm.load(run.folder / "classes.json")
    assert (form.mean, form.std) == ((0.0,), (1.0,))
    assembly = assemble(load_config(run), run.folder, "cpu")
    batch = next(assembly.source.stream(Place()))[0]
    assert 0.0 <= batch.images.min() < 0.01
    assert 0.99 < batch.images.max() <= 1.0
    assert batch.images.shape[1:] == (1, 8, 8)


def test_a_pass_over_the_images_ends_it(tmp_path, small):
    settings = [s for s in small if not s.startswith("trainer.max_steps")]
    run = landmark.train("race-vae", tmp_path / "run", [*settings, "trainer.epochs=0.5"])
    data, end = run.read_log()[0], run.read_log()[-1]
    assert end["step"] == data["max_steps"] == -(-data["batches"] // 2)


def test_images_of_ones_own_are_scaled_to_what_the_network_reads(tmp_path, small, digit_files):
    steps = ["trainer.max_steps=2", "trainer.validate_every=2", "trainer.checkpoint_every=2"]
    own = [s for s in small if not s.startswith(("trainer.", "data."))]
    folder = ["data.corpus=files", f"data.folder={digit_files}", "data.validation=0.2"]
    run = landmark.train("race-vae", tmp_path / "run", [*own, *folder, *steps])
    assert load_config(run).data.size == 8  # the files are of 20 x 20
    assert load_config(run).model.channels == 3
