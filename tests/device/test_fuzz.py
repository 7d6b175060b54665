"""Damaged streams with right checksums: all runtimes refuse them, or give the same lists."""

import shutil
import struct

import pytest

import elasticrec_device
from benchmarks.fuzz import javascript, run
from elasticrec.stream.chunk import Kind
from tests.device import c_runtime, java_runtime
from tests.device.mutations import Case, golden, seal, split
from tests.device.verdicts import alike, page, verdict
from tests.stream.damage import draft


def agree(mutations, seed):
    tally = run(mutations, seed, trace_every=20)
    assert tally.wrong == []
    assert ("javascript" in tally.runtimes) == (shutil.which("node") is not None)
    assert ("c" in tally.runtimes) or not (shutil.which("gcc") or shutil.which("clang"))
    assert ("java" in tally.runtimes) == java_runtime.can_run()
    assert tally.counts["opened"] > mutations // 10
    assert tally.counts["refused"] > mutations // 3
    assert tally.beside["taken"] > mutations // 20
    assert tally.beside["refused"] > mutations // 20


def test_runtimes_agree_on_2000_damaged_streams():
    agree(2_000, seed=1)


@pytest.mark.slow
def test_runtimes_agree_on_100000_damaged_streams():
    agree(100_000, seed=2)


@pytest.fixture(name="everyone")
def all_runtimes(c_driver):
    """Gives the slow reader's verdict on a case, once all runtimes were seen to share it."""
    in_c = c_runtime.Device([c_driver])

    def ask(case):
        expected = page(case)
        lines = [verdict(elasticrec_device, case), verdict(in_c, case)]
        lines += javascript([case]) if shutil.which("node") else []
        assert all(alike(line, expected) for line in lines), [expected, *lines]
        return expected

    yield ask
    in_c.close()


def test_a_chunk_without_room_is_refused_from_its_first_byte_on(everyone):
    parts = split(golden()["u32"])
    whole = sum(map(len, parts))
    struct.pack_into("<Q", parts[0], 48, whole + 16)
    seal(parts)
    data = b"".join(parts)
    assert everyone(Case(data)).startswith(f"{whole}\t")
    assert everyone(Case(data + b"x")) == "refused"
    assert everyone(Case(data + b"x", cut=whole)) == "refused growing"


@pytest.mark.parametrize(("kind", "id_bytes"), [("u32", 4), ("u64", 8)])
def test_an_id_twice_is_refused_at_the_latest_when_it_is_looked_up(everyone, kind, id_bytes):
    parts = split(golden()[kind])
    chunk = next(part for part in parts[1:] if part[4] == 5)
    chunk[32 + id_bytes : 32 + 2 * id_bytes] = chunk[32 : 32 + id_bytes]
    seal(parts)
    assert everyone(Case(b"".join(parts))).startswith("refused")


@pytest.mark.parametrize("length", [0, 1])
def test_a_last_text_without_bytes_or_of_half_a_letter_is_refused(everyone, length):
    parts = split(golden()["text"])
    chunk = next(part for part in parts[1:] if part[4] == 5)
    at = 30 + 2 * int.from_bytes(chunk[12:16], "little")
    (old,) = struct.unpack_from("<H", chunk, at)
    struct.pack_into("<H", chunk, at, length)
    del chunk[len(chunk) - old :]
    chunk += b"\xc3" * length
    struct.pack_into("<I", chunk, 0, len(chunk) - 32)
    struct.pack_into("<Q", parts[0], 48, sum(map(len, parts)))
    seal(parts)
    assert everyone(Case(b"".join(parts))) == "refused"


def test_the_widest_columns_are_taken(everyone):
    wide = draft()
    wide.add(Kind.COLUMNS, 3, 0, 31, struct.pack("<HHHHff", 0, 0, 1, 32768, 0.5, 0.5) * 31)
    assert everyone(Case(wide.file())).startswith(f"{len(wide.file())}\t")


def test_as_many_items_as_least_has_bytes_are_taken(everyone):
    many = draft("dense")
    many.chunks = [chunk for chunk in many.chunks if chunk.header.kind != Kind.NEIGHBOURS]
    many.least_chunks = 3
    data = many.set(n_items=927).file()
    assert int.from_bytes(data[40:48], "little") == 927
    assert everyone(Case(data)).startswith(f"{len(data)}\t")
