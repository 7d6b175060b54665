import pytest

from experiments import figures, lines, quality_by_size
from experiments.tasks import CHOSEN_BY


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(figures, "FOLDER", tmp_path / "figures")


def _append(experiment, method, mb, value, *, config="a", **more):
    known = {"dataset": "gowalla", "split": "published", "person": "vector", "seed": 0}
    settings = {"model": config} | ({"chosen_by": CHOSEN_BY} if experiment == "table2" else {})
    line = {"method": method, "nominal_mb": mb, "budget_mb": mb, "config": settings}
    numbers = {"seconds": 1.0, "metrics": {"recall@50": value}, "loss": "ours", "part": "test"}
    lines.append(experiment, {**known, **line, **numbers, **more})


def test_both_experiments_make_one_curve_and_old_settings_none(capsys):
    _append("sizes", "ours", 0.5, 0.9, config="old", person="vector+history", ids="none")
    _append("sizes", "ours", 0.5, 0.1, person="vector+history", ids="none")
    _append("sizes", "ours", 5, 0.2, person="vector+history", ids="none")
    _append("sizes", "ours", 5, 0.7, config="a", person="history", ids="none")
    _append("sizes", "truncation", 5, 0.05)
    _append("sizes", "sparse-linear", 0.5, 0.12, person="vector+history")
    _append("sizes", "sparse-linear", 0.5, 0.11, person="history")
    _append("sizes", "mf", None, 0.29)
    _append("table2", "ours", 5, 0.21, person="vector+history")
    _append("table2", "lightrec", 5, 0.15)
    _append("sizes", "faiss-pq", 10, 0.07)
    _append("table2", "faiss-pq", 5, 0.14)
    found = quality_by_size.series("gowalla")
    assert found == {
        "ours": {0.5: 0.1, 5.0: 0.21},
        "sparse-linear": {0.5: 0.12},
        "full": {0.0: 0.29},
        "lightrec": {5.0: 0.15},
        "faiss-pq": {5.0: 0.14},
    }
    quality_by_size.draw()
    assert (figures.FOLDER / "quality-by-size.svg").exists()
    assert "gowalla" in capsys.readouterr().out


def test_where_table_2_begins_nothing_else_counts():
    for mb, value in ((0.5, 0.3), (3, 0.9)):
        _append("sizes", "ours", mb, value, person="vector+history", ids="none")
    assert quality_by_size.series("gowalla") == {"ours": {0.5: 0.3, 3.0: 0.9}}
    _append("table2", "pmf-int8", 1, 0.2)
    _append("table2", "ours", 5, 0.5, person="vector+history")
    assert quality_by_size.series("gowalla")["ours"] == {0.5: 0.3, 5.0: 0.5}
    _append("sizes", "itemcf", 0.25, 0.04, person="history")
    assert quality_by_size.series("gowalla")["itemcf"] == {0.25: 0.04}
    _append("table2", "itemcf", 0.5, 0.01, person="history")  # the table has it below 1 MB, too
    found = quality_by_size.series("gowalla")
    assert found["itemcf"] == {0.5: 0.01}
    assert found["ours"] == {0.5: 0.3, 5.0: 0.5}


def test_nothing_is_drawn_without_lines(capsys):
    quality_by_size.draw()
    assert capsys.readouterr().out == "nothing measured yet\n"
    assert not figures.FOLDER.exists()
