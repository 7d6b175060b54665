"""Folders of generated files: written, compared, and never with leftovers."""

import sys

import pytest

from scripts.kept_files import keep_files


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["script"])
    (tmp_path / "README.md").write_text("by hand")
    (tmp_path / "old.bin").write_bytes(b"")
    assert keep_files(tmp_path, {"a.bin": b"a"}, "make it") == 0
    return tmp_path


def test_writes_what_shall_be_there_and_nothing_else(written):
    assert sorted(path.name for path in written.iterdir()) == ["README.md", "a.bin"]
    assert (written / "README.md").read_text() == "by hand"


@pytest.mark.parametrize(
    ("files", "status"),
    [({"a.bin": b"a"}, 0), ({"a.bin": b"b"}, 1), ({}, 1), ({"a.bin": b"a", "b.bin": b""}, 1)],
)
def test_says_which_files_are_stale(written, monkeypatch, capsys, files, status):
    monkeypatch.setattr(sys, "argv", ["script", "--check"])
    assert keep_files(written, files, "make it") == status
    assert ("run `make it`" in capsys.readouterr().err) == bool(status)
    assert (written / "a.bin").read_bytes() == b"a"
