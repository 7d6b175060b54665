import pytest

from benchmarks import lines as benchmark_lines
from experiments import figures, latency


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setattr(latency, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(benchmark_lines, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(figures, "FOLDER", tmp_path / "figures")


def _append(task, mb, ms, *, cores=1, keeps="columns and neighbours"):
    config = {"items": 91_599, "cores": cores, "megabytes": mb, "keeps": keeps}
    metrics = benchmark_lines.comparison(ms, "ms per person", rival=2 * ms)
    fields = {"method": task, "budget_mb": mb, "metrics": metrics, "config": config}
    benchmark_lines.append("device", fields)


def test_the_benchmark_is_drawn_and_judged():
    for mb, ms in ((5.0, 12.0), (25.0, 1500.0)):
        for task in latency.TASKS:
            _append(task, mb, ms)
    _append("full-list", 25.0, 100.0, cores=4)
    _append("full-list", 5.0, 9e9, keeps="columns")  # another kind of bundle
    shown = latency.table()
    assert "| 91,599 | 1 | 5 | 12.0 | 12.0 | 12.0 | < 200 ms |" in shown
    assert "148.5 ms on four cores" in shown
    assert list(latency.claims().values()) == [True, False]
    assert latency.draw_figure()
    assert figures.as_path("latency").exists()


def test_without_lines_nothing_is_claimed():
    assert not latency.draw_figure()
    assert set(latency.claims().values()) == {None}


def test_the_smoke_run_ranks_all_there_is(capsys):
    found = latency.run_smoke()
    assert set(found) == {"top-100", "full-list"}
    shown = capsys.readouterr().out
    assert "the 100 best: 100 items" in shown
    assert "the full list: 2997 items" in shown  # all but the history
