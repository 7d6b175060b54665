"""Models in a hub folder: as Hugging Face's own client reads them, whole, and checked."""

from pathlib import Path

import pytest

from elasticrec import hub
from elasticrec.changing import locked
from elasticrec.errors import InputError
from elasticrec.hub import default_hub, pull, push
from elasticrec.model import Model
from tests.cli.running import refused, run

pytest.importorskip("torch")


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "."}


def test_what_is_pushed_is_pulled_byte_by_byte(tiny_model, tmp_path):
    hub = tmp_path / "hub"
    said = run("push", tiny_model.root, "shop/books", "--hub", hub)
    assert "keep it private" in said
    shown = run("pull", "shop/books", "-o", tmp_path / "MODEL", "--hub", hub)
    assert tiny_model.id[:16] in shown
    assert content(tmp_path / "MODEL") == content(tiny_model.root)


def test_hugging_faces_client_finds_it(tiny_model, tmp_path):
    client = pytest.importorskip("huggingface_hub")
    version = push(tiny_model.root, "shop/books", tmp_path)
    found = client.snapshot_download("shop/books", cache_dir=tmp_path, local_files_only=True)
    assert found.endswith(version)
    one = client.try_to_load_from_cache("shop/books", "stream.elastic", cache_dir=tmp_path)
    assert tiny_model.stream_path.read_bytes() == Path(one).read_bytes()


def test_versions_stay_and_share_files(tiny_model, tiny_copy, tmp_path):
    hub = tmp_path / "hub"
    first = push(tiny_model.root, "shop/books", hub)
    n_blobs = len(list(hub.rglob("blobs/*")))
    assert push(tiny_model.root, "shop/books", hub) == first
    Model.open(tiny_copy).describe(note="another")
    second = push(tiny_copy, "shop/books", hub)
    assert second != first
    assert len(list(hub.rglob("blobs/*"))) == n_blobs + 1  # model.json alone differs
    assert pull("shop/books", tmp_path / "NEW", hub).about["note"] == "another"
    assert "note" not in pull("shop/books", tmp_path / "OLD", hub, version=first).about


def test_a_damaged_file_is_refused(tiny_model, tmp_path):
    push(tiny_model.root, "shop/books", tmp_path / "hub")
    (blob,) = (tmp_path / "hub").rglob(tiny_model.hash_of("codes"))
    blob.write_bytes(b"x" + blob.read_bytes()[1:])
    line = refused("pull", "shop/books", "-o", tmp_path / "MODEL", "--hub", tmp_path / "hub")
    assert "codes.npz: is damaged or was swapped" in line
    assert not (tmp_path / "MODEL").exists()


def test_a_pull_that_is_cut_off_leaves_room_for_the_next(tiny_model, tmp_path, monkeypatch):
    push(tiny_model.root, "shop/books", tmp_path / "hub")
    root, copied = tmp_path / "MODEL", []

    def cut_off(source, target):
        copied.append(target)
        if len(copied) == 3:
            raise KeyboardInterrupt
        return shutil_copy(source, target)

    shutil_copy = hub.shutil.copyfile
    monkeypatch.setattr(hub.shutil, "copyfile", cut_off)
    with pytest.raises(KeyboardInterrupt):
        pull("shop/books", root, tmp_path / "hub")
    assert not (root / "model.json").exists()
    monkeypatch.undo()
    assert pull("shop/books", root, tmp_path / "hub").id == tiny_model.id
    with pytest.raises(InputError, match="holds a model already"):
        pull("shop/books", root, tmp_path / "hub")
    with locked(root), pytest.raises(InputError, match="another elasticrec is writing"):
        pull("shop/books", root, tmp_path / "hub")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pull", "shop/films", "-o", "M"), "has no version 'main' of shop/films, it has none"),
        (("pull", "shop/books", "-o", "M", "--version", "old"), "no version 'old' of shop/books"),
        (("pull", "shop/books", "-o", "full"), "full: holds other files, expected a new"),
        (("pull", "books", "-o", "M"), "'books' is no name in a hub, expected owner/name"),
        (("pull", "../books", "-o", "M"), "'../books' is no name in a hub"),
        (("push", "full", "shop/books"), "full: is no model"),
        (("push", "begun", "shop/books"), "begun: is not finished"),
    ],
)
def test_bad_input_is_one_line(tiny_model, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", "home")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    push(tiny_model.root, "shop/books")
    assert default_hub().is_dir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    Model.create(tmp_path / "begun")
    assert message in refused(*words)
    assert not (tmp_path / "M").exists()
