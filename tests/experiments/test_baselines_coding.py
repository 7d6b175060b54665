"""How compared methods store numbers: against hand-worked cases, round trips and faiss itself."""

import numpy as np
import pytest
import torch

from elasticrec.data.interactions import Pairs
from elasticrec.space import Budget
from experiments.baselines import pruning, quantisers
from experiments.baselines.contract import (
    BudgetTooSmall,
    code_scales,
    decode_scales,
    pack,
    packed_bytes,
    unpack,
)
from experiments.baselines.fixed_size import as_bytes, from_bytes
from experiments.baselines.lightrec import kmeans, nearest
from experiments.baselines.neighbours import cut_short, linear, shared, slots_within
from experiments.baselines.pruning import turned


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


def theirs(faiss, name, items, n_bytes):
    """What faiss' own quantiser of so many bytes decodes."""
    D = items.shape[1]
    if name == "residual quantiser":
        coder = faiss.ResidualQuantizer(D, n_bytes, 8)
    elif name == "rabitq":
        coder = faiss.RaBitQuantizer(D, faiss.METRIC_L2)
        return coder.decode(coder.compute_codes(items))
    else:
        coder = faiss.ProductQuantizer(D, n_bytes, 8)
    turn = faiss.OPQMatrix(D, n_bytes)
    if name == "opq":
        turn.train(items)
    x = turn.apply(items) if name == "opq" else items
    coder.train(x)
    decoded = coder.decode(coder.compute_codes(x))
    return turn.reverse_transform(decoded) if name == "opq" else decoded


@pytest.mark.parametrize("name", ["pq", "opq", "residual quantiser"])
def test_quantisers_are_as_good_as_those_of_faiss(rng, name):
    faiss = pytest.importorskip("faiss")
    spread = np.linspace(0.2, 2, 16)
    items = (rng.normal(size=(4_000, 16)) * spread) @ np.linalg.qr(rng.normal(size=(16, 16)))[0]
    items = items.astype(np.float32)
    books = 2 * 256 * 16 / len(items)  # bytes per item of centroids
    n_bytes = 4 + (4 * books if name == "residual quantiser" else books)
    x = torch.from_numpy(items)
    method = quantisers.QUANTISERS[name]
    found = method.code(x, n_bytes + 1e-6, {"axes": 1.0, "bits": 8}, 0).numpy()
    spectrum = np.square(quantisers.along_axes(x, 16).numpy()).sum()
    assert spectrum == pytest.approx(np.square(items).sum(), rel=1e-4)
    # Codes are turned: what is told of lengths and products is compared, not of numbers.
    ours = np.square(items).sum() - np.square(found).sum()
    if name != "residual quantiser":  # decoded means explain what they cover
        others = np.square(items).sum() - np.square(theirs(faiss, name, items, 4)).sum()
    else:
        products = items[:300] @ items.T
        decoded = theirs(faiss, name, items, 4)
        others = np.square(decoded[:300] @ decoded.T - products).mean()
        ours = np.square(found[:300] @ found.T - products).mean()
    assert ours <= 1.1 * others


def test_rabitq_tells_directions_as_well_as_that_of_faiss(rng):
    faiss = pytest.importorskip("faiss")
    items = rng.normal(size=(2_000, 64)).astype(np.float32)
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    other = theirs(faiss, "rabitq", items, 8)
    found = quantisers.rabitq(torch.from_numpy(items), 8 + 2, {"bits": 1}, 0).numpy()

    def error(decoded):
        decoded = decoded / np.linalg.norm(decoded, axis=1, keepdims=True)
        return np.square(decoded[:300] @ decoded.T - items[:300] @ items.T).mean()

    assert error(found) <= 1.1 * error(other)
    finer = quantisers.rabitq(torch.from_numpy(items), 32 + 2, {"bits": 4}, 0).numpy()
    assert error(finer) < 0.1 * error(found)


def test_a_quantiser_charges_its_codebooks():
    items = torch.randn(1_000, 32, generator=torch.Generator().manual_seed(0))
    settings = {"axes": 1.0, "bits": 8}
    books = 2 * 256 * 32 / 1_000  # halves
    assert quantisers.product(items, books + 0.9, settings, 0) is None
    one = quantisers.product(items, books + 1.1, settings, 0)
    assert len(torch.unique(one, dim=0)) == 256
    assert quantisers.integers(items, 4.9, {"bits": 8, "spread": 3.0}, 0).shape == (1_000, 4)
    assert quantisers.integers(items, 4.9, {"bits": 4, "spread": 3.0}, 0).shape == (1_000, 9)


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
        return pruning.best_packing("pruning", 91_599, 128, "int8", Budget.parse(f"{megabytes}MB"))

    assert at(5) == (5_000_000 - 1_024 - 16 * 91_599, "int8", True)
    assert at(1) == ((1_000_000 - 1_024 - 91_599) // 2, "int8", False)
    assert at(25).values == "float16"
    assert at(25).n == 128 * 91_599
    with pytest.raises(BudgetTooSmall):
        at(0.2)


def test_the_linear_model_is_ease_and_its_cut_is_solved_again(rng):
    dense = (rng.random((60, 12)) < 0.3).astype(float)
    users, items = dense.nonzero()
    train = Pairs.from_arrays(users, items, n_users=60, n_items=12)
    settings = {"user_power": 0.0, "ridge": 5.0, "voter_power": 0.4}
    G = shared(train, 0.0, "cpu")
    np.testing.assert_allclose(G.numpy(), dense.T @ dense)
    P = np.linalg.inv(dense.T @ dense + 5 * np.eye(12))
    expected = -P / np.diag(P)[:, None]
    np.fill_diagonal(expected, 0)
    lists = linear(G, train, settings)
    np.testing.assert_allclose(
        lists.weights.numpy(), np.maximum(-np.sort(-expected, axis=1)[:, :11], 0), atol=1e-5
    )
    short = cut_short(lists, 2, G, train, settings | {"again": True})
    for target in range(12):
        voters = lists.voters[target, :2].numpy()
        A = G.numpy()[np.ix_(voters, voters)] + 5 * np.eye(2)
        alone = np.maximum(np.linalg.solve(A, G.numpy()[voters, target]), 0)
        np.testing.assert_allclose(short.weights[target].numpy(), alone, rtol=0.25, atol=0.02)


def test_as_many_neighbours_fit_as_bits_allow():
    assert slots_within(11, 40_981) == 4  # 20 bits each
    assert slots_within(2.4, 40_981) == 0
    assert slots_within(1_000, 9) == 8
