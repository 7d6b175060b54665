"""Codes: what comes back after coding, how near it is, and what it does not depend on."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.blocks.table import BlockTable
from elasticrec.coding.planes import Codes, decode_item, encode
from elasticrec.coding.words import pair_sums, word_lists
from elasticrec.data.errors import InputError

IDEAL = (0.364, 0.121, 0.0375, 0.0143)
"""Mean squared error of a normal number of variance 1 at depths 1 to 4."""


def made_table(rng, n_items=60, n_blocks=2, n_users=20, **changes):
    D = 8 * n_blocks
    scale = np.linspace(2, 0.2, D)
    items = (rng.normal(size=(n_items, D)) * scale + 0.5).astype(np.float32)
    users = (rng.normal(size=(n_users, D)) * scale).astype(np.float32)
    table = BlockTable(items.reshape(n_items, n_blocks, 8), users, "mf")
    return replace(table, **changes)


def coded(table, bounds=None, rows=None, seed=0, **options):
    bounds = [0, table.n_items] if bounds is None else bounds
    rows = [[8] * table.n_blocks] if rows is None else rows
    return encode(table, bounds, np.array(rows), rng=np.random.default_rng(seed), **options)


def decoded(codes, depths, with_gain=True):
    ranges = zip(codes.bounds[:-1], codes.bounds[1:], strict=True)
    return np.concatenate([codes.decode(int(a), int(b), depths, with_gain) for a, b in ranges])


def error(codes, table, depths, with_gain=False):
    return float(((decoded(codes, depths, with_gain) - table.items @ codes.rotation) ** 2).sum())


def test_normal_numbers_have_the_errors_the_code_is_chosen_for(rng):
    items = rng.normal(size=(40_000, 1, 8)).astype(np.float32)
    table = BlockTable(items, rng.normal(size=(50, 8)).astype(np.float32), "mf")
    codes = coded(table, n_lists=0)
    for depth, ideal in enumerate(IDEAL, start=1):
        found = error(codes, table, np.array([depth])) / items.size
        assert found == pytest.approx(ideal, rel=0.03)
    assert codes.scales == pytest.approx(np.array([[0, 0, 1]]), rel=0.01)


def clustered(rng, n_items=5_000, n_blocks=4, n_tastes=60):
    """Items near one of some tastes each."""
    D = 8 * n_blocks
    tastes = rng.normal(size=(n_tastes, D))
    items = tastes[rng.integers(n_tastes, size=n_items)] + rng.normal(0, 0.1, (n_items, D))
    users = rng.normal(size=(50, D)).astype(np.float32)
    return BlockTable(items.astype(np.float32).reshape(n_items, n_blocks, 8), users, "mf")


def test_words_find_the_tastes_that_items_share(rng):
    table = clustered(rng)
    words, signs = coded(table, n_lists=2), coded(table, n_lists=0)
    two = [1, 1, 0, 0]
    assert error(words, table, two) < 0.5 * error(signs, table, two)


def test_each_list_says_more_letters_more_than_signs_and_signs_go_on_from_there(rng):
    table = made_table(rng, 20_000, 4)
    codes = coded(table, n_lists=4)
    rows = np.tri(4, dtype=int)  # one list, two, three, all four
    found = [error(codes, table, row) for row in rows]
    assert all(b < 0.95 * a for a, b in itertools.pairwise(found))
    spelt = error(codes, table, np.full(4, 2))
    assert spelt / found[-1] < 0.9 * IDEAL[0]
    for planes, ideal in enumerate(IDEAL[:3], start=1):
        left = error(codes, table, np.full(4, 2 + planes))
        assert left / spelt < 1.2 * ideal  # what letters leave over is not quite normal


def test_blocks_beyond_the_lists_have_letters_and_signs_alone(rng):
    table = made_table(rng, 300, 4)
    codes = coded(table, n_lists=2)
    assert (codes.words.shape, codes.letters.shape) == ((2, 32, 32), (256, 8))
    assert np.abs(codes.words).max(axis=(1, 2)).tolist() == [127, 127]
    assert np.abs(codes.letters).max() == 127
    assert codes.scales[2:, 0].tolist() == [0, 0]
    assert codes.first_signs.tolist() == [2, 2, 1, 1]
    words = codes.copies(np.array([1, 1, 0, 0]), 0, 300)
    spelt = codes.copies(np.array([1, 1, 1, 0]), 0, 300)
    np.testing.assert_array_equal(
        np.delete(words, np.s_[16:24], 1), np.delete(spelt, np.s_[16:24], 1)
    )
    added = (spelt - words)[:, 16:24]
    np.testing.assert_allclose(added, codes.spelling(2)[codes.planes[2, 0]], atol=1e-6)
    assert coded(table, n_lists=0).letters.shape == (0, 8)


def test_a_byte_names_a_word_of_each_half():
    words = np.zeros((32, 8), dtype=np.int8)
    words[3], words[16 + 9] = 5, np.arange(8)
    sums = pair_sums(words)
    assert sums.shape == (256, 8)
    assert sums[3 + 16 * 9].tolist() == (5 + np.arange(8)).tolist()
    assert sums[4 + 16 * 9].tolist() == np.arange(8).tolist()
    assert sums[3 + 16 * 8].tolist() == [5] * 8


def test_a_catalogue_has_as_many_lists_as_it_can_pay_for():
    found = [word_lists(V, 16) for V in (1, 8_828, 16_383, 16_384, 40_981, 91_599)]
    assert found == [0, 0, 0, 4, 10, 16]
    assert word_lists(91_599, 32) == 11


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 1000),
    n_items=st.integers(1, 40),
    n_blocks=st.sampled_from([1, 2, 5, 32]),
    n_groups=st.integers(1, 4),
    users=st.booleans(),
    gain=st.sampled_from(["norm", "product", "projection"]),
    n_lists=st.integers(0, 32),
)
def test_any_shape_is_coded_and_deeper_is_never_worse(
    seed, n_items, n_blocks, n_groups, users, gain, n_lists
):
    rng = np.random.default_rng(seed)
    table = made_table(rng, n_items, n_blocks)
    table = table if users else replace(table, users=None, base="history")
    cuts = rng.choice(np.arange(1, n_items), min(n_groups, n_items) - 1, replace=False)
    bounds = np.concatenate(([0], np.sort(cuts), [n_items])).astype(int)
    rows = rng.integers(0, 9, size=(3, n_blocks))
    codes = coded(table, bounds, rows, gain=gain, n_lists=min(n_lists, n_blocks))
    errors = [error(codes, table, np.full(n_blocks, depth)) for depth in range(9)]
    slack = 1e-4 * errors[0] + 1e-9
    assert all(b <= a + slack for a, b in itertools.pairwise(errors))
    assert np.isfinite(codes.gain_values).all()
    assert (codes.gain_values >= 0).all()
    item = int(rng.integers(n_items))
    for row in codes.rows:
        twin = decode_item(codes, item, row)
        np.testing.assert_allclose(codes.decode(item, item + 1, row)[0], twin, atol=1e-5)


def test_what_was_rotated_still_scores_as_before(rng):
    table = made_table(rng)
    codes = coded(table)
    R = codes.rotation
    np.testing.assert_allclose(R.T @ R, np.eye(16), atol=1e-5)
    turned = (table.users @ R) @ (table.items @ R).T
    np.testing.assert_allclose(turned, table.users @ table.items.T, atol=1e-4)


def test_rotation_fills_the_first_block_with_most_energy(rng):
    table = made_table(rng, 500, 4, 200)
    order = rng.permutation(32)
    mixed = replace(
        table, blocks=table.items[:, order].reshape(500, 4, 8), users=table.users[:, order]
    )
    assert (np.diff(coded(mixed).scales[:, 2]) < 0).all()


@pytest.mark.parametrize("n_lists", [0, 1, 2])
def test_codes_do_not_depend_on_the_menu_or_the_kind_of_gain(rng, n_lists):
    table = made_table(rng)
    one = coded(table, [0, 20, 60], [[1, 0]], n_lists=n_lists)
    many = [[8, 8], [1, 0], [3, 2]]
    other = coded(table, [0, 20, 60], many, gain="projection", n_lists=n_lists)
    for name in ("planes", "means", "person", "scales", "steps", "words", "letters", "rotation"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(
        decoded(one, [3, 2], with_gain=False), decoded(other, [3, 2], with_gain=False)
    )


def test_equal_inputs_give_equal_codes_and_another_seed_other_ones(rng):
    table = made_table(rng)
    for n_lists in (0, 2):
        one = coded(table, n_lists=n_lists).fingerprint()
        assert coded(table, n_lists=n_lists).fingerprint() == one
        assert coded(table, seed=1, n_lists=n_lists).fingerprint() != one


def test_each_bit_is_the_sign_of_what_was_left_over(rng):
    table = made_table(rng, 5, 1)
    codes = coded(table)
    rest = table.items @ codes.rotation - codes.means.astype(np.float32)
    for item in range(5):
        for j in range(8):
            z, step, bits = float(rest[item, j] / codes.scales[0, 2]), 1.1, []
            for _ in range(8):
                bits.append(int(z >= 0))
                z -= step if bits[-1] else -step
                step *= 0.55
            assert [int(codes.planes[0, p, item]) >> j & 1 for p in range(8)] == bits


def test_a_dropped_block_is_the_mean_of_its_group(rng):
    table = made_table(rng)
    codes = coded(table, [0, 20, 60], [[0, 2], [0, 0], [0, 2]])
    assert codes.rows.tolist() == [[0, 2]]  # one that keeps nothing needs no gain
    turned = table.items @ codes.rotation
    for start, stop in ((0, 20), (20, 60)):
        mean = turned[start:stop].mean(axis=0)
        np.testing.assert_allclose(codes.means[codes.group_of(start, stop)], mean, atol=2e-3)
        kept = codes.decode(start, stop, [0, 2])
        np.testing.assert_allclose(kept[:, :8], np.tile(mean[:8], (stop - start, 1)), atol=2e-3)
        nothing = codes.decode(start, stop, [0, 0])
        np.testing.assert_allclose(nothing, np.tile(mean, (stop - start, 1)), atol=2e-3)


@pytest.mark.parametrize("kind", ["norm", "product", "projection"])
def test_gains_do_what_they_are_named_for(rng, kind):
    table = made_table(rng, 300, 4)
    depths = [2, 1, 1, 0]
    codes = coded(table, [0, 100, 300], [depths], gain=kind)
    mean = codes.means.astype(np.float64)[np.repeat([0, 1], [100, 200])]
    copy = (decoded(codes, depths) - mean)[:, :24]
    original = (table.items @ codes.rotation - mean)[:, :24]
    lengths, product = (original**2).sum(axis=1), (copy * original).sum(axis=1)
    whole = ((table.items @ codes.rotation - mean) ** 2).sum(axis=1)
    wanted, found = {
        "norm": ((lengths * whole) ** 0.25, np.linalg.norm(copy, axis=1)),
        "product": (lengths, product),
        "projection": (product, (copy**2).sum(axis=1)),
    }[kind]
    np.testing.assert_allclose(found, wanted, rtol=0.025)


@pytest.mark.parametrize("n_lists", [0, 1, 2])
def test_blocks_that_never_change_have_no_spread_and_come_back(rng, n_lists):
    items = np.zeros((30, 2, 8), dtype=np.float32)
    items[:, 0] = rng.normal(size=(30, 8))
    users = np.zeros((10, 16), dtype=np.float32)
    users[:, :8] = rng.normal(size=(10, 8))
    table = BlockTable(items, users, "mf")
    codes = coded(table, rows=[[0, 8], [8, 8]], n_lists=n_lists)
    assert codes.scales[1, 1:].tolist() == [0, 0]
    assert (decoded(codes, [0, 8])[:, 8:] == 0).all()
    assert error(codes, table, [8, 8]) < 0.01 * (items**2).sum()


def test_items_all_alike_are_their_mean(rng):
    items = np.tile(rng.normal(size=(1, 1, 8)), (7, 1, 1)).astype(np.float32)
    table = BlockTable(items, None, "history")
    codes = coded(table)
    np.testing.assert_allclose(decoded(codes, [8]), table.items @ codes.rotation, atol=1e-3)


def test_the_unknown_person_is_the_mean_unit_user_or_all_items(rng):
    table = made_table(rng, fold_map=rng.normal(size=(16, 16)).astype(np.float32))
    codes = coded(table)
    units = table.users / np.linalg.norm(table.users, axis=1, keepdims=True)
    np.testing.assert_allclose(codes.person, units.mean(axis=0) @ codes.rotation, atol=2e-3)
    history = replace(table, users=None, base="history")
    units = table.items / np.linalg.norm(table.items, axis=1, keepdims=True)
    mean = units.mean(axis=0)
    mapped = mean / np.linalg.norm(mean) @ table.fold_map
    codes = coded(history)
    np.testing.assert_allclose(codes.person, mapped @ codes.rotation, atol=4e-3)


def test_what_was_saved_comes_back(tmp_path, rng):
    codes = coded(made_table(rng), [0, 20, 60], [[3, 1]])
    codes.save(tmp_path / "codes.npz")
    again = Codes.load(tmp_path / "codes.npz")
    assert again.fingerprint() == codes.fingerprint()
    assert (again.n_items, again.n_blocks, again.dimensions, again.n_groups) == (60, 2, 16, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["codes.npz"]


def test_codes_of_another_version_are_refused(tmp_path, rng):
    arrays = coded(made_table(rng)).arrays()
    old = {name: array for name, array in arrays.items() if name not in ("scales", "words")}
    np.savez(tmp_path / "codes.npz", **old)
    with pytest.raises(InputError, match="has no scales, words: another version of elasticrec"):
        Codes.load(tmp_path / "codes.npz")


def test_what_cannot_be_coded_is_refused(rng):
    table = made_table(rng)
    with pytest.raises(InputError, match="tiled scores cannot be coded"):
        coded(replace(table, score="tiled"))
    with pytest.raises(InputError, match="blocks of 4 numbers cannot be coded, expected 8"):
        coded(replace(table, blocks=table.items.reshape(60, 4, 4)), rows=[[1, 1, 1, 1]])
    for value in (np.nan, np.inf, 1e6):
        for name in ("blocks", "users"):
            bad = getattr(table, name).copy()
            bad.flat[3] = value
            with pytest.raises(InputError, match=r"vectors hold .* expected finite numbers"):
                coded(replace(table, **{name: bad}))
    for bounds in ([0, 59], [0, 61], [1, 60], [0, 30, 30, 60], [0], [0, 40, 20, 60]):
        with pytest.raises(InputError, match="expected them to rise from 0 to the 60 items"):
            coded(table, bounds)
    with pytest.raises(InputError, match=r"shape \(1, 3\), expected \(rows, 2\)"):
        coded(table, rows=[[1, 1, 1]])
    with pytest.raises(InputError, match="depths from 1 to 9, expected 0 to 8"):
        coded(table, rows=[[9, 1]])
    with pytest.raises(InputError, match="gains of kind 'none'"):
        coded(table, gain="none")
    for n_lists in (-1, 3):
        with pytest.raises(InputError, match="lists of words, expected 0 to 2"):
            coded(table, n_lists=n_lists)


def test_unknown_rows_and_ranges_across_groups_are_refused(rng):
    codes = coded(made_table(rng), [0, 20, 60], [[3, 1]])
    with pytest.raises(InputError, match=r"depths \[1, 3\] are no row of the menu that was coded"):
        codes.decode(0, 20, [1, 3])
    for start, stop in ((0, 21), (19, 21), (20, 61), (60, 61), (-1, 3), (5, 4)):
        with pytest.raises(InputError, match="do not lie in one group"):
            codes.decode(start, stop, [3, 1])
