"""Benchmark lines: the ratio's direction, and what a line needs."""

import pytest

from benchmarks import lines


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "RESULTS", tmp_path)


def test_ratio_says_how_many_times_better():
    assert lines.comparison(0.5, "s", rival=2.0)["ratio"] == 4.0
    assert lines.comparison(30.0, "examples/s", rival=10.0, better="higher")["ratio"] == 3.0


def test_without_a_rival_there_is_no_ratio():
    assert lines.comparison(3.0, "MB") == {"value": 3.0, "unit": "MB", "rival": None, "ratio": None}


def test_a_line_comes_back_as_written():
    metrics = lines.comparison(0.5, "s", rival=2.0)
    written = lines.append("startup", {"method": "import", "metrics": metrics})
    assert lines.read("startup") == [written]
    assert written["metrics"]["ratio"] == 4.0


def test_a_line_says_what_was_measured():
    with pytest.raises(ValueError, match="needs 'method'"):
        lines.append("startup", {"metrics": lines.comparison(1.0, "s")})
    with pytest.raises(ValueError, match="lack ratio, rival"):
        lines.append("startup", {"method": "import", "metrics": {"value": 1.0, "unit": "s"}})
