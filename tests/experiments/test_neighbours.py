"""Neighbours alone are measured as plain loops would, and every trial names settings that exist."""

import numpy as np
import pytest

from elasticrec.compression.neighbours import linear_neighbours
from elasticrec.evaluation.metrics import recall_at
from elasticrec.evaluation.toplist import top_list
from experiments.neighbours import SLOTS, TRIALS, by_popularity, label, make, measure


def test_recall_of_votes_by_loops(planted):
    split = by_popularity(planted)
    assert (np.diff(split.train.per_item) <= 0).all()
    lists = linear_neighbours(split.train)
    for slots in (1, 4):
        wanted = []
        for user in np.flatnonzero(split.validation.per_user):
            history = split.train.of(user)
            votes = np.zeros(split.n_items, dtype=np.float32)
            for item in range(split.n_items):
                for slot in range(slots):
                    if lists.weights[item, slot] and lists.numbers[item, slot] in history:
                        votes[item] += lists.values[lists.weights[item, slot]]
            listed = top_list(votes, 20, history).tolist()
            wanted.append(recall_at(20, listed, split.validation.of(user).tolist()))
        found = measure(lists, split, slots, n_users=10_000)
        assert found["recall@20"] == pytest.approx(np.mean(wanted), abs=2e-3)  # sums round apart


def test_every_trial_can_be_made(planted):
    assert len({label(trial) for trial in TRIALS}) == len(TRIALS)
    for trial in TRIALS:
        lists, settings = make(planted, trial)
        assert lists.weights[:, : max(SLOTS)].any()
        assert {name: settings[name] for name in trial if name != "source"}.items() <= trial.items()
