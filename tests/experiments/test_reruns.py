"""Runs of ours beside each other: only whole ones, and the columns that no test settles."""

import pytest

from experiments import lines, reruns
from experiments.comparison import SIZES
from experiments.paper import METRICS
from experiments.tasks import CHOSEN_BY


@pytest.fixture
def results(tmp_path):
    def run(commit, value, *, blocks=16, seeds=3, dataset="gowalla"):
        config = {"chosen_by": CHOSEN_BY, "train": {"n_blocks": blocks}}
        config |= {"settings": {"measured": True}} if blocks > 16 else {}
        known = {
            "dataset": dataset,
            "split": "published",
            "method": "ours",
            "config": config,
            "commit": commit,
        }
        for seed in range(seeds):
            for mb in SIZES:
                lines.append_to(
                    tmp_path, "table2",
                    {**known, "person": "vector+history", "budget_mb": mb, "nominal_mb": mb,
                     "seed": seed, "seconds": 1.0, "part": "test",
                     "metrics": dict.fromkeys(METRICS, value + seed / 10)},
                )  # fmt: skip
        return lines.config_hash(config)

    def test(commit, ours, method, difference, p):
        lines.append_to(
            tmp_path, "table2-tests",
            {"dataset": "gowalla", "split": "published", "method": method, "commit": commit,
             "person": "vector",
             "budget_mb": 5, "nominal_mb": 5, "seed": 0, "seconds": 0.0, "metric": "recall@100",
             "config": {"ours": ours, "seeds": 3}, "metrics": {"difference": difference, "p": p}},
        )  # fmt: skip

    run("aaaaaaaaaaaa", 0.1)
    again = run("bbbbbbbbbbbb", 0.2)
    run("cccccccccccc", 0.3, blocks=20)
    run("dddddddddddd", 0.4, seeds=2)
    run("eeeeeeeeeeee", 0.5, dataset="yelp2018")
    test("bbbbbbbbbbbb", again, "pmf-int8", 0.0004, 0.2)
    test("bbbbbbbbbbbb", again, "lightrec", 0.01, 1e-9)
    test("bbbbbbbbbbbb", again, "itemcf", -0.01, 1e-9)
    return tmp_path


def test_whole_runs_of_a_data_set_stand_beside_each_other(results):
    _, _, *rows = reruns.table(results).splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [(x[0], x[1], x[2]) for x in cells] == [
        ("gowalla", "aaaaaaa", "16, both@50"),
        ("gowalla", "bbbbbbb", "16, both@50"),
        ("gowalla", "ccccccc", "20, both@50, measured"),
    ]  # fmt: skip
    assert cells[0][3] == " ".join(["0.2000"] * 5)


def test_lines_that_were_set_aside_still_count(results):
    before = reruns.table(results)
    assert lines.set_aside(results, "table2")
    assert reruns.table(results) == before


def test_a_column_that_a_test_does_not_settle_is_named(results):
    by_commit = {row.split("|")[2].strip(): row for row in reruns.table(results).splitlines()}
    assert by_commit["bbbbbbb"].endswith("| Recall@100 5 MB (pmf-int8 +0.0004, p 0.2) |")
    assert by_commit["aaaaaaa"].endswith("| – |")
