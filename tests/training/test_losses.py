"""Losses and L2 against hand-worked numbers, slow versions and the printed sums (ledger 6)."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cosine_similarity

from elasticrec.training.bases import Users
from elasticrec.training.config import TrainConfig
from elasticrec.training.losses import Objective, Vectors, add_l2, bpr, diversity, softmax
from elasticrec.training.rows import Leaves
from elasticrec.training.sampler import Batch
from tests.twins import diversity_reference

PLAIN = TrainConfig(n_blocks=3, block_size=2, negatives=4, temperature=0.5, cooccurrence=0.0)
BPR = replace(PLAIN, loss="bpr", negatives=2)
B, D = 5, 6
ROW = torch.tensor([0, 0, 1, 2, 2])
"""Who of three users took each of five items."""


def draw(seed, shape, near=False):
    generator = torch.Generator().manual_seed(seed)
    sizes = [(3, D), (B, D), (B, D), (*shape, D)] + [(B, D)] * near
    own, asking, *rest = (torch.randn(*s, generator=generator).requires_grad_() for s in sizes)
    return Vectors(Users(own, asking), *rest)


def leaves(vectors):
    """Users, users as they ask, seen, unseen, and near ones where there are any."""
    found = (*vectors.users, vectors.seen, vectors.unseen, vectors.near)
    return [leaf for leaf in found if leaf is not None]


def numbers(taken=None, near=None, weights=None):
    """A batch of which the loss reads only what is given."""
    nothing = torch.zeros(B, dtype=torch.int64)
    return Batch(torch.arange(3), nothing, ROW, nothing, taken, near, weights)


def tiled(x):
    """The sum over blocks, which is all that a tiled score sees of a vector."""
    return x.view(*x.shape[:-1], 3, 2).sum(dim=-2)


def test_bpr_of_equal_scores_is_ln_2_and_falls_with_the_gap():
    assert float(bpr(torch.tensor([0.0]))) == pytest.approx(math.log(2))
    assert float(bpr(torch.tensor([2.0]))) == pytest.approx(math.log(1 + math.exp(-2)))


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**31), n_blocks=st.integers(1, 9))
def test_diversity_in_one_pass_is_the_double_sum(seed, n_blocks):
    generator = torch.Generator().manual_seed(seed)
    blocks = torch.randn(5, n_blocks, 3, generator=generator, dtype=torch.float64)
    assert float(diversity(blocks, "printed")) == pytest.approx(
        float(diversity_reference(blocks)), rel=1e-9, abs=1e-9
    )
    unit = torch.nn.functional.normalize(blocks, dim=2)
    assert float(diversity(blocks, "bounded")) == pytest.approx(
        float(diversity_reference(unit)), rel=1e-9, abs=1e-9
    )


def test_printed_diversity_grows_without_end_and_the_bounded_form_does_not():
    blocks = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(0))
    assert float(diversity(100 * blocks, "printed")) > 9_000 * float(diversity(blocks, "printed"))
    assert float(diversity(100 * blocks)) == pytest.approx(float(diversity(blocks)), rel=1e-5)
    assert float(diversity(100 * blocks)) <= 6**2


def test_l2_below_lambda_n_leaves_the_printed_form_unbounded():
    """With E_n = Ē + δ_n the term is N·Σ‖δ_n‖², so L2 of weight α leaves (α - λN)·Σ‖δ_n‖²."""
    N, weight = 6, 0.1
    spread = torch.randn(1, N, 3, generator=torch.Generator().manual_seed(1))
    spread = spread - spread.mean(dim=1, keepdim=True)

    def loss(alpha, scale):
        blocks = scale * spread
        return float(alpha * blocks.square().sum() - weight * diversity(blocks, "printed"))

    assert loss(0.9 * weight * N, 1000) < loss(0.9 * weight * N, 1) < 0
    assert loss(1.1 * weight * N, 1000) > loss(1.1 * weight * N, 1) > 0


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 2**31),
    score=st.sampled_from(["aligned", "tiled"]),
    weights=st.sampled_from([None, torch.tensor([0.5, 2.0, 1.0, 0.0, 1.5])]),
)
def test_bpr_takes_the_hardest_unseen_item_of_each_pair(seed, score, weights):
    vectors = draw(seed, (B, 2))
    found = Objective(replace(BPR, score=score))(vectors, numbers(weights=weights))
    fold = tiled if score == "tiled" else (lambda x: x)
    _, u, i, j = (fold(x.detach()) for x in leaves(vectors))
    total = 0.0
    for b in range(B):
        hardest = max(float(u[b] @ j[b, k]) for k in range(2))
        share = 1.0 if weights is None else float(weights[b])
        total += share * math.log(1 + math.exp(hardest - float(u[b] @ i[b])))
    assert float(found.detach()) == pytest.approx(total / B, rel=1e-5)


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 2**31),
    score=st.sampled_from(["aligned", "tiled"]),
    weigh=st.booleans(),
)
def test_softmax_is_on_cosines_over_temperature(seed, score, weigh):
    vectors = draw(seed, (4,), near=True)
    taken = torch.tensor([0 * 4 + 1, 2 * 4 + 0, 2 * 4 + 2])
    has_near = torch.tensor([True, True, False, True, True])
    weights = torch.tensor([0.5, 2.0, 1.0, 0.0, 1.5]) if weigh else None
    config = replace(PLAIN, score=score, cooccurrence=0.3)
    found = Objective(config)(vectors, numbers(taken, has_near.long() - 1, weights))
    fold = tiled if score == "tiled" else (lambda x: x)
    v, u, i, j, c = (fold(x.detach()) for x in leaves(vectors))
    total = 0.0
    for b, r in enumerate(ROW.tolist()):
        pool = [k for k in range(4) if r * 4 + k not in taken.tolist()]
        others = [float(cosine_similarity(v[r], j[k], dim=0)) / 0.5 for k in pool]
        log_others = math.log(sum(map(math.exp, others)))
        for target, weight in ((i, 1.0), (c, 0.3 * bool(has_near[b]))):
            logit = float(cosine_similarity(u[b], target[b], dim=0)) / 0.5
            share = weight * (float(weights[b]) if weigh else 1.0)
            total += share * math.log(1 + math.exp(log_others - logit))
    assert float(found.detach()) == pytest.approx(total / B, rel=1e-4)


def one_user(vector, seen, pool, temperature=0.5):
    """The softmax of one pair, whose user asks by the vector that she is."""
    batch = Batch(*(torch.zeros(1, dtype=torch.int64) for _ in range(4)))
    users = Users(torch.tensor([vector]), torch.tensor([vector]))
    return softmax(users, torch.tensor([seen]), torch.tensor(pool), batch, temperature=temperature)


def test_softmax_is_cross_entropy_over_the_sample():
    """Cosines 1, 0.6 and 0 at temperature 0.5: logits 2, 1.2 and 0."""
    loss = one_user([2.0, 0.0], [3.0, 0.0], [[3.0, 4.0], [0.0, 1.0]])
    wanted = -math.log(math.exp(2) / (math.exp(2) + math.exp(1.2) + 1))
    assert float(loss) == pytest.approx(wanted)


def test_large_logits_do_not_overflow():
    """Logits of ±1,000."""
    pool = [[1.0, 0.0], [1.0, 0.0]]
    found = one_user([1.0, 0.0], [-1.0, 0.0], pool, temperature=0.001)
    assert float(found) == pytest.approx(2000 + math.log(2), rel=1e-6)
    assert float(one_user([-1.0, 0.0], [1.0, 0.0], pool, 0.001)) == pytest.approx(
        math.log(3), rel=1e-4
    )


def test_a_user_of_zeros_is_told_from_nothing_and_has_no_gradient():
    zeros = torch.zeros(3, 2, requires_grad=True)
    users = Users(zeros, zeros.index_select(0, ROW))
    batch = numbers(taken=torch.zeros(0, dtype=torch.int64))
    found = softmax(users, torch.ones(B, 2), torch.eye(2), batch, temperature=0.1).mean()
    assert found.item() == pytest.approx(math.log(3))
    assert not torch.autograd.grad(found, zeros)[0].any()


def test_a_user_who_has_the_whole_pool_has_no_loss_and_no_gradient():
    vectors = draw(0, (4,))
    found = Objective(PLAIN)(vectors, numbers(torch.arange(4)))  # user 0 has all four
    grads = torch.autograd.grad(found, leaves(vectors))
    assert all(torch.isfinite(grad).all() for grad in grads)
    assert not any(grad[:n].any() for grad, n in zip(grads, (1, 2, 2), strict=False))
    assert all((grad[2:].abs().sum(dim=1) > 0).all() for grad in grads[:3])


def test_what_a_user_has_of_the_pool_has_no_gradient():
    vectors = draw(0, (4,))
    taken = torch.arange(3) * 4 + 2  # everyone has item 2 of the pool
    loss = Objective(PLAIN)(vectors, numbers(taken))
    grads = torch.autograd.grad(loss, leaves(vectors))
    assert not grads[3][2].any()
    assert (grads[3][[0, 1, 3]].abs().sum(dim=1) > 0).all()


def test_where_nothing_is_near_there_is_no_gradient():
    vectors = draw(0, (4,), near=True)
    has_near = torch.tensor([True, False, True, False, True])
    config = replace(PLAIN, cooccurrence=0.5)
    loss = Objective(config)(vectors, numbers(near=has_near.long() - 1))
    (grad,) = torch.autograd.grad(loss, vectors.near)
    assert (grad.abs().sum(dim=1) > 0).tolist() == has_near.tolist()


def test_diversity_is_subtracted_for_seen_and_unseen_items():
    vectors = draw(2, (4,))
    plain = Objective(PLAIN)(vectors, numbers())
    config = replace(PLAIN, diversity=0.1, diversity_form="printed")
    found = Objective(config)(vectors, numbers())
    items = torch.cat([vectors.seen, vectors.unseen]).view(-1, 3, 2)
    pairs = [(items[:, n] - items[:, m]).square().sum(1) for n in range(3) for m in range(n)]
    torch.testing.assert_close(found, plain - 0.1 * sum(pairs).mean())


@pytest.mark.parametrize("by_rows", [True, False])
def test_l2_is_the_gradient_of_half_the_squared_norms_of_the_batchs_rows(by_rows):
    """Every time that a batch names a row counts; near items and other tables do not."""
    generator = torch.Generator().manual_seed(0)
    tables = {name: torch.randn(6, 2, generator=generator) for name in ("users", "items", "more")}
    batch = Batch(
        *(torch.tensor(x) for x in ([0, 2], [1, 1], [0, 1], [3])), near=torch.tensor([5, 5])
    )
    leaves = Leaves(tables)
    for name in tables:
        if by_rows:
            leaves.rows(name, torch.tensor([0, 1, 2, 3, 5]))
        else:
            leaves.whole(name)
    grads = {name: torch.ones_like(leaf) for name, leaf in leaves.tensors.items()}
    add_l2(0.5, leaves, grads, batch)
    counts = {"users": [1, 0, 1, 0, 0, 0], "items": [0, 2, 0, 1, 0, 0], "more": [0] * 6}
    for name, table in tables.items():
        wanted = 1 + 0.5 * torch.tensor(counts[name])[:, None] * table
        torch.testing.assert_close(grads[name], wanted[leaves.touched.get(name, slice(None))])
