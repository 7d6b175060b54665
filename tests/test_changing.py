"""Changing a model: one writer, and a finished model is replaced in one step or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from elasticrec.changing import changed, extended
from elasticrec.errors import InputError
from elasticrec.model import FILES, Model
from tests.killed_changes import SOURCES, change, fill, prepare, read

ROOT = Path(__file__).resolve().parents[1]


def killed(*words: str) -> list[dict[str, str]]:
    """What `tests.killing` found, in memory where there is such a file system."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        command = [sys.executable, "-m", "tests.killing", folder, *words]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_kill_9_at_every_rename_leaves_the_old_or_the_new_model() -> None:
    found = killed("tests.killed_changes")
    states, calls = [line["found"] for line in found], [line["before"] for line in found]
    assert len(found) > 3 * len(SOURCES)
    assert {line["then"] for line in found} == {"new"}
    switched = calls.index("rename .ready") + 1
    assert states == ["old"] * switched + ["new"] * (len(states) - switched)
    assert calls[-1] == "rmdir .ready"


@pytest.mark.slow
def test_kill_9_of_a_real_fit_leaves_the_old_or_the_new_model() -> None:
    pytest.importorskip("torch")
    found = killed("tests.killed_fits", "2")
    assert {line["then"] for line in found} == {"new"}, found
    assert {line["found"] for line in found} == {"old", "new"}, found


def test_nothing_of_the_old_model_is_left(tmp_path: Path) -> None:
    prepare(tmp_path / "MODEL")
    change(tmp_path / "MODEL")
    names = {each.name for each in (tmp_path / "MODEL").iterdir()}
    assert names == {*(FILES[part] for part in SOURCES), "model.json", ".lock"}


def test_while_the_next_model_is_made_the_old_one_is_read(tmp_path: Path) -> None:
    root = tmp_path / "MODEL"
    prepare(root)
    with changed(root) as model:
        fill(model, "new")
        assert model.root == root / ".next"
        assert read(root) == "old"
    assert (model.root, read(root)) == (root, "new")
    assert model.check("stream").read_text() == "new"


def test_an_unfinished_next_model_is_taken_up(tmp_path: Path) -> None:
    root = tmp_path / "MODEL"
    prepare(root)
    with changed(root) as model:
        model.save_part("codes", lambda path: path.write_text("new") and None)
    assert model.root == root / ".next"
    assert read(root) == "old"
    with changed(root) as model:
        assert model.check("codes").read_text() == "new"
        assert not model.is_finished
        fill(model, "new")
    assert read(root) == "new"


def test_what_changes_nothing_leaves_nothing(tmp_path: Path) -> None:
    root = tmp_path / "MODEL"
    prepare(root)
    before = {each.name: each.stat().st_mtime_ns for each in root.iterdir()}
    with changed(root) as model:
        fill(model, "old")
    assert {each.name: each.stat().st_mtime_ns for each in root.iterdir()} == before | {
        ".lock": (root / ".lock").stat().st_mtime_ns
    }


def test_a_failed_change_leaves_the_old_model(tmp_path: Path) -> None:
    root = tmp_path / "MODEL"
    prepare(root)
    changing = changed(root)
    fill(changing.__enter__(), "new")
    assert not changing.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert read(root) == "old"
    change(root)
    assert read(root) == "new"


def test_a_file_system_without_links_gets_copies(tmp_path: Path, monkeypatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    prepare(tmp_path / "MODEL")
    monkeypatch.setattr(os, "link", refused)
    change(tmp_path / "MODEL")
    assert read(tmp_path / "MODEL") == "new"


ASK = (
    "import sys; from elasticrec.changing import changed, extended\n"
    "with globals()[sys.argv[2]](sys.argv[1]): print('locked')"
)


@pytest.mark.parametrize("held", [changed, extended])
@pytest.mark.parametrize("asked", ["changed", "extended"])
def test_a_second_process_is_refused_by_name(tmp_path: Path, held, asked: str) -> None:
    root = tmp_path / "MODEL"
    prepare(root)
    ask = [sys.executable, "-c", ASK, str(root), asked]
    with held(root):
        second = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert f"{root}: another elasticrec is writing this model" in second.stderr
    after = subprocess.run(ask, capture_output=True, text=True, check=True)
    assert after.stdout == "locked\n"


def test_the_lock_of_a_killed_writer_is_free(tmp_path: Path) -> None:
    root = tmp_path / "MODEL"
    prepare(root)
    code = ASK.replace("print('locked')", "import os; os.kill(os.getpid(), 9)")
    killer = [sys.executable, "-c", code, str(root), "changed"]
    assert subprocess.run(killer, check=False).returncode == -9
    change(root)
    assert read(root) == "new"


def test_what_a_killed_writer_had_begun_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "MODEL"
    prepare(root)
    (root / "stream.elastic.4711.part").write_text("half")
    (root / "notes.4711.part").write_text("somebody's own")
    with extended(root):
        pass
    assert not (root / "stream.elastic.4711.part").exists()
    assert (root / "notes.4711.part").exists()


def test_a_writer_sees_what_the_one_before_it_wrote(tmp_path: Path) -> None:
    root = tmp_path / "MODEL"
    prepare(root)
    with extended(root) as model:
        model.describe(name="books")
    with extended(root) as model:
        assert model.about["name"] == "books"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(InputError, match="MODEL: cannot be written"),
        changed(tmp_path / "file/MODEL"),
    ):
        pass


def test_data_of_another_kind_replace_a_model_only_by_force(tiny_copy, two_tastes, tiny_preset):
    from elasticrec import pipeline

    before, number = (tiny_copy / "stream.elastic").read_bytes(), Model.open(tiny_copy).about
    with pytest.raises(InputError, match=r"holds a model of other data; .* or --force"):
        pipeline.fit(two_tastes, tiny_copy, tiny_preset, device="cpu")
    assert (tiny_copy / "stream.elastic").read_bytes() == before
    seen: list[bytes] = []
    made = pipeline.fit(
        two_tastes, tiny_copy, replace(tiny_preset, train=replace(tiny_preset.train, epochs=1)),
        device="cpu", force=True,
        report=lambda *_: seen.append((tiny_copy / "stream.elastic").read_bytes()),
    )  # fmt: skip
    assert set(seen) == {before}
    assert made.root == tiny_copy
    assert made.stream_path.read_bytes() != before
    assert made.split.n_items == 40
    assert made.about["sequence"] == number["sequence"] + 1


def test_streams_of_a_later_day_have_a_higher_number() -> None:
    from elasticrec.stages import _serial

    assert _serial("2026-05-19") == 2026051901 < _serial("2026-05-20")
