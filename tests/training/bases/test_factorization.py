"""The base `mf`: vectors are rows, nothing else."""

import torch

from elasticrec.training.bases.factorization import Factorization
from elasticrec.training.sampler import Batch


def test_vectors_are_the_rows_given_and_final_is_the_tables():
    users, items = torch.randn(4, 3), torch.randn(5, 3)
    base = Factorization(users, items)
    assert base.by_rows == ("users", "items")
    batch = Batch(torch.tensor([3, 0]), torch.tensor([1, 1]), torch.tensor([4]))
    rows = {"users": [users[batch.users]], "items": [items[batch.seen], items[batch.unseen]]}
    found_users, vectors = base.forward({}, rows, batch, [batch.seen, batch.unseen])
    torch.testing.assert_close(found_users, users[[3, 0]])
    torch.testing.assert_close(vectors[0], items[[1, 1]])
    torch.testing.assert_close(vectors[1], items[[4]])
    assert base.final() == (users, items)
