"""The C runtime: golden and hostile files, agreement with Python, and what it promises."""

import math
import re
import shutil
import struct
import subprocess

import numpy as np
import pytest

import elasticrec_device
from benchmarks.plain.stream import make_stream
from tests.device import c_runtime, crafted
from tests.device import test_python_conformance as conformance
from tests.device import test_python_hostile as hostile
from tests.device.python_making import random_stream, withdrawn_file

HEADER = c_runtime.FOLDER / "elasticrec.h"
GOLDEN, STREAMS = conformance.GOLDEN, conformance.STREAMS


def listed(found):
    return [(item.id, item.score, item.why) for item in found], found.unknown


@pytest.mark.parametrize("name", STREAMS)
def test_answers_as_expected(c_device, name):
    with c_device.open(GOLDEN / name, conformance.key_of(name)) as stream:
        for question in conformance.questions_of(name, None):
            conformance.check(stream, question)
        assert stream.info()["complete"]


@pytest.mark.parametrize("name", STREAMS)
def test_a_growing_stream_answers_as_expected(c_device, name):
    whole, cuts = (GOLDEN / name).read_bytes(), STREAMS[name]["cuts"]
    with c_device.open(whole[: cuts[0]], conformance.key_of(name), most=len(whole)) as stream:
        for cut in [*cuts, None]:
            used = stream.refresh(whole[:cut])
            assert used == max(end for end in STREAMS[name]["ends"] if end <= (cut or len(whole)))
            for question in conformance.questions_of(name, cut):
                conformance.check(stream, question)


@pytest.mark.parametrize("name", STREAMS)
def test_every_stream_refuses_what_belongs_to_another(c_device, name):
    with c_device.open(GOLDEN / name) as stream:
        with pytest.raises(c_runtime.StreamError, match="vector"):
            stream.recommend(vector=GOLDEN / conformance.EXPECTED["foreign_vector"])
        for path in GOLDEN.glob("*.withdrawn"):
            if path.name != STREAMS[name]["withdrawn"]:
                with pytest.raises(c_runtime.StreamError, match="model id"):
                    stream.withdraw(path)


def read(device, case, key):
    """Read a hostile file as a program would."""
    path = hostile.HOSTILE / case["file"]
    if case["kind"] == "stream":
        with device.open(path, key) as stream:
            if case["ask"]:
                text = stream.info()["ids"] == "text"
                stream.recommend([case["ask"] if text else int(case["ask"])])
        return
    with device.open(hostile.SOUND, key) as stream:
        if case["kind"] == "vector":
            stream.recommend(vector=path)
        else:
            stream.withdraw(path)


def test_refuses_every_hostile_file(c_device):
    for case in hostile.EXPECTED["cases"]:
        if case["kind"] == "catalogue":
            continue  # the C runtime reads no JSON
        with pytest.raises(c_runtime.StreamError, match=r"found \d+, expected \d+") as refused:
            read(c_device, case, hostile.KEY if case["key"] else None)
        assert all(name in str(refused.value) for name in case["names"]), case
        if case["key"]:
            read(c_device, case, None)  # nothing else is wrong


def test_takes_the_sound_files_and_refuses_another_key_or_an_older_stream(c_device):
    sequence = hostile.EXPECTED["sequence"]
    for key in (None, hostile.KEY):
        with c_device.open(hostile.SOUND, key, sequence) as stream:
            stream.withdraw(hostile.HOSTILE / "sound.withdrawn")
            assert stream.recommend(vector=hostile.HOSTILE / "sound.vector")
    with pytest.raises(c_runtime.StreamError, match="signature of the head"):
        c_device.open(hostile.SOUND, hostile.EXPECTED["other_key"])
    with pytest.raises(c_runtime.StreamError, match="sequence number: found 7, expected 8"):
        c_device.open(hostile.SOUND, min_sequence=sequence + 1)


