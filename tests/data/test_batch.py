import torch

from landmark.data.batch import AdversarialBatch, Batch, TextBatch, WritingBatch
from landmark.layers.packing import Packing


def test_a_batch_says_which_data_it_holds() -> None:
    few = Batch(epoch=2, index=7, samples=(4, 9))
    assert few.origin == "epoch 2, batch 7 (samples 4, 9)"
    many = Batch(epoch=0, index=1, samples=tuple(range(8)))
    assert many.origin == "epoch 0, batch 1 (samples 0, 1, 2, 3, 4 and 3 more)"


def test_moving_a_batch_moves_tensors_and_packings_and_keeps_the_rest() -> None:
    batch = WritingBatch(
        source=torch.arange(5),
        source_packing=Packing(torch.tensor([2, 3])),
        target=torch.arange(4),
        labels=torch.arange(4),
        target_packing=Packing(torch.tensor([1, 3])),
        epoch=3,
        index=4,
        samples=(8, 9),
        counts=False,
    )
    moved = batch.to(torch.device("cpu"))
    assert isinstance(moved, WritingBatch)
    assert (moved.epoch, moved.index, moved.samples, moved.counts) == (3, 4, (8, 9), False)
    assert torch.equal(moved.source, batch.source)
    assert moved.num_tokens == 4
    points = AdversarialBatch(real=torch.zeros(3, 1), noise=torch.zeros(3, 2), epoch=1)
    elsewhere = points.to(torch.device("meta"))
    assert {elsewhere.real.device.type, elsewhere.noise.device.type} == {"meta"}
    assert elsewhere.epoch == 1
    assert points.real.device.type == "cpu"


def test_chunks_of_text_know_their_streams_wherever_they_are() -> None:
    tokens = torch.arange(10).view(2, 5)
    batch = TextBatch(tokens[:, :-1], tokens[:, 1:], (4, 7), begins=True, index=3)
    assert batch.num_tokens == 8
    moved = batch.to(torch.device("meta"))
    assert {moved.inputs.device.type, moved.labels.device.type} == {"meta"}
    assert (moved.streams, moved.begins, moved.index) == ((4, 7), True, 3)
