from benchmarks.fuzz import run


def test_damaged_streams_are_opened_correctly_or_refused():
    tally = run(2000, seed=1, trace_every=20)
    assert tally.wrong == []
    assert tally.counts["opened"] > 200
    assert tally.counts["refused"] > 800
