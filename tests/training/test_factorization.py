"""The base `mf`: vectors are rows, and a step touches no others."""

import torch

from elasticrec.training.bases import Factorization, Leaves
from elasticrec.training.sampler import Batch


def test_vectors_are_rows_of_the_tables_and_only_those_are_touched():
    users, items = torch.randn(5, 3), torch.randn(9, 3)
    base = Factorization(users, items)
    near = torch.tensor([7, -1])
    numbers = (torch.tensor(x) for x in ([3, 0], [1, 1], [0, 1], [4]))
    batch = Batch(*numbers, near=near)
    leaves = Leaves(base.tables)
    found, (seen, unseen, close) = base.forward(leaves, batch)
    torch.testing.assert_close(found.vectors, users[[3, 0]])
    torch.testing.assert_close(found.asking, users[[3, 0]])
    torch.testing.assert_close(seen, items[[1, 1]])
    torch.testing.assert_close(unseen, items[[4]])
    torch.testing.assert_close(close[0], items[7])
    assert leaves.touched["users"].tolist() == [0, 3]
    assert leaves.touched["items"].tolist() == [0, 1, 4, 7]
