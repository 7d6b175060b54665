import hashlib
from dataclasses import replace

import numpy as np
import pytest

from elasticrec.blocks.folder import MADE_FROM, ModelFolder
from elasticrec.blocks.table import BlockTable
from elasticrec.bundle.catalogue import catalogue, write_catalogue
from elasticrec.bundle.header import IdKind
from elasticrec.bundle.ids import id_section, storable
from elasticrec.bundle.material import Material, packed_slot
from elasticrec.data.errors import InputError
from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.data.splitting import split_by_user
from elasticrec.space.groups import Groups
from tests.bundle.making import random_material


@pytest.fixture
def material():
    return random_material(np.random.default_rng(0), [20, 13], 2, n_rows=8)


def test_one_slot_by_hand():
    # Numbers of 9 bits: a byte column, a bit plane; weights in halves of bytes.
    packed = packed_slot(np.array([0x102, 0x0FF, 0x155]), np.array([1, 15, 7]), 9)
    assert packed == bytes([0x02, 0xFF, 0x55, 0b101, 0xF1, 0x07])


def test_a_slot_of_few_bits_has_planes_alone():
    packed = packed_slot(np.array([2, 1, 3, 0, 0, 0, 0, 0, 1]), np.arange(9), 2)
    assert packed == bytes([0b0000_0110, 1, 0b0000_0101, 0, 0x10, 0x32, 0x54, 0x76, 0x08])


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ([7, 2**32 - 1], np.uint32),
        ([7, 2**32], np.uint64),
        ([2**64 - 1, 0], np.uint64),
    ],
)
def test_ids_take_the_narrowest_numbers(given, kind):
    stored = storable(Ids.of(given))
    assert stored.dtype == kind
    assert stored.tolist() == given


@pytest.mark.parametrize("given", [[-1, 5], [2**64, 1], ["a", "7"]])
def test_other_ids_are_kept_as_text(given):
    assert storable(Ids.of(given)) == [str(value) for value in given]


def test_the_section_of_strings_by_hand():
    section = id_section(["ab", "é", "c"])
    assert section == np.array([0, 2, 4, 5], "<u4").tobytes() + b"ab\xc3\xa9c"
    assert id_section(np.array([1, 256], np.uint32)) == bytes([1, 0, 0, 0, 0, 1, 0, 0])
    assert id_section(None) == b""


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["a", "b", "a"], "twice"),
        (np.array([3, 3], np.uint64), "twice"),
        (["a", ""], "item 1 is empty"),
        (["a", "\ud800"], "no Unicode"),
        (np.array([1, 2]), "expected uint32"),
    ],
)
def test_ids_that_no_bundle_holds_are_refused(ids, words):
    with pytest.raises(InputError, match=words):
        id_section(ids)


def test_the_kind_of_ids_follows_from_them(material):
    V = material.codes.n_items
    given = {
        IdKind.DENSE: None,
        IdKind.U32: np.arange(V, dtype=np.uint32),
        IdKind.U64: np.arange(V, dtype=np.uint64),
        IdKind.STRINGS: [str(i) for i in range(V)],
    }
    for kind, ids in given.items():
        assert replace(material, ids=ids).id_kind is kind


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"person": "vector"}, "person 'vector'"),
        ({"model_id": "abc"}, "64 hexadecimal"),
        ({"ids": ["a"]}, "1 ids"),
        ({"fold_map": np.zeros((8, 8), np.float16)}, "the map of shape"),
        ({"fold_map": np.full((16, 16), np.inf, np.float16)}, "the map hold"),
    ],
)
def test_what_does_not_fit_together_is_refused(material, changes, words):
    with pytest.raises(InputError, match=words):
        replace(material, **changes)


