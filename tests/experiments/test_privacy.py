"""Privacy: an attack finds what lists reveal of single persons, and support keeps it from them."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.synthetic import planted_world
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.neighbours import Neighbours, make_neighbours
from elasticrec.data.interactions import Pairs
from experiments import lines, privacy
from experiments.attacking import Persons, guesses_by_codes, guesses_by_lists, readings
from tests.experiments.test_experiments import invoke


def most_revealed(support):
    """Extra correct guesses by lists of a half of a world whose items few persons have."""
    world = planted_world(1_500, 6_000, 18_000, np.random.default_rng(0), n_clusters=20)
    half, member = privacy.halved(world, 0)
    lists = make_neighbours(half.train, CompressionConfig(min_support=support))
    persons = Persons.draw(world.train, member, 0, 0)
    read = readings(lists).values()
    return max(persons.extra(guesses_by_lists(votes, persons.known)).extra for votes in read)


def test_lists_reveal_members_without_support_and_hardly_with_the_default():
    assert most_revealed(1) > 2
    assert most_revealed(CompressionConfig().min_support) <= 0.02


def test_the_attacker_names_what_the_lists_of_both_known_items_say():
    numbers = np.array([[2, 3], [3, 4], [0, 0], [0, 0], [0, 0], [1, 0]], dtype=np.uint32)
    votes = np.array([[15, 7], [15, 7], [0, 0], [0, 0], [0, 0], [7, 0]], dtype=np.uint8)
    values = np.where(np.arange(16) == 15, 10_000, np.arange(16) * 100).astype(np.uint16)
    read = readings(Neighbours(numbers, votes, values), slots=np.array([2, 2, 2, 2, 2, 1]))
    known = np.array([[0, 1]])
    assert guesses_by_lists(read["own lists"], known).tolist() == [[3, 2, 4, -1, -1]]
    assert guesses_by_lists(read["all lists"], known).tolist() == [[3, 2, 4, 5, -1]]
    first = readings(Neighbours(numbers, votes, values), slots=1)["own lists"]
    assert guesses_by_lists(first, known).tolist() == [[2, 3, -1, -1, -1]]


def test_extra_guesses_are_those_about_members_beyond_the_others():
    items = np.tile(np.arange(6), 4)
    train = Pairs.from_arrays(np.repeat(np.arange(4), 6), items, n_users=4, n_items=12)
    persons = Persons.draw(train, np.array([True, True, False, False]), 0, 0)
    assert persons.member.sum() == 2
    right, wrong, none = np.arange(1, 6), np.arange(7, 12), np.full(5, -1)
    extra = persons.extra(np.stack([right, right, right, wrong]))
    assert (extra.extra, extra.members, extra.others) == (2.5, 5, 2.5)
    assert extra.error == pytest.approx(2.5 / np.sqrt(2))
    assert persons.extra(np.stack([none] * 4)).members == 0


def test_the_nearest_by_codes_are_named_and_votes_count_beside_cosines():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    known = np.array([[3, 7]])
    strong = Neighbours(*(np.zeros((40, 1), kind) for kind in (np.uint32, np.uint8)),
                        np.linspace(0, 10_000, 16).astype(np.uint16))  # fmt: skip
    strong.numbers[3], strong.votes[3] = 20, 15
    votes = readings(strong)["all lists"]
    found = guesses_by_codes(vectors, known, {"both": 100 * votes})
    cosines = vectors @ vectors[[3, 7]].T
    for near, joined in (("sum", cosines.sum(axis=1)), ("smaller", cosines.min(axis=1))):
        joined[[3, 7]] = -np.inf
        assert set(found[near, "codes"][0]) == set(np.argsort(-joined)[:5])
        assert 20 in found[near, "both"][0]


def test_filled_lists_keep_what_they_have_and_name_the_nearest_items_behind_it(rng):
    items = rng.normal(size=(50, 8))
    numbers, votes = np.zeros((50, 6), np.uint32), np.zeros((50, 6), np.uint8)
    numbers[:, :2] = (np.arange(50)[:, None] + [1, 2]) % 50
    votes[:, :2] = (9, 4)
    numbers[5], votes[5] = np.arange(10, 16), 3
    lists = Neighbours(numbers, votes, np.arange(16, dtype=np.uint16))
    full = privacy.filled(lists, items)
    assert (full.votes > 0).all()
    np.testing.assert_array_equal(full.numbers[5], numbers[5])
    unit = items / np.linalg.norm(items, axis=1, keepdims=True)
    for item in np.delete(np.arange(50), 5):
        near = [n for n in np.argsort(-(unit @ unit[item])) if n not in (item, *numbers[item, :2])]
        assert full.numbers[item].tolist() == [*numbers[item, :2], *near[:4]]
        assert full.votes[item].tolist() == [9, 4, 1, 1, 1, 1]


def test_streams_of_a_half_are_attacked_and_the_cost_of_support_is_measured(
    results, data, small_preset
):
    asked = ("--dataset", "goodbooks", "--data", data, "--users", 50)
    told = invoke(privacy.app, *asked)
    assert told.splitlines()[-1] == "20 tests made"  # 2 sizes that such a stream has, 5 lists
    found = lines.read("privacy")
    for what in (f"both, {privacy.FILLED}", "codes", "lists, support 1"):
        sizes = {line["bytes_per_item"] for line in found if line["method"] == what}
        assert sizes == {*privacy.SIZES, privacy.WHOLE}
    assert all(line["metrics"]["users"] > 0 for line in found)
    assert "| goodbooks | lists, support 3 |" in privacy.gains()
    assert "| goodbooks | lists of 5 alone |" in privacy.costs()
    invoke(privacy.app, *asked)  # nothing is left
    assert lines.read("privacy") == found


def test_halves_hold_everyone_once(planted):
    half, member = privacy.halved(planted, 0)
    assert member.sum() == half.n_users == 150
    assert half.train.n_items == planted.n_items
    other = replace(planted, train=planted.train.rows(np.flatnonzero(~member)))
    assert len(half.train) + len(other.train) == len(planted.train)
