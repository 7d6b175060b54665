"""Presets hold what they promise, and refuse what they cannot use."""

from dataclasses import replace

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.data.interactions import Pairs
from elasticrec.presets import PRESETS, check_split, preset


def test_the_papers_settings_are_those_of_its_appendix():
    ours, yelp = preset("paper-amazon-book"), preset("paper-yelp")
    train = ours.train
    assert (train.base, train.loss, train.score, train.readout) == (
        "lightgcn", "bpr", "tiled", "final",
    )  # fmt: skip
    assert (train.layers, train.n_blocks, train.block_size, train.diversity) == (3, 16, 8, 1e-4)
    assert (ours.space.kind, ours.space.n_groups) == ("random", 20)
    assert ours.space.free
    assert ours.space.as_printed
    assert not ours.space.rotate
    assert (ours.samples.n_samples, ours.samples.n_users, ours.samples.metric) == (
        15_000, 1_000, "recall@100",
    )  # fmt: skip
    assert ours.estimator.widths == (64,)
    assert not ours.estimator.linear
    assert (ours.search.population, ours.search.rounds, ours.search.tournament) == (20, 50, 5)
    assert ours.search.mutations == ("swap", "reselect")
    assert (yelp.train.layers, yelp.estimator.widths, yelp.search.population) == (2, (128,), 50)


def test_an_unknown_preset_names_the_known_ones():
    with pytest.raises(InputError, match=", ".join(PRESETS)):
        preset("nonsense")


def test_the_papers_presets_want_validation_for_everyone(two_tastes):
    published = replace(two_tastes, kind="published")
    check_split("paper-yelp", published)
    nobody = Pairs(np.zeros(two_tastes.n_users + 1, np.int64), np.zeros(0, np.int32),
                   two_tastes.n_items)  # fmt: skip
    with pytest.raises(InputError, match="--validation-everyone"):
        check_split("paper-yelp", replace(published, validation=nobody))
    check_split("default", replace(published, validation=nobody))
