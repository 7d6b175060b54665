import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticrec.bundle.header import Layout
from elasticrec.bundle.patch import make_patch, pieces
from elasticrec.bundle.writer import pack
from elasticrec.data.errors import InputError
from elasticrec.space.composition import Menu
from tests.bundle.making import random_ids, random_material
from tests.bundle.reference import apply_patch


def two_bundles(rng, sizes):
    material = random_material(
        rng, sizes, int(rng.integers(1, 4)), n_rows=6, ids=random_ids(rng, "u32", sum(sizes))
    )
    choices = rng.integers(0, material.menu.n_rows, (2, len(sizes)))
    hidden = [[], [0]][int(rng.integers(2))]
    return [
        pack(material, material.menu.compose(c), about={"name": str(i)}, withdrawn=hidden)
        for i, c in enumerate(choices)
    ]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 90), min_size=1, max_size=5))
def test_a_patch_makes_the_new_file_and_costs_little_more_than_its_news(seed, sizes):
    rng = np.random.default_rng(seed)
    old, new = two_bundles(rng, sizes)
    patch = make_patch(old, new)
    assert apply_patch(old, patch) == new
    n_operations = struct.unpack_from("<I", patch, 12)[0]
    assert len(patch) <= len(new) + 96 + 16 * n_operations
    assert apply_patch(new, make_patch(new, old)) == old


def test_an_upgrade_sends_the_missing_planes_alone():
    menu = Menu(np.array([[2], [5]]), np.array([1, 3]))
    material = random_material(np.random.default_rng(0), [2000], 1, menu=menu)
    old, new = (pack(material, menu.compose(np.array([row])), about={}) for row in (0, 1))
    planes = 3 * 2000 + 2000  # and the gains of the new depth
    slots = 2 * (2000 + 3 * 250 + 1000)  # numbers of 11 bits
    assert planes + slots < len(make_patch(old, new)) < planes + slots + 1000


def test_equal_bundles_need_the_header_alone():
    menu = Menu(np.array([[2, 1], [5, 0]]), np.array([1, 0]))
    material = random_material(np.random.default_rng(5), [500, 300], 2, menu=menu)
    file = pack(material, menu.compose(np.array([1, 0])), about={})
    assert len(make_patch(file, file)) < 1000
    assert apply_patch(file, make_patch(file, file)) == file


def test_pieces_lie_in_the_file_in_order_and_names_rise():
    rng = np.random.default_rng(1)
    for _ in range(20):
        file = two_bundles(rng, [30, 9, 14])[1]
        listed = list(pieces(Layout.of(file)))
        assert all(a.stop <= b.start for a, b in pairwise(listed))
        names = [piece.name for piece in listed]
        assert names == sorted(names)
        assert len(set(names)) == len(names)


def test_two_models_are_refused():
    files = [
        pack(m, m.menu.compose(np.array([0])), about={})
        for m in (random_material(np.random.default_rng(seed), [9], 1) for seed in (0, 1))
    ]
    with pytest.raises(InputError, match="expected two bundles of one model"):
        make_patch(*files)


@pytest.mark.parametrize("file", [b"", b"\x89ELASTIC", bytes(200)])
def test_what_is_no_bundle_is_refused(file):
    with pytest.raises(InputError, match="no whole bundle"):
        make_patch(file, file)
