"""The budgets of the design page, to the digit it gives."""

import pytest

from experiments.equal_bytes import budget_for


@pytest.mark.parametrize(
    ("dataset", "n_items", "megabytes"),
    [
        ("amazon-book", 91_599, (5.0, 10.0, 25.0)),
        ("gowalla", 40_981, (2.237, 4.474, 11.185)),
        ("yelp2018", 38_048, (1.797, 3.595, 8.987)),
    ],
)
def test_budgets_grant_equal_bytes_per_item(dataset, n_items, megabytes):
    found = [budget_for(dataset, mb, n_items).n_bytes / 1e6 for mb in (5, 10, 25)]
    assert [round(each, 3) for each in found] == list(megabytes)


def test_yelp2018_has_the_blocks_of_the_paper():
    blocks = [
        budget_for("yelp2018", mb, 38_048).blocks(items=38_048, groups=20) for mb in (5, 10, 25)
    ]
    assert blocks == [29, 59, 147]
