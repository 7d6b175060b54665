"""The C runtime's time and memory: crafted files, a small machine, and libFuzzer."""

import shutil
import subprocess
import zipfile

import pytest

from benchmarks.plain.stream import make_stream
from tests.device import c_runtime, crafted
from tests.device.test_python_conformance import GOLDEN

FUZZ = c_runtime.FOLDER / "testing" / "fuzz.c"
THREADS = c_runtime.FOLDER / "testing" / "threads.c"
CORPUS = c_runtime.FOLDER / "testing" / "corpus.zip"
LIKED = ",".join(map(str, crafted.HISTORY))  # dense ids


@pytest.fixture(scope="module", name="device")
def open_device(c_driver):
    device = c_runtime.Device([c_driver])
    yield device
    device.close()


def cost(device, data):
    """Milliseconds to open a stream and ask it, and of a further question; bytes beside it."""
    stream, likes = device.open(data), crafted.likes(data)
    stream.recommend(likes, k=100)
    beside = stream.stream_bytes + max(stream.work_bytes, stream.question_bytes)
    likes = stream.list_of(likes)
    walls = [float(device.ask(f"cycle 1 100 {likes}")[0]) for _ in range(3)]
    return min(walls), min(map(float, device.ask(f"speed 20 100 {likes}"))), beside


@pytest.mark.parametrize("make", crafted.CRAFTED)
def test_a_crafted_stream_costs_at_most_twice_an_ordinary_one(device, make):
    bad = make()
    peer = crafted.ordinary(bad)
    assert 0.9 < len(bad) / len(peer) < 1.1
    (wall, question, memory), (expected, other, ordinary) = cost(device, bad), cost(device, peer)
    assert memory < 2 * ordinary
    assert wall < 2 * expected + 10
    assert question < 2 * other + 3


def cycles(c_driver, rounds):
    """Open, rank and close a stream of 1 MB again and again, in 64 MB of address space."""
    data, _ = make_stream(8828, 108)
    assert 0.9e6 < len(data) < 1e6
    device = c_runtime.Device(["sh", "-c", f"ulimit -v 65536; exec {c_driver}"])
    device.open(data)
    wall = float(device.ask(f"cycle {rounds} 100 {LIKED}")[0])
    device.close()
    return wall


def test_a_small_machine_opens_ranks_and_closes(c_driver):
    assert cycles(c_driver, 50) < 200


@pytest.mark.slow
def test_a_small_machine_opens_ranks_and_closes_10000_times(c_driver):
    assert cycles(c_driver, 10_000) < 200


def clang_driver(folder):
    """The driver under the sanitizers of memory and of undefined behaviour."""
    if shutil.which("clang") is None:
        pytest.skip("no clang here: the sanitizers were not run")
    options = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    return c_runtime.build(["clang"], folder / "driver", *options)


@pytest.mark.parametrize("compiler", [("gcc",), ("clang", "-g", "-fsanitize=thread")])
def test_threads_that_share_a_stream_get_what_one_gets(compiler, tmp_path):
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no {compiler[0]} here: threads were not tried with it")
    program = tmp_path / "threads"
    words = [*compiler, *c_runtime.STRICT, "-O1", "-pthread", str(THREADS), "-o", str(program)]
    subprocess.run(words, check=True)
    for name in ("u64", "text", "many"):
        subprocess.run([str(program), str(GOLDEN / f"{name}.elastic")], check=True)


@pytest.mark.slow
def test_the_sanitizers_find_nothing(tmp_path):
    from tests.device import test_c

    device = c_runtime.Device([clang_driver(tmp_path)])
    for name in test_c.STREAMS:
        test_c.test_answers_as_expected(device, name)
        test_c.test_a_growing_stream_answers_as_expected(device, name)
    test_c.test_refuses_every_hostile_file(device)
    for seed in range(100, 200):
        test_c.test_answers_as_the_python_runtime_does(device, seed)
    for make in crafted.CRAFTED:
        data = make()
        device.open(data).recommend(crafted.likes(data), k=100)
    device.close()


@pytest.mark.slow
def test_libfuzzer_finds_nothing(tmp_path):
    if shutil.which("clang") is None:
        pytest.skip("no clang here: libFuzzer was not run")
    flags = ("-std=c99", "-g", "-O1", "-fsanitize=fuzzer,address,undefined")
    program, found = tmp_path / "fuzz", tmp_path / "found"
    words = ["clang", *flags, "-fno-sanitize-recover=all", str(FUZZ), "-o", str(program)]
    subprocess.run(words, check=True)
    with zipfile.ZipFile(CORPUS) as kept:
        kept.extractall(found)
    words = [str(program), "-runs=1000000", "-seed=1", "-max_len=4096", str(found), str(GOLDEN)]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-5000:]
