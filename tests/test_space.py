import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticrec.errors import InputError
from elasticrec.space import Budget

AMAZON, YELP = 91_599, 105_843


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("5MB", 5_000_000),
        ("512KB", 512_000),
        ("1MiB", 2**20),
        ("5000000", 5_000_000),
        ("2.5 MB", 2_500_000),
        (" 1 kib ", 1024),
        ("0.5mb", 500_000),
        ("7 B", 7),
        ("1GB", 10**9),
        ("2.237MB", 2_237_000),
        ("1.0", 1),
    ],
)
def test_parses_what_people_write(text, n_bytes):
    assert Budget.parse(text) == Budget(n_bytes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MB",
        "-5MB",
        "0",
        "0MB",
        "5 parsecs",
        "5MBs",
        "nan",
        "inf",
        "1e6",
        "1,5MB",
        "5.5",
        ".5MB",
    ],
)
def test_refuses_nonsense_by_quoting_it(text):
    with pytest.raises(InputError, match=r"try 5MB|expected|did you mean"):
        Budget.parse(text)


@pytest.mark.parametrize("text", ["5MB 5MB", "٣MB", "0.0000001MB", "1" + "0" * 30])
def test_refuses_what_is_no_amount_of_memory(text):
    with pytest.raises(InputError, match=r"expected|is not a size"):
        Budget.parse(text)


@given(st.integers(1, 2**62))
def test_text_of_a_budget_spells_it(n_bytes):
    assert Budget.parse(str(Budget(n_bytes))) == Budget(n_bytes)


def test_budgets_have_an_order_and_a_short_text():
    assert Budget.parse("5MB") < Budget.parse("6MB")
    assert [str(Budget(n)) for n in (5_000_000, 4_998_123, 1500, 12)] == [
        "5 MB",
        "4.998123 MB",
        "1.5 KB",
        "12 B",
    ]


@pytest.mark.parametrize(("items", "expected"), [(AMAZON, [13, 27, 68]), (YELP, [11, 23, 59])])
def test_dimensions_of_fixed_size_tables(items, expected):
    assert [Budget.parse(f"{mb}MB").dimensions(items=items) for mb in (5, 10, 25)] == expected