def test_a_signed_stream_does_not_grow_by_another_one(c_device):
    least, others = hostile.EXPECTED["least"], list(hostile.changed_late())
    assert len(others) > 3
    for other in others:
        for key in (hostile.KEY, None):
            with c_device.open(other[:least], key, most=len(other)) as stream:
                if key is None:
                    assert stream.refresh(other) == len(other)
                    continue
                with pytest.raises(c_runtime.StreamError, match="link"):
                    stream.refresh(other)
                assert least <= stream.info()["bytes"] < len(other)


def test_a_prefix_below_least_is_refused_by_an_error_that_names_it(c_device):
    whole, least = hostile.SOUND.read_bytes(), hostile.EXPECTED["least"]
    for length in range(len(whole) + 1):
        if length >= least:
            c_device.open(whole[:length])
            continue
        with pytest.raises(c_runtime.StreamError) as refused:
            c_device.open(whole[:length])
        assert length < hostile.EXPECTED["head"] or f"expected {least}" in str(refused.value)


@pytest.mark.parametrize("seed", range(20))
def test_answers_as_the_python_runtime_does(c_device, seed):
    made = random_stream(seed)
    withdrawn = withdrawn_file(list(range(0, made.head.V, 7)))
    with elasticrec_device.open(made.data) as ours, c_device.open(made.data) as stream:
        assert stream.ids == list(ours.ids)
        assert stream.info().items() >= {"listable": ours.info()["listable"]}.items()
        ids = stream.ids
        some = ids[::3][:9]
        for history, options in (
            ([], {}),
            (some, {"exclude": ids[1:3]}),
            (some[::-1] + some[:2], {"only": ids[::2], "repeat": True}),
            (ids, {"repeat": True, "k": 1000}),
            (some, {"diversity": 0.4, "k": 7}),
        ):
            expected = ours.recommend(history, why=True, **options)
            assert listed(stream.recommend(history, **options)) == listed(expected)
        stream.withdraw(withdrawn)
        ours.withdraw(withdrawn)
        assert listed(stream.recommend(some)) == listed(ours.recommend(some, why=True))
        for number in range(0, len(ids), 5):
            assert stream.find(ids[number]) == number
        if ids:
            expected = [item.id for item in ours.similar(ids[0], 5)]
            assert [item.id for item in stream.similar(ids[0], 5)] == expected


def test_a_large_stream_answers_as_the_python_runtime_does(c_device):
    data, vector = make_stream(9001, 60, piece_bytes=1500)
    history = np.random.default_rng(0).choice(9001, 45, replace=False).tolist()
    with elasticrec_device.open(data) as ours, c_device.open(data) as stream:
        for options in ({}, {"vector": vector}, {"k": 9001}):
            expected = ours.recommend(history, why=True, **options)
            assert listed(stream.recommend(history, **options)) == listed(expected)


@pytest.mark.parametrize("share", [0.03, 0.5, 1])
@pytest.mark.parametrize("n_items", [46, 200, 5000, 33_000, 60_000, 70_000, 530_000])
def test_lists_that_vote_much_answer_as_the_python_runtime_does(c_device, n_items, share):
    data = crafted.lists(n_items, n_items, share)
    few = [i for i in crafted.HISTORY if i < n_items]
    with elasticrec_device.open(data) as ours, c_device.open(data) as stream:
        for history in (few, few + list(range(1, min(n_items, 600)))):
            expected = ours.recommend(history, k=5000, repeat=True, why=True)
            assert listed(stream.recommend(history, k=5000, repeat=True)) == listed(expected)


