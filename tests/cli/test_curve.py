import json

import pytest
from typer.testing import CliRunner

from elasticrec.cli.main import app


def run(*arguments):
    return CliRunner().invoke(app, ["curve", *map(str, arguments)])


def test_prints_and_draws_size_against_quality(coded_folder, tmp_path):
    pytest.importorskip("matplotlib")
    done = run(
        coded_folder.root, "--budget", "9KB", "--budget", "4KB", "--metric", "recall@20",
        "--metric", "ndcg@10", "--device", "cpu", "-o", tmp_path / "curve.png",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    for word in ("measured on test", "4 KB", "9 KB", "vector+history", "ndcg@10", "coverage"):
        assert word in done.output
    assert (tmp_path / "curve.png").stat().st_size > 5_000


def test_by_default_it_reaches_from_small_to_full(coded_folder):
    done = run(coded_folder.root, "--device", "cpu", "--json", "--part", "validation")
    points = json.loads(done.stdout)["points"]
    sizes = [point["budget_bytes"] for point in points]
    assert sizes == sorted(sizes)
    assert len(points) >= 3
    assert all(point["file_bytes"] <= point["budget_bytes"] for point in points)
    first, last = (point["measured"]["vector+history"] for point in (points[0], points[-1]))
    assert first["recall@50"] < last["recall@50"]
    assert 0 < last["coverage"] <= 1


def test_bad_input_is_one_line(coded_folder, searchable, tmp_path):
    for arguments, words in (
        ((tmp_path,), "not a model folder"),
        ((searchable.root,), "made for accounting paper, not file"),
        ((coded_folder.root, "--metric", "auc"), "unknown metric 'auc'"),
        ((coded_folder.root, "--budget", "1KB"), "the smallest possible"),
        ((coded_folder.root, "-o", tmp_path / "no" / "curve.png"), "there is no folder"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
