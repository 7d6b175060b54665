import numpy as np
import pytest

from elasticrec.data.interactions import Ids, Pairs
from elasticrec.data.split import Counts, Split, count


def pairs(*cells):
    users, items = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    return Pairs.from_arrays(users, items, n_users=3, n_items=5)


def test_counts_of_the_whole_and_of_the_parts():
    split = Split(pairs((0, 0), (0, 1), (1, 0)), pairs((0, 2)), pairs(), Ids.dense(3), Ids.dense(5))
    whole, train, validation, test = count(split)
    assert (whole.users, whole.items, whole.interactions) == (3, 5, 4)
    assert whole.sparsity == pytest.approx(1 - 4 / 15)
    assert whole.per_user == (1, 3)
    assert (train.part, train.users, train.items, train.interactions) == ("train", 2, 2, 3)
    assert validation.per_user == (1, 1)
    assert (train.known, validation.known, test.known) == (2, 1, 0)


def test_an_empty_part_has_no_span():
    split = Split(pairs((0, 0)), pairs((0, 2)), pairs(), Ids.dense(3), Ids.dense(5))
    *_, test = count(split)
    assert (test.users, test.items, test.interactions, test.per_user) == (0, 0, 0, (0, 0))


def test_sparsity_is_the_papers():
    assert f"{Counts('all', 52_643, 91_599, 2_984_108, (0, 0)).sparsity:.2%}" == "99.94%"
    assert f"{Counts('all', 138_322, 105_843, 3_865_586, (0, 0)).sparsity:.2%}" == "99.97%"
