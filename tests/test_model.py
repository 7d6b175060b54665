"""Recommendations in original ids from a table made by hand, so that every list is known."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest

from elasticrec.training.scoring import effective
from elasticrec.training.table import BlockTable
from elasticrec.errors import InputError
from elasticrec.data.ids import as_objects
from elasticrec.data.interactions import Ids, Pairs
from elasticrec.data.split import Split
from elasticrec.evaluation.toplist import top_list
from elasticrec.model import Model, Recommendation

ITEMS = ["apple", "pear", "plum", "nail", "screw", "bolt"]


def pairs(*taken: tuple[int, int]) -> Pairs:
    users, items = np.array(taken).reshape(-1, 2).T
    return Pairs.from_arrays(users, items, n_users=2, n_items=6)


@pytest.fixture
def shop() -> Model:
    """Fruit points one way and hardware the other; ann (10) likes fruit, bob (20) hardware."""
    split = Split(
        pairs((0, 0), (1, 3)),
        pairs((0, 1)),
        pairs((1, 4)),
        user_ids=Ids.of([10, 20]),
        item_ids=Ids.of(ITEMS),
        titles=as_objects(["Apple", "Pear", "", "Nail", "Screw", "Bolt"]),
        name="shop",
    )
    blocks = np.array([[4, 0], [3, 0], [2, 0], [0, 4], [0, 3], [0, 2]], dtype=np.float32)
    users = np.array([[1, 0.1], [0.1, 1]], dtype=np.float32)
    return Model(split, BlockTable(blocks.reshape(6, 1, 2), users, base="mf"))


def ids(listed: list[Recommendation]) -> list[int | str]:
    return [found.id for found in listed]


def test_what_a_user_has_taken_in_any_part_is_not_listed(shop: Model) -> None:
    assert ids(shop.recommend(10)) == ["plum", "nail", "screw", "bolt"]
    assert ids(shop.recommend(20)) == ["bolt", "apple", "pear", "plum"]


def test_scores_and_titles(shop: Model) -> None:
    first, second = shop.recommend(10, k=2)
    assert (first.id, first.title) == ("plum", None)  # an empty title is an unknown one
    assert first.score == pytest.approx(2.0)
    assert (second.id, second.title) == ("nail", "Nail")
    assert second.score == pytest.approx(0.4)


def test_without_titles(shop: Model) -> None:
    untitled = Model(replace(shop.split, titles=None), shop.table)
    assert untitled.recommend(10, k=1)[0].title is None


def test_a_stranger_is_folded_in_from_her_items(shop: Model) -> None:
    assert ids(shop.recommend(items=["pear"], k=2)) == ["apple", "plum"]
    assert ids(shop.recommend(items=["bolt", "bolt"], k=2)) == ["nail", "screw"]


def test_excluded_items_are_not_listed(shop: Model) -> None:
    assert ids(shop.recommend(10, exclude=["plum", "screw", "anvil"])) == ["nail", "bolt"]


def test_ids_may_be_spelled_as_text(shop: Model) -> None:
    assert shop.recommend("10") == shop.recommend(10)


def test_a_table_without_users_recommends_to_its_users(shop: Model) -> None:
    history = Model(shop.split, replace(shop.table, users=None, base="history"))
    assert ids(history.recommend(10))[0] == "plum"
    assert ids(history.recommend(20))[0] == "bolt"


def test_unknown_items_are_skipped_and_counted(shop: Model, caplog) -> None:
    with caplog.at_level(logging.WARNING):
        assert ids(shop.recommend(items=["anvil", "pear", "saw"], k=1)) == ["apple"]
    assert "skipped 2 of 3 history items as unknown, the first is 'anvil'" in caplog.text


def test_bad_input_is_refused(shop: Model) -> None:
    with pytest.raises(InputError, match=r"none of the items given is known; .* 'apple', 'pear'"):
        shop.recommend(items=["anvil"])
    with pytest.raises(InputError, match="none of the items given is known"):
        shop.recommend(items=[])
    with pytest.raises(
        InputError, match=r"unknown user 11; expected one of 2 known ids such as 10"
    ):
        shop.recommend(11)
    with pytest.raises(InputError, match="a user or a list of items, and not both"):
        shop.recommend()
    with pytest.raises(InputError, match="a user or a list of items, and not both"):
        shop.recommend(10, items=["pear"])
    with pytest.raises(InputError, match="k is 0, expected 1 or more"):
        shop.recommend(10, k=0)
    with pytest.raises(InputError, match="unknown item 'anvil'; expected one of 6 known ids"):
        shop.similar("anvil")
    with pytest.raises(InputError, match="unknown user 'eve'"):
        list(shop.recommend_users([10, "eve"]))


def test_similar_items_are_nearest_by_angle(shop: Model) -> None:
    found = shop.similar("plum", k=3)
    assert ids(found) == ["apple", "pear", "nail"]
    assert [item.score for item in found] == pytest.approx([1, 1, 0])


def random_model(planted: Split, score: str) -> Model:
    rng = np.random.default_rng(3)
    users = rng.integers(-2, 3, size=(planted.n_users, 8)).astype(np.float32)
    blocks = rng.integers(-2, 3, size=(planted.n_items, 2, 4)).astype(np.float32)
    return Model(planted, BlockTable(blocks, users, base="mf", score=score))


@pytest.mark.parametrize("score", ["aligned", "tiled"])
def test_many_users_get_the_same_lists_as_each_alone(planted: Split, score: str) -> None:
    """Small whole numbers, so that many scores are equal."""
    pytest.importorskip("torch")
    model = random_model(planted, score)
    together = list(model.recommend_users(k=15, batch_size=64))
    assert [user for user, _ in together] == planted.user_ids.values.tolist()
    for user, listed in together[::17]:
        assert listed == model.recommend(user, k=15)
    assert list(model.recommend_users([7, 3], k=15)) == [together[7], together[3]]


def test_tiled_scores_are_those_of_the_table(planted: Split) -> None:
    model = random_model(planted, "tiled")
    users, items = effective(model.table)
    taken = [getattr(planted, part).of(5) for part in ("train", "validation", "test")]
    expected = top_list(items @ users[5], 12, np.concatenate(taken))
    assert ids(model.recommend(5, k=12)) == expected.tolist()


def test_saved_and_loaded_it_recommends_the_same(shop: Model, tmp_path) -> None:
    shop.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert loaded.recommend(10) == shop.recommend(10)
    assert str(loaded) == "shop: 2 users, 6 items; mf, 1 blocks of 2"


def test_a_folder_that_is_no_model_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="is not a model folder"):
        Model.load(tmp_path)
