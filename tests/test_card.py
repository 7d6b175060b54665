"""The model card, and the one sentence on how good a model is."""

import copy
import json

import pytest

from elasticrec.card import verdict
from elasticrec.model import Model

pytest.importorskip("torch")


def test_the_card_says_data_recipe_quality_use_and_privacy(tiny_model):
    text = tiny_model.check("card").read_text()
    assert text.startswith("---\nlibrary_name: elasticrec\n")
    split, curve = tiny_model.split, tiny_model.curve
    for wanted in (
        f"{split.n_users:,} users, {split.n_items:,} items",
        "`train.n_blocks = 4`",
        "`compression.min_support = 2`",
        f"| {curve['points'][0]['bytes']:,} bytes | {curve['points'][0]['recall@50']:.4f} |",
        f"| ItemKNN | {curve['itemknn']['recall@50']:.4f} |",
        "elasticrec recommend . --items 1",
        "at least 2 users stand behind them",
        "`split.npz` (who took what",
    ):
        assert wanted in text
    assert "train.temperature = " not in text  # as in the default preset
    assert verdict(tiny_model)[1:] in text


@pytest.mark.parametrize(
    ("own", "p", "users", "said"),
    [
        (0.30, 0.001, 900, "recall@50 0.3000 is better by 20 % than the 0.2500 of ItemKNN"),
        (0.20, 0.001, 900, "recall@50 0.2000 is worse by 20 % than the 0.2500 of ItemKNN"),
        (0.30, 0.2, 900, "is no better or worse than the 0.2500 of ItemKNN beyond chance"),
        (0.30, 0.001, 900, "; 5,000 bytes are within 1 % of the best size measured"),
        (0.30, 0.001, 90, "; more users would help most: 90 say little"),
        (0.20, 0.001, 900, "; a finer file would help: the trained vectors reach 0.2900"),
    ],
)
def test_one_sentence_says_how_good_it_is_and_what_would_help(tiny_model, own, p, users, said):
    model = copy.copy(tiny_model)
    points = [{"bytes": 5_000, "recall@50": own}, {"bytes": 9_000, "recall@50": own}]
    curve = {
        "metric": "recall@50", "part": "validation", "users": users, "points": points,
        "full": {"recall@50": 0.29}, "itemknn": {"recall@50": 0.25},
        "popularity": {"recall@50": 0.1}, "beside": {"baseline": "itemknn", "p": p},
    }  # fmt: skip
    model.__dict__["curve"] = curve
    assert said in verdict(model)


def test_the_best_baseline_is_the_one_that_is_named(tiny_model):
    curve = tiny_model.curve
    best = max(("itemknn", "popularity"), key=lambda name: curve[name]["recall@50"])
    assert curve["beside"]["baseline"] == best
    assert 0 <= curve["beside"]["p"] <= 1
    json.dumps(curve, allow_nan=False)


def test_the_card_is_made_anew_with_the_curve(tiny_copy, tiny_preset, tiny_split):
    from elasticrec.pipeline import fit

    fit(tiny_split, tiny_copy, tiny_preset, device="cpu")
    (tiny_copy / "README.md").unlink()
    fit(tiny_split, tiny_copy, tiny_preset, device="cpu")
    assert Model.open(tiny_copy).check("card").exists()
