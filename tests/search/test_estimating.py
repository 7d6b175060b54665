"""The second fit: on what searches by the first one look at."""

import json
from dataclasses import replace

import numpy as np
import pytest

from elasticrec.estimator.building import LEDGER, build_estimator
from elasticrec.estimator.draws import FOUND
from elasticrec.estimator.measuring import measuring_of
from elasticrec.search.estimating import estimate_model, looked_at
from elasticrec.search.menu_rows import MenuRows
from tests.estimator.test_building import FITTING, OURS, PRINTED, SAMPLES, make_folder

FOUND_TOO = replace(SAMPLES, n_found=50)


@pytest.fixture
def folder(tmp_path, planted):
    return make_folder(tmp_path / "model", planted, OURS)


def test_what_searches_look_at_is_measured_and_fitted_on(folder):
    told = []
    built = estimate_model(
        folder, FOUND_TOO, FITTING, device="cpu", progress=lambda n, total: told.append((n, total))
    )
    lines = [json.loads(text) for text in (folder.root / LEDGER).read_text().splitlines()[1:]]
    assert sorted(line["i"] for line in lines if line["i"] >= FOUND) == list(
        range(FOUND, FOUND + 50)
    )
    assert sum(n for n, _ in told) == 60 + 8 + 50
    assert {total for _, total in told} == {118}
    first = build_estimator(folder, FOUND_TOO, FITTING, device="cpu")  # nobody searches
    assert first.estimator.fingerprint() != built.estimator.fingerprint()
    assert first.estimator.about["config"] == built.estimator.about["config"]


def test_measurements_of_what_was_found_are_those_of_the_evaluator(folder):
    estimate_model(folder, FOUND_TOO, FITTING, device="cpu")
    measuring = measuring_of(folder, FOUND_TOO, accounting="paper")
    lines = [json.loads(text) for text in (folder.root / LEDGER).read_text().splitlines()[1:]]
    found = [line for line in lines if line["i"] >= FOUND]
    first = build_estimator(folder, SAMPLES, FITTING, device="cpu").estimator
    drawn = looked_at(first, measuring.draws, 50, falling=True)
    values = measuring.make().evaluate(drawn.depths, drawn.neighbours)
    assert values == pytest.approx([line["y"] for line in found], abs=1e-12)


def test_it_goes_on_from_its_ledger_and_ends_alike(folder):
    whole = estimate_model(folder, FOUND_TOO, FITTING, device="cpu").estimator
    path = folder.root / LEDGER
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-20]))  # killed while measuring what was found
    again = estimate_model(folder, FOUND_TOO, FITTING, device="cpu").estimator
    assert path.read_bytes() == b"".join(lines)
    assert again.fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("n", [7, 50])
def test_as_many_as_wanted_within_their_budgets_and_falling(folder, n):
    estimator = build_estimator(folder, SAMPLES, FITTING, device="cpu").estimator
    draws = measuring_of(folder, SAMPLES, accounting="paper").draws
    drawn = looked_at(estimator, draws, n, falling=True)
    assert len(drawn.depths) == len(drawn.neighbours) == len(drawn.totals) == n
    prices = MenuRows(draws.menu, draws.accounting, draws.held_out[0]).ladder.costs[0]
    for rows, depths, total in zip(drawn.choices, drawn.depths, drawn.totals, strict=True):
        taken = draws.accounting.row_table(depths, np.zeros(len(depths), dtype=np.uint8))
        assert draws.ladder.fixed_bytes + np.diagonal(taken).sum() <= total
        assert (np.diff(prices[rows]) <= 0).all()


def test_free_blocks_are_fitted_once(tmp_path, planted):
    folder = make_folder(tmp_path / "printed", planted, PRINTED, score="tiled")
    estimate_model(folder, FOUND_TOO, FITTING, device="cpu")
    assert len((folder.root / LEDGER).read_bytes().splitlines()) == 69
