from dataclasses import replace

import numpy as np
import pytest

from elasticrec.blocks.folder import ModelFolder
from elasticrec.training.table import BlockTable
from elasticrec.compression.neighbours import Neighbours
from elasticrec.errors import InputError
from elasticrec.data.interactions import Pairs
from elasticrec.evaluation.device_path import measure_composition
from elasticrec.space.composition import Menu
from elasticrec.space.regroup import SpaceConfig, regroup_folder
from elasticrec.storing import (
    PARTS,
    SOURCES,
    StoringConfig,
    is_stored,
    load_coded,
    make_neighbours,
    store,
)

QUICK = StoringConfig(neighbours="cooccurrence", n_users=60, metric="recall@20")


def make_folder(path, split, score="aligned"):
    """A model folder of a truncated SVD of train: 4 blocks of 8, five groups, nothing coded."""
    U, S, Vt = np.linalg.svd(split.train.csr().toarray(), full_matrices=False)
    users = (U[:, :32] * S[:32]).astype(np.float32)
    blocks = Vt[:32].T.reshape(-1, 4, 8).astype(np.float32)
    folder = ModelFolder.create(path)
    folder.save_model(split, BlockTable(blocks, users, "mf", score))
    regroup_folder(folder, SpaceConfig(n_groups=5))
    return folder


def test_a_trained_model_gets_all_that_bundles_are_made_of(tmp_path, planted):
    folder = make_folder(tmp_path / "model", planted)
    before, told = folder.model_id, []
    assert not is_stored(folder)
    assert store(folder, QUICK, device="cpu", tell=told.append)
    assert told == list(PARTS)
    again = ModelFolder.open(folder.root)
    assert is_stored(again)
    assert again.model_id != before  # codes and neighbours are part of what a bundle is of
    coded = load_coded(again)
    assert coded.person == "vector+history"
    everything = coded.menu.compose(np.full(5, coded.menu.n_rows - 1))
    nothing = coded.menu.compose(np.zeros(5, dtype=np.int64))
    full, none = (
        measure_composition(coded, each, again.split(), metrics=["recall@20"], device="cpu")
        for each in (everything, nothing)
    )
    assert full.metrics["recall@20"] > 0.2
    assert none.metrics["recall@20"] == none.coverage == 0


def test_what_is_there_is_left_and_what_is_stale_is_made_again(tmp_path, planted):
    folder = make_folder(tmp_path / "model", planted)
    store(folder, QUICK, device="cpu")
    made = {part: folder.fingerprint(part) for part in PARTS}
    told = []
    assert not store(folder, QUICK, device="cpu", tell=told.append)
    assert told == []
    folder.path("neighbours").unlink()
    store(folder, QUICK, device="cpu", tell=told.append)
    assert told == ["neighbours"]
    lists = load_coded(folder).neighbours
    folder.save_part("neighbours", replace(lists, values=lists.values * 2))
    told.clear()
    store(folder, QUICK, device="cpu", tell=told.append)
    assert told == ["mixing"]
    told.clear()
    store(folder, replace(QUICK, seed=1), device="cpu", tell=told.append)
    assert told == list(PARTS)
    assert folder.fingerprint("menu") == made["menu"]
    assert folder.fingerprint("codes") != made["codes"]


def test_equal_inputs_give_equal_parts(tmp_path, planted):
    prints = []
    for name in ("a", "b"):
        folder = make_folder(tmp_path / name, planted)
        store(folder, QUICK, device="cpu")
        prints.append([folder.fingerprint(part) for part in PARTS])
    assert prints[0] == prints[1]


def test_the_better_source_of_neighbours_is_taken(tmp_path, planted):
    folder = make_folder(tmp_path / "model", planted)
    store(folder, replace(QUICK, neighbours="best"), device="cpu")
    quality = folder.about["neighbours"]
    assert tuple(quality) == SOURCES
    best = max(quality, key=quality.get)
    found = folder.load_part("neighbours", Neighbours.load)
    wanted = make_neighbours(best, folder.split().train)
    assert found.fingerprint() == wanted.fingerprint()


def test_test_is_never_read(tmp_path, planted):
    nothing = Pairs(np.zeros(planted.n_users + 1, np.int64), np.zeros(0, np.int32), 200)
    prints = []
    for name, split in (("a", planted), ("b", replace(planted, test=nothing))):
        folder = make_folder(tmp_path / name, split)
        store(folder, QUICK, device="cpu")
        prints.append([folder.fingerprint(part) for part in PARTS])
    assert prints[0] == prints[1]


def test_tiled_scores_are_refused_and_so_are_wild_settings(tmp_path, planted):
    folder = make_folder(tmp_path / "model", planted, score="tiled")
    with pytest.raises(InputError, match="tiled scores of blocks of 8 cannot be coded"):
        store(folder, QUICK)
    assert not folder.has("menu")
    for wrong in ({"gain": "sum"}, {"neighbours": "far"}, {"n_users": 0}, {"metric": "x"}):
        with pytest.raises(InputError):
            StoringConfig(**wrong)


def test_menus_differ_with_the_energy_of_blocks(tmp_path, planted):
    folder = make_folder(tmp_path / "model", planted)
    store(folder, QUICK, device="cpu")
    menu = folder.load_part("menu", Menu.load)
    assert menu.n_blocks == 4
    assert (menu.depths[:, 0] >= menu.depths[:, 3]).all()
