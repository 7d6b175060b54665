"""First columns trained to rank: other codewords, other bytes, and what they leave is coded too."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticrec.compression.codebooks import coded
from elasticrec.compression.compress import Coarse, coarse
from elasticrec.compression.config import CompressionConfig
from elasticrec.compression.ranking import ThroughCodes, trained_to_rank
from elasticrec.data.cooccurrence import count_cooccurrence
from elasticrec.presets import PRESETS
from elasticrec.stages import code_items
from elasticrec.training.bases import History
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import train
from elasticrec.training.losses import Objective, Vectors
from elasticrec.training.rows import Leaves
from elasticrec.training.sampler import Sampler

SETTINGS = CompressionConfig(ranking_epochs=8, ranking_rate=4e-3, codebook_bytes=44)
TRAINING = TrainConfig(n_blocks=4, epochs=8, batch_size=512, negatives=64, temperatures=())
TRAINED = 4


@pytest.fixture(scope="module")
def learnt(planted) -> tuple[Coarse, Coarse]:
    """The coarse columns of the planted world as fitted, and as trained."""
    table = train(planted, TRAINING, device="cpu").table
    found = coarse(table.items, SETTINGS)
    assert len(found.columns) in (2 * TRAINED, 2 * TRAINED + 1)
    return found, trained_to_rank(found, planted, SETTINGS, TRAINING, device="cpu")


def through(found: Coarse, columns: int = TRAINED, fewest: int = 2) -> ThroughCodes:
    """The base of the first columns."""
    codewords = np.stack([c.codewords * np.float32(c.scale) for c in found.columns[:columns]])
    generator = torch.Generator().manual_seed(0)
    return ThroughCodes(codewords, found.vectors.astype(np.float32), fewest, generator)


def loss(found: Coarse, columns: int, planted) -> float:
    """The training's loss of one epoch, by what the first columns say."""
    said = found.vectors - replace(found, columns=found.columns[:columns]).rest()
    base, objective = History(torch.from_numpy(said)), Objective(TRAINING.sized(planted.train))
    near = count_cooccurrence(planted.train, TRAINING.cooccurrence_k).items
    sampler = Sampler(planted.train, objective.config, whole_users=True, near=near)
    losses = []
    for batch in sampler.epoch(0, 0, torch.Generator().manual_seed(0)):
        users, (seen, unseen, near) = base.forward(Leaves(base.tables), batch)
        losses.append(float(objective(Vectors(users, seen, unseen, near), batch).detach()))
    return float(np.mean(losses))


def test_items_are_what_the_codewords_next_to_them_say(learnt) -> None:
    found, _ = learnt
    left = found.vectors.copy()
    for column in found.columns[:TRAINED]:
        coded(left, column.codewords, column.scale)
    said = through(found).final()[1].numpy()
    np.testing.assert_allclose(found.vectors - said, left, atol=1e-5)


def test_items_move_as_what_is_said_of_them_should(learnt, planted) -> None:
    base = through(learnt[0])
    leaves = Leaves(base.tables)
    sampler = Sampler(planted.train, TRAINING.sized(planted.train), whole_users=True)
    batch = next(iter(sampler.epoch(0, 0, torch.Generator().manual_seed(0))))
    _, (seen, *_) = base.forward(leaves, batch)
    wanted = torch.randn(seen.shape, generator=torch.Generator().manual_seed(1))
    names, leaf = zip(*leaves.tensors.items(), strict=True)
    found = dict(zip(names, torch.autograd.grad((seen * wanted).sum(), leaf), strict=True))
    places = leaves.places("items", batch.seen)
    sums = torch.zeros_like(found["items"]).index_add(0, places, wanted)
    torch.testing.assert_close(found["items"], sums)
    assert found["codewords"].abs().sum() > 0


def test_the_first_half_of_the_columns_changes_and_the_rest_says_what_it_leaves(learnt) -> None:
    found, trained = learnt
    assert len(trained.columns) == len(found.columns)
    for old, new in zip(found.columns[:TRAINED], trained.columns[:TRAINED], strict=True):
        assert (old.bytes != new.bytes).any()
        assert new.codewords.dtype == np.int8
        assert np.abs(new.codewords).max() == 127
    left = [
        np.square(replace(trained, columns=trained.columns[:n]).rest()).sum()
        for n in range(TRAINED, len(trained.columns) + 1)
    ]
    assert (np.diff(left) < 0).all()
    np.testing.assert_array_equal(trained.vectors, found.vectors)


def test_the_fewest_columns_serve_the_training_s_aim_better_once_trained(learnt, planted) -> None:
    found, trained = learnt
    for columns in (2, 3):
        assert loss(trained, columns, planted) < loss(found, columns, planted) - 0.02


def test_their_length_leaves_least_over(learnt) -> None:
    first = replace(learnt[1], columns=learnt[1].columns[:TRAINED])
    left = np.square(first.rest()).sum()
    for factor in (0.95, 1.05):
        columns = [replace(c, scale=c.scale * factor) for c in first.columns]
        assert np.square(replace(first, columns=columns).rest()).sum() > left


def test_equal_inputs_give_equal_columns(learnt, planted) -> None:
    found, trained = learnt
    again = trained_to_rank(found, planted, SETTINGS, TRAINING, device="cpu")
    for one, other in zip(trained.columns, again.columns, strict=True):
        np.testing.assert_array_equal(one.values(), other.values())
        np.testing.assert_array_equal(one.bytes, other.bytes)


def test_few_columns_are_drawn_as_often_as_many() -> None:
    column = coarse(np.eye(8, dtype=np.float32), CompressionConfig(fewest_residual=1)).columns[0]
    base = through(Coarse(np.eye(8), np.eye(8), np.zeros(8), True, 15 * [column]), 15)
    drawn = np.bincount([base._columns() for _ in range(6_000)])
    assert drawn[:2].tolist() == [0, 0]
    assert len(drawn) == 16
    assert drawn[15] > 0
    # From 2 to below 16 there are three doublings.
    np.testing.assert_allclose(
        [drawn[2:4].sum(), drawn[4:8].sum(), drawn[8:].sum()], 2_000, atol=200
    )


@pytest.mark.parametrize("settings", [{"most_residual": 0}, {"ranking_epochs": 0}])
def test_nothing_is_trained_without_whole_codewords_or_epochs(planted, settings) -> None:
    table = train(planted, TRAINING, device="cpu").table
    compression = CompressionConfig(stages=1, min_support=2, **settings)
    preset = replace(PRESETS["demo"], train=TRAINING, compression=compression)
    codes = code_items(table, planted, preset, device="cpu")
    plain = code_items(table, planted, replace(preset, train=replace(TRAINING, seed=1)))
    assert plain.fingerprint() == codes.fingerprint()
    assert codes.n_columns == codes.n_blocks + compression.residual_columns(*table.items.shape)
