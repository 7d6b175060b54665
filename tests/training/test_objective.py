"""The loss of a batch against hand-worked and slow versions; masks, L2 and the schedule."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cosine_similarity

from elasticrec.training.config import TrainConfig
from elasticrec.training.objective import Objective, Vectors, add_l2, draw_mask, learning_rate

CONFIG = TrainConfig(n_blocks=3, block_size=2, negatives=4, temperature=0.5)
BPR = replace(CONFIG, loss="bpr", negatives=2)
B, D, N_ITEMS = 5, 6, 40


def draw(seed, shape, near=False):
    generator = torch.Generator().manual_seed(seed)
    sizes = [(B, D), (B, D), (*shape, D)] + [(B, D)] * near
    return Vectors(*(torch.randn(*s, generator=generator).requires_grad_() for s in sizes))


def leaves(vectors):
    found = (vectors.users, vectors.seen, vectors.unseen, vectors.near)
    return [leaf for leaf in found if leaf is not None]


def tiled(x):
    """The sum over blocks, which is all that a tiled score sees of a vector."""
    return x.view(*x.shape[:-1], 3, 2).sum(dim=-2)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**31), score=st.sampled_from(["aligned", "tiled"]))
def test_bpr_takes_the_hardest_unseen_item_of_each_pair(seed, score):
    vectors = draw(seed, (B, 2))
    found = Objective(replace(BPR, score=score), N_ITEMS)(vectors, None, None, None)
    fold = tiled if score == "tiled" else (lambda x: x)
    u, i, j = (fold(x.detach()) for x in leaves(vectors))
    total = 0.0
    for b in range(B):
        hardest = max(float(u[b] @ j[b, k]) for k in range(2))
        total += math.log(1 + math.exp(hardest - float(u[b] @ i[b])))
    assert float(found.detach()) == pytest.approx(total / B, rel=1e-5)


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 2**31),
    score=st.sampled_from(["aligned", "tiled"]),
    correction=st.booleans(),
)
def test_softmax_is_on_cosines_over_temperature(seed, score, correction):
    vectors = draw(seed, (4,), near=True)
    taken = torch.tensor([0 * 4 + 1, 3 * 4 + 0, 3 * 4 + 2])
    has_near = torch.tensor([True, True, False, True, True])
    config = replace(CONFIG, score=score, cooccurrence=0.3, correction=correction)
    found = Objective(config, N_ITEMS)(vectors, taken, has_near, None)
    fold = tiled if score == "tiled" else (lambda x: x)
    u, i, j, c = (fold(x.detach()) for x in leaves(vectors))
    total = 0.0
    for b in range(B):
        pool = [k for k in range(4) if b * 4 + k not in taken.tolist()]
        others = [float(cosine_similarity(u[b], j[k], dim=0)) / 0.5 for k in pool]
        log_others = math.log(sum(map(math.exp, others)))
        log_others += math.log(N_ITEMS / 4) if correction else 0.0
        for target, weight in ((i, 1.0), (c, 0.3 * bool(has_near[b]))):
            logit = float(cosine_similarity(u[b], target[b], dim=0)) / 0.5
            total += weight * math.log(1 + math.exp(log_others - logit))
    assert float(found.detach()) == pytest.approx(total / B, rel=1e-4)


def test_what_a_user_has_of_the_pool_has_no_gradient():
    vectors = draw(0, (4,))
    taken = torch.arange(B) * 4 + 2  # everyone has item 2 of the pool
    loss = Objective(CONFIG, N_ITEMS)(vectors, taken, None, None)
    grads = torch.autograd.grad(loss, leaves(vectors))
    assert not grads[2][2].any()
    assert (grads[2][[0, 1, 3]].abs().sum(dim=1) > 0).all()


def test_where_nothing_is_near_there_is_no_gradient():
    vectors = draw(0, (4,), near=True)
    has_near = torch.tensor([True, False, True, False, True])
    config = replace(CONFIG, cooccurrence=0.5)
    loss = Objective(config, N_ITEMS)(vectors, None, has_near, None)
    (grad,) = torch.autograd.grad(loss, vectors.near)
    assert (grad.abs().sum(dim=1) > 0).tolist() == has_near.tolist()


@pytest.mark.parametrize("config", [CONFIG, BPR], ids=["softmax", "bpr"])
def test_the_elastic_loss_sees_only_kept_blocks(config):
    """The loss on a mask is the loss of vectors that have nothing but the kept blocks."""
    shape = (4,) if config.loss == "softmax" else (B, 2)
    vectors = draw(1, shape)
    mask = torch.tensor([1.0, 1, 0, 0, 1, 1])
    elastic = replace(config, elastic=0.7)
    both = Objective(elastic, N_ITEMS)(vectors, None, None, mask)
    plain = Objective(config, N_ITEMS)(vectors, None, None, None)
    kept = Vectors(*(leaf * mask for leaf in leaves(vectors)))
    masked = Objective(config, N_ITEMS)(kept, None, None, None)
    torch.testing.assert_close(both, plain + 0.7 * masked)
    (grad,) = torch.autograd.grad(both - plain, vectors.users)
    assert not grad[:, mask == 0].any()


def test_diversity_is_subtracted_for_seen_and_unseen_items():
    vectors = draw(2, (4,))
    plain = Objective(CONFIG, N_ITEMS)(vectors, None, None, None)
    config = replace(CONFIG, diversity=0.1, diversity_form="printed")
    found = Objective(config, N_ITEMS)(vectors, None, None, None)
    items = torch.cat([vectors.seen, vectors.unseen]).view(-1, 3, 2)
    pairs = [(items[:, n] - items[:, m]).square().sum(1) for n in range(3) for m in range(n)]
    torch.testing.assert_close(found, plain - 0.1 * sum(pairs).mean())


def test_l2_is_the_gradient_of_half_the_squared_norms_of_the_batchs_rows():
    generator = torch.Generator().manual_seed(0)
    table, rows = (torch.randn(4, 2, generator=generator) for _ in range(2))
    numbers = {"items": [torch.tensor([1, 1]), torch.tensor([3])], "users": [torch.tensor([0, 2])]}
    grads = {"items": torch.zeros(4, 2)}
    parts = {"users": [rows[:2]]}
    touched = {"users": [(numbers["users"][0], torch.ones(2, 2))]}
    add_l2(0.5, {"items": table}, grads, numbers, parts, touched)
    wanted = 0.5 * torch.stack([table[0] * 0, 2 * table[1], table[2] * 0, table[3]])
    torch.testing.assert_close(grads["items"], wanted)
    torch.testing.assert_close(touched["users"][0][1], 1 + 0.5 * rows[:2])


def test_a_mask_keeps_whole_blocks_and_every_number_of_them_is_as_likely():
    generator = torch.Generator().manual_seed(0)
    masks = torch.stack([draw_mask(CONFIG, generator) for _ in range(600)])
    blocks = masks.view(-1, 3, 2)
    assert torch.equal(blocks[:, :, 0], blocks[:, :, 1])
    width = blocks[:, :, 0].sum(dim=1)
    for n in (1, 2, 3):
        assert 150 < int((width == n).sum()) < 250
    kept = blocks[:, :, 0].mean(dim=0)  # each block as often as the others: 2 of 3
    torch.testing.assert_close(kept, torch.full((3,), 2 / 3), atol=0.08, rtol=0)


def test_the_cosine_schedule_falls_from_the_rate_towards_zero():
    rates = [learning_rate(CONFIG, step, 100) for step in range(100)]
    assert rates[0] == CONFIG.learning_rate
    assert rates[50] == pytest.approx(CONFIG.learning_rate / 2)
    assert all(a > b > 0 for a, b in itertools.pairwise(rates))
    constant = replace(CONFIG, schedule="constant")
    assert learning_rate(constant, 99, 100) == CONFIG.learning_rate
