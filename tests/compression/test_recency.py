from dataclasses import replace

import numpy as np
import pytest

from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.recency import choose_recency
from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.errors import InputError


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
