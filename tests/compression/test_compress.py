"""The rotation puts directions of most energy first."""

import numpy as np
import pytest

from elasticrec.compression.compress import energy_rotation


@pytest.fixture
def vectors(rng):
    scale = np.linspace(0.2, 2, 16)[rng.permutation(16)]
    turn = np.linalg.qr(rng.normal(size=(16, 16)))[0]
    users = (rng.normal(size=(50, 16)) * scale @ turn).astype(np.float32)
    return users, (rng.normal(size=(80, 16)) * scale @ turn + 0.3).astype(np.float32)


def energy(users, items):
    """(2,) per block of 8: the second moments of items about their mean, times those of users."""
    centred = items - items.mean(axis=0)
    product = np.square(centred).mean(axis=0) * np.square(users).mean(axis=0)
    return product.reshape(-1, 8).sum(axis=1)


def test_rotation_is_orthogonal_and_keeps_scores(vectors):
    users, items = vectors
    Q = energy_rotation(items, users)
    np.testing.assert_allclose(Q.T @ Q, np.eye(16), atol=1e-5)
    np.testing.assert_allclose((users @ Q) @ (items @ Q).T, users @ items.T, atol=1e-3)


def test_the_first_block_holds_more_energy_than_before(vectors):
    users, items = vectors
    Q = energy_rotation(items, users)
    after = energy(users @ Q, items @ Q)
    assert after[0] > after[1]
    assert after[0] > energy(users, items).max()


def test_planted_directions_come_out_in_their_order(rng):
    scale = np.array([3.0, 2.0, 1.0, 0.5])
    vectors = rng.normal(size=(20_000, 4)) * scale
    shuffled = [2, 0, 3, 1]
    Q = np.abs(energy_rotation(vectors[:, shuffled]))
    assert [shuffled[int(row)] for row in Q.argmax(axis=0)] == [0, 1, 2, 3]
    assert Q.max(axis=0).min() > 0.98


def test_among_items_that_differ_alike_everywhere_users_decide():
    items = np.concatenate([np.eye(8), -np.eye(8)]).astype(np.float32)
    users = np.zeros((10, 8), dtype=np.float32)
    users[:, 5], users[:3, 2] = 3, [1, -2, 1]
    found = energy_rotation(items, users)
    np.testing.assert_allclose(found[:, :2], np.eye(8)[:, [5, 2]], atol=1e-6)
