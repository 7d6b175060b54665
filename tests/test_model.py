"""Model: which folders it takes, parts checked against their hashes, freshness, and the lock."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.files import sha256_of
from elasticrec.model import FILES, IDENTITY, Model

LOADED = ("split", "table", "codes", "neighbours", "weights", "order", "curve")
"""Parts that a model loads when they are asked for."""


class Text:
    """A part of some text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def save(self, path: Path) -> None:
        path.write_text(self.text)


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """A model whose order was made from its codes."""
    made = Model.create(tmp_path / "MODEL")
    for name in IDENTITY:
        made.save_part(name, Text(name))
    made.save_part("order", Text("order"), made_from=("codes",), config={"lead": 4, "sizes": (1,)})
    return made


@pytest.mark.parametrize("prepare", [lambda root: None, Path.mkdir])
def test_a_new_or_an_empty_folder_becomes_a_model(tmp_path: Path, prepare) -> None:
    prepare(tmp_path / "MODEL")
    Model.create(tmp_path / "MODEL").describe(name="books")
    assert Model.create(tmp_path / "MODEL").about == {"name": "books"}
    assert Model.open(tmp_path / "MODEL").about == {"name": "books"}


def test_a_folder_with_other_files_is_never_written_into(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="holds other files, expected a new or empty folder"):
        Model.create(tmp_path)
    with pytest.raises(InputError, match="is a file, expected a folder"):
        Model.create(tmp_path / "thesis.tex")
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is no model, expected a folder that `elasticrec fit` made"),
        ("{", "cannot be read .* expected JSON"),
        ("\udcff", "cannot be read .* expected JSON"),
        ("[]", "format None, expected 'elasticrec model 2'"),
        ('{"format": "elasticrec model 1"}', "format 'elasticrec model 1', .* make it anew"),
        ('{"format": "elasticrec model 2"}', "is damaged, expected what `elasticrec fit` wrote"),
        ('{"format": "elasticrec model 2", "parts": [], "about": {}}', "is damaged"),
        ('{"format": "elasticrec model 2", "parts": {"codes": 3}, "about": {}}', "is damaged"),
        ('{"format": "elasticrec model 2", "parts": {"codes": {}}, "about": {}}', "is damaged"),
        ('{"format": "elasticrec model 2", "parts": {}, "about": 3}', "is damaged"),
    ],
)
def test_what_is_no_model_is_refused_in_one_line(tmp_path: Path, text, message) -> None:
    if text is not None:
        (tmp_path / "model.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=message) as error:
        Model.open(tmp_path)
    assert "\n" not in str(error.value)


def test_a_model_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="NOWHERE: is no model"):
        Model.open(tmp_path / "NOWHERE")


@pytest.mark.parametrize("part", LOADED)
def test_a_damaged_or_missing_part_is_refused_by_name(tiny_copy: Path, part: str) -> None:
    path = tiny_copy / FILES[part]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"{FILES[part]}: is damaged or was swapped"):
        getattr(Model.open(tiny_copy), part)
    path.unlink()
    with pytest.raises(InputError, match=f"{FILES[part]}: is missing"):
        getattr(Model.open(tiny_copy), part)


@pytest.mark.parametrize("name", ["model.json", FILES["codes"]])
def test_what_cannot_be_read_is_refused_by_name(tiny_copy: Path, name: str) -> None:
    (tiny_copy / name).unlink()
    (tiny_copy / name).mkdir()
    with pytest.raises(InputError, match=f"{name}: cannot be read \\(Is a directory\\)"):
        _ = Model.open(tiny_copy).codes


def test_every_loaded_part_of_a_sound_model_is_taken(tiny_model: Model) -> None:
    opened = Model.open(tiny_model.root)
    assert opened.split.fingerprint() == tiny_model.split.fingerprint()
    assert opened.codes.fingerprint() == tiny_model.codes.fingerprint()
    np.testing.assert_array_equal(opened.weights, tiny_model.weights)
    assert opened.curve == tiny_model.curve
    assert opened.id == tiny_model.id == json.loads(
        (tiny_model.root / "model.json").read_text()
    )["id"]  # fmt: skip


