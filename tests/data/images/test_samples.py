import numpy as np
import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.images.augment import AugmentConfig
from landmark.data.images.decoding import BrokenImageError
from landmark.data.images.form import ImageForm, as_tensor
from landmark.data.images.samples import ImageBatchConfig, ImageSamples
from landmark.data.images.store import ImageList, PixelStore, write_store
from landmark.data.loader import Loader, Place

RANDOM = np.random.default_rng(11)
COUNT = 23
IMAGES = [RANDOM.integers(0, 256, (10, 12, 3), np.uint8) for _ in range(COUNT)]
LABELS = np.arange(COUNT) % 3
FORM = ImageForm(("a", "b", "c"), colours=((0.1, 0.0, 0.0), (0.0, 0.2, 0.0), (0.3, 0.3, 0.3)))
EVERYTHING = AugmentConfig(
    padding=2, flip=True, rotation=10, zoom=0.1, shear=5, elastic=0.5, brightness=0.2,
    contrast=0.2, saturation=0.2, hue=0.05, components=0.1, cutout=3, mixup=0.4,
)  # fmt: skip


def of(images=None, labels=LABELS):
    images = IMAGES if images is None else images
    return ImageList(images, labels, [f"{number}.jpg" for number in range(len(images))])


def samples(augment=None, images=None, size=8, seed=1, **options):
    given = of() if images is None else images
    return ImageSamples(given, FORM, ImageBatchConfig(size=size), 8, seed, augment, **options)


def test_training_shuffles_every_epoch_anew_and_takes_every_image_once():
    training = samples(AugmentConfig())
    first, second = (np.concatenate(training.plan(epoch)) for epoch in (0, 1))
    assert sorted(first) == sorted(second) == list(range(COUNT))
    assert not np.array_equal(first, second)
    assert [len(batch) for batch in training.plan(0)] == [8, 8, 7]
    assert [len(batch) for batch in samples(size=11).plan(0)] == [8, 8, 7]  # not 11, 11, 1
    assert np.array_equal(np.concatenate(samples(AugmentConfig()).plan(0)), first)
    assert not np.array_equal(np.concatenate(samples(AugmentConfig(), seed=2).plan(0)), first)


def test_without_augmentation_images_stay_in_order_and_are_cut_in_the_middle():
    validation = samples()
    assert np.concatenate(validation.plan(0)).tolist() == list(range(COUNT))
    batch = validation.collate(0, [3, 4])
    middles = np.stack([IMAGES[3][1:9, 2:10], IMAGES[4][1:9, 2:10]])
    assert torch.equal(batch.images, FORM.normalise(as_tensor(middles)))
    assert batch.labels.tolist() == [0, 1]
    assert batch.partners is None
    assert batch.num_tokens == 2


@pytest.mark.parametrize("augment", [EVERYTHING, AugmentConfig(area=(0.3, 1.0), flip=True)])
def test_an_image_is_varied_the_same_in_whatever_batch_it_is(augment):
    training = samples(augment)
    whole = training.collate(4, [5, 0, 9, 7])
    part = training.collate(4, [9, 5])
    for name in ("images", "labels", "partners", "shares"):
        full, cut = getattr(whole, name), getattr(part, name)
        if full is not None:
            assert torch.allclose(full[[2, 0]], cut, atol=1e-6), name
    later = training.collate(5, [5, 0, 9, 7])
    assert not torch.allclose(whole.images, later.images)
    other = samples(augment, seed=2).collate(4, [5, 0, 9, 7])
    assert not torch.allclose(whole.images, other.images)


def test_worker_processes_make_the_same_batches_from_a_store(tmp_path):
    entries = zip(IMAGES, LABELS.tolist(), map(str, range(COUNT)), strict=True)
    write_store(tmp_path / "train", entries, 3)
    batches = {}
    for workers in (0, 2):
        training = samples(EVERYTHING, PixelStore(tmp_path / "train"))
        stream = Loader(training, accumulate=2, workers=workers).stream(Place(1, 1))
        batches[workers] = [next(stream) for _ in range(4)]
        stream.close()
    for alone, helped in zip(*batches.values(), strict=True):
        for one, other in zip(alone, helped, strict=True):
            assert one.samples == other.samples
            assert torch.equal(one.images, other.images)
            assert torch.equal(one.shares, other.shares)
    assert batches[0][2][0].epoch == 2


