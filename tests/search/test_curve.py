import numpy as np
import pytest

from elasticrec.data.errors import InputError
from elasticrec.evaluation.device_path import measure_composition
from elasticrec.search.config import SearchConfig
from elasticrec.search.curve import curve_budgets, measure_curve, save_curve
from elasticrec.search.searcher import Searcher
from elasticrec.space.budget import Budget, PaperAccounting
from elasticrec.storing import load_coded

QUICK = SearchConfig(population=4, rounds=4)


def test_budgets_rise_to_the_full_size(coded_folder):
    searcher = Searcher(coded_folder)
    budgets = curve_budgets(searcher)
    sizes = [budget.n_bytes for budget in budgets]
    assert sizes == sorted(set(sizes))
    whole = searcher.candidates(budgets[-1])
    assert whole.is_full
    assert whole.n_bytes(whole.everything()) == sizes[-1]
    for budget in budgets[:-1]:
        assert not searcher.candidates(budget).is_full
        assert len(str(budget.n_bytes).rstrip("0")) <= 2


def test_points_are_measured_as_a_device_ranks(coded_folder, tmp_path):
    searcher = Searcher(coded_folder)
    persons = ("vector+history", "history")
    told = []
    points = measure_curve(
        searcher, [Budget(9_000), Budget(4_000)], QUICK, persons=persons,
        metrics=["recall@10"], device="cpu", progress=lambda n, total: told.append((n, total)),
    )  # fmt: skip
    assert [point.budget.n_bytes for point in points] == [4_000, 9_000]
    assert told == [(1, 4)] * 4
    model, split = load_coded(coded_folder), coded_folder.split()
    for point in points:
        assert point.file_bytes == point.found.n_bytes - searcher.accounting.reserved_bytes
        for person in persons:
            wanted = measure_composition(
                model, point.found.composition, split,
                person=person, metrics=["recall@10"], device="cpu",
            )  # fmt: skip
            assert point.measured[person].metrics == wanted.metrics
            assert point.measured[person].coverage == wanted.coverage
    image = pytest.importorskip("matplotlib.image")
    save_curve(points, "recall@10", tmp_path / "curve.png", title="made")
    pixels = image.imread(tmp_path / "curve.png")
    assert pixels.shape[0] > 300
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 20


def test_a_curve_is_of_bundles(coded_folder):
    searcher = Searcher(coded_folder)
    searcher.accounting = PaperAccounting(searcher.groups.sizes, 4, 8)
    with pytest.raises(InputError, match="a curve is of bundles"):
        measure_curve(searcher, [Budget(9_000)], QUICK, persons=("history",), metrics=["hit@5"])