@pytest.mark.parametrize(
    ("part", "name", "value", "words"),
    [
        ("codes", "scales", np.array([[1, -1], [1, 1]], np.float32), "scales"),
        ("codes", "gain_values", np.full(256, np.nan, np.float32), "gains"),
        ("codes", "steps", np.full(36, 2e6, np.float32), "steps"),
        ("codes", "means", np.full((2, 16), np.nan, np.float16), "means"),
        ("neighbours", "values", np.full(16, 0.5, np.float32), "an empty slot votes"),
        ("neighbours", "numbers", np.full((33, 64), 33, np.uint32), "neighbour 33 of 33"),
        ("neighbours", "weights", np.zeros((33, 64), np.uint8), "an empty slot holds"),
        (
            "neighbours",
            "weights",
            np.tile(np.arange(64, dtype=np.uint8) // 4, (33, 1)),
            "never rise",
        ),
        ("neighbours", "weights", np.full((33, 64), 16, np.uint8), "0 to 15"),
        ("mixing", "weights", np.zeros((1, 2)), "mixing weights of shape"),
    ],
)
def test_parts_that_break_a_rule_of_the_page_are_refused(material, part, name, value, words):
    broken = replace(getattr(material, part), **{name: value})
    with pytest.raises(InputError, match=words):
        replace(material, **{part: broken})


def test_a_menu_of_other_blocks_is_refused(material):
    other = random_material(np.random.default_rng(0), [20, 13], 3, n_rows=8)
    with pytest.raises(InputError, match=r"a menu of 3 blocks|mixing weights of shape"):
        replace(material, menu=other.menu)


def test_the_accounting_reserves_a_vector_only_where_one_comes(material):
    assert material.accounting().reserved_bytes == 48 + 2 * 16
    assert replace(material, person="history").accounting().reserved_bytes == 0


@pytest.fixture
def folder(tmp_path, material):
    """A model folder whose codes are random."""
    rng = np.random.default_rng(0)
    V = material.codes.n_items
    pairs = Pairs.from_arrays(
        np.repeat(np.arange(40), 5), rng.integers(0, V, 200), n_users=40, n_items=V
    )
    ids = Ids.of([10**9 + 7 * i for i in range(V)])
    titles = np.array(["", *(f"Title {i}" for i in range(1, V))], dtype=object)
    interactions = Interactions(pairs, Ids.dense(40), ids, titles=titles, name="toy")
    split = split_by_user(interactions, (0.7, 0.1, 0.2), rng=rng)
    table = BlockTable(
        rng.normal(size=(V, 2, 8)).astype(np.float32),
        rng.normal(size=(40, 16)).astype(np.float32),
        "mf",
        fold_map=rng.normal(size=(16, 16)).astype(np.float32),
    )
    folder = ModelFolder.create(tmp_path / "model")
    folder.save_model(split, table)
    folder.save_part("groups", Groups(np.array([20, 13]), np.arange(V), "random"))
    for name in ("menu", "codes", "neighbours", "mixing"):
        folder.save_part(name, getattr(material, name))
    folder.describe(trained="2026-02-03")
    return folder


def test_the_material_of_a_model_folder(folder, material):
    plain = Material.of(folder)
    assert plain.codes.fingerprint() == material.codes.fingerprint()
    assert (plain.ids, plain.fold_map, plain.model_id) == (None, None, folder.model_id)
    assert plain.trained == 1_770_076_800  # 2026-02-03, midnight UTC
    assert plain.person == "vector+history"
    full = Material.of(folder, ids="original", map=True)
    assert full.ids.dtype == np.uint32
    assert full.ids[1] == 10**9 + 7
    assert full.fold_map.dtype == np.float16


def test_a_folder_refuses_what_it_cannot_give(folder):
    with pytest.raises(InputError, match="ids 'dense'"):
        Material.of(folder, ids="dense")
    without = replace(folder.table(), fold_map=None, users=None, base="history")
    folder.save_part("table", without)
    with pytest.raises(InputError, match="was made from another table"):
        Material.of(folder)
    for name in ("groups", "menu", "codes", "mixing"):
        folder.record(name, folder.fingerprint(name), MADE_FROM[name])
    assert Material.of(folder).person == "history"
    with pytest.raises(InputError, match="no map"):
        Material.of(folder, map=True)


def test_the_catalogue_is_tied_to_the_bundle_by_its_hash(folder, tmp_path):
    written = write_catalogue(folder, tmp_path / "catalogue.json")
    assert (tmp_path / "catalogue.json").read_bytes() == written
    assert Material.of(folder).catalogue_sha256 == hashlib.sha256(written).digest()


def test_the_catalogue_by_hand():
    titles = np.array(["Ärger", ""], dtype=object)
    written = catalogue(Ids.of([5, 2**63]), titles, "ab")
    assert written.decode() == (
        '{"format":"elasticrec catalogue 1","model_id":"ab","id_kind":"integer",'
        '"ids":["5","9223372036854775808"],"titles":["Ärger",null]}\n'
    )
    assert b'"id_kind":"string","ids":["x"],"titles":null' in catalogue(Ids.of(["x"]), None, "ab")