def test_mixup_is_the_sum_of_two_varied_images_with_both_their_classes():
    augment = AugmentConfig(padding=1, flip=True)
    mixed = samples(AugmentConfig(padding=1, flip=True, mixup=1.0))
    batch = mixed.collate(0, list(range(COUNT)))
    own = samples(augment).collate(0, list(range(COUNT))).images
    assert torch.equal(batch.labels, torch.from_numpy(LABELS))
    assert batch.shares.min() > 0
    assert batch.shares.max() < 1
    assert 0.3 < batch.shares.mean() < 0.7
    share = batch.shares.view(-1, 1, 1, 1)
    others = (batch.images - share * own) / (1 - share)  # must be crops of images of that class
    found = 0
    for index in range(COUNT):
        if batch.shares[index] > 0.95:
            continue
        candidates = [i for i in range(COUNT) if LABELS[i] == batch.partners[index]]
        assert any(is_crop(others[index], IMAGES[number]) for number in candidates)
        found += 1
    assert found > 15


def is_crop(varied, image):
    """Whether a normalised image is some crop of another, mirrored or not, black around."""
    around = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    crops = [
        around[y : y + 8, x : x + 8][:, ::step]
        for y in range(5)
        for x in range(7)
        for step in (1, -1)
    ]
    return bool(
        torch.isclose(FORM.normalise(as_tensor(np.stack(crops))), varied, atol=1e-3)
        .flatten(1)
        .all(1)
        .any()
    )


def test_cutout_leaves_the_mean():
    plain = samples(AugmentConfig()).collate(0, [1, 2]).images
    cut = samples(AugmentConfig(cutout=4)).collate(0, [1, 2]).images
    changed = plain != cut
    assert changed.any()
    assert not cut[changed].any()


def test_batches_lie_channels_last():
    for augment in (None, EVERYTHING):
        images = samples(augment).collate(0, [1, 2, 3]).images
        assert images.dtype == torch.float32
        assert images.is_contiguous(memory_format=torch.channels_last)


class Fragile:
    """Images of which some cannot be read, as a large folder that is read as needed."""

    labels = LABELS

    def __init__(self, broken):
        self.broken = broken

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        if index in self.broken:
            raise BrokenImageError(f"{index}.jpg: is damaged")
        return IMAGES[index]

    def place(self, index):
        return f"{index}.jpg"


def test_a_broken_image_is_named_and_left_out_of_its_batch(capfd):
    fragile = samples(images=Fragile({4}))
    batch = fragile.collate(0, [3, 4, 5])
    assert batch.labels.tolist() == [0, 2]
    assert len(batch.images) == 2
    fragile.collate(1, [4, 6])
    assert capfd.readouterr().err == "warning: 4.jpg: is damaged: skipped\n"


def test_a_broken_image_is_named_once_though_every_pass_has_workers_of_its_own(capfd):
    loader = Loader(samples(images=Fragile({4})), workers=1)
    for _ in range(3):
        assert sum(len(batch.samples) for batch in loader.once()) == COUNT
    assert capfd.readouterr().err == "warning: 4.jpg: is damaged: skipped\n"


def test_a_broken_partner_is_replaced_by_the_image_itself():
    mixed = samples(AugmentConfig(mixup=1.0), Fragile(set(range(1, COUNT))))
    batch = mixed.collate(0, [0])
    assert batch.partners.tolist() == batch.labels.tolist() == [0]


def test_strict_refuses_a_broken_image():
    with pytest.raises(BrokenImageError, match=r"4\.jpg: is damaged"):
        samples(images=Fragile({4}), strict=True).collate(0, [3, 4])


@pytest.mark.parametrize("workers", [0, 1])
def test_what_a_worker_refuses_is_said_in_one_line(workers):
    fragile = samples(AugmentConfig(), Fragile(set(range(COUNT))), strict=True)
    stream = Loader(fragile, workers=workers).stream(Place())
    with pytest.raises(BrokenImageError, match=r"^\d+\.jpg: is damaged$"):
        next(stream)


def test_a_batch_of_broken_images_alone_is_refused():
    with pytest.raises(UserError, match=r"3\.jpg: none of the images can be read"):
        samples(images=Fragile({3, 4})).collate(0, [3, 4])