def test_a_part_of_another_model_is_refused(tiny_copy: Path, tiny_vectors: Model) -> None:
    shutil.copy(tiny_vectors.path("codes"), tiny_copy / FILES["codes"])
    with pytest.raises(InputError, match=r"codes.npz: is damaged or was swapped"):
        _ = Model.open(tiny_copy).codes


def test_a_part_made_from_an_older_one_is_refused(model: Model) -> None:
    model.check("order")
    model.save_part("codes", Text("other codes"))
    with pytest.raises(InputError, match=r"order.npz: was made from another codes than the one in"):
        model.check("order")


def test_a_part_that_was_not_made_yet_says_how_it_is_made(tmp_path: Path) -> None:
    model = Model.create(tmp_path / "MODEL")
    with pytest.raises(InputError, match=r"has no codes yet \(codes.npz\); `elasticrec fit` makes"):
        _ = model.codes
    with pytest.raises(InputError, match="has no stream yet"):
        _ = model.stream_path


def test_a_damaged_or_missing_stream_says_so(tiny_copy: Path) -> None:
    content = (tiny_copy / "stream.elastic").read_bytes()
    (tiny_copy / "stream.elastic").write_bytes(content[:-1] + b"?")
    with pytest.raises(InputError, match=r"stream.elastic: is damaged or was swapped"):
        _ = Model.open(tiny_copy).stream_path
    (tiny_copy / "stream.elastic").unlink()
    with pytest.raises(InputError, match=r"stream.elastic: is missing, `elasticrec fit` makes it"):
        _ = Model.open(tiny_copy).stream_path


def test_a_part_is_fresh_by_settings_and_by_what_it_was_made_from(model: Model) -> None:
    config = {"lead": 4, "sizes": (1,)}
    assert Model.open(model.root).fresh("order", config)  # tuples come back as lists
    assert not model.fresh("order", {**config, "lead": 2})
    assert not model.fresh("curve", {})
    model.save_part("codes", Text("other codes"))
    assert not model.fresh("order", config)
    model.save_part("codes", Text("codes"))
    assert model.fresh("order", config)
    model.path("order").unlink()
    assert not model.fresh("order", config)


def test_a_file_that_did_not_change_is_hashed_once(tiny_copy: Path, monkeypatch) -> None:
    hashed: list[str] = []

    def counted(path: Path) -> str:
        hashed.append(path.name)
        return sha256_of(path)

    monkeypatch.setattr("elasticrec.model.sha256_of", counted)
    model = Model.open(tiny_copy)
    for _ in range(3):
        assert model.stream_path.exists()
        assert model.fresh("stream", {})
        assert model.codes.n_columns
    parts = ("stream", "codes", "neighbours", "weights", "order")
    assert sorted(hashed) == sorted(FILES[part] for part in parts)
    os.utime(tiny_copy / FILES["stream"], ns=(0, 0))
    assert model.stream_path.exists()
    assert hashed.count(FILES["stream"]) == 2


def test_a_part_whose_writing_was_cut_off_is_not_there(model: Model) -> None:
    class CutOff(Text):
        def save(self, path: Path) -> None:
            super().save(path)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.save_part("order", CutOff("other"), made_from=("codes",))
    assert not Model.open(model.root).has("order")


def test_a_new_part_takes_the_place_of_the_loaded_one(tiny_copy: Path) -> None:
    model = Model.open(tiny_copy)
    before = model.weights
    model.save_part("weights", lambda path: np.savez(path, weights=before + 1))
    np.testing.assert_array_equal(model.weights, before + 1)


def test_the_id_is_that_of_codes_and_lists_alone(model: Model) -> None:
    before = model.id
    model.save_part("order", Text("another order"))
    model.describe(name="other")
    assert model.id == before
    model.save_part("neighbours", Text("other lists"))
    assert model.id != before


def test_reprs_are_short(tiny_model):
    parts = [tiny_model, *(getattr(tiny_model, n) for n in ("split", "table", "codes"))]
    parts += [tiny_model.neighbours, tiny_model.split.train, tiny_model.split.item_ids]
    for part in parts:
        assert type(part).__name__ in repr(part)
        assert len(repr(part)) < 200
    assert repr(tiny_model.split.user_ids).startswith("Ids(300: 0, 7, 14, …)")
    assert "300 users, 200 items" in repr(tiny_model.split)
