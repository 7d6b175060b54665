"""Propagation against a dense brute force of Eq. 1, and its backward against autograd's."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases import Graph, Leaves, LightGCN, propagate
from elasticrec.training.sampler import Batch


def draw(seed, n_users=6, n_items=8, share=0.3):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < share)
    train = Pairs.from_arrays(users, items, n_users=n_users, n_items=n_items)
    generator = torch.Generator().manual_seed(seed)
    return train, torch.randn(n_users, 3, generator=generator), torch.randn(
        n_items, 3, generator=generator
    )  # fmt: skip


def brute_force(train, users, items, layers, readout):
    """Eq. 1 as printed, one node after the other: e_u ← Σ_i e_i / √(|u||i|), and the reverse."""
    U, V = users.double(), items.double()
    found = [(U, V)]
    for _ in range(layers):
        new_U, new_V = torch.zeros_like(U), torch.zeros_like(V)
        for u in range(train.n_users):
            for i in train.of(u):
                scale = (train.per_user[u] * train.per_item[i]) ** 0.5
                new_U[u] += V[i] / scale
                new_V[i] += U[u] / scale
        U, V = new_U, new_V
        found.append((U, V))
    if readout == "final":
        return found[-1]
    return tuple(sum(layer[k] for layer in found) / len(found) for k in (0, 1))


def dense_matrix(train):
    """The (U + V)² normalised adjacency."""
    R = train.csr().toarray()
    R = R / np.sqrt(np.maximum(np.outer(R.sum(1), R.sum(0)), 1))
    n_users, n_items = R.shape
    zeros = np.zeros
    return torch.from_numpy(
        np.block([[zeros((n_users, n_users)), R], [R.T, zeros((n_items, n_items))]])
    ).double()


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**31),
    layers=st.integers(0, 4),
    readout=st.sampled_from(["final", "mean"]),
    share=st.sampled_from([0.0, 0.1, 0.5]),
)
def test_propagation_is_eq_1(seed, layers, readout, share):
    train, users, items = draw(seed, share=share)
    found = propagate(Graph(train), users, items, layers, readout)
    for mine, wanted in zip(found, brute_force(train, users, items, layers, readout), strict=True):
        torch.testing.assert_close(mine.double(), wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("layers", [0, 1, 3])
@pytest.mark.parametrize("readout", ["final", "mean"])
def test_backward_is_that_of_autograd_through_a_dense_matrix(layers, readout):
    train, users, items = draw(3)
    batch = Batch(*(torch.tensor(x) for x in ([0, 2], [1, 5, 0], [0, 1, 1], [7])))
    weights = torch.randn(2 + 3 + 4, 3, generator=torch.Generator().manual_seed(0))

    def loss(some_users, some_items):
        return (torch.cat([*some_users, *some_items]) * weights).sum()

    base = LightGCN(users, items, Graph(train), layers=layers, readout=readout)
    leaves = Leaves(base.tables)
    value = loss(*base.forward(leaves, batch))
    found = torch.autograd.grad(value, [leaves.tensors["users"], leaves.tensors["items"]])

    A = dense_matrix(train).float()
    both = torch.cat([users, items]).requires_grad_()
    powers = [both]
    for _ in range(layers):
        powers.append(A @ powers[-1])
    out = powers[-1] if readout == "final" else torch.stack(powers).mean(dim=0)
    U, V = out.split([len(users), len(items)])
    some_users = U[batch.users]
    value = loss((some_users, some_users[batch.row]), [V[at] for at in batch.items])
    wanted = torch.autograd.grad(value, both)[0].split([len(users), len(items)])
    for mine, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


def test_final_vectors_are_the_propagated_tables():
    train, users, items = draw(1)
    base = LightGCN(users, items, Graph(train), layers=2, readout="mean")
    wanted = propagate(base.graph, users, items, 2, "mean")
    for mine, theirs in zip(base.final(), wanted, strict=True):
        torch.testing.assert_close(mine, theirs)
    assert base.tables["users"] is users  # only layer 0 is trained


def test_hand_worked_two_users_one_item():
    """One item of two users: 1/√2 of each user reaches it; it reaches both."""
    train = Pairs.from_arrays(np.array([0, 1]), np.array([0, 0]), n_users=2, n_items=1)
    users, items = torch.tensor([[1.0], [3.0]]), torch.tensor([[2.0]])
    U, V = propagate(Graph(train), users, items, 1, "final")
    torch.testing.assert_close(U, torch.full((2, 1), 2 / 2**0.5))
    torch.testing.assert_close(V, torch.tensor([[4 / 2**0.5]]))


def test_whoever_took_nothing_ends_as_zero_or_as_a_share_of_herself():
    train = Pairs.from_arrays(np.array([0]), np.array([0]), n_users=2, n_items=2)
    users, items = torch.ones(2, 1), torch.ones(2, 1)
    assert propagate(Graph(train), users, items, 2, "final")[0][1].item() == 0
    assert propagate(Graph(train), users, items, 2, "mean")[0][1].item() == pytest.approx(1 / 3)
