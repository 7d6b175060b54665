"""The Python runtime against the golden streams, whole, cut and growing, to the last digit."""

import json
from pathlib import Path

import pytest

import elasticrec_device
from elasticrec_device import StreamError

GOLDEN = Path(__file__).parents[2] / "device" / "conformance"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
STREAMS = {entry["file"]: entry for entry in EXPECTED["streams"]}
KEY = EXPECTED["public_key"]


def key_of(name):
    return KEY if STREAMS[name]["signed"] else None


def questions_of(name, n_bytes):
    """The questions to a prefix, those with withdrawn items last."""
    asked = [q for q in EXPECTED["questions"] if (q["stream"], q["bytes"]) == (name, n_bytes)]
    return sorted(asked, key=lambda question: question["withdrawn"] or "")


def own_ids(name):
    """Turns ids of expected.json, which are text, into those that the runtime takes."""
    turn = str if STREAMS[name]["ids"] == "text" else int
    return lambda ids: (
        ids if ids is None else [each if each is None else turn(each) for each in ids]
    )


def check(stream, question):
    """Ask one question."""
    ids = own_ids(question["stream"])
    if question["withdrawn"]:
        stream.withdraw(GOLDEN / question["withdrawn"])
    found = stream.recommend(
        history=ids(question["history"]),
        vector=question["vector"] and GOLDEN / question["vector"],
        k=question["k"],
        exclude=ids(question["exclude"]),
        only=ids(question["only"]),
        repeat=question["repeat"],
        diversity=question["diversity"],
        why=True,
    )
    assert [item.id for item in found] == ids(question["items"])
    assert [item.score for item in found] == question["scores"]
    assert [item.why for item in found] == ids(question["why"])
    assert found.unknown == question["unknown"]


def test_every_golden_stream_is_named_and_asked():
    assert {path.name for path in GOLDEN.glob("*.elastic")} == set(STREAMS)
    assert {question["stream"] for question in EXPECTED["questions"]} == set(STREAMS)


@pytest.mark.parametrize("name", STREAMS)
def test_answers_as_expected(name):
    with elasticrec_device.open(GOLDEN / name, key_of(name)) as stream:
        for question in questions_of(name, None):
            check(stream, question)
        assert stream.info()["complete"]


@pytest.mark.parametrize("name", STREAMS)
def test_a_growing_stream_answers_as_expected(name, tmp_path):
    whole, growing = (GOLDEN / name).read_bytes(), tmp_path / name
    cuts = STREAMS[name]["cuts"]
    growing.write_bytes(whole[: cuts[0]])
    with elasticrec_device.open(growing, key_of(name)) as stream:
        for cut in [*cuts, None]:
            growing.write_bytes(whole[:cut])
            used = stream.refresh()
            assert used == max(end for end in STREAMS[name]["ends"] if end <= (cut or len(whole)))
            for question in questions_of(name, cut):
                check(stream, question)
            assert elasticrec_device.open(whole[:cut]).info() == stream.info()


@pytest.mark.parametrize("name", STREAMS)
def test_similar_is_the_list_of_that_history(name):
    with elasticrec_device.open(GOLDEN / name, key_of(name)) as stream:
        for item in stream.ids[:5]:
            assert stream.similar(item, k=7) == stream.recommend([item], k=7)


@pytest.mark.parametrize("name", STREAMS)
def test_every_stream_refuses_a_foreign_vector(name):
    with (
        elasticrec_device.open(GOLDEN / name) as stream,
        pytest.raises(StreamError, match="vector"),
    ):
        stream.recommend(vector=GOLDEN / EXPECTED["foreign_vector"])


@pytest.mark.parametrize("name", STREAMS)
def test_catalogues_and_withdrawn_lists_fit_their_own_stream_alone(name):
    with elasticrec_device.open(GOLDEN / name) as stream:
        for path in GOLDEN.glob("*.catalogue.json"):
            if path.name != STREAMS[name]["catalogue"]:
                with pytest.raises(StreamError, match="catalogue"):
                    stream.catalogue(path)
                continue
            stream.catalogue(path)
            about = json.loads(path.read_text(encoding="utf-8"))
            for item in stream.recommend(k=20):
                assert item.title == about["titles"][about["ids"].index(str(item.id))]
        for path in GOLDEN.glob("*.withdrawn"):
            if path.name == STREAMS[name]["withdrawn"]:
                stream.withdraw(path)
            else:
                with pytest.raises(StreamError, match="model id of the withdrawn items"):
                    stream.withdraw(path)
