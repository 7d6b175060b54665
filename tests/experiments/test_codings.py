"""Codings of several commits beside each other: newest lines of each, against the first."""

from experiments import codings, lines
from experiments.paper import METRICS


def _append(results, commit, mb, value, person="vector+history"):
    lines.append_to(
        results, codings.EXPERIMENT,
        {"dataset": "gowalla", "split": "published", "method": "ours", "person": person,
         "budget_mb": mb, "nominal_mb": mb, "seed": 0, "seconds": 1.0, "config": {"a": 1},
         "metrics": dict.fromkeys(METRICS, value), "commit": commit},
    )  # fmt: skip


def test_each_commit_has_its_own_lines_and_the_first_is_the_measure(tmp_path):
    _append(tmp_path, "aaaaaaaaaaaa", 1, 0.5)
    _append(tmp_path, "aaaaaaaaaaaa", 1, 0.2)  # measured again
    _append(tmp_path, "aaaaaaaaaaaa", 5, 0.4)
    _append(tmp_path, "aaaaaaaaaaaa", 5, 0.1, "history")
    _append(tmp_path, "bbbbbbbbbbbb", 1, 0.25)
    first, second = codings.table(tmp_path).splitlines()[2:]
    assert first == "| aaaaaaa | gowalla | " + " | ".join(["0.2000 0.4000"] * 4) + " |"
    assert second == "| bbbbbbb | gowalla | " + " | ".join(["+25.0%"] * 4) + " |"


def test_without_lines_there_are_no_rows(tmp_path):
    assert len(codings.table(tmp_path).splitlines()) == 2
