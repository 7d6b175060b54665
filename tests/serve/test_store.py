"""The shelf's files: whole at every moment, bounded, the least recently used leave first."""

import hashlib
import logging
import os
import subprocess
import sys
import threading

import pytest

from elasticrec.serve.kept import Kept
from elasticrec.serve.locks import Locks, partial_file, read_json, remove_partial, write_whole
from elasticrec.serve.metrics import Metrics
from elasticrec.serve.store import Store


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
def open_store(tmp_path, metrics):
    def make(limit=10**9):
        root = tmp_path / "shelf"
        return Store(root / "files", limit, Locks(root / "locks"), metrics, renew_seconds=0)

    return make


def put(store, content, **about):
    return store.put(Kept.addressed(".elastic", content, about), content)


def count(family):
    return sum(row[0] for row in family.values.values())


def test_what_was_put_is_found_and_read(open_store):
    store = open_store()
    kept = put(store, b"content", model="books")
    assert kept.name == hashlib.sha256(b"content").hexdigest() + ".elastic"
    for each in (store, open_store()):  # another process knows it, too
        assert each.find(kept.name) == kept
        assert each.read(kept.name) == b"content"
    assert open_store().usage()[0] == 1


@pytest.mark.parametrize(
    "name",
    ["", "x", "../../etc/passwd", "a" * 64, "A" * 64 + ".elastic", "a" * 64 + ".elastic.json"],
)
def test_other_names_are_never_looked_up(open_store, name):
    store = open_store()
    assert store.find(name) is None
    with pytest.raises(ValueError, match="has no place on the shelf"):
        store.put(Kept.of(name, b"", {}), b"")


def test_the_least_recently_used_leave_first(open_store, metrics):
    store = open_store(limit=3_500)
    kept = [put(store, bytes([n]) * 1_000) for n in range(3)]
    for number, name in enumerate([kept[2].name, kept[0].name, kept[1].name]):
        os.utime(store.root / name, (number, number))  # 2 is the oldest, then 0, then 1
    assert store.find(kept[2].name)  # and now 2 was used again
    new = put(store, b"\xff" * 1_000)
    assert [store.find(each.name) is not None for each in kept] == [False, True, True]
    assert store.find(new.name)
    assert count(metrics.evictions) == 1
    assert store.usage()[1] <= 3_500


def test_a_file_larger_than_the_shelf_stays_alone(open_store):
    store = open_store(limit=1_500)
    small, large = put(store, b"s" * 1_000), put(store, b"l" * 9_000)
    assert store.find(small.name) is None
    assert store.read(large.name) == b"l" * 9_000


def test_an_open_file_outlives_its_place(open_store):
    store = open_store(limit=1_500)
    kept = put(store, b"a" * 1_000)
    handle, _ = store.open(kept.name)
    put(store, b"b" * 1_000)
    assert store.find(kept.name) is None
    assert os.pread(handle, 2_000, 0) == b"a" * 1_000
    os.close(handle)


@pytest.mark.parametrize("damage", ["shorter", "longer", "changed", "no note", "wrong note"])
def test_damage_is_noticed_and_removed(open_store, metrics, damage, caplog):
    kept = put(open_store(), b"content")
    path = open_store().root / kept.name
    note = path.with_name(path.name + ".json")
    changes = {"shorter": b"cont", "longer": b"content!", "changed": b"c0ntent"}
    if damage in changes:
        path.write_bytes(changes[damage])
    elif damage == "no note":
        note.unlink()
    else:
        note.write_text('{"sha256": "00", "n_bytes": 7, "about": {}}')
    with caplog.at_level(logging.ERROR):
        assert open_store().read(kept.name) is None
    assert not path.exists()
    assert count(metrics.damaged) == 1
    assert "damaged file" in caplog.text
    put(open_store(), b"content")
    assert open_store().read(kept.name) == b"content"


def test_cleaning_removes_what_the_dead_left_and_nothing_else(open_store):
    store = open_store()
    kept = put(store, b"content")
    left = store.root / f".{kept.name}.0123.part"
    left.write_bytes(b"half")
    lonely = store.root / ("a" * 64 + ".elastic.json")
    lonely.write_text("{}")
    stranger = store.root / "README"
    stranger.write_text("not ours")
    with partial_file(store.root / ("b" * 64 + ".elastic"), b"in the making") as living:
        store.clean()
        assert living.exists()
    assert not left.exists()
    assert not lonely.exists()
    assert stranger.exists()
    assert store.read(kept.name) == b"content"


WRITER = """
import sys, time
from pathlib import Path
from elasticrec.serve.locks import partial_file
with partial_file(Path(sys.argv[1]), b"x" * 100_000):
    print("writing", flush=True)
    time.sleep(60)
"""


def test_a_killed_writer_leaves_nothing_that_stays(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path / "file")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"writing\n"
        assert remove_partial(tmp_path) == 0
        writer.kill()
    assert len(list(tmp_path.iterdir())) == 1
    assert remove_partial(tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")
    with partial_file(path, b"new") as partial:
        assert partial.read_bytes() == b"new"  # and then nobody renames it
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_json_that_is_none_is_no_json(tmp_path):
    for content in (b"", b"[1]", b"{", b"\xff"):
        (tmp_path / "x").write_bytes(content)
        assert read_json(tmp_path / "x") is None


def test_locks_exclude_threads(tmp_path):
    locks, inside, most = Locks(tmp_path), [], []

    def work():
        with locks.held("key"):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 20


def test_check_all_names_damaged_files(open_store):
    store = open_store()
    good, bad = put(store, b"good"), put(store, b"bad.")
    (store.root / bad.name).write_bytes(b"BAD.")
    assert store.check_all() == [bad.name]
    assert store.read(good.name) == b"good"
