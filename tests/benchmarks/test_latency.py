"""RULE's own latency: its file keeps to the budget, and the program lists the best items."""

import shutil
import subprocess

import numpy as np
import pytest

from benchmarks import latency
from benchmarks.plain.stream import N_BLOCKS, make_stream

N_ITEMS, ROUNDS = 2_000, 3


def drawn_user(rounds):
    """The person of the last question, as the program draws persons."""
    state, numbers = 1, []
    for _ in range(rounds * 8 * N_BLOCKS):
        state = (state * 1664525 + 1013904223) % 2**32
        numbers.append((state * 1000 >> 32) / 500 - 1)
    return np.array(numbers[-8 * N_BLOCKS :], dtype=np.float64)


def best_items(data, user):
    """The three best items of a file by Eq. 2."""
    n_groups = int(np.frombuffer(data, np.uint32, 1)[0])
    heads = np.frombuffer(data, np.uint32, 2 * n_groups, 8).reshape(-1, 2)
    floats, at, scores = np.frombuffer(data, np.float32, offset=8 + 8 * n_groups), 0, []
    kept = [np.flatnonzero([mask >> b & 1 for b in range(N_BLOCKS)]) for mask in heads[:, 1]]
    for (n, _), blocks in zip(heads.tolist(), kept, strict=True):
        items = floats[at : at + n * 8 * len(blocks)].reshape(n, -1).astype(np.float64)
        at += items.size
        scale = max(map(len, kept)) / len(blocks)
        scores.append(scale * items @ user.reshape(N_BLOCKS, 8)[blocks].ravel())
    assert at == len(floats)
    return np.argsort(-np.concatenate(scores))[:3].tolist()


def test_the_file_keeps_to_the_budget():
    data = latency.rule_file(N_ITEMS, 1)
    assert 0.9e6 < len(data) <= 1e6


@pytest.mark.skipif(not shutil.which("gcc") and not shutil.which("clang"), reason="no compiler")
@pytest.mark.parametrize("threads", [1, 2])
def test_the_program_lists_the_best_items_by_any_number_of_threads(tmp_path, threads):
    program, file = latency.build(tmp_path), tmp_path / "kept.rule"
    file.write_bytes(latency.rule_file(N_ITEMS, 1))
    ran = subprocess.run(
        [program, "rule", file, str(ROUNDS), str(threads)], capture_output=True, check=True
    )
    assert len(ran.stdout.split()) == ROUNDS
    expected = best_items(file.read_bytes(), drawn_user(ROUNDS))
    assert [int(word) for word in ran.stderr.split()] == expected
    stream = tmp_path / "made.elastic"
    stream.write_bytes(make_stream(N_ITEMS, 54.6)[0])
    ran = subprocess.run([program, "ours", stream, str(ROUNDS)], capture_output=True, check=True)
    assert len(ran.stdout.split()) == ROUNDS


@pytest.mark.skipif(not shutil.which("prlimit"), reason="no prlimit")
def test_what_does_not_start_in_so_little_memory_has_no_times():
    assert latency.asked(["true"], 1, 64) == []
    assert latency.asked(["echo", "1 2 3 4"], 1, 64) == [3.0, 4.0]