def test_after_a_bad_chunk_a_stream_ranks_with_all_before_it(c_device):
    made = random_stream(5, n=40)
    ends = conformance_ends(made.data)
    usable = [end for end in ends if end >= made.head.least]
    good, history = usable[len(usable) // 2], made.ids[:5]
    for end in usable:
        if end <= good or end == len(made.data):
            continue
        bad = bytearray(made.data)
        bad[end + 33] ^= 4
        with c_device.open(made.data[:good], most=len(bad)) as stream:
            with pytest.raises(c_runtime.StreamError, match=r"chunk \d+: CRC-32"):
                stream.refresh(bytes(bad))
            with elasticrec_device.open(made.data[:end]) as ours:
                expected = listed(ours.recommend(history, why=True))
            assert listed(stream.recommend(history)) == expected
            assert stream.refresh(made.data) == len(made.data)


def conformance_ends(data):
    """Ends of the chunks of a sound stream."""
    ends = [276 + 8 * int.from_bytes(data[10:12], "little")]
    while ends[-1] < len(data):
        ends.append(ends[-1] + 32 + int.from_bytes(data[ends[-1] : ends[-1] + 4], "little"))
    return ends[1:]


def test_roots_are_rounded_as_ieee_754_says(c_device):
    rng = np.random.default_rng(1)
    small = range(300)
    squares = [n * n + d for n in rng.integers(2, 94_906_265, 300).tolist() for d in (-1, 0, 1)]
    others = [int(n) for bits in range(1, 54) for n in rng.integers(0, 2**bits, 20)]
    for number in (*small, *squares, *others, 2**53):
        (bits,) = struct.unpack("<Q", struct.pack("<d", math.sqrt(number)))
        assert c_device.ask(f"root {number}") == [str(bits)], number


def test_memory_is_what_the_page_of_the_runtime_says(c_device):
    for n_items, bytes_per_item in ((30_000, 54), (30_000, 273), (91_599, 273)):
        data, _ = make_stream(n_items, bytes_per_item)
        with c_device.open(data) as stream:
            about = stream.info()
            stream.recommend(range(45), k=100)
            assert stream.stream_bytes <= 4 * n_items + 4 * about["chunks"] + 8
            beside = stream.stream_bytes + max(stream.work_bytes, stream.question_bytes)
            assert beside <= 4 * n_items + 64 * 1024


def test_it_is_one_short_header_without_a_library(tmp_path):
    assert len(HEADER.read_text(encoding="utf-8").splitlines()) < 1500
    assert re.findall(r"^ *#include (.*)$", HEADER.read_text(), flags=re.M)[:3] == [
        "<stddef.h>",
        "<stdint.h>",
        "<string.h>",
    ]
    source, made = tmp_path / "it.c", tmp_path / "it.o"
    source.write_text(f'#define ELASTICREC_IMPLEMENTATION\n#include "{HEADER}"\n')
    compilers = [each for each in ("gcc", "clang") if shutil.which(each)]
    if not compilers:
        pytest.skip("no C compiler on this machine")
    for compiler in compilers:
        for level in ("-O0", "-O3"):
            words = [compiler, *c_runtime.STRICT, level, "-c", str(source), "-o", str(made)]
            subprocess.run(words, check=True)
            said = subprocess.run(["nm", str(made)], check=True, capture_output=True, text=True)
            symbols = [line.split()[-2:] for line in said.stdout.splitlines()]
            needed = {name for kind, name in symbols if kind == "U"}
            assert needed <= {"memcpy", "memset", "__stack_chk_fail"}
            assert [name for kind, name in symbols if kind in "bBdD"] == []  # no global state


def test_too_little_memory_is_an_error_that_says_how_much_is_needed(c_device):
    c_device.open(GOLDEN / "dense.elastic")
    *verdicts, _, kind, memory, _, found, _, expected, _, _ = c_device.ask("short")
    assert verdicts == ["2", "2", "2"]
    assert (kind, memory, int(expected) - int(found.rstrip(","))) == ("work", "memory:", 1)


@pytest.mark.parametrize("diversity", [-0.1, 1.1, float("nan")])
def test_a_diversity_is_from_0_to_1(c_device, diversity):
    with (
        c_device.open(GOLDEN / "dense.elastic") as stream,
        pytest.raises(c_runtime.StreamError, match="diversity within 0 to 1: found 0, expected 1"),
    ):
        stream.recommend(diversity=diversity)
