import json
from dataclasses import replace

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.rule.estimator.building import LEDGER, build_estimator
from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.rule.estimator.measuring import LEAST_PER_ITEM, measuring_of
from elasticrec.rule.estimator.model import Estimator
from elasticrec.evaluation.compositions import PlainEvaluator, validation_questions
from elasticrec.evaluation.device_path import device_scores
from elasticrec.evaluation.questions import EVEN, even_share
from elasticrec.space.file_bytes import FileAccounting
from elasticrec.storing import load_coded

SAMPLES = SamplesConfig(n_samples=30, n_users=80, metric="recall@10", n_held_out=4)
FITTING = EstimatorConfig(widths=(8,), learning_rates=(0.01,), l2s=(0.0,), steps=20, max_rounds=1)


@pytest.mark.parametrize("person", ["vector+history", "history"])
def test_coded_compositions_are_measured_for_a_kind_of_person(coded_folder, person):
    (coded_folder.root / LEDGER).unlink()
    built = build_estimator(coded_folder, SAMPLES, FITTING, person=person, device="cpu")
    about = Estimator.load(coded_folder.path("estimator")).about
    assert (about["accounting"], about["person"]) == ("file", person)
    coded_folder.check("estimator")
    asked = validation_questions(coded_folder.split(), 80, np.random.default_rng(0))
    plain = PlainEvaluator(
        device_scores(load_coded(coded_folder), None, asked, person), asked, "recall@10"
    )
    measuring = measuring_of(coded_folder, SAMPLES, accounting="file", person=person)
    drawn = measuring.draws(range(30))
    lines = (coded_folder.root / LEDGER).read_text().splitlines()
    values = [json.loads(line)["y"] for line in lines[1:31]]
    assert values == plain.evaluate(drawn.depths, drawn.neighbours).tolist()
    assert list(built.within) == ["4.36 KB", "10.92 KB", "21.84 KB"]


def test_draws_spend_bytes_of_files_from_a_few_per_item_on(coded_folder):
    draws = measuring_of(coded_folder, SAMPLES, accounting="file").draws
    accounting = draws.accounting
    assert isinstance(accounting, FileAccounting)
    assert accounting.reserved_bytes == 48 + 2 * 32
    drawn = draws(range(40))
    sizes = accounting.sizes(drawn.depths, drawn.neighbours)
    assert (sizes <= drawn.totals).all()
    assert drawn.totals.min() > 0.6 * (accounting.fixed_bytes + LEAST_PER_ITEM * 200)
    assert len(np.unique(drawn.neighbours)) > 3
    assert len(np.unique(drawn.depths)) > 3


def test_other_weights_or_persons_are_another_ledger(coded_folder):
    (coded_folder.root / LEDGER).unlink()
    build_estimator(coded_folder, SAMPLES, FITTING, device="cpu")
    with pytest.raises(InputError, match="another person"):
        build_estimator(coded_folder, SAMPLES, FITTING, person="history", device="cpu")
    mixing = load_coded(coded_folder).mixing
    coded_folder.save_part("mixing", replace(mixing, weights=mixing.weights * 2))
    with pytest.raises(InputError, match="was made from another mixing"):
        coded_folder.check("estimator")
    with pytest.raises(InputError, match="another mixing"):
        build_estimator(coded_folder, SAMPLES, FITTING, device="cpu")


def test_whole_blocks_of_a_coded_model_can_still_be_asked_for(coded_folder):
    (coded_folder.root / LEDGER).unlink()
    built = build_estimator(coded_folder, SAMPLES, FITTING, accounting="paper", device="cpu")
    assert built.estimator.features.depths == (0, 32)
    assert built.estimator.about["accounting"] == "paper"


def test_some_weight_may_be_spread_evenly_over_groups(coded_folder):
    split = coded_folder.split()
    plain = measuring_of(coded_folder, SAMPLES, accounting="file")
    assert plain.make.asked.weights is None  # validation is a random sample, as test is
    assert plain.about["even_share"] == even_share(split) == 0
    assert even_share(replace(split, kind="published")) == EVEN > 0
    even = measuring_of(coded_folder, replace(SAMPLES, even=0.5), accounting="file")
    assert even.about["even_share"] == even.fingerprint["even"] == 0.5
    bounds, items = even.make.model.codes.bounds, even.make.asked.relevant.items
    groups = np.searchsorted(bounds, items, side="right") - 1
    popular, rare = (even.make.asked.weights[groups == g].mean() for g in (0, 4))
    assert rare > 1 > popular

    def weights_by(metric):
        samples = replace(SAMPLES, metric=metric, even=0.5)
        return measuring_of(coded_folder, samples, accounting="file").make.asked.weights

    for metric in ("ndcg@10", "both@10"):
        np.testing.assert_array_equal(weights_by(metric), even.make.asked.weights)
    assert weights_by("hit@10") is None  # it is no sum over items
