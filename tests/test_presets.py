"""Presets hold what they promise, come back from JSON, and refuse what they cannot use."""

import json
from dataclasses import replace

import pytest

from elasticrec.errors import InputError
from elasticrec.presets import PRESETS, Preset, preset


def test_the_papers_settings_are_those_of_its_appendix():
    book, yelp = preset("paper-amazon-book"), preset("paper-yelp")
    train, rule = book.train, book.rule
    assert (train.base, train.loss, train.score, train.readout) == (
        "lightgcn", "bpr", "tiled", "final",
    )  # fmt: skip
    assert (train.layers, train.n_blocks, train.block_size, train.diversity) == (3, 16, 8, 1e-4)
    assert (rule.space.kind, rule.space.groups, rule.space.n_groups) == ("blocks", "random", 20)
    assert not rule.space.top_up
    assert (rule.samples.n_samples, rule.samples.n_users, rule.samples.metric) == (
        15_000, 1_000, "recall@100",
    )  # fmt: skip
    assert (rule.estimator.widths, rule.estimator.linear) == ((64,), False)
    assert (rule.search.population, rule.search.rounds, rule.search.tournament) == (20, 50, 5)
    assert rule.search.mutations == ("swap", "reselect")
    assert (yelp.train.layers, yelp.rule.estimator.widths) == (2, (128,))
    assert yelp.rule.search.population == 50


def test_the_demo_trains_and_asks_less_by_the_default_recipe():
    demo, default = preset("demo"), preset("default")
    assert demo.train.epochs < 10
    assert demo.order.n_persons < default.order.n_persons
    assert (demo.compression, demo.rule) == (default.compression, default.rule)
    whole = default.train
    asked = {"epochs": 0, "negatives": whole.negatives, "temperatures": whole.temperatures}
    assert replace(demo.train, **asked) == whole


@pytest.mark.parametrize("name", PRESETS)
def test_settings_come_back_from_json(name):
    assert Preset.of(json.loads(json.dumps(preset(name).as_dict()))) == preset(name)


def test_settings_of_another_version_are_refused_by_name():
    plain = preset("default").as_dict()
    plain["train"]["magic"] = plain["train"].pop("epochs")
    with pytest.raises(InputError, match=r"of another version .* which differ by epochs, magic"):
        Preset.of(plain)


def test_an_unknown_preset_names_the_known_ones():
    with pytest.raises(InputError, match=", ".join(PRESETS)):
        preset("nonsense")
