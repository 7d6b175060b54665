import re
from pathlib import Path

import numpy as np
import pytest

from elasticrec.bundle import header
from elasticrec.bundle.header import ENTRY, GROUP, PREFIX, SHAPE, Kind, Layout, record
from elasticrec.bundle.writer import pack
from elasticrec.data.errors import InputError
from tests.bundle.making import random_material

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "bundle-format.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("fields", "length"), [(PREFIX, 64), (ENTRY, 32), (SHAPE, 64), (GROUP, 16)]
)
def test_fields_follow_each_other_without_a_gap(fields, length):
    at = 0
    for field in fields:
        assert field.offset == at
        at += field.width
    assert at == length
    assert len({field.name for field in fields}) == len(fields)


@pytest.mark.parametrize("kind", list(Kind))
def test_the_page_numbers_the_sections_alike(kind):
    assert re.search(rf"^\| {int(kind)} \| {kind.name} \|", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["MAGIC"])
def test_the_page_spells_the_magic(name):
    assert header.MAGIC.hex(" ").upper() in PAGE


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("size", 0, "size is 0, a bundle holds 1 to 67108864"),
        ("neighbours", 65, "neighbours is 65"),
        ("by_vector", float("nan"), "by_vector is nan"),
        ("by_history", 2e6, "by_history is 2000000.0"),
    ],
)
def test_values_out_of_their_limits_are_refused(name, value, words):
    given = {"size": 1, "neighbours": 0, "by_vector": 0.0, "by_history": 0.0} | {name: value}
    with pytest.raises(InputError, match=words):
        record(GROUP, given)


def test_the_layout_of_a_written_file():
    material = random_material(np.random.default_rng(4), [20, 13, 9], 2)
    composition = material.menu.compose(np.array([1, 0, 2]))
    file = pack(material, composition, about={}, withdrawn=[2])
    layout = Layout.of(file)
    assert layout.model_id.hex() == material.model_id
    assert layout.sizes.tolist() == [20, 13, 9]
    assert np.array_equal(layout.depths, composition.depths)
    assert np.array_equal(layout.neighbours, composition.neighbours)
    assert layout.sections[Kind.WITHDRAWN][0] % 64 == 0
    assert layout.sections[Kind.WORDS][1] == 32 * 16 * material.codes.n_lists + 2048
    assert sum(layout.sections[Kind.WORDS]) == len(file)


@pytest.mark.parametrize("version", [0, 2, 4])
def test_the_layout_of_another_version_is_refused(version):
    material = random_material(np.random.default_rng(4), [5], 1)
    file = bytearray(pack(material, material.menu.compose(np.array([0])), about={}))
    file[8] = version
    with pytest.raises(InputError, match=f"version {version}, expected 3"):
        Layout.of(bytes(file))
