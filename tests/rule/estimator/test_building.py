import json
from dataclasses import replace

import numpy as np
import pytest

from elasticrec.blocks.folder import ModelFolder
from elasticrec.training.table import BlockTable
from elasticrec.errors import InputError
from elasticrec.data.interactions import Pairs
from elasticrec.rule.estimator.building import LEDGER, build_estimator, draws_of
from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.rule.estimator.model import Estimator
from elasticrec.evaluation.compositions import PlainEvaluator, validation_questions
from elasticrec.evaluation.rows import BlockScores
from elasticrec.space.regroup import SpaceConfig, load_groups, regroup_folder

SAMPLES = SamplesConfig(
    n_samples=60, n_users=80, metric="recall@10", n_held_out=8, held_out=(60.0,)
)
FITTING = EstimatorConfig(widths=(8,), learning_rates=(0.01,), l2s=(0.0,), steps=20, max_rounds=1)


def make_folder(path, split, space, base="mf", score="aligned"):
    """A model folder of a truncated SVD of train, 4 blocks of 8."""
    U, S, Vt = np.linalg.svd(split.train.csr().toarray(), full_matrices=False)
    users = (U[:, :32] * S[:32]).astype(np.float32) if base == "mf" else None
    blocks = Vt[:32].T.reshape(-1, 4, 8).astype(np.float32)
    folder = ModelFolder.create(path)
    folder.save_model(split, BlockTable(blocks, users, base, score))
    regroup_folder(folder, space)
    return folder


OURS = SpaceConfig(n_groups=5)
PRINTED = replace(SpaceConfig.printed(), n_groups=5)


@pytest.mark.parametrize(("space", "score"), [(OURS, "aligned"), (PRINTED, "tiled")])
def test_a_folder_gets_its_estimator(tmp_path, planted, space, score):
    folder = make_folder(tmp_path / "model", planted, space, score=score)
    told = []
    built = build_estimator(
        folder, SAMPLES, FITTING, device="cpu", progress=lambda n, total: told.append((n, total))
    )
    again = ModelFolder.open(folder.root)
    again.check("estimator")
    loaded = Estimator.load(again.path("estimator"))
    assert loaded.fingerprint() == built.estimator.fingerprint() == again.fingerprint("estimator")
    assert loaded.about["metric"] == "recall@10"
    assert (loaded.about["n_users"], loaded.about["seed"]) == (80, 0)
    assert list(built.within) == ["12 KB"]
    assert sum(n for n, _ in told) == 68
    assert {total for _, total in told} == {68}
    assert len((folder.root / LEDGER).read_bytes().splitlines()) == 69


def test_nothing_needs_to_be_held_out(tmp_path, planted):
    folder = make_folder(tmp_path / "model", planted, OURS)
    built = build_estimator(folder, replace(SAMPLES, n_held_out=0), FITTING, device="cpu")
    assert built.within == {}
    assert len((folder.root / LEDGER).read_bytes().splitlines()) == 61


@pytest.mark.parametrize("base", ["mf", "history"])
def test_measurements_are_those_of_the_validation_users(tmp_path, planted, base):
    folder = make_folder(tmp_path / "model", planted, OURS, base)
    build_estimator(folder, SAMPLES, FITTING, device="cpu", workers=2)
    split, table = folder.split(), folder.table()
    asked = validation_questions(split, 80, np.random.default_rng(0))
    scores = BlockScores.of_table(table, load_groups(folder).bounds, asked.users, split.train)
    plain = PlainEvaluator(scores, asked, "recall@10")
    drawn = draws_of(table, load_groups(folder), OURS, SAMPLES)(range(60))
    lines = (folder.root / LEDGER).read_text().splitlines()
    values = [json.loads(line)["y"] for line in lines[1:61]]
    assert values == plain.evaluate(drawn.depths, drawn.neighbours).tolist()


def test_changing_the_test_part_changes_no_sample(tmp_path, planted):
    rng = np.random.default_rng(4)
    free = ~(planted.train.csr().toarray() + planted.validation.csr().toarray()).astype(bool)
    other = Pairs.from_arrays(
        *np.nonzero(free & (rng.random(free.shape) < 0.1)),
        n_users=planted.n_users,
        n_items=planted.n_items,
    )
    ledgers = []
    for name, split in (("a", planted), ("b", replace(planted, test=other))):
        folder = make_folder(tmp_path / name, split, OURS)
        build_estimator(folder, SAMPLES, FITTING, device="cpu")
        ledgers.append((folder.root / LEDGER).read_bytes())
    assert len(other) != len(planted.test)
    assert ledgers[0] == ledgers[1]


def test_a_longer_run_goes_on_from_a_shorter_one(tmp_path, planted):
    folder = make_folder(tmp_path / "model", planted, OURS)
    build_estimator(folder, replace(SAMPLES, n_samples=20), FITTING, device="cpu")
    short = (folder.root / LEDGER).read_bytes()
    build_estimator(folder, SAMPLES, FITTING, device="cpu")
    assert (folder.root / LEDGER).read_bytes().startswith(short)
    assert len((folder.root / LEDGER).read_bytes().splitlines()) == 69


def test_a_ledger_of_another_model_or_metric_is_refused(tmp_path, planted):
    folder = make_folder(tmp_path / "model", planted, OURS)
    build_estimator(folder, SAMPLES, FITTING, device="cpu")
    with pytest.raises(InputError, match="another metric"):
        build_estimator(folder, replace(SAMPLES, metric="ndcg@10"), FITTING, device="cpu")
    regroup_folder(folder, SpaceConfig(n_groups=4))
    with pytest.raises(InputError, match="was made from another"):
        folder.check("estimator")
    with pytest.raises(InputError, match="another model"):
        build_estimator(folder, SAMPLES, FITTING, device="cpu")


def test_worker_processes_measure_free_blocks_alike(tmp_path, planted):
    ledgers = []
    for workers in (1, 2):
        folder = make_folder(tmp_path / str(workers), planted, PRINTED)
        build_estimator(folder, SAMPLES, FITTING, device="cpu", workers=workers)
        ledgers.append((folder.root / LEDGER).read_bytes())
    assert ledgers[0] == ledgers[1]
