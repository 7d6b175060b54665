import json

import numpy as np
import pytest

from elasticrec.errors import InputError
from elasticrec.rule.estimator.ledger import Ledger, Samples, check_metric

HEAD = {"model": "abc", "metric": "recall@100", "masks": {"seed": 1, "steps": (1, 2)}}


def some(rng, n):
    depths = rng.choice(np.array([0, 1, 8, 32], dtype=np.uint8), size=(n, 3, 4))
    neighbours = rng.choice(np.array([0, 4, 16], dtype=np.uint8), size=(n, 3))
    return Samples(depths, neighbours, rng.random(n))


def same(a, b):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("depths", "neighbours", "values")
    )


def test_what_was_appended_is_there_when_opened_again(tmp_path, rng):
    samples = some(rng, 5)
    with Ledger(tmp_path / "l", HEAD) as ledger:
        ledger.append([4, 0, 2, 1, 3], samples)
        assert ledger.done == {0, 1, 2, 3, 4}
        assert same(ledger.samples([4, 0, 2, 1, 3]), samples)
    with Ledger(tmp_path / "l", HEAD) as ledger:
        assert same(ledger.samples([4, 0, 2, 1, 3]), samples)
        found = ledger.samples(range(2))
        assert found.values.tolist() == [samples.values[1], samples.values[3]]


@pytest.mark.parametrize("cut", [1, 2, 30, 10**9])
def test_a_torn_last_line_is_dropped_and_the_rest_kept(tmp_path, rng, cut, caplog):
    samples = some(rng, 2)
    path = tmp_path / "l"
    with Ledger(path, HEAD) as ledger:
        ledger.append([0, 1], samples)
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    path.write_bytes(whole[: len(whole) - min(cut, len(last) - 1)])
    with Ledger(path, HEAD) as ledger:
        assert ledger.done == {0}
        ledger.append([1], Samples(samples.depths[1:], samples.neighbours[1:], samples.values[1:]))
    assert path.read_bytes() == whole
    assert "torn" in caplog.text


def test_a_torn_first_line_is_written_again(tmp_path, rng):
    path = tmp_path / "l"
    path.write_bytes(b'{"format": "elas')
    with Ledger(path, HEAD) as ledger:
        ledger.append([0], some(rng, 1))
    lines = path.read_text().splitlines()
    assert [json.loads(line).get("i") for line in lines] == [None, 0]


@pytest.mark.parametrize(
    ("changed", "named"),
    [({"model": "xyz"}, "model"), ({"metric": "ndcg@9"}, "metric"), ({"more": 1}, "more")],
)
def test_a_ledger_of_something_else_is_refused_by_name(tmp_path, changed, named):
    with Ledger(tmp_path / "l", HEAD):
        pass
    before = (tmp_path / "l").read_bytes()
    with pytest.raises(InputError, match=f"another {named}"):
        Ledger(tmp_path / "l", {**HEAD, **changed})
    assert (tmp_path / "l").read_bytes() == before


def test_damage_in_the_middle_duplicates_and_other_files_are_refused(tmp_path, rng):
    path = tmp_path / "l"
    with Ledger(path, HEAD) as ledger:
        ledger.append([0, 1], some(rng, 2))
    head, first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + first[:20] + b"\n" + second)
    with pytest.raises(InputError, match="line 2 is damaged"):
        Ledger(path, HEAD)
    path.write_bytes(head + first + first)
    with pytest.raises(InputError, match="line 3 is no measurement, or a second one"):
        Ledger(path, HEAD)
    path.write_bytes(b'{"some": "json"}\n')
    with pytest.raises(InputError, match="not a ledger"):
        Ledger(path, HEAD)
    with pytest.raises(InputError, match="there is no folder"):
        Ledger(tmp_path / "none" / "l", HEAD)


def test_one_process_writes_at_a_time(tmp_path):
    with Ledger(tmp_path / "l", HEAD), pytest.raises(InputError, match="another process"):
        Ledger(tmp_path / "l", HEAD)
    with Ledger(tmp_path / "l", HEAD) as ledger:
        assert ledger.done == set()


def test_draws_that_are_not_there_are_named(tmp_path, rng):
    with Ledger(tmp_path / "l", HEAD) as ledger:
        ledger.append([0, 3], some(rng, 2))
        with pytest.raises(InputError, match="lacks 2 draws, the first is 1"):
            ledger.samples(range(4))


def test_the_metric_can_be_checked_before_a_ledger_is_opened(tmp_path):
    path = tmp_path / "l"
    check_metric(path, "recall@100")  # there is none
    Ledger(path, HEAD).__exit__()
    check_metric(path, "recall@100")
    with pytest.raises(InputError, match=r"another metric \(recall@100, expected ndcg@9\)"):
        check_metric(path, "ndcg@9")
    path.write_bytes(path.read_bytes()[:-5])  # torn: it will be written anew
    check_metric(path, "ndcg@9")
    path.write_text("{}\n")
    with pytest.raises(InputError, match="not a ledger"):
        check_metric(path, "ndcg@9")
