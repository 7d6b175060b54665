import dataclasses
import io
import subprocess
import sys

import numpy as np
import pytest

from elasticrec.data.ids import Ids, as_objects
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import PARTS, Split
from elasticrec.errors import InputError


def pairs(*rows, n_items=4):
    users = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    items = np.array([item for row in rows for item in row], dtype=np.int64)
    return Pairs.from_arrays(users, items, n_users=len(rows), n_items=n_items)


@pytest.fixture
def split():
    return Split(
        pairs([0, 1], [2]),
        pairs([2], []),
        pairs([3], [0]),
        user_ids=Ids.of(["ann", "bob"]),
        item_ids=Ids.of([2**70, 5, -3, 9]),
        titles=as_objects(["Ä", "", "c", "日本"]),
        name="tiny",
        kind="published",
    )


def test_a_saved_split_loads_as_it_was(split, tmp_path):
    path = tmp_path / "split.npz"
    split.save(path)
    loaded = Split.load(path)
    assert loaded.fingerprint() == split.fingerprint()
    assert (loaded.name, loaded.kind) == ("tiny", "published")
    assert loaded.titles.tolist() == ["Ä", "", "c", "日本"]
    assert loaded.item_ids.of_number(0) == 2**70
    assert [path.name for path in tmp_path.iterdir()] == ["split.npz"]


def test_a_split_without_titles_has_none_after_loading(split, tmp_path):
    bare = Split(*(getattr(split, part) for part in PARTS), split.user_ids, split.item_ids)
    bare.save(tmp_path / "split.npz")
    assert Split.load(tmp_path / "split.npz").titles is None


def test_loading_needs_numpy_alone(split, tmp_path):
    split.save(tmp_path / "split.npz")
    code = (
        "import sys; from elasticrec.data.split import Split; "
        f"Split.load({str(tmp_path / 'split.npz')!r}); "
        "print([m for m in ('polars', 'pandas', 'scipy', 'torch') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout == "[]\n"


def test_renumbering_keeps_who_took_what(split):
    order = np.array([3, 1, 0, 2])
    moved = split.renumbered(order)
    moved.check()
    for part in PARTS:
        for user in range(2):
            old = {split.item_ids.of_number(i) for i in getattr(split, part).of(user)}
            assert {moved.item_ids.of_number(i) for i in getattr(moved, part).of(user)} == old
    assert moved.titles.tolist() == ["日本", "", "Ä", "c"]


@pytest.fixture
def ordered(split):
    """The split with an order: ann took item 1 before item 0."""
    return dataclasses.replace(
        split,
        **{
            part: dataclasses.replace(getattr(split, part), order=np.array(order, np.int32))
            for part, order in (("train", [1, 0, 0]), ("validation", [2]), ("test", [3, 1]))
        },
    )


def test_the_order_of_train_is_kept_in_the_file(split, ordered, tmp_path):
    assert split.train.order is None
    ordered.save(tmp_path / "split.npz")
    loaded = Split.load(tmp_path / "split.npz")
    assert loaded.train.order.tolist() == [1, 0, 0]
    assert loaded.fingerprint() == ordered.fingerprint() != split.fingerprint()


def test_histories_are_oldest_first_and_by_number_without_an_order(split, ordered):
    users = np.array([1, 0])
    assert [ordered.history(users)[k].tolist() for k in (0, 1)] == [[2], [1, 0]]
    assert [split.history(users)[k].tolist() for k in (0, 1)] == [[2], [0, 1]]
    assert ordered.train.rows(users).ages().tolist() == [0, 0, 1]
    assert split.train.rows(users).ages() is None
    seen = ordered.train.union(ordered.validation)
    assert seen.history()[0].tolist() == [1, 0, 2]
    assert len(split.history()) == 2


def replaced(split, path, **changes):
    arrays = {name: array for name, array in split.arrays().items() if name not in changes}
    arrays |= {name: array for name, array in changes.items() if array is not None}
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("test.items", np.array([3, 7], np.int32), "expected 0 to 3"),
        ("train.indptr", np.array([0, 5, 3]), "fall"),
        ("train.order", np.array([1, 0], np.int32), "2 places for 3 pairs"),
        ("train.indptr", np.array([0, 2, 3, 3]), "counts 2 users, train 3"),
        ("n_items", np.array(5), "4 item ids"),
        ("n_items", np.array([1, 2]), "cannot be used"),
        ("train.items", None, "has no 'train.items'"),
        ("name", np.array([object()]), "cannot be used"),
        ("titles.str.ends", np.array([9]), "1 titles"),
        ("titles.str.ends", np.array([1, 2, 3, 4]), "do not span"),
        ("user_ids.str.ends", np.array([6, 3]), "do not span"),
        ("user_ids.str.utf8", np.array([97] * 6, np.uint8), "given twice"),
        ("user_ids.str.utf8", np.array([255] * 6, np.uint8), "cannot be used"),
    ],
)
def test_a_file_that_breaks_a_promise_is_refused(split, tmp_path, name, value, message):
    path = tmp_path / "bad.npz"
    replaced(split, path, **{name: value})
    with pytest.raises(InputError, match=message) as caught:
        Split.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def one_array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.arange(3))
    return file.getvalue()


@pytest.mark.parametrize(
    "content", [b"", b"not a zip", b"PK\x03\x04broken", one_array(), b"user,item\n1,2\n"]
)
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "split.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="expected"):
        Split.load(path)


def test_other_arrays_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    with pytest.raises(InputError, match="has no 'n_items', expected a split"):
        Split.load(tmp_path / "other.npz")


def test_every_truncation_is_refused(split, tmp_path):
    path = tmp_path / "split.npz"
    split.save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError):
            Split.load(path)


def test_a_flipped_byte_never_gives_another_split(split, tmp_path):
    path = tmp_path / "split.npz"
    split.save(path)
    whole = path.read_bytes()
    refused = 0
    for at in range(0, len(whole), 11):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            loaded = Split.load(path)
        except InputError:
            refused += 1
        else:  # a byte that does not matter, such as a date inside the archive
            assert loaded.fingerprint() == split.fingerprint()
    assert refused > 0


def test_missing_file_and_folder_are_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        Split.load(tmp_path / "none.npz")
    with pytest.raises(InputError, match="is a folder"):
        Split.load(tmp_path)


def test_a_failed_save_leaves_the_old_file_and_nothing_else(split, tmp_path):
    path = tmp_path / "split.npz"
    split.save(path)
    before = path.read_bytes()
    unsaveable = Split(
        *(getattr(split, part) for part in PARTS), split.user_ids, split.item_ids, name=None
    )
    with pytest.raises(ValueError, match="allow_pickle"):
        unsaveable.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["split.npz"]


def test_saving_into_no_folder_or_onto_one_is_refused(split, tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        split.save(tmp_path / "none" / "split.npz")
    with pytest.raises(InputError, match="is a folder"):
        split.save(tmp_path)
