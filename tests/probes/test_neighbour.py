import numpy as np
import pytest
import torch

from landmark.probes.neighbour import nearest, principal_plane

TABLE = torch.tensor([[1.0, 0.0], [2.0, 0.2], [-1.0, 0.0], [0.0, 3.0], [1.0, 1.0]])


def test_the_nearest_point_where_the_vector_does_whatever_their_length():
    found = nearest(TABLE, torch.tensor([5.0, 0.0]), 3, among=range(5))
    assert [near.number for near in found] == [0, 1, 4]
    expected = [1.0, 2 / np.hypot(2, 0.2), np.sqrt(0.5)]
    assert [near.cosine for near in found] == pytest.approx(expected)


def test_a_word_is_no_neighbour_of_its_own_nor_are_entries_that_stand_for_nothing():
    found = nearest(TABLE, TABLE[0], 9, among=[0, 2, 3], but=[0])
    assert [near.number for near in found] == [3, 2]


def test_the_plane_is_that_of_the_covariances_eigenvectors():
    torch.manual_seed(3)
    vectors = torch.randn(30, 6) * torch.tensor([5.0, 3.0, 1.0, 0.5, 0.2, 0.1]) + 7
    places, shares = principal_plane(vectors)
    centred = vectors.numpy().astype(np.float64)
    centred -= centred.mean(0)
    values, directions = np.linalg.eigh(centred.T @ centred)
    expected = centred @ directions[:, [-1, -2]]
    expected *= np.sign(expected[np.abs(expected).argmax(0), [0, 1]])
    np.testing.assert_allclose(places.numpy(), expected, atol=1e-4)
    np.testing.assert_allclose(shares, values[[-1, -2]] / values.sum(), rtol=1e-4)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_words_have_a_plane_too(count):
    places, shares = principal_plane(torch.eye(3)[:count])
    assert places.shape == (count, 2)
    assert places.isfinite().all()
    assert all(0 <= share <= 1.000001 for share in shares)
