"""A training becomes a model folder: parts, order, turned vectors, and no checkpoint left."""

from dataclasses import replace

import numpy as np
import pytest

from elasticrec.blocks.folder import ModelFolder
from elasticrec.training.scoring import effective
from elasticrec.evaluation.ranking import evaluate
from elasticrec.model import Model
from elasticrec.space.regroup import SpaceConfig
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import InterruptedTraining, train
from elasticrec.training.model import finish, train_model

CONFIG = TrainConfig(
    n_blocks=2, block_size=4, epochs=3, batch_size=512, negatives=32, learning_rate=0.02,
    cooccurrence=0.3, cooccurrence_k=4, evaluate_every=1, patience=0,
)  # fmt: skip
SPACE = SpaceConfig(n_groups=4)


@pytest.fixture(scope="module")
def trained(planted):
    return train(planted, CONFIG, device="cpu")


@pytest.fixture(scope="module")
def model(planted, trained):
    return finish(planted, trained, CONFIG, SPACE)


def test_the_folder_holds_every_part_and_no_checkpoint(tmp_path, planted):
    folder = ModelFolder.create(tmp_path / "model")
    trained = train_model(folder, planted, CONFIG, SPACE, device="cpu")
    assert {file.name for file in folder.root.iterdir()} == {
        "model.json", "split.npz", "blocks.safetensors", "cooccurrence.npz", "groups.npz",
    }  # fmt: skip
    loaded = Model.load(folder.root)
    assert loaded.about["train"]["n_blocks"] == 2
    assert loaded.about["epochs"] == trained.progress.epoch == 3
    assert loaded.about["validation"] == {"recall@20": trained.progress.best}
    assert loaded.groups.n_groups == 4


def test_items_are_numbered_by_group_and_everything_moves_along(planted, trained, model):
    order = model.groups.order
    assert not np.array_equal(order, np.arange(planted.n_items))
    assert model.split.item_ids.values.tolist() == planted.item_ids.values[order].tolist()
    near, before = model.cooccurrence, trained.cooccurrence
    there = near.items[0] >= 0
    np.testing.assert_array_equal(order[near.items[0][there]], before.items[order[0]][there])
    np.testing.assert_array_equal(near.weights, before.weights[order])


def test_grouping_and_turning_change_no_score_and_no_list(planted, trained, model):
    users, items = effective(trained.table)
    turned_users, turned_items = effective(model.table)
    order = model.groups.order
    np.testing.assert_allclose(turned_users @ turned_items.T, users @ items[order].T, atol=1e-5)
    found, wanted = (
        evaluate(table, split, metrics=("recall@20",), device="cpu").metrics["recall@20"]
        for table, split in ((model.table, model.split), (trained.table, planted))
    )
    assert found == pytest.approx(wanted, abs=1e-6)


def test_a_folded_in_person_scores_the_same_after_turning(planted, trained, model):
    order = model.groups.order
    before = trained.table.fold_in(planted.train) @ trained.table.items.T
    after = model.table.fold_in(model.split.train) @ model.table.items.T
    np.testing.assert_allclose(after, before[:, order], atol=1e-4)


def test_vectors_are_left_alone_where_they_must_be(planted, trained):
    still = finish(planted, trained, CONFIG, replace(SPACE, rotate=False))
    np.testing.assert_array_equal(still.table.blocks, trained.table.blocks[still.groups.order])
    tiled = replace(trained, table=replace(trained.table, score="tiled"))
    model = finish(planted, tiled, CONFIG, SPACE)
    np.testing.assert_array_equal(model.table.blocks, trained.table.blocks[model.groups.order])


def test_a_model_without_lists(planted, trained):
    without = finish(planted, replace(trained, cooccurrence=None), CONFIG, SPACE)
    assert without.cooccurrence is None


def test_interrupted_it_leaves_a_checkpoint_and_no_model(tmp_path, planted):
    folder = ModelFolder.create(tmp_path / "model")
    with pytest.raises(InterruptedTraining):
        train_model(folder, planted, CONFIG, SPACE, device="cpu", stop=lambda: True)
    assert [file.name for file in folder.root.iterdir()] == ["checkpoint.safetensors"]
    again = ModelFolder.create(folder.root)
    train_model(again, planted, CONFIG, SPACE, device="cpu", resume=True)
    assert not (folder.root / "checkpoint.safetensors").exists()
    assert ModelFolder.open(folder.root).has("table")
