from benchmarks.fuzz import BASE_BYTES, run


def test_damaged_bundles_are_opened_correctly_or_refused():
    tally = run(2000, seed=1, trace_every=5)
    assert tally.wrong == []
    assert tally.counts["opened"] > 200
    assert tally.counts["refused"] > 800
    assert tally.most_bytes < BASE_BYTES
