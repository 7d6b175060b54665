"""How compared methods store numbers: against hand-worked cases, round trips and faiss itself."""

import numpy as np
import pytest
import torch

from elasticrec.space import Budget
from experiments.baselines import faiss_pq, pruning
from experiments.baselines.codebooks import kmeans, nearest
from experiments.baselines.contract import BudgetTooSmall
from experiments.baselines.fixed_size import as_bytes, from_bytes
from experiments.baselines.neighbours import Lists, stored, stored_bytes, unpacked
from experiments.baselines.packing import (
    code_scales,
    decode_scales,
    pack,
    packed_bytes,
    unpack,
)
from experiments.baselines.turning import turned


def test_packed_numbers_come_back(rng):
    for bits in (1, 4, 7, 17):
        numbers = rng.integers(2**bits, size=1_001)
        planes = pack(numbers, bits)
        assert planes.nbytes == packed_bytes(len(numbers), bits) == bits * 126
        np.testing.assert_array_equal(unpack(planes, len(numbers)), numbers)


def test_scales_of_one_byte_are_within_half_a_step(rng):
    scales = np.exp(rng.normal(size=500)).astype(np.float32)
    coded = code_scales(scales)
    assert coded["scales"].nbytes == 500
    found = decode_scales(coded["scales"], coded["scale_ends"])
    half = (np.log(scales).max() - np.log(scales).min()) / 255 / 2
    assert np.abs(np.log(found) - np.log(scales)).max() <= half * 1.01
    alike = code_scales(np.full(3, 0.25, np.float32))
    np.testing.assert_allclose(decode_scales(alike["scales"], alike["scale_ends"]), 0.25, rtol=1e-6)


def test_bytes_are_within_half_a_step_of_each_item(rng):
    items = rng.normal(size=(50, 12)).astype(np.float32)
    items[3] = 0
    found = from_bytes(as_bytes(items))
    step = np.abs(items).max(axis=1, keepdims=True) / 127
    assert (np.abs(found - items) <= 0.51 * step + 1e-3 * np.abs(items)).all()
    assert not found[3].any()


def test_turning_changes_no_order_of_scores(rng):
    users = rng.normal(size=(30, 6)).astype(np.float32) * [3, 1, 1, 1, 0.1, 2]
    items = rng.normal(size=(40, 6)).astype(np.float32) + 1
    before = users @ items.T
    for how in ("none", "energy", "scored"):
        found = turned(users.astype(np.float32), items, how)
        after = found.users @ found.items.T
        gaps = after - before
        np.testing.assert_allclose(gaps, gaps[:, :1].repeat(40, axis=1), atol=1e-3)
        if how != "none":
            spread = found.items.var(axis=0)
            assert (np.diff(spread) <= 1e-6).all()


def test_kmeans_finds_clusters_that_are_plain_to_see(rng):
    centres = np.array([[0, 0], [9, 0], [0, 9], [9, 9]], dtype=np.float32)
    points = centres.repeat(50, axis=0) + rng.normal(scale=0.1, size=(200, 2))
    generator = torch.Generator().manual_seed(0)
    found = kmeans(torch.as_tensor(points, dtype=torch.float32), 16, generator)
    codes = nearest(torch.as_tensor(points, dtype=torch.float32), found)
    assert torch.linalg.vector_norm(found[codes] - torch.as_tensor(points), dim=1).max() < 0.5


def test_product_quantiser_is_as_good_as_that_of_faiss(rng):
    faiss = pytest.importorskip("faiss")
    items = rng.normal(size=(4_000, 16)).astype(np.float32)
    theirs = faiss.ProductQuantizer(16, 4, 6)
    theirs.train(items)
    error = np.square(theirs.decode(theirs.compute_codes(items)) - items).mean()
    coded = faiss_pq.quantise(items, faiss_pq.Shape(16, 6, 4), 0, "cpu")
    ours = np.square(faiss_pq.decode(coded) - items).mean()
    assert ours <= 1.03 * error


def test_product_quantiser_takes_all_parts_that_fit():
    shape = faiss_pq.shape_for(91_599, 128, Budget.megabytes(5), "faiss-pq")
    assert shape == faiss_pq.Shape(128, 8, 53)  # (5e6 - 2 * 258 * 128 - 8) / (8 * 11450) = 53.9
    assert faiss_pq.cuts(128, 53) == [3] * 22 + [2] * 31
    dealt = faiss_pq.deal(np.array([8.0, 4.0, 2.0, 1.0]), 2)
    np.testing.assert_array_equal(dealt, [0, 3, 1, 2])  # 8 · 1 and 4 · 2


def test_pruning_keeps_the_largest_and_charges_their_places():
    items = np.array([[0.1, -3, 0, 2], [1, 0.2, -0.3, 0.4]], dtype=np.float32)
    for by_bits in (True, False):
        coded = pruning.prune(items, pruning.Kept(3, "float16", by_bits))
        expected = [[0, -3, 0, 2], [1, 0, 0, 0]]
        np.testing.assert_allclose(pruning.decode(coded), expected, rtol=2e-3)
        places = 2 if by_bits else 3 + 2  # a byte of bits per item; or places and counts
        assert sum(x.nbytes for x in coded.values()) == 4 * 4 + 3 * 2 + places


def test_pruning_takes_the_packing_that_keeps_most():
    def at(megabytes):
        return pruning.best_packing("pruning", 91_599, 128, "int8", Budget.megabytes(megabytes))

    assert at(5) == (5_000_000 - 1_024 - 16 * 91_599, "int8", True)
    assert at(1) == ((1_000_000 - 1_024 - 91_599) // 2, "int8", False)
    assert at(25).values == "float16"
    assert at(25).n == 128 * 91_599
    with pytest.raises(BudgetTooSmall):
        at(0.2)


def test_lists_of_any_length_come_back_on_fifteen_levels():
    items = np.array([[1, 2, 3] + [-1] * 17, list(range(1, 4)) * 6 + [1, 2]] * 2)
    weights = np.where(items >= 0, np.linspace(2, 1, 20), 0)
    coded = stored(Lists(items, weights))
    assert sum(x.nbytes for x in coded.values()) == stored_bytes(4, 20)
    found = unpacked(coded)
    np.testing.assert_array_equal(found.numbers, np.maximum(items, 0))
    votes = found.values[found.votes].astype(float)
    np.testing.assert_allclose(votes / votes.max(), weights / weights.max(), rtol=0.06)
