"""The rotation puts directions of most energy first; the recency follows tastes that move."""

from dataclasses import replace

import numpy as np
import pytest

from elasticrec.compression.compress import choose_recency, energy_rotation
from elasticrec.compression.config import CompressionConfig
from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.errors import InputError


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


def tastes(n_users: int, steps: int, rng: np.random.Generator) -> tuple[Split, np.ndarray]:
    """Users who walk to the next of 20 topics every so many steps; items are near their topic."""
    topics = np.repeat(np.arange(20), 10)
    items = np.eye(20)[topics] + 0.1 * rng.normal(size=(200, 20))
    parts: dict[str, list[np.ndarray]] = {"train": [], "validation": []}
    for user in range(n_users):
        start = int(rng.integers(20))
        line = [10 * ((start + step // steps) % 20) + int(rng.integers(10)) for step in range(12)]
        line = list(dict.fromkeys(line))
        for name, some, first in (("train", line[:-2], 0), ("validation", line[-2:], 99)):
            place = np.arange(len(some)) + first
            rows = np.column_stack([np.full(len(some), user), some, place])
            parts[name].append(rows)
    made = {}
    for name, rows in parts.items():
        users, taken, place = np.concatenate(rows).T
        made[name] = Pairs.from_arrays(
            users, taken, n_users=n_users, n_items=200, order=place.astype(np.int32)
        )
    empty = Pairs(np.zeros(n_users + 1, np.int64), np.zeros(0, np.int32), 200)
    split = Split(**made, test=empty, user_ids=Ids.dense(n_users), item_ids=Ids.dense(200))
    return split, items.astype(np.float32)


def test_tastes_that_move_want_recency() -> None:
    split, items = tastes(400, 3, np.random.default_rng(0))
    found = choose_recency(items, split, CompressionConfig(metric="recall@20"), device="cpu")
    assert found is not None
    assert float(found.chosen) >= 0.3
    assert found.leads[found.chosen][1] > 0.05


def test_without_an_order_nothing_is_chosen() -> None:
    split, items = tastes(50, 3, np.random.default_rng(0))
    unordered = replace(split, train=replace(split.train, order=None))
    assert choose_recency(items, unordered, CompressionConfig(), device="cpu") is None


def test_tastes_that_stay_want_none() -> None:
    split, items = tastes(400, 99, np.random.default_rng(0))
    noisy = items + 0.5 * np.random.default_rng(1).normal(size=items.shape).astype(np.float32)
    found = choose_recency(noisy, split, CompressionConfig(metric="recall@20"), device="cpu")
    assert found is not None
    assert found.chosen == "0"


def test_negative_recencies_are_refused() -> None:
    with pytest.raises(InputError, match="none below 0"):
        CompressionConfig(recencies=(-1.0,))
