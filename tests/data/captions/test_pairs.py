"""Captions as samples: what an epoch holds, in which order, with images or their places."""

import numpy as np
import pytest
import torch

from landmark.data.captions.pairs import CaptionBatchConfig, CaptionSamples
from landmark.data.captions.source import CaptionedImages
from landmark.data.captions.vocabulary import WordTokenizer, WordTokenizerConfig
from landmark.data.images.augment import AugmentConfig
from landmark.data.images.form import ImageForm
from landmark.models.captioning.build import build_captioner
from landmark.models.captioning.show_attend_tell import ShowAttendTellConfig
from landmark.models.convolutional.resnet9 import ResNet9Config
from landmark.tasks.captioning.encoding import encode_images

SIDE, COUNT = 16, 30
FORM = ImageForm(("unlabelled",), 3, SIDE, mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4))
SENTENCE = "red blue green dog cat runs sits jumps on grass snow sand with a ball"
WORDS = SENTENCE.split()


class Drawn:
    """Images of noise."""

    labels = np.zeros(COUNT, np.int64)

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        return np.random.default_rng(index).integers(0, 256, (SIDE, SIDE, 3), np.uint8)

    def place(self, index):
        return f"drawn {index}"


def text(image, number):
    """A caption that no other image has: its number in words, and some more."""
    tens = f"{WORDS[image // 10]} {WORDS[image % 10]}"
    return " ".join([tens, *WORDS[: (7 * image + 3 * number) % 9]])


@pytest.fixture(scope="module")
def split():
    captions = [tuple(text(image, n) for n in range(1 + image % 3)) for image in range(COUNT)]
    return CaptionedImages(Drawn(), captions)


@pytest.fixture(scope="module")
def tokenizer(split):
    return WordTokenizer.learn(split.texts(), WordTokenizerConfig(min_count=1))


@pytest.fixture(scope="module")
def captioner():
    torch.manual_seed(0)
    encoder = ResNet9Config(image_size=SIDE, width=4, blocks=(0,))
    config = ShowAttendTellConfig(encoder=encoder, vocab_size=30)
    return build_captioner(config).eval()


@pytest.fixture
def make(split, tokenizer):
    def made(seed=1, max_length=32, **options):
        config = CaptionBatchConfig(size=8, pool=3)
        return CaptionSamples(split, tokenizer, FORM, config, SIDE, max_length, seed, **options)

    return made


def said(tokenizer, batch):
    """The captions of a batch as texts, from its inputs and from its labels."""
    lengths = batch.target_packing.lengths.tolist()
    inputs = [its.tolist() for its in batch.target.split(lengths)]
    labels = [its.tolist() for its in batch.labels.split(lengths)]
    assert all(its[0] == tokenizer.begin for its in inputs)
    assert all(its[-1] == tokenizer.end for its in labels)
    texts = tokenizer.decode([its[1:] for its in inputs])
    assert texts == tokenizer.decode([its[:-1] for its in labels])
    return texts


@pytest.mark.parametrize("trains", [True, False])
def test_every_caption_comes_once_an_epoch_beside_its_image(make, split, tokenizer, trains):
    samples = make(augment=AugmentConfig() if trains else None)
    seen = []
    for chosen in samples.plan(3):
        batch = samples.collate(3, chosen)
        assert batch.source.shape == (len(chosen), 3, SIDE, SIDE)
        for image, caption in zip(batch.source, said(tokenizer, batch), strict=True):
            (number,) = [n for n, texts in enumerate(split.captions) if caption in texts]
            pixels = torch.from_numpy(split.images[number]).permute(2, 0, 1) / 255
            mean, std = (torch.tensor(v).view(3, 1, 1) for v in (FORM.mean, FORM.std))
            torch.testing.assert_close(image, (pixels - mean) / std)
            seen.append(caption)
    assert sorted(seen) == sorted(split.texts())
    assert trains != (seen == list(split.texts()))  # validation keeps the order


def test_the_order_is_a_function_of_seed_and_epoch(make):
    def order(seed, epoch):
        plan = make(seed, augment=AugmentConfig()).plan(epoch)
        return [batch.tolist() for batch in map(np.asarray, plan)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_batches_are_of_like_lengths(make):
    samples = make(augment=AugmentConfig())
    spreads = [np.ptp(samples.lengths[np.asarray(chosen)]) for chosen in samples.plan(0)]
    shuffled = np.random.default_rng(0).permutation(samples.lengths)
    by_chance = [np.ptp(part) for part in np.array_split(shuffled, len(spreads))]
    assert np.mean(spreads) < 0.6 * np.mean(by_chance)
    assert samples.lengths.tolist() == [len(its) + 1 for its in samples.captions]


def test_long_captions_are_cut_and_still_end(make, split, tokenizer):
    samples = make(max_length=4)
    batch = samples.collate(0, range(len(samples.captions)))
    assert batch.target_packing.lengths.max() == 4
    shorter = [" ".join(caption.split()[:3]) for caption in split.texts()]
    assert said(tokenizer, batch) == shorter


@torch.no_grad()
def test_cached_places_are_those_of_the_image(make, split, captioner):
    places = encode_images(captioner, split.images, FORM, SIDE, torch.device("cpu"))
    size, features = captioner.config.places, captioner.config.feature_size
    assert places.shape == (COUNT, 1, size, features)
    assert places.dtype == torch.float16
    images, cached = make(), make(places=places, num_places=size)
    for chosen in cached.plan(0):
        batch = cached.collate(0, chosen)
        its = captioner.places_of(images.collate(0, chosen).source)
        assert batch.source_packing.lengths.tolist() == [size] * len(chosen)
        torch.testing.assert_close(batch.source, its, rtol=2e-3, atol=2e-3)


@torch.no_grad()
def test_half_of_the_captions_in_training_get_the_mirrored_images_places(make, split, captioner):
    places = encode_images(captioner, split.images, FORM, SIDE, torch.device("cpu"), mirrored=True)
    size = captioner.config.places
    cached = make(places=places, num_places=size, augment=AugmentConfig(flip=True))
    is_mirrored, draws = {}, []
    for epoch in range(8):
        for chosen in cached.plan(epoch):
            rows = cached.collate(epoch, chosen).source.unflatten(0, (-1, size))
            for caption, found in zip(np.asarray(chosen).tolist(), rows, strict=True):
                pixels = split.images[int(split.pairs[caption, 0])]
                views = [pixels, np.ascontiguousarray(pixels[:, ::-1])]
                its = captioner.places_of(FORM.network_input(views, SIDE)).unflatten(0, (2, -1))
                distances = (its - found).abs().amax((1, 2))
                assert distances.min() < 5e-3 < distances.max()
                is_mirrored[epoch, caption] = bool(distances.argmin())
                draws.append(is_mirrored[epoch, caption])
    assert 0.4 < np.mean(draws) < 0.6
    count = len(split.pairs)
    epochs = [[is_mirrored[epoch, caption] for caption in range(count)] for epoch in (0, 1)]
    assert epochs[0] != epochs[1]
    again = cached.collate(0, [5, 3]).source.unflatten(0, (-1, size))
    torch.testing.assert_close(again[0], cached.collate(0, [5]).source)  # whoever is beside it
    validation = make(places=places, num_places=size).collate(0, [5]).source
    torch.testing.assert_close(validation, places[split.pairs[5, 0], 0].float())
