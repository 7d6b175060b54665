import gzip
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.files import check_writable, fingerprint, plain_name, read_bytes, written_whole

TEXT = b"0 1 2\n" * 5_000


def test_plain_and_gzip_give_the_same_bytes(tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT))
    assert read_bytes(tmp_path / "a.txt") == read_bytes(tmp_path / "a.txt.gz") == TEXT


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(TEXT, mtime=0)[:-20], "is not a sound and whole gzip file"),
        (gzip.compress(TEXT, mtime=0)[:-4], "is not a sound and whole gzip file"),
        (gzip.compress(TEXT, mtime=0)[:5], "is not a sound and whole gzip file"),
        (TEXT, "is not a sound and whole gzip file"),
        (gzip.compress(TEXT, mtime=0)[:-8] + b"\0" * 8, "is not a sound and whole gzip file"),
        (gzip.compress(TEXT, mtime=0)[:15] + b"\xff" * 40, "is not a sound and whole gzip file"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"", "is empty"),
    ],
)
def test_broken_gzip_is_refused(tmp_path, content, message):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_bytes(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_missing_file_folder_and_loop_are_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_bytes(tmp_path / "none")
    with pytest.raises(InputError, match="is a folder, expected one file"):
        read_bytes(tmp_path)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match="cannot be read"):
        read_bytes(loop)


@contextmanager
def not_root():
    """Rights that root does not have: those of nobody."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield
    if root:
        os.seteuid(0)


def test_forbidden_files_and_folders_are_named():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "secret.txt"
        path.write_bytes(TEXT)
        path.chmod(0)
        Path(folder).chmod(0o555)
        with not_root():
            with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)"):
                read_bytes(path)
            with pytest.raises(InputError, match="no right to write into"):
                check_writable(Path(folder) / "new")
        Path(folder).chmod(0o700)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out"
    with written_whole(path) as file:
        file.write(b"first")
        assert not path.exists()
    interrupted = written_whole(path)
    interrupted.__enter__().write(b"second")
    assert not interrupted.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_named(tmp_path):
    full = tmp_path / f"out.{os.getpid()}.part"
    full.symlink_to("/dev/full")
    with (
        pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"),
        written_whole(tmp_path / "out") as file,
    ):
        file.write(b"x" * 100_000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/b/ratings.csv.gz", "ratings"), ("x.parquet", "x"), ("plain", "plain"), ("a.b.csv", "a.b")],
)
def test_plain_name(path, name):
    assert plain_name(path) == name


def test_fingerprint_sees_names_types_shapes_and_values():
    base = {"a": np.arange(4)}
    assert fingerprint(base) == fingerprint({"a": np.arange(4)})
    others = [{"b": np.arange(4)}, {"a": np.arange(4, dtype=np.int32)}]
    others += [{"a": np.arange(4).reshape(2, 2)}, {"a": np.array([0, 1, 2, 4])}]
    assert fingerprint(base) not in {fingerprint(other) for other in others}
