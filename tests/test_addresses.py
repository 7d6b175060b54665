import subprocess
import sys

import fsspec
import pytest

from elasticrec.addresses import fetched, files_at, is_address
from elasticrec.errors import InputError


@pytest.fixture(params=["folder", "file://", "memory://"])
def base(request, tmp_path):
    """A folder with files, on this machine and behind two kinds of address."""
    base = request.param + str(tmp_path) if "://" in request.param else str(tmp_path)
    for name in ("b.csv", "a.csv", "deep/c.csv", "_SUCCESS", ".a.csv.crc", "_log/d.csv", "x.txt"):
        with fsspec.open(f"{base}/{name}", "w", auto_mkdir=True) as file:
            file.write(name)
    return base


def test_files_of_folders_and_patterns(base):
    def names(source):
        return [str(each).removeprefix(base + "/") for each in files_at(source)]

    assert names(base) == ["a.csv", "b.csv", "deep/c.csv", "x.txt"]
    assert names(f"{base}/*.csv") == ["a.csv", "b.csv"]
    assert names(f"{base}/b.csv") == ["b.csv"]
    with pytest.raises(InputError, match=r"/\*\.tsv: there are no such files, expected tables"):
        files_at(f"{base}/*.tsv")


def test_a_file_is_fetched_and_an_error_names_its_address(base):
    with fetched(f"{base}/deep/c.csv") as path:
        assert (path.name, path.read_text()) == ("c.csv", "deep/c.csv")
    assert path.exists() == (not is_address(base))
    with pytest.raises(InputError) as caught, fetched(f"{base}/a.csv") as path:
        raise InputError(f"{path} line 3: the item is missing")
    assert str(caught.value) == f"{base}/a.csv line 3: the item is missing"


def test_what_cannot_be_reached_is_named_in_one_line():
    for address, message in (
        ("memory://none/a.csv", "no such file$"),
        ("moon://a/b", r"cannot be reached \(Protocol not known"),
    ):
        with pytest.raises(InputError, match=f"^{address}: {message}"), fetched(address):
            pass


def test_no_store_is_imported_before_an_address_is_used():
    code = "import sys, elasticrec.addresses; print('fsspec' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout == "False\n"
