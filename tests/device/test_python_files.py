"""The files beside a stream that the Python runtime reads: vectors, titles, keys."""

import hashlib
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest

import elasticrec_device
from elasticrec_device import StreamError
from tests.device.python_making import (
    catalogue_of,
    ends_of,
    random_stream,
    vector_file,
    withdrawn_file,
)

NUMBERS = np.linspace(-1, 1, 16)


@pytest.fixture(scope="module")
def key():
    """A private key."""
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    return ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def public(key):
    return key.public_key().public_bytes_raw()


def test_everything_comes_as_a_path_or_as_bytes(tmp_path):
    data = random_stream(2, N=2).data
    for name, raw in (("a.elastic", data), ("me.vector", vector_file(NUMBERS))):
        (tmp_path / name).write_bytes(raw)
    sources = [data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)]
    sources += [tmp_path / "a.elastic", str(tmp_path / "a.elastic")]
    vectors = [vector_file(NUMBERS), tmp_path / "me.vector", str(tmp_path / "me.vector")]
    found = [
        elasticrec_device.open(source).recommend(vector=vector, k=50)
        for source in sources
        for vector in vectors
    ]
    assert found[0]
    assert all(each == found[0] for each in found)


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match="missing"):
        elasticrec_device.open(tmp_path / "missing.elastic")
    (tmp_path / "empty.elastic").touch()
    with pytest.raises(StreamError, match="length: found 0 bytes"):
        elasticrec_device.open(tmp_path / "empty.elastic")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model_id": bytes(32)}, f"model id of the person's vector: found {'00' * 32}, expected"),
        ({"version": 1}, r"version, D of the person's vector: found .*1, 16\], expected .*2, 16\]"),
        ({"D": 8}, r"D of the person's vector: found .*2, 8\], expected .*2, 16\]"),
        ({"numbers": [0] * 17, "D": 16}, "length of the person's vector: found 82, expected 80"),
        ({"numbers": [0] * 15 + [np.nan]}, "a number of the person's vector"),
    ],
)
def test_another_vector_is_refused_by_name(changed, message):
    with elasticrec_device.open(random_stream(2, N=2).data) as stream:
        raw = vector_file(**({"numbers": NUMBERS} | changed))
        with pytest.raises(StreamError, match=message):
            stream.recommend(vector=raw)


def test_a_catalogue_gives_titles_and_another_is_refused():
    titles = [f"Title {i}" if i % 3 else None for i in range(50)]
    raw = catalogue_of(titles)
    made = random_stream(8, n=50, id_kind=0, catalogue=hashlib.sha256(raw).digest())
    with elasticrec_device.open(made.data) as stream:
        assert {item.title for item in stream.recommend(k=50)} == {None}
        with pytest.raises(StreamError, match="SHA-256 of the catalogue"):
            stream.catalogue(raw + b" ")
        stream.catalogue(raw)
        assert all(item.title == titles[item.id] for item in stream.recommend(k=50))


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"[]", b"7", b"{}", b"\xff", b"[" * 10**5),
        catalogue_of(["a"]),
        catalogue_of([7] * 50),
        catalogue_of("t" * 50),
        catalogue_of(None, ids=["0"]),
        catalogue_of(None, ids=[*range(50)]),
        catalogue_of(None, model_id="00" * 32),
        catalogue_of(None, more=0),
        catalogue_of([float("nan")] * 50),
        catalogue_of(None).decode().encode("utf-16"),
    ],
)
def test_what_is_no_catalogue_is_refused_though_its_hash_is_right(raw):
    made = random_stream(8, n=50, id_kind=0, catalogue=hashlib.sha256(raw).digest())
    with elasticrec_device.open(made.data) as stream, pytest.raises(StreamError, match="catalogue"):
        stream.catalogue(raw)


def test_a_catalogue_may_have_no_titles():
    raw = catalogue_of(None)
    made = random_stream(8, n=50, id_kind=0, catalogue=hashlib.sha256(raw).digest())
    with elasticrec_device.open(made.data) as stream:
        stream.catalogue(raw)
        assert {item.title for item in stream.recommend(k=50)} == {None}


def test_a_key_comes_as_bytes_hex_or_a_file(key, tmp_path):
    data = random_stream(3, key=key).data
    (tmp_path / "raw.pub").write_bytes(public(key))
    (tmp_path / "hex.pub").write_text(public(key).hex() + "\n")
    for given in (public(key), public(key).hex(), tmp_path / "raw.pub", str(tmp_path / "hex.pub")):
        assert elasticrec_device.open(data, key=given).recommend()


@pytest.mark.parametrize("wrong", [b"short", "zz" * 32, bytes(33), "00" * 31 + "0 "])
def test_what_is_no_key_is_refused(wrong, key, tmp_path):
    (tmp_path / "bad.pub").write_bytes(wrong if isinstance(wrong, bytes) else wrong.encode())
    for given in (wrong, tmp_path / "bad.pub"):
        with pytest.raises(StreamError, match="key"):
            elasticrec_device.open(random_stream(3, key=key).data, key=given)


def test_with_a_key_no_byte_may_change(key):
    data = random_stream(3, n=30, key=key).data
    for at in range(0, len(data), 9):
        bad = bytearray(data)
        bad[at] ^= 1
        with pytest.raises(StreamError):
            elasticrec_device.open(bad, key=public(key))


def test_with_a_key_chunks_of_another_stream_are_refused_when_they_arrive(key):
    made = random_stream(3, n=30, key=key)
    start, stop = [end for end in ends_of(made.data) if end >= made.head.least][:2]
    chunk = bytearray(made.data[start:stop])
    chunk[-1] ^= 1
    chunk[16:20] = bytes(4)
    chunk[16:20] = struct.pack("<I", zlib.crc32(chunk))
    with elasticrec_device.open(made.data[:start], key=public(key)) as stream:
        with pytest.raises(StreamError, match="link to chunk"):
            stream.refresh(made.data[:start] + bytes(chunk))
        assert stream.refresh(made.data) == len(made.data)


def test_with_a_key_withdrawn_items_are_signed_too(key):
    with elasticrec_device.open(
        random_stream(3, n=30, id_kind=0, key=key).data, key=public(key)
    ) as stream:
        stream.withdraw(withdrawn_file([1, 2], key=key))
        with pytest.raises(StreamError, match="signature of the withdrawn items: found none"):
            stream.withdraw(withdrawn_file([3]))
        assert not {1, 2} & {item.id for item in stream.recommend(k=30)}


def test_a_key_without_cryptography_is_an_error_that_says_what_to_install(tmp_path):
    (tmp_path / "a.elastic").write_bytes(random_stream(3).data)
    code = f"""
import sys
sys.modules["cryptography"] = None
import elasticrec_device
elasticrec_device.open({str(tmp_path / "a.elastic")!r})
try:
    elasticrec_device.open({str(tmp_path / "a.elastic")!r}, key=bytes(32))
except ImportError as error:
    print(error)
"""
    environment = {"PYTHONPATH": elasticrec_device.__file__.rpartition("/")[0]}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "needs the package 'cryptography'" in ran.stdout
