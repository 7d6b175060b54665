import json

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.space.composition import F32, Composition, Menu, read_saved

MASK = np.array([[1, 1, 0], [0, 0, 1]])


def test_a_mask_is_blocks_dropped_or_whole():
    composition = Composition.of_mask(MASK)
    assert composition.depths.tolist() == [[F32, F32, 0], [0, 0, F32]]
    assert composition.neighbours.tolist() == [0, 0]
    assert composition.kept.tolist() == MASK.astype(bool).tolist()
    assert (composition.n_groups, composition.n_blocks) == (2, 3)


def test_equal_content_is_equal_and_hashes_alike():
    one, same = Composition.of_mask(MASK), Composition.of_mask(MASK.copy())
    other = Composition(one.depths, np.array([0, 4]))
    assert one == same
    assert one != other
    assert len({one, same, other}) == 2
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()


def test_it_cannot_be_changed_from_outside():
    depths = np.full((2, 3), F32, dtype=np.uint8)
    composition = Composition(depths, np.zeros(2, dtype=np.uint8))
    depths[0, 0] = 0
    assert composition == Composition.full(2, 3)
    with pytest.raises(ValueError, match="read-only"):
        composition.depths[0, 0] = 1


@pytest.mark.parametrize(
    ("depths", "neighbours", "message"),
    [
        ([[9, 0]], [0], "depth 9"),
        ([[1, 0]], [0, 0], "one count per group"),
        ([1, 0], [0, 0], "shape"),
        ([[0.5, 0]], [0], "whole numbers"),
        ([[-1, 0]], [0], "whole numbers"),
        ([[1, 0]], [300], "whole numbers"),
        (np.zeros((0, 3), dtype=int), np.zeros(0, dtype=int), "shape"),
    ],
)
def test_refuses_what_is_no_composition(depths, neighbours, message):
    with pytest.raises(InputError, match=message):
        Composition(np.array(depths), np.array(neighbours))


def test_saved_and_loaded_for_its_model(tmp_path):
    composition = Composition(np.array([[F32, 3, 0], [0, 8, 1]]), np.array([0, 16]))
    path = tmp_path / "composition.json"
    composition.save(path, model_id="abc", about={"bytes": 12})
    assert Composition.load(path) == composition
    assert Composition.load(path, model_id="abc") == composition
    assert read_saved(path)["about"] == {"bytes": 12}
    with pytest.raises(InputError, match="made for model abc, expected model def"):
        Composition.load(path, model_id="def")
    assert [p.name for p in tmp_path.iterdir()] == ["composition.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stored: "no json", "not JSON"),
        (lambda stored: json.dumps([1]), "not a composition"),
        (lambda stored: json.dumps(stored | {"format": "other"}), "not a composition"),
        (lambda stored: json.dumps({"format": stored["format"]}), "lacks about, depths"),
        (lambda stored: json.dumps(stored | {"depths": [[1, 2], [1]]}), "differ in length"),
        (lambda stored: json.dumps(stored | {"depths": 3}), "not rows of depths"),
        (lambda stored: json.dumps(stored | {"depths": [["x"]]}), "whole numbers"),
    ],
)
def test_refuses_a_damaged_file(tmp_path, change, message):
    path = tmp_path / "composition.json"
    Composition.of_mask(MASK).save(path, model_id="abc")
    path.write_text(change(json.loads(path.read_text())))
    with pytest.raises(InputError, match=message):
        Composition.load(path)


def test_summary_counts_blocks_and_names_depths():
    composition = Composition(np.array([[F32, 3, 0], [0, 8, 0]]), np.array([0, 4]))
    assert composition.summary() == (
        "2 groups keep 3 of 6 blocks (1 to 2 each), depths 3, 8, f32, 0 to 4 neighbours"
    )


def test_prefixes_fill_blocks_in_the_order_given():
    menu = Menu.f32_prefixes(np.array([2, 0, 1]))
    assert (menu.depths > 0).tolist() == [
        [False, False, True],
        [True, False, True],
        [True, True, True],
    ]
    with_empty = Menu.f32_prefixes(np.array([2, 0, 1]), include_empty=True)
    assert with_empty.depths[0].tolist() == [0, 0, 0]
    assert np.array_equal(with_empty.depths[1:], menu.depths)


def test_an_order_holds_each_block_once():
    with pytest.raises(InputError, match="each block 0 to 2 once"):
        Menu.f32_prefixes(np.array([0, 2, 2]))


def test_composing_and_finding_the_choice_again():
    menu = Menu(np.array([[1, 0], [1, 1], [1, 1]]), np.array([0, 0, 4]))
    choice = np.array([2, 0, 1, 1])
    composition = menu.compose(choice)
    assert composition.neighbours.tolist() == [4, 0, 0, 0]
    assert menu.choice_of(composition).tolist() == choice.tolist()
    with pytest.raises(InputError, match=r"group 1 keeps .* no row of this menu"):
        menu.choice_of(Composition(np.array([[1, 0], [0, 1]]), np.array([0, 0])))


def test_rows_of_a_menu_are_distinct():
    with pytest.raises(InputError, match="repeats one"):
        Menu(np.array([[1, 0], [1, 0]]), np.array([0, 0]))


def test_a_row_contains_those_with_no_more_of_anything():
    menu = Menu(np.array([[1, 0], [2, 0], [1, 1], [1, 0]]), np.array([0, 0, 0, 4]))
    assert menu.contained().tolist() == [
        [True, True, True, True],
        [False, True, False, False],
        [False, False, True, False],
        [False, False, False, True],
    ]