def test_labels_beyond_the_head_are_refused():
    with pytest.raises(UserError, match=r"2\.jpg: its class is number 7, but the network tells 3"):
        samples(images=of(labels=np.where(np.arange(COUNT) == 2, 7, 0)))


def test_no_images_and_colours_of_grey_are_refused():
    with pytest.raises(UserError, match="no images in this split"):
        samples(images=of([], LABELS[:0]))
    grey = ImageForm(("a", "b", "c"), 1, mean=(0.5,), std=(0.2,))
    with pytest.raises(UserError, match="these images are grey"):
        ImageSamples(of(), grey, ImageBatchConfig(), 8, 1, AugmentConfig(hue=0.1))


@pytest.mark.parametrize("mixup", [0.0, 0.4])
def test_cutmix_gives_both_classes_by_the_pixels_they_have(mixup):
    flat = [np.full((10, 12, 3), 100 * label, np.uint8) for label in LABELS]
    form = ImageForm(("a", "b", "c"), mean=(0.0,) * 3, std=(1.0,) * 3)
    config = AugmentConfig(cutmix=1.0, mixup=mixup)
    mixing = ImageSamples(of(flat), form, ImageBatchConfig(), 8, 1, config)
    batch = mixing.collate(0, range(COUNT))
    values = batch.images * 255
    expected = 100 * (batch.shares * batch.labels + (1 - batch.shares) * batch.partners)
    torch.testing.assert_close(values.mean((1, 2, 3)), expected, rtol=1e-4, atol=0.01)
    pasted = (values.flatten(1) % 100 < 0.01).all(1) & (batch.labels != batch.partners)
    assert pasted.sum() > 5
    assert bool((~pasted & (batch.labels != batch.partners)).any()) == bool(mixup)


def test_cutmix_and_randaugment_do_not_depend_on_who_else_is_in_the_batch():
    config = AugmentConfig(cutmix=1.0, mixup=0.3, randaugment=(2, 9))
    mixing = samples(config)
    everything, some = mixing.collate(2, range(COUNT)), mixing.collate(2, [5, 11])
    assert torch.equal(some.images, everything.images[[5, 11]])
    assert torch.equal(some.shares, everything.shares[[5, 11]])
    assert not torch.equal(mixing.collate(3, [5, 11]).images, some.images)


RARE = np.array([0] * 40 + [1] * 9 + [2] * 2)


def balanced(**augment):
    given = of([RANDOM.integers(0, 256, (10, 12, 3), np.uint8) for _ in RARE], RARE)
    config = ImageBatchConfig(size=8, balanced=True)
    return ImageSamples(given, FORM, config, 8, 1, AugmentConfig(**augment))


def test_balanced_batches_have_every_class_equally_often():
    training = balanced()
    plan = training.plan(0)
    numbers = np.concatenate(plan)
    assert [len(batch) for batch in plan] == [8, 8, 7, 7, 7, 7, 7]
    assert np.bincount(RARE[numbers % 51]).tolist() == [17, 17, 17]
    times = np.bincount(numbers % 51, minlength=51)
    assert set(times[:40]) == {0, 1}
    assert set(times[40:49]) == {1, 2}
    assert set(times[49:]) == {8, 9}
    assert len(set(numbers.tolist())) == 51
    assert not np.array_equal(numbers, np.concatenate(training.plan(1)))
    batch = training.collate(0, plan[0])
    assert batch.labels.tolist() == RARE[plan[0] % 51].tolist()


def test_an_image_that_comes_again_is_varied_anew():
    training = balanced(padding=2, flip=True, rotation=10)
    again = training.collate(0, [50, 50 + 51, 50 + 3 * 51, 50]).images
    assert torch.equal(again[0], again[3])
    assert not torch.equal(again[0], again[1])
    assert not torch.equal(again[1], again[2])


def test_balanced_images_are_mixed_with_images_of_every_class_alike():
    labels = balanced(mixup=0.2).collate(0, list(range(51)) + list(range(51, 600))).partners
    shares = np.bincount(labels.numpy()) / len(labels)
    assert np.abs(shares - 1 / 3).max() < 0.06


def test_validation_is_not_balanced():
    given = of([IMAGES[0]] * 51, RARE)
    validation = ImageSamples(given, FORM, ImageBatchConfig(size=8, balanced=True), 8)
    assert np.concatenate(validation.plan(0)).tolist() == list(range(51))
