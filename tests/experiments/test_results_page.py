"""The results page: what it says without lines, what it says of leads and losses."""

import re

import pytest

from benchmarks import lines as benchmark_lines
from experiments import claims, figures, latency, lines
from experiments.comparison import Measurements
from experiments.tasks import CHOSEN_BY
from scripts import results_page


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "RESULTS", tmp_path)
    monkeypatch.setattr(latency, "RESULTS", tmp_path)
    monkeypatch.setattr(benchmark_lines, "RESULTS", tmp_path)
    monkeypatch.setattr(figures, "FOLDER", tmp_path / "figures")
    return tmp_path


def _append(results, method, mb, value, dataset="amazon-book", **config):
    person = "vector+history" if method == "ours" else "history"
    config = ({"chosen_by": CHOSEN_BY} if method == "ours" else {}) | config
    names = ("recall@50", "recall@100", "ndcg@50", "ndcg@100")
    lines.append_to(
        results, "table2",
        {"dataset": dataset, "split": "published", "method": method, "person": person,
         "budget_mb": mb, "nominal_mb": mb, "seed": 0, "seconds": 1.0, "loss": "none",
         "config": {"a": method, **config}, "part": "test", "metrics": dict.fromkeys(names, value)},
    )  # fmt: skip


def test_without_lines_the_page_says_so(results):
    page = results_page.render()
    assert page.count("Not measured yet.") >= 8
    assert page.count("| not measured yet |") == len(claims.papers()) + len(claims.ours())
    assert "figures/" not in page


def test_leads_and_losses_are_told_with_numbers(results):
    for mb, ours, itemcf, lightrec in ((5, 0.12, 0.1, 0.08), (10, 0.12, 0.15, 0.1)):
        for method, value in (("ours", ours), ("itemcf", itemcf), ("lightrec", lightrec)):
            _append(results, method, mb, value)
    found = Measurements(results)
    told = claims.summary(found)
    assert "5 MB: ours 0.1200 Recall@50, +50.0% against lightrec (dense)" in told
    assert "+20.0% against itemcf (neighbours alone)" in told
    lost = claims.lost(found).splitlines()
    assert lost[0] == "- amazon-book, recall@50, 10 MB: ours 0.1200, itemcf 0.1500"
    assert len(lost) == 4  # once for each metric
    dense, everywhere, surely, alone, alone_everywhere, times = claims.ours()
    assert dense.verdict == surely.verdict == "not measured yet"  # ahead, but no test was made
    assert everywhere.verdict == "held (8 of 8)"  # two sizes, four metrics
    assert alone.verdict == "did not hold, 1 not tested"  # behind at 10 MB
    assert alone_everywhere.verdict == "did not hold, 4 not tested"
    assert alone.exceptions == "amazon-book recall@50 10 MB (itemcf 0.1500, ours 0.1200)"
    assert times.verdict == "held (1 of 1)"
    page = results_page.render()
    assert "| ours | 0.0534 / 0.1200 |" in page
    assert lost[0] in page
    commit = lines.read_from(results, "table2")[0]["commit"][:7]
    assert f"Newest lines of `ours`, by commit: amazon-book {commit}." in page


def test_a_lead_counts_where_its_test_is_sure(results):
    for method, value in (("ours", 0.12), ("lightrec", 0.08)):
        _append(results, method, 5, value)
    hashes = {x["method"]: x["config_hash"] for x in lines.read_from(results, "table2")}
    for metric, p in (("recall@50", 0.01), ("ndcg@50", 0.06)):
        config = {"ours": hashes["ours"], "rival": hashes["lightrec"], "seeds": 1}
        lines.append_to(
            results, "table2-tests",
            {"dataset": "amazon-book", "split": "published", "method": "lightrec", "seed": 0,
             "person": "vector", "budget_mb": 5, "nominal_mb": 5, "seconds": 0.0, "metric": metric,
             "config": config | {"metric": metric}, "metrics": {"p": p}},
        )  # fmt: skip
    dense, everywhere, surely, *_ = claims.ours()
    assert dense.verdict == "held (1 of 1)"
    assert everywhere.verdict == "held (4 of 4)"
    assert surely.verdict == "held in 1 of 2, 2 not tested"
    assert surely.exceptions == "amazon-book ndcg@50 5 MB (lightrec 0.0800, ours 0.1200, p 0.06)"


def test_what_ours_reaches_by_another_metric_stands_beside_its_losses(results):
    for method, value in (("ours", 0.12), ("lightrec", 0.13), ("itemcf", 0.1)):
        _append(results, method, 5, value)
    _append(results, "ours", 5, 0.125, chosen_by="ndcg@50")
    found = Measurements(results)
    (lead,) = found.leads("amazon-book", dense=True)
    assert lead.ours == 0.12  # the main row counts
    told = "ours 0.1200, ours, by NDCG@50 0.1250, lightrec 0.1300"
    assert claims.lost(found).splitlines()[0] == f"- amazon-book, recall@50, 5 MB: {told}"


def test_every_figure_on_the_committed_page_is_there():
    page = results_page.PAGE.read_text(encoding="utf-8")
    for name in re.findall(r"\]\((figures/[^)]+)\)", page):
        assert (results_page.PAGE.parent / name).exists()
