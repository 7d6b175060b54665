"""The plain reference of the training benchmark is sound: true triples, and it learns."""

import numpy as np
import pytest
import torch

from benchmarks.plain import bpr
from elasticrec.training.bases import Graph, propagate


@pytest.mark.parametrize("sampler", [bpr.Loop, bpr.Vectorised])
def test_triples_are_of_a_user_an_item_of_hers_and_one_that_is_not(planted, sampler):
    users, seen, unseen = sampler(planted.train, np.random.default_rng(0))()
    taken = planted.train.csr().toarray() > 0
    assert len(users) == bpr.BATCH
    assert taken[users, seen].all()
    assert not taken[users, unseen].any()


def test_propagation_is_ours_of_the_mean_readout(planted):
    model = bpr.Reference(planted.train, 8, lambda: None, layers=3)
    with torch.no_grad():
        found = model.vectors()
        users, items = model.users.weight, model.items.weight
        wanted = propagate(Graph(planted.train), users, items, 3, "mean")
    for mine, theirs in zip(wanted, found, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("layers", [0, 2])
def test_a_few_steps_pull_seen_items_above_unseen_ones(planted, layers):
    torch.manual_seed(0)
    sampler = bpr.Vectorised(planted.train, np.random.default_rng(0))
    model = bpr.Reference(planted.train, 8, sampler, layers=layers)
    model.adam.param_groups[0]["lr"] = 0.05
    for _ in range(30):
        model.step()
    users, seen, unseen = (torch.from_numpy(x.astype(np.int64)) for x in sampler())
    with torch.no_grad():
        all_users, all_items = (
            model.vectors() if layers else (model.users.weight, model.items.weight)
        )
        gap = (all_users[users] * (all_items[seen] - all_items[unseen])).sum(dim=1)
    assert float((gap > 0).float().mean()) > 0.8
