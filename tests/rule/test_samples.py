"""Alg. 3."""

import numpy as np
import pytest

from elasticrec.rule import samples as module
from elasticrec.rule.samples import Samples, collect, draw

from .conftest import blocks, budget_of, half_way, worth


def measure(candidate):
    return float(worth(candidate[None])[0])


def test_draw_i_depends_on_seed_and_i_alone(space):
    drawn = [draw(space, 7, number) for number in range(20)]
    for number in (13, 2, 19):
        assert np.array_equal(draw(space, 7, number), drawn[number])
    other = [draw(space, 8, number) for number in range(20)]
    assert not all(np.array_equal(a, b) for a, b in zip(drawn, other, strict=True))
    assert len({each.tobytes() for each in drawn}) > 5


def test_every_sample_is_measured_and_none_is_replaced(space):
    """Ledger 4: Alg. 3 adds to its set."""
    found = collect(space, measure, 25, 3)
    assert len(found) == len(found.candidates) == 25
    for number in range(25):
        assert np.array_equal(found.candidates[number], draw(space, 3, number))
        assert found.values[number] == measure(found.candidates[number])


def test_known_samples_are_not_measured_again(space):
    first, asked = collect(space, measure, 10, 3), []

    def counted(candidate):
        asked.append(candidate)
        return measure(candidate)

    more = collect(space, counted, 14, 3, known=first)
    assert len(asked) == 4
    assert np.array_equal(more.values, collect(space, measure, 14, 3).values)
    assert np.array_equal(collect(space, counted, 5, 3, known=more).values, more.values[:5])
    assert len(asked) == 4


def test_what_was_measured_is_saved_from_time_to_time(space, monkeypatch):
    monkeypatch.setattr(module, "_SAVE_EVERY", 4)
    saved = []
    collect(space, measure, 10, 0, save=lambda samples: saved.append(len(samples)))
    assert saved == [4, 8, 10]


def test_long_work_says_how_long_it_will_take(space, monkeypatch, caplog):
    monkeypatch.setattr(module, "_LOG_EVERY", 0.0)
    with caplog.at_level("INFO"):
        collect(space, measure, 3, 0)
    assert "measured 1 of 3 compositions" in caplog.messages[0]


def test_a_budget_is_what_each_spends():
    space = blocks()
    budget = budget_of(space, 5)
    assert {
        int(mask.sum()) for mask in collect(space, measure, 10, 0, budget=budget).candidates
    } == {5}
    sizes = {space.size(space.counts(mask)) for mask in collect(space, measure, 30, 0).candidates}
    assert len(sizes) > 4


def test_saved_and_loaded(space, tmp_path):
    made = collect(space, measure, 5, 0)
    made.save(tmp_path / "samples.npz")
    loaded = Samples.load(tmp_path / "samples.npz")
    assert np.array_equal(loaded.candidates, made.candidates)
    assert np.array_equal(loaded.values, made.values)


def test_alg_3_leaves_small_budgets_bare_and_treats_groups_nearly_alike():
    """Ledger 8: few samples are near a small budget, and σ = 1 makes none of them uneven."""
    space = blocks([100] * 20, 16, top_up=False)
    counts = np.array([draw(space, 0, number).sum(axis=1) for number in range(500)])  # (B, G)
    near = np.abs(np.log(counts.sum(axis=1) / 34)) < 0.3  # 34 blocks: 5 MB on Amazon-Book
    assert near.mean() < 0.1
    assert counts[near].std(axis=1).mean() < np.sqrt(1 + 1 / 12)  # of a rounded normal number
    assert half_way(space).n_bytes > 0
    assert counts.sum(axis=1).mean() == pytest.approx(20 * 8.5, rel=0.08)
