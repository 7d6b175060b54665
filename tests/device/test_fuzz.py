"""Damaged streams with right checksums: all runtimes refuse them, or give the same lists."""

import shutil

import pytest

from benchmarks.fuzz import run


def agree(mutations, seed):
    tally = run(mutations, seed, trace_every=20)
    assert tally.wrong == []
    assert ("javascript" in tally.runtimes) == (shutil.which("node") is not None)
    assert ("c" in tally.runtimes) or not (shutil.which("gcc") or shutil.which("clang"))
    assert tally.counts["opened"] > mutations // 10
    assert tally.counts["refused"] > mutations // 3
    assert tally.beside["taken"] > mutations // 20
    assert tally.beside["refused"] > mutations // 20


def test_runtimes_agree_on_2000_damaged_streams():
    agree(2_000, seed=1)


@pytest.mark.slow
def test_runtimes_agree_on_100000_damaged_streams():
    agree(100_000, seed=2)
