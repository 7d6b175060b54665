"""The results page: short, and honest about what was not measured."""

import json
from datetime import datetime

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.evaluation.ranking import Evaluation
from experiments import comparing, default, figures, lines, releases, verdicts
from scripts import results_page


def test_without_lines_the_page_says_so(results):
    text = results_page.results()
    assert results_page.NOT_YET in text
    assert "Rivals were not measured yet." in text
    assert "No test line of the present code exists yet" in text
    assert "No test line of the present code exists yet" in results_page.protocol_page()


def test_the_committed_page_is_short():
    assert len(results_page.results().splitlines()) <= 80


def recorded(planted, method, values, experiment, seed=0, part="test"):
    """A line at 11 bytes per item, and its values per user."""
    per_user = {name: np.array(values, dtype=float) for name in ("recall@20", *comparing.TESTED)}
    metrics = {name: float(np.mean(each)) for name, each in per_user.items()}
    found = Evaluation(metrics, np.arange(len(values)), per_user)
    fields = {
        "dataset": "gowalla", "part": part, "method": method, "person": "history",
        "bytes_per_item": 11, "seed": seed, "config": {},
    }  # fmt: skip
    comparing.record(experiment, fields, found, split=planted)


@pytest.fixture
def measured(results, planted, rng):
    """Ours with three seeds, a rival that is clearly worse, and one that only seems so."""
    users = rng.random(400)
    for seed in range(3):
        ours = users + 0.5 + 0.001 * seed
        recorded(planted, "ours", ours, "default", seed)
        recorded(planted, "pq + lists", ours - 0.4 + 0.01 * rng.random(400), "table2", seed)
        better_or_worse = 0.03 + np.tile([-1, 1], 200)
        recorded(planted, "int8 + lists", ours + better_or_worse, "table2", seed)
    recorded(planted, "itemknn", users + 0.2, "table2")
    comparing.compare("table2", ("ours",), beside=("default",))


def test_a_lead_is_bold_where_both_tests_are_sure(measured):
    found = {cell.method: cell for cell in verdicts.cells("gowalla", "recall@50", "test")}
    assert found["pq + lists"].is_sure
    assert found["itemknn"].is_sure  # has no seeds: a fixed number
    assert found["pq + lists"].shown == f"**{found['pq + lists'].lead:+.1%}**"
    assert found["int8 + lists"].lead < 0
    assert not found["int8 + lists"].is_sure
    text = results_page.results()
    assert f"(**{found['itemknn'].lead:+.1%}**)" in text
    assert "Numbers are of **test**" in text
    said = verdicts.verdict("test")  # of two metrics at one size
    assert "| Gowalla | 0 of 2 | 0 | 0 |" in said
    assert "at 11, int8 + lists |" in said


def test_codes_without_lists_are_rivals_and_variants_of_ours_are_not(measured, planted):
    recorded(planted, "pq", np.ones(400), "table2")
    recorded(planted, "ours, all alike", np.ones(400), "table2")
    found = verdicts.rivals_of(verdicts.cells("gowalla", "recall@50", "test"))
    assert found == ["pq + lists", "int8 + lists", "itemknn", "pq"]


def test_a_method_without_seeds_is_a_fixed_number():
    stats = pytest.importorskip("scipy.stats")
    ours = [0.3, 0.31, 0.305]
    expected = stats.ttest_1samp(ours, 0.29).pvalue
    assert verdicts.of_seeds(ours, [0.29]) == pytest.approx(expected)
    assert verdicts.of_seeds([0.3], [0.29]) is None
    assert verdicts.of_seeds([0.3, 0.3], [0.3]) == 1.0 != verdicts.of_seeds([0.3, 0.3], [0.2])


def test_the_commit_that_froze_the_recipe_is_older_than_every_test_line():
    """One commit, which held no test line, and every line measured after it."""
    found = releases.test_lines()
    if not found:
        pytest.skip("no test line yet")
    frozen = releases.FROZEN
    assert releases.commits() == [frozen], "retire the former release, and name the new commit"
    if not releases.knows(frozen):
        pytest.skip("the history here does not reach back to the commit")
    assert releases.is_ancestor(frozen)
    made = releases.committed_at(frozen)
    assert all(datetime.fromisoformat(line["time"]) > made for line in found)
    hashes = {line["code_hash"] for line in found}
    for name in releases.RELEASED:
        before = map(json.loads, releases.lines_at(frozen, name).splitlines())
        assert not any(x["part"] == "test" and x["code_hash"] in hashes for x in before)


def test_a_retired_release_leaves_its_means_and_makes_way(measured, planted, monkeypatch):
    recorded(planted, "ours", np.ones(400), "default", part="validation")
    monkeypatch.setattr(releases, "FROZEN", "another")
    with pytest.raises(InputError, match="expected another alone"):
        releases.retire()
    (frozen,) = releases.commits()
    monkeypatch.setattr(releases, "FROZEN", frozen)
    ours = [line["metrics"]["recall@50"] for line in verdicts.measured("test")][:3]
    releases.retire()
    assert releases.commits() == []
    assert verdicts.best_part() == "validation"
    assert lines.read("table2-tests") == lines.read("table2") == []
    assert {line["method"] for line in lines.read("default")} == {"ours"}
    kept = {line["method"]: line for line in lines.read(releases.FORMER)}
    assert set(kept) == {"ours", "pq + lists", "int8 + lists", "itemknn"}
    assert kept["ours"]["seeds"] == 3
    assert kept["ours"]["metrics"]["recall@50"] == pytest.approx(np.mean(ours), abs=1e-5)
    assert f"## Frozen by `{frozen}`" in releases.former()
    assert f"| Gowalla | ours | 3 | {np.mean(ours):.4f} |" in releases.former()


def test_the_picture_of_the_readme_shows_the_lines_that_there_are():
    text = (figures.FOLDER / f"{default.EXPERIMENT}.svg").read_text()
    assert " 6: 0." in default.drawn()
    assert default.drawn() in text, "run make figures"
    assert lines.read("default")
