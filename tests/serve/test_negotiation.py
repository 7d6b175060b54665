import pytest

from elasticrec.serve.negotiation import parse_budget, wants_json
from elasticrec.serve.problems import Problem

BUNDLE = "application/vnd.elasticrec.bundle"


@pytest.mark.parametrize(
    ("accept", "json"),
    [
        (None, False),
        ("*/*", False),
        ("text/html,application/xhtml+xml,*/*;q=0.8", False),
        ("application/json", True),
        ("Application/JSON ; charset=utf-8", True),
        ("text/html, application/json;q=0.1", True),
        ("application/json;q=0", False),
        ("application/json;q=x", False),
        (f"{BUNDLE}, application/json;q=0.5", False),
        (f"{BUNDLE};q=0.5, application/json", True),
        (f"{BUNDLE}, application/json", True),
        (",;,;;q=1", False),
    ],
)
def test_who_wants_json(accept, json):
    assert wants_json(accept) is json


def test_budgets():
    assert parse_budget("5MB").n_bytes == 5_000_000
    assert parse_budget("1.5 mib").n_bytes == 1_572_864
    for nothing in ("0", "0.0MB", "0 kb", "0.0001B", "0.3B"):
        assert parse_budget(nothing).n_bytes == 1
    with pytest.raises(Problem, match="no whole number"):
        parse_budget("1.5")
