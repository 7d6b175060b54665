import logging
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data import interactions
from elasticrec.data.ids import as_objects
from elasticrec.data.interactions import Ids, Interactions, Pairs
from elasticrec.data.preparation import PrepareConfig
from elasticrec.errors import InputError

LIMITS = PrepareConfig().limits


def keep_frequent(whole, limits=LIMITS):
    return interactions.keep_frequent(whole, limits)


def made(cells, n_users=8, n_items=8):
    users, items = np.array(sorted(set(cells)), dtype=np.int64).reshape(-1, 2).T
    return Interactions(
        Pairs.from_arrays(
            users, items, n_users=n_users, n_items=n_items, order=-items.astype(np.int32)
        ),
        Ids.of([f"u{k}" for k in range(n_users)]),
        Ids.of([100 + k for k in range(n_items)]),
        times=users * 1_000 + items,
        titles=as_objects([f"title {k}" for k in range(n_items)]),
    )


def plainly(cells, least):
    """The slow twin: remove one offender at a time."""
    left = set(cells)
    while True:
        for axis in (0, 1):
            counts = {}
            for cell in left:
                counts[cell[axis]] = counts.get(cell[axis], 0) + 1
            rare = [who for who, n in counts.items() if n < least]
            if rare:
                left = {cell for cell in left if cell[axis] != rare[0]}
                break
        else:
            return left


@given(
    st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1),
    st.integers(1, 4),
)
@settings(deadline=None, max_examples=100)
def test_agrees_with_removing_one_at_a_time(cells, least):
    expected = plainly(cells, least)
    if not expected:
        with pytest.raises(InputError, match="nothing is left after filtering"):
            keep_frequent(made(cells), [least])
        return
    kept = keep_frequent(made(cells), [least])
    kept.pairs.check()
    users = [int(str(kept.user_ids.of_number(u))[1:]) for u in kept.pairs.users]
    items = [int(kept.item_ids.of_number(i)) - 100 for i in kept.pairs.items]
    assert set(zip(users, items, strict=True)) == expected
    assert kept.pairs.history()[0].tolist() == kept.pairs.of(0)[::-1].tolist()
    assert kept.times.tolist() == [u * 1_000 + i for u, i in zip(users, items, strict=True)]
    assert len(kept.user_ids) == len({u for u, _ in expected})
    assert kept.titles.tolist() == [f"title {k - 100}" for k in kept.item_ids.values]


def test_a_chain_falls_like_dominoes():
    chain = [(k, k) for k in range(7)] + [(k, k + 1) for k in range(7)]
    with pytest.raises(InputError, match=r"at least 2 .*most found: 2 per user, 2 per item"):
        keep_frequent(made(chain), [2])


SQUARE = [(u, i) for u in range(10) for i in range(10)]


def test_ten_by_default():
    kept = keep_frequent(made([*SQUARE, (10, 0)], n_users=11, n_items=12))
    assert (kept.pairs.n_users, kept.pairs.n_items, len(kept.pairs)) == (10, 10, 100)


@pytest.mark.parametrize(("side", "kept"), [(9, 81), (5, 25), (4, 16), (2, 4)])
def test_sparse_data_get_a_smaller_limit(side, kept):
    square = [(u, i) for u in range(side) for i in range(side)]
    assert len(keep_frequent(made([*square, (8, 0)], n_users=9, n_items=9)).pairs) == kept


def test_what_is_left_out_is_logged(caplog):
    with caplog.at_level(logging.INFO):
        keep_frequent(made([*SQUARE, (10, 0), (10, 11), (11, 11)], n_users=12, n_items=12))
        keep_frequent(made(SQUARE, n_users=10, n_items=10))
    assert caplog.messages == [
        "data: left out 2 of 12 users and 1 of 11 items with fewer than 10 interactions, and with "
        "them 3 of 103 interactions; 10 users, 10 items and 100 interactions stay "
        "(min-interactions sets the number)",
        "data: all users and items have at least 10 interactions",
    ]


def test_a_smaller_limit_and_a_loss_of_most_users_are_said(caplog):
    few = [(u, u % 10) for u in range(10, 40)]
    with caplog.at_level(logging.INFO):
        keep_frequent(made([*SQUARE, *few], n_users=40, n_items=10))
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "left out 30 of 40 users" in caplog.text
    caplog.clear()
    square = [(u, i) for u in range(5) for i in range(5)]
    with caplog.at_level(logging.INFO):
        keep_frequent(made(square))
    assert caplog.messages[0] == (
        "data: users and items with at least 10 interactions have only 0 % of them, so fewer are "
        "enough"
    )


def test_weights_stay_with_their_pairs():
    whole = made([*SQUARE, (10, 0)], n_users=11, n_items=12)
    weights = np.arange(1, len(whole.pairs) + 1, dtype=np.float32)
    kept = keep_frequent(replace(whole, pairs=replace(whole.pairs, weights=weights)))
    assert kept.pairs.weights.tolist() == list(range(1, 101))
