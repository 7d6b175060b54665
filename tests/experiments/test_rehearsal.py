"""What ours chooses by is decided by a rehearsal: its gains over choosing by Recall@50."""

import pytest

from experiments import lines, rehearsal
from experiments.paper import METRICS
from experiments.tasks import CHOSEN_BY


def _append(results, dataset, seed, mb, value, person="vector+history", **config):
    lines.append_to(
        results, rehearsal.EXPERIMENT,
        {"dataset": dataset, "split": "published", "method": "ours", "person": person,
         "budget_mb": mb, "nominal_mb": mb, "seed": seed, "seconds": 1.0, "config": config,
         "metrics": dict.fromkeys(METRICS, value)},
    )  # fmt: skip


def test_gains_are_those_of_the_seeds_that_both_have(tmp_path):
    _append(tmp_path, "gowalla", 0, 5, 0.2)
    _append(tmp_path, "gowalla", 0, 5, 0.22, chosen_by="both@50")
    _append(tmp_path, "gowalla", 1, 5, 0.9, chosen_by="both@50")  # nothing to compare it with
    _append(tmp_path, "gowalla", 0, 5, 0.9, "history", chosen_by="both@50")
    _append(tmp_path, "gowalla", 0, 10, 0.9, chosen_by="both@50")
    _append(tmp_path, "yelp2018", 0, 5, 0.1, chosen_by="both@50")
    gains = rehearsal.gains_of(lines.read_from(tmp_path, rehearsal.EXPERIMENT))
    ((key, (found, n_seeds)),) = gains.items()
    assert key == ("both@50", "gowalla")
    assert n_seeds == 1
    assert found == {metric: [pytest.approx(0.1)] for metric in METRICS}


def test_data_sets_count_alike(tmp_path):
    for dataset, value in (("gowalla", 0.24), ("yelp2018", 0.18)):
        for mb in (5, 10):
            _append(tmp_path, dataset, 0, mb, 0.2)
            _append(tmp_path, dataset, 0, mb, value, chosen_by="both@50")
    shown = rehearsal.table(tmp_path)
    assert "| both@50 | gowalla | +20.0 +20.0 |" in shown
    assert "| both@50 | all | – | – | – | – | **+5.00%** |" in shown


def test_settings_are_told_apart_by_gain_chooser_and_metric(tmp_path):
    short = {"chooser": {"epochs": 14}}
    ways = (
        ({"popularity_gain": 0.08} | short, "both@50", 0.20),
        ({"popularity_gain": 0.08}, "both@50", 0.21),
        ({"popularity_gain": 0.11}, "both@50", 0.22),
        ({"popularity_gain": 0.11}, "both@100", 0.25),
        ({"popularity_gain": 0.08, "even": 0.0, "n_blocks": 20, "measured": True}, "both@50", 0.15),
    )
    for settings, metric, value in ways:
        _append(tmp_path, "gowalla", 0, 5, value, settings=settings, chosen_by=metric)
    found = lines.read_from(tmp_path, rehearsal.EXPERIMENT)
    today = rehearsal.TODAY[rehearsal.By.SETTINGS]
    gains = rehearsal.gains_of(found, today, rehearsal.By.SETTINGS)
    assert {way: gains[way, "gowalla"][0]["recall@50"] for way, _ in gains} == {
        "both@50, gain +0.00, chooser long": [pytest.approx(0.05)],
        "both@50, gain +0.03, chooser long": [pytest.approx(0.10)],
        "both@100, gain +0.03, chooser long": [pytest.approx(0.25)],
        "both@50, gain +0.00, chooser long, even 0, 20 blocks, measured": [pytest.approx(-0.25)],
    }


def test_table_2_chooses_by_what_won_the_committed_rehearsal():
    by = {"recall@50": 0.0}
    for line in rehearsal.table().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[1] == "all":
            by[cells[0]] = float(cells[-2].strip("*%"))
    assert len(by) > 1
    assert max(by, key=by.__getitem__) == CHOSEN_BY
