from dataclasses import replace

import numpy as np
import pytest

from elasticrec.blocks.folder import ModelFolder
from elasticrec.blocks.table import BlockTable
from elasticrec.data.errors import InputError
from elasticrec.estimator.building import LEDGER, build_estimator, draws_of
from elasticrec.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.search.answers import answer_budgets
from elasticrec.search.config import SearchConfig
from elasticrec.search.measuring import (
    MEASURED_USERS,
    held_out_quality,
    quality_to_search_by,
    validation_quality,
)
from elasticrec.search.searcher import Searcher
from elasticrec.space.budget import Budget
from elasticrec.space.regroup import SpaceConfig, regroup_folder

SAMPLES = SamplesConfig(n_samples=40, n_users=70, metric="recall@10", n_held_out=2, seed=3)
FITTING = EstimatorConfig(widths=(8,), learning_rates=(0.01,), l2s=(0.0,), steps=20, max_rounds=1)
SPACES = {
    "ours": SpaceConfig(n_groups=5),
    "printed": replace(SpaceConfig.printed(), n_groups=5),
    "clusters": SpaceConfig(kind="cluster", n_groups=5),
}


@pytest.fixture(params=SPACES)
def searcher(request, tmp_path, planted):
    """A real model folder of the planted world, with a real estimator."""
    U, S, Vt = np.linalg.svd(planted.train.csr().toarray(), full_matrices=False)
    users = (U[:, :32] * S[:32]).astype(np.float32)
    blocks = Vt[:32].T.reshape(-1, 4, 8).astype(np.float32)
    folder = ModelFolder.create(tmp_path / "model")
    folder.save_model(planted, BlockTable(blocks, users, "mf"))
    regroup_folder(folder, SPACES[request.param])
    build_estimator(folder, SAMPLES, FITTING, device="cpu")
    return Searcher(folder)


def test_the_search_measures_what_the_estimator_learned_from(searcher):
    split, table = searcher.folder.split(), searcher.folder.table()
    drawn = draws_of(table, searcher.groups, searcher.space, SAMPLES)(range(6))
    lines = (searcher.folder.root / LEDGER).read_text().splitlines()[1:7]
    for many in (False, True):
        measured = validation_quality(searcher, many=many, device="cpu")
        values = measured(drawn.depths, drawn.neighbours)
        assert len(set(values)) > 1
        assert all(repr(float(v)) in line for v, line in zip(values, lines, strict=True))
    on_test = held_out_quality(searcher, device="cpu")(drawn.depths, drawn.neighbours)
    assert split.n_users > 70
    assert not np.allclose(on_test, values)


@pytest.mark.parametrize("searcher", ["printed"], indirect=True)
def test_a_measured_search_of_free_blocks_is_refused(searcher):
    with pytest.raises(InputError, match="any subset of its blocks"):
        quality_to_search_by(searcher, SearchConfig(), measured=True, device="cpu")


@pytest.mark.parametrize("searcher", ["ours", "clusters"], indirect=True)
def test_a_measured_search_asks_more_users_than_the_estimator_knew(searcher):
    config = SearchConfig(refine=2)
    assert quality_to_search_by(searcher, replace(config, refine=0)) is None
    table, everyone = searcher.folder.table(), searcher.folder.split().n_users
    drawn = draws_of(table, searcher.groups, searcher.space, SAMPLES)(range(6))
    few, all_of_them, refining, measuring = (
        quality(drawn.depths, drawn.neighbours)
        for quality in (
            validation_quality(searcher, many=True, device="cpu"),
            validation_quality(searcher, n_users=everyone, device="cpu"),
            quality_to_search_by(searcher, config, device="cpu"),
            quality_to_search_by(searcher, config, measured=True, device="cpu"),
        )
    )
    assert SAMPLES.n_users < everyone < MEASURED_USERS
    np.testing.assert_allclose(refining, few)
    np.testing.assert_allclose(measuring, all_of_them)
    assert not np.allclose(measuring, few)


@pytest.mark.parametrize("searcher", ["ours", "clusters"], indirect=True)
def test_a_measured_search_asks_no_more_users_than_memory_has_room_for(searcher, monkeypatch):
    validation, rows = searcher.folder.split().validation, searcher.menu.n_rows
    everyone = np.count_nonzero(validation.per_user)
    counts = len(validation) * rows**2 * searcher.groups.n_groups  # a byte each
    monkeypatch.setattr("elasticrec.search.measuring.MEASURED_BYTES", counts / everyone * 30)
    drawn = draws_of(searcher.folder.table(), searcher.groups, searcher.space, SAMPLES)(range(6))
    measured, few = (
        quality(drawn.depths, drawn.neighbours)
        for quality in (
            quality_to_search_by(searcher, SearchConfig(), measured=True, device="cpu"),
            validation_quality(searcher, n_users=30, device="cpu"),
        )
    )
    np.testing.assert_allclose(measured, few)


def test_a_measured_search_refines_nothing_and_climbs_no_greedy_start():
    usual = SearchConfig(refine=20, margin=0.02, rounds=7)
    assert usual.measured() == SearchConfig(margin=0.005, rounds=7, starts=("uniform",))
    assert SearchConfig(margin=0.001, starts=()).measured() == SearchConfig(margin=0.001, starts=())


def test_answers_ascend_and_controls_stand_beside(searcher):
    budgets = [Budget(15_000), Budget(10_000), Budget(15_000)]
    config = SearchConfig(population=5, rounds=5, refine=2)
    answers = answer_budgets(
        searcher,
        budgets,
        config,
        controls=("uniform", "greedy-measured"),
        evaluate=validation_quality(searcher, many=True, device="cpu"),
    )
    assert [answer.budget.n_bytes for answer in answers] == [10_000, 15_000]
    for answer in answers:
        assert [control.method for control in answer.controls] == ["uniform", "greedy-measured"]
        assert answer.searched.measured is not None
        for found in (answer.searched, *answer.controls):
            assert found.n_bytes == searcher.accounting.size(found.composition)
            assert found.n_bytes <= answer.budget.n_bytes
    assert "start" in answers[1].searched.trace.made_by
