"""Codewords trained to rank: same bytes, other codewords."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticrec.compression.compress import Coarse, coarse
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.neighbours import make_neighbours
from elasticrec.compression.ranking import ThroughCodes, trained_to_rank
from elasticrec.data.cooccurrence import count_cooccurrence
from elasticrec.presets import PRESETS
from elasticrec.stages import code_items
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import train
from elasticrec.training.losses import Objective, Vectors
from elasticrec.training.rows import Leaves
from elasticrec.training.sampler import Sampler

SETTINGS = CompressionConfig(ranking_epochs=8, ranking_rate=4e-3, codebook_bytes=40)
TRAINING = TrainConfig(n_blocks=4, epochs=8, batch_size=512, negatives=64, temperatures=())


@pytest.fixture(scope="module")
def learnt(planted) -> tuple[Coarse, Coarse]:
    """The coarse columns of the planted world as fitted, and as trained."""
    table = train(planted, TRAINING, device="cpu").table
    found = coarse(table.items, SETTINGS)
    assert len(found.columns) > 1
    return found, trained_to_rank(found, planted, SETTINGS, TRAINING, device="cpu")


def through(found: Coarse, fewest: int = 2) -> ThroughCodes:
    """The base of some columns."""
    codewords = np.stack([c.codewords * np.float32(c.scale) for c in found.columns])
    data = np.stack([c.bytes for c in found.columns], axis=1).astype(np.int64)
    first = 32 * np.arange(len(found.columns))
    named = np.stack([first + data % 16, first + 16 + data // 16], axis=2)
    return ThroughCodes(codewords, named, fewest, torch.Generator().manual_seed(0))


def loss(found: Coarse, planted) -> float:
    """The training's loss of one epoch, each batch by as many columns as chance has it."""
    base, objective = through(found), Objective(TRAINING.sized(planted.train))
    near = count_cooccurrence(planted.train, TRAINING.cooccurrence_k).items
    sampler = Sampler(planted.train, objective.config, whole_users=True, near=near)
    losses = []
    for batch in sampler.epoch(0, 0, torch.Generator().manual_seed(0)):
        users, (seen, unseen, near) = base.forward(Leaves(base.tables), batch)
        losses.append(float(objective(Vectors(users, seen, unseen, near), batch).detach()))
    return float(np.mean(losses))


def test_items_are_what_their_codewords_say(learnt) -> None:
    found, _ = learnt
    said = through(found).final()[1].numpy()
    np.testing.assert_allclose(found.vectors - said, found.rest(), atol=1e-5)


def test_only_codewords_change(learnt) -> None:
    found, trained = learnt
    for old, new in zip(found.columns, trained.columns, strict=True):
        np.testing.assert_array_equal(old.bytes, new.bytes)
        assert new.codewords.dtype == np.int8
        assert np.abs(new.codewords).max() == 127
        assert not np.array_equal(old.values(), new.values())


def test_coarse_codes_serve_the_training_s_aim_better_once_trained(learnt, planted) -> None:
    found, trained = learnt
    assert loss(trained, planted) < loss(found, planted) - 0.05


def test_their_length_leaves_least_over(learnt) -> None:
    _, trained = learnt
    left = np.square(trained.rest()).sum()
    for factor in (0.95, 1.05):
        columns = [replace(c, scale=c.scale * factor) for c in trained.columns]
        assert np.square(replace(trained, columns=columns).rest()).sum() > left


def test_equal_inputs_give_equal_codewords(learnt, planted) -> None:
    found, trained = learnt
    again = trained_to_rank(found, planted, SETTINGS, TRAINING, device="cpu")
    for one, other in zip(trained.columns, again.columns, strict=True):
        np.testing.assert_array_equal(one.values(), other.values())


def test_few_columns_are_drawn_as_often_as_many() -> None:
    column = coarse(np.eye(8, dtype=np.float32), CompressionConfig(fewest_residual=1)).columns[0]
    base = through(Coarse(np.eye(8), np.eye(8), np.zeros(8), True, 15 * [column]))
    drawn = np.bincount([base._columns() for _ in range(6_000)])
    assert drawn[:2].tolist() == [0, 0]
    assert len(drawn) == 16
    assert drawn[15] > 0
    # From 2 to below 16 there are three doublings.
    np.testing.assert_allclose(
        [drawn[2:4].sum(), drawn[4:8].sum(), drawn[8:].sum()], 2_000, atol=200
    )


def test_without_whole_codewords_there_is_nothing_to_train(planted) -> None:
    table = train(planted, TRAINING, device="cpu").table
    settings = CompressionConfig(most_residual=0, stages=1, min_support=2)
    preset = replace(PRESETS["demo"], train=TRAINING, compression=settings)
    lists = make_neighbours(planted.train, settings)
    codes, choice = code_items(table, planted, lists, preset, device="cpu")
    assert choice is None
    assert codes.n_columns == codes.n_blocks
