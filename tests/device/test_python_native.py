"""The Python runtime with its C core: golden and hostile files, and the lists of NumPy."""

import numpy as np
import pytest

import elasticrec_device
from benchmarks.plain.stream import make_stream
from tests.device import native_python
from tests.device import test_python_conformance as conformance
from tests.device import test_python_hostile as hostile
from tests.device.python_making import random_stream, withdrawn_file

GOLDEN, STREAMS = conformance.GOLDEN, conformance.STREAMS


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    """The Python runtime where its C core is installed."""
    pytest.importorskip("hatchling")
    found = native_python.with_core(tmp_path_factory.mktemp("native"))
    if found is None:
        pytest.skip("no C compiler on this machine: the C core for Python was not tested")
    assert not elasticrec_device.NATIVE
    return found


@pytest.fixture(autouse=True)
def asked(native, monkeypatch):
    """How many lists the C core gave; NumPy gave none."""
    lists, best = [], native.Native.best
    monkeypatch.setattr(native.Native, "best", lambda *all: lists.append(all) or best(*all))
    monkeypatch.delattr(native._Arrived, "best")
    return lists


@pytest.mark.parametrize("name", STREAMS)
def test_answers_as_expected(native, asked, name):
    with native.open(GOLDEN / name, conformance.key_of(name)) as stream:
        questions = conformance.questions_of(name, None)
        for question in questions:
            conformance.check(stream, question)
        assert len(asked) == len(questions) > 0


@pytest.mark.parametrize("name", STREAMS)
def test_a_growing_stream_answers_as_expected(native, name):
    whole, cuts = (GOLDEN / name).read_bytes(), STREAMS[name]["cuts"]
    with native.open(whole[: cuts[0]], conformance.key_of(name)) as stream:
        for cut in [*cuts, None]:
            stream.refresh(whole[:cut])
            for question in conformance.questions_of(name, cut):
                conformance.check(stream, question)


@pytest.mark.parametrize("case", hostile.CASES)
def test_refuses_a_hostile_file(native, monkeypatch, case):
    monkeypatch.setattr(hostile, "elasticrec_device", native)
    monkeypatch.setattr(hostile, "StreamError", native.StreamError)
    hostile.test_refuses_a_hostile_file(case)


@pytest.mark.parametrize("seed", range(20))
def test_lists_what_numpy_lists(native, seed):
    made = random_stream(seed)
    gone = withdrawn_file(list(range(0, made.head.V, 7)))
    with elasticrec_device.open(made.data) as ours, native.open(made.data) as stream:
        ids = list(ours.ids)
        some = ids[::3][:9]
        for options in (
            {},
            {"history": some, "exclude": ids[1:3], "why": True},
            {"history": some[::-1] + some[:2], "only": ids[::2], "repeat": True, "k": 0},
            {"history": ids, "repeat": True, "k": 10**12, "why": True},
            {"history": some, "only": []},
            {"history": some, "diversity": 0.4, "k": 7, "why": True},
        ):
            assert stream.recommend(**options) == ours.recommend(**options)
        for each in (ours, stream):
            each.withdraw(gone)
        assert stream.recommend(some, why=True) == ours.recommend(some, why=True)
        for wrong in ({"history": "abc"}, {"k": -1}, {"only": 5}):
            with pytest.raises(TypeError):
                stream.recommend(**wrong)


def test_a_large_stream_is_ranked_alike_from_a_mapped_file(native, tmp_path):
    data, _ = make_stream(50_000, 40.0)
    path = tmp_path / "large.elastic"
    path.write_bytes(data)
    history = np.random.default_rng(1).choice(50_000, 45, replace=False).tolist()
    with native.open(path) as stream, elasticrec_device.open(path) as ours:
        found = stream.recommend(history, k=100, why=True)
        assert found == ours.recommend(history, k=100, why=True)
        assert len(found) == 100


def test_without_a_compiler_there_is_no_library(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    assert native_python.with_core(tmp_path) is None
    with pytest.raises(ImportError, match="no C runtime"):
        native_python.loaded(native_python.CORE, tmp_path / f"{native_python.CORE}.py")
