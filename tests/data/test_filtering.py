import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.data.filtering import keep_frequent
from elasticrec.data.ids import as_objects
from elasticrec.data.interactions import Ids, Interactions, Pairs


def made(cells, n_users=8, n_items=8):
    users, items = np.array(sorted(set(cells)), dtype=np.int64).reshape(-1, 2).T
    return Interactions(
        Pairs.from_arrays(users, items, n_users=n_users, n_items=n_items),
        Ids.of([f"u{k}" for k in range(n_users)]),
        Ids.of([100 + k for k in range(n_items)]),
        times=users * 1_000 + items,
        titles=as_objects([f"title {k}" for k in range(n_items)]),
    )


def plainly(cells, least_user, least_item):
    """The slow twin: remove one offender at a time."""
    left = set(cells)
    while True:
        for axis, least in ((0, least_user), (1, least_item)):
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
    st.integers(1, 4),
)
@settings(deadline=None, max_examples=100)
def test_agrees_with_removing_one_at_a_time(cells, per_user, per_item):
    expected = plainly(cells, per_user, per_item)
    if not expected:
        with pytest.raises(InputError, match="nothing is left after filtering"):
            keep_frequent(made(cells), per_user=per_user, per_item=per_item)
        return
    kept = keep_frequent(made(cells), per_user=per_user, per_item=per_item)
    kept.pairs.check()
    users = [int(str(kept.user_ids.of_number(u))[1:]) for u in kept.pairs.users]
    items = [int(kept.item_ids.of_number(i)) - 100 for i in kept.pairs.items]
    assert set(zip(users, items, strict=True)) == expected
    assert kept.times.tolist() == [u * 1_000 + i for u, i in zip(users, items, strict=True)]
    assert len(kept.user_ids) == len({u for u, _ in expected})
    assert kept.titles.tolist() == [f"title {k - 100}" for k in kept.item_ids.values]


def test_a_chain_falls_like_dominoes():
    chain = [(k, k) for k in range(7)] + [(k, k + 1) for k in range(7)]
    with pytest.raises(InputError, match=r"at least 2 .*most found: 2 and 2"):
        keep_frequent(made(chain), per_user=2, per_item=2)


def test_ten_by_default():
    square = [(u, i) for u in range(10) for i in range(10)]
    kept = keep_frequent(made([*square, (10, 0)], n_users=11, n_items=12))
    assert (kept.pairs.n_users, kept.pairs.n_items, len(kept.pairs)) == (10, 10, 100)
