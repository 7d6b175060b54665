import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from elasticrec.bundle.header import Kind, Layout
from elasticrec.bundle.writer import meta, pack, write
from elasticrec.coding.codes import Codes
from elasticrec.data.errors import InputError
from elasticrec.space.composition import F32, Composition, Menu
from tests.bundle.making import random_material
from tests.bundle.reference import Reference

ABOUT = {"name": "watch", "metric": "recall@50", "quality": 0.25, "estimate": None, "budget": 10**6}


@pytest.fixture
def material():
    return random_material(np.random.default_rng(0), [20, 13], 2, n_rows=8)


@pytest.fixture
def composition(material):
    return material.menu.compose(np.array([material.menu.n_rows - 1, 1]))


def test_equal_inputs_give_equal_bytes(material, composition):
    again = random_material(np.random.default_rng(0), [20, 13], 2, n_rows=8)
    given = {"about": ABOUT, "withdrawn": [3, 1]}
    assert pack(material, composition, **given) == pack(again, composition, **given)
    assert pack(material, composition, about=ABOUT, withdrawn=[1, 3, 3]) == pack(
        again, composition, **given
    )


def test_writes_the_whole_file_or_nothing(tmp_path, material, composition):
    path = tmp_path / "watch.elastic"
    written = write(path, material, composition, about=ABOUT)
    assert path.read_bytes() == written == pack(material, composition, about=ABOUT)
    with pytest.raises(InputError):
        write(path, material, composition, about=ABOUT, withdrawn=[33])
    assert path.read_bytes() == written
    assert [file.name for file in tmp_path.iterdir()] == ["watch.elastic"]


def test_says_what_it_is_to_people(material, composition):
    reader = Reference(pack(material, composition, about=ABOUT))
    assert reader.meta == {**ABOUT, "elasticrec": reader.meta["elasticrec"]}
    assert reader.meta["elasticrec"].count(".") == 2


def test_what_is_not_said_is_null():
    assert json.loads(meta({"name": "a"}))["quality"] is None
    assert len(meta({})) == 512


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"name": "a" * 600}, "shorter name"),
        ({"quality": float("nan")}, "no JSON"),
        ({"quality": {1, 2}}, "no JSON"),
        ({"name": "\ud800"}, "no JSON"),
    ],
)
def test_what_fits_no_meta_is_refused(about, words):
    with pytest.raises(InputError, match=words):
        meta(about)


def test_a_composition_of_whole_blocks_is_refused(material):
    with pytest.raises(InputError, match="depth 32"):
        pack(material, Composition(np.full((2, 2), F32), np.zeros(2, np.uint8)), about={})


def test_a_row_that_is_not_on_the_menu_is_refused(material):
    assert (1, 1, 7) not in {tuple(row) for row in material.menu.depths}
    with pytest.raises(InputError, match="no row of this menu"):
        pack(material, Composition(np.ones((2, 2), np.uint8), np.full(2, 7)), about={})


def test_a_composition_of_another_shape_is_refused(material):
    with pytest.raises(InputError, match="expected 2 groups of 2 blocks"):
        pack(material, Composition(np.zeros((3, 2), np.uint8), np.zeros(3, np.uint8)), about={})


@pytest.mark.parametrize("withdrawn", [[33], [-1], [0, 40]])
def test_a_withdrawn_item_that_does_not_exist_is_refused(material, composition, withdrawn):
    with pytest.raises(InputError, match="33 items"):
        pack(material, composition, about={}, withdrawn=withdrawn)


def test_a_smaller_depth_is_the_same_bytes_with_the_last_planes_left_out():
    menu = Menu(np.array([[0], [3], [5]]), np.zeros(3, np.uint8))
    material = random_material(np.random.default_rng(1), [30], 1, menu=menu)
    shallow, deep = (pack(material, menu.compose(np.array([row])), about={}) for row in (1, 2))
    columns = {}
    for file in (shallow, deep):
        at, length = Layout.of(file).sections[Kind.CODES]
        columns[length] = file[at : at + length]
    assert columns[6 * 30][30:].startswith(columns[4 * 30][30:])  # gains come first


def test_too_little_for_too_many_items_is_refused():
    V = 30_000
    material = random_material(np.random.default_rng(0), [10], 1, n_lists=0)
    codes = Codes(
        **material.codes.arrays()
        | {
            "planes": np.zeros((1, 8, V), np.uint8),
            "gains": np.zeros((len(material.codes.rows), V), np.uint8),
            "bounds": np.array([0, V]),
        }
    )
    lists = replace(
        material.neighbours,
        numbers=np.zeros((V, 64), np.uint32),
        weights=np.zeros((V, 64), np.uint8),
    )
    wide = replace(material, codes=codes, neighbours=lists)
    nothing = wide.menu.compose(np.array([0]))
    with pytest.raises(InputError, match="at least 3750 bytes"):
        pack(wide, nothing, about={})


def test_the_order_of_groups_and_planes_is_that_of_the_page(material, composition):
    file = pack(material, composition, about=ABOUT)
    at, _ = Layout.of(file).sections[Kind.CODES]
    codes = material.codes
    expected = b""
    for g, (start, stop) in enumerate(((0, 20), (20, 33))):
        depths = composition.depths[g]
        if depths.any():
            expected += codes.gains[codes.row_of(depths), start:stop].tobytes()
        for n in range(2):
            for p in range(depths[n]):
                expected += codes.planes[n, p, start:stop].tobytes()
    assert file[at : at + len(expected)] == expected
    assert len(expected) == Layout.of(file).sections[Kind.CODES][1] > 0


def test_packing_needs_nothing_heavy():
    code = (
        "import sys, elasticrec.bundle.writer, elasticrec.bundle.patch, elasticrec.bundle.person; "
        "print({'torch', 'scipy', 'polars', 'pandas'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"
