"""A model folder: identity, and every way in which it can be wrong."""

import json
from dataclasses import replace

import numpy as np
import pytest

from elasticrec.blocks.cooccurrence import count_cooccurrence
from elasticrec.blocks.folder import FORMAT, ModelFolder
from elasticrec.blocks.table import BlockTable
from elasticrec.data.errors import InputError


@pytest.fixture
def table(two_tastes):
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=(two_tastes.n_items, 2, 2)).astype(np.float32)
    users = rng.normal(size=(two_tastes.n_users, 4)).astype(np.float32)
    return BlockTable(blocks, users, "mf")


@pytest.fixture
def folder(tmp_path, two_tastes, table):
    """A folder with split, table and co-occurrence lists."""
    made = ModelFolder.create(tmp_path / "model")
    made.save_model(two_tastes, table, count_cooccurrence(two_tastes.train, 3))
    return made


def test_what_was_saved_comes_back(folder, two_tastes, table):
    opened = ModelFolder.open(folder.root)
    assert opened.split().fingerprint() == two_tastes.fingerprint()
    assert opened.table().fingerprint() == table.fingerprint()
    wanted = count_cooccurrence(two_tastes.train, 3).fingerprint()
    assert opened.cooccurrence().fingerprint() == wanted
    assert opened.model_id == folder.model_id
    written = json.loads((folder.root / "model.json").read_text())
    assert (written["format"], written["model_id"]) == (FORMAT, folder.model_id)
    assert not list(folder.root.glob("*.part"))


def test_a_model_without_lists_has_none(tmp_path, two_tastes, table):
    folder = ModelFolder.create(tmp_path / "model")
    folder.save_model(two_tastes, table)
    assert folder.cooccurrence() is None


def test_identity_changes_with_table_and_groups_and_nothing_else(folder, table):
    before = folder.model_id
    folder.describe(trained="2026-01-01")
    folder.record("estimator", "e" * 64)
    folder.record("cooccurrence", "c" * 64)
    folder.record("split", "5" * 64)
    assert folder.model_id == before
    folder.record("groups", "a" * 64)
    with_groups = folder.model_id
    assert with_groups != before
    folder.record("groups", "b" * 64)
    assert folder.model_id not in (before, with_groups)
    folder.record("groups", "a" * 64)
    assert folder.model_id == with_groups
    folder.record("table", replace(table, users=None).fingerprint())
    assert folder.model_id not in (before, with_groups)
    assert ModelFolder.open(folder.root).model_id == folder.model_id


def test_what_is_described_adds_up(folder):
    folder.describe(a=1)
    folder.describe(b=2)
    assert ModelFolder.open(folder.root).about == {"a": 1, "b": 2}


def test_a_part_made_from_other_inputs_is_refused_by_name(folder, two_tastes, table):
    folder.record("groups", "a" * 64, ("table",))
    folder.check("groups")
    other = replace(table, base="lightgcn")
    other.save(folder.path("table"))
    folder.record("table", other.fingerprint(), ("split",))
    with pytest.raises(InputError, match=r"groups\.npz was made from another table .* again"):
        folder.check("groups")
    renamed = replace(two_tastes, name="other")
    renamed.save(folder.path("split"))
    folder.record("split", renamed.fingerprint())
    for part in (folder.table, folder.cooccurrence):
        with pytest.raises(InputError, match="was made from another split"):
            part()


def test_a_file_changed_behind_its_back_is_refused(folder, two_tastes, table):
    replace(two_tastes, name="other").save(folder.path("split"))
    with pytest.raises(InputError, match=r"split\.npz is not the split that model\.json"):
        folder.split()
    replace(table, users=table.users * 2).save(folder.path("table"))
    with pytest.raises(InputError, match=r"blocks\.safetensors is not the table"):
        folder.table()
    count_cooccurrence(two_tastes.train, 2).save(folder.path("cooccurrence"))
    with pytest.raises(InputError, match=r"cooccurrence\.npz is not the cooccurrence"):
        folder.cooccurrence()


def test_a_missing_file_or_part_is_refused(folder):
    folder.path("table").unlink()
    with pytest.raises(InputError, match=r"blocks\.safetensors is missing"):
        folder.table()
    with pytest.raises(InputError, match=r"has no groups; expected groups\.npz"):
        folder.fingerprint("groups")
    with pytest.raises(InputError, match="has no estimator"):
        folder.record("groups", "a" * 64, ("estimator",))


def test_other_formats_and_broken_files_are_refused(folder):
    file = folder.root / "model.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | {"format": FORMAT + 1}))
    with pytest.raises(InputError, match=f"has format {FORMAT + 1}; this version reads"):
        ModelFolder.open(folder.root)
    file.write_text("[1, 2]")
    with pytest.raises(InputError, match="has format None"):
        ModelFolder.open(folder.root)
    file.write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        ModelFolder.open(folder.root)
    file.unlink()
    with pytest.raises(InputError, match="is not a model folder"):
        ModelFolder.open(folder.root)


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="exists and is not a model folder"):
        ModelFolder.create(tmp_path)
    with pytest.raises(InputError, match="exists and is not a model folder"):
        ModelFolder.create(tmp_path / "thesis.tex")
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_folder_or_one_with_a_checkpoint_is_taken(tmp_path):
    (tmp_path / "checkpoint.safetensors").write_bytes(b"")
    (tmp_path / ".hidden").write_text("")
    folder = ModelFolder.create(tmp_path)
    assert not folder.has("table")
    assert not (tmp_path / "model.json").exists()  # nothing was recorded yet


def test_creating_an_existing_model_opens_it(folder):
    again = ModelFolder.create(folder.root)
    assert again.model_id == folder.model_id
    assert again.has("table")


def test_what_follows_the_table_is_refused_once_its_sources_changed(folder, table):
    """A part of any kind is recorded with what it was made from; here a table stands for each."""
    for part in ("groups", "menu", "codes", "neighbours", "mixing"):
        folder.save_part(part, table)
        assert folder.load_part(part, BlockTable.load).fingerprint() == table.fingerprint()
    folder.save_part("menu", replace(table, base="lightgcn"))  # the menu is no longer the one coded
    for part in ("codes", "mixing"):
        with pytest.raises(InputError, match=r"was made from another menu .* make the"):
            folder.load_part(part, BlockTable.load)
    assert folder.load_part("neighbours", BlockTable.load).base == "mf"
    folder.save_part("split", replace(folder.split(), name="other"))
    with pytest.raises(InputError, match=r"neighbours\.npz was made from another split"):
        folder.load_part("neighbours", BlockTable.load)


def test_a_part_is_not_written_before_what_it_is_made_from(folder, table):
    with pytest.raises(InputError, match="has no groups"):
        folder.save_part("codes", table)
    assert not folder.path("codes").exists()


def test_codes_and_neighbours_are_part_of_the_identity_and_mixing_is_not(folder):
    ids = [folder.model_id]
    for part in ("codes", "neighbours"):
        folder.record(part, "d" * 64)
        ids.append(folder.model_id)
    assert len(set(ids)) == 3
    folder.record("mixing", "d" * 64)
    folder.record("menu", "d" * 64)
    assert folder.model_id == ids[-1]
