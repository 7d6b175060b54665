import re

import numpy as np
import polars as pl
import pytest

from elasticrec.data.preparation import PrepareConfig, prepare
from elasticrec.data.readers.columns import Columns
from elasticrec.data.readers.sources import read
from elasticrec.data.split import PARTS, Split
from elasticrec.errors import InputError


@pytest.fixture
def shop(tmp_path):
    """Twelve users who bought all of ten articles, one after the other, and a rare visitor."""
    path = tmp_path / "shop.csv"
    rows = [f"u{u},{100 + i},{1 + i % 5},{1_000 * u + i}" for u in range(12) for i in range(10)]
    path.write_text("user,item,rating,time\n" + "\n".join(rows) + "\nrare,100,5,7\n")
    return path


def test_read_filter_split(shop, caplog):
    with caplog.at_level("INFO"):
        split = prepare(shop, PrepareConfig(split="random"))
    split.check()
    assert (split.n_users, split.n_items) == (12, 10)
    assert [len(getattr(split, part)) for part in PARTS] == [84, 12, 24]
    assert (split.name, split.kind) == ("shop", "random-70-10-20")
    assert "rare" not in split.user_ids.values.tolist()
    assert caplog.messages == [
        f"{shop}: every row counts alike, whatever its 'rating'; min-rating, where or weight make "
        "use of it",
        f"{shop}: 121 interactions of 13 users with 10 items; no row repeats one",
        f"{shop}: left out 1 of 13 users and 0 of 10 items with fewer than 10 interactions, and "
        "with them 1 of 121 interactions; 12 users, 10 items and 120 interactions stay "
        "(min-interactions sets the number)",
        "shop: the split is random-70-10-20",
    ]


def test_sources_of_every_type(shop, tmp_path):
    expected = prepare(shop, PrepareConfig(name="shop")).fingerprint()
    assert prepare(pl.read_csv(shop), PrepareConfig(name="shop")).fingerprint() == expected
    whole = read(shop)
    assert prepare(whole).fingerprint() == expected
    assert prepare(whole, PrepareConfig(name="other")).name == "other"
    counts = prepare(whole.pairs.csr(), PrepareConfig(split="random"))
    assert (counts.n_users, counts.n_items, counts.name) == (12, 10, "data")
    assert prepare(counts) is counts
    counts.save(tmp_path / "split.npz")
    assert prepare(tmp_path / "split.npz").fingerprint() == counts.fingerprint()
    with pytest.raises(InputError, match="is of type list, expected a path, Interactions"):
        prepare([[1, 2]])


def test_a_prepared_split_gets_titles_alone(shop, tmp_path):
    split = prepare(shop)
    titles = pl.DataFrame({"item": split.item_ids.values[:1], "title": ["First"]})
    assert prepare(split, PrepareConfig(titles=titles, seed=5)).titles[0] == "First"
    split.save(tmp_path / "split.npz")
    for source in (split, tmp_path / "split.npz"):
        for wrong in ({"min_interactions": 3}, {"columns": Columns(where="item > 3")}):
            with pytest.raises(InputError, match="is a prepared split, used as it is; expected no"):
                prepare(source, PrepareConfig(**wrong))


def test_missing_titles_are_refused_before_any_work(shop, tmp_path, caplog):
    with caplog.at_level("INFO"), pytest.raises(InputError, match=r"none\.csv: no such file"):
        prepare(shop, PrepareConfig(titles=tmp_path / "none.csv"))
    assert not caplog.records


def test_the_seed_decides(shop):
    prints = [
        prepare(shop, PrepareConfig(seed=seed, split="random")).fingerprint() for seed in (0, 0, 1)
    ]
    assert prints[0] == prints[1] != prints[2]


def test_the_last_items_by_time(shop):
    split = prepare(shop, PrepareConfig(split="last", name="mine"))
    assert (split.name, split.kind) == ("mine", "last-70-10-20")
    for user in range(12):
        assert split.train.of(user).tolist() == list(range(7))
        assert split.test.of(user).tolist() == [8, 9]
    assert split.train.order[:7].tolist() == list(range(7))


def test_users_who_come_one_after_the_other_are_split_by_their_last_items(shop, caplog):
    with caplog.at_level("INFO"):
        assert prepare(shop).kind == "last-70-10-20"
    assert "17 % of the interactions behind a cut in time belong to users with" in caplog.text
    cut = prepare(shop, PrepareConfig(split="temporal"))
    assert cut.kind == "temporal-70-10-20"
    assert (cut.train.per_user == 0).sum() == 3


def test_users_who_stay_are_split_by_one_cut_in_time(tmp_path):
    rows = [f"{u},{i},2020-01-{i + 1:02d}" for u in range(12) for i in range(20)]
    (tmp_path / "a.csv").write_text("user,item,date\n" + "\n".join(rows) + "\n")
    split = prepare(tmp_path / "a.csv")
    assert split.kind == "temporal-70-10-20"
    assert split.test.of(3).tolist() == [16, 17, 18, 19]
    rows = [row[: row.rindex(",")] + ",2020-01-01" for row in rows]
    (tmp_path / "a.csv").write_text("user,item,date\n" + "\n".join(rows) + "\n")
    assert prepare(tmp_path / "a.csv").kind == "last-70-10-20"


@pytest.mark.parametrize("drift", [True, False])
def test_a_recorded_order_is_used_where_it_says_something(tmp_path, rng, drift):
    lists = [rng.choice(40, size=12, replace=False) for _ in range(300)]
    if drift:
        lists = [row[np.argsort(row % 7 + rng.normal(0, 3, 12))] for row in lists]
    path = tmp_path / "lists.txt"
    path.write_text("".join(f"{u} {' '.join(map(str, row))}\n" for u, row in enumerate(lists)))
    split = prepare(path)
    assert split.kind == ("last-70-10-20" if drift else "random-70-10-20")
    assert (split.train.order is not None) == drift
    assert prepare(path, PrepareConfig(split="last")).history()[5].tolist() == (
        lists[5][:9].tolist()
    )
    table = tmp_path / "rows.csv"
    rows = "".join(f"{u},{item}\n" for u, row in enumerate(lists) for item in row)
    table.write_text("user,item\n" + rows)
    assert prepare(table).kind == "random-70-10-20"
    same = prepare(table, PrepareConfig(columns=Columns(ordered=True), name="lists"))
    assert same.fingerprint() == split.fingerprint()
    (tmp_path / "test.txt").write_text("".join(f"{u} 50\n" for u in range(300)))
    test = {"test": tmp_path / "test.txt"}
    assert prepare(path, PrepareConfig(**test)).kind == (
        "published-last" if drift else "published-random"
    )
    for validation in ("last", "random"):
        published = prepare(path, PrepareConfig(**test, validation=validation))
        assert published.kind == f"published-{validation}"


def test_published_tables_with_times_give_their_last_items(tmp_path):
    rows = [f"{u},{i},{i + 1}" for u in "ab" for i in (5, 3, 7, 1, 9, 2, 8, 6)]
    (tmp_path / "train.csv").write_text("user,item,time\n" + "\n".join(rows) + "\n")
    (tmp_path / "test.csv").write_text("user,item,time\na,4,99\n")
    split = prepare(tmp_path / "train.csv", PrepareConfig(test=tmp_path / "test.csv"))
    assert split.kind == "published-last"
    assert [split.item_ids.of_number(i) for i in split.validation.items] == [9, 9]


def test_a_smallest_rating_and_titles(shop, tmp_path):
    (tmp_path / "titles.csv").write_text("id,title\n104,Four\n")
    config = PrepareConfig(
        columns=Columns(min_rating=4),
        min_interactions=2,
        titles=tmp_path / "titles.csv",
        split="random",
    )
    split = prepare(shop, config)
    assert split.item_ids.values.tolist() == [103, 104, 108, 109]
    assert split.titles.tolist() == ["", "Four", "", ""]


def test_published_lists_are_not_filtered(tmp_path):
    (tmp_path / "train.txt").write_text("0 0 1 2 3 4 5 6 7\n1 8\n")
    (tmp_path / "test.txt").write_text("0 9\n1\n2 11\n")
    split = prepare(tmp_path / "train.txt", PrepareConfig(test=tmp_path / "test.txt", name="p"))
    split.check()
    assert (split.n_users, split.n_items, split.kind, split.name) == (
        3,
        12,
        "published-random",
        "p",
    )
    assert split.validation.per_user.tolist() == [1, 0, 0]
    assert split.test.per_user.tolist() == [1, 0, 1]
    assert split.train.of(1).tolist() == [8]


def test_published_tables(tmp_path):
    (tmp_path / "train.csv").write_text("user,item\na,1\nb,2\n")
    (tmp_path / "test.csv").write_text("user,item\na,3\n")
    (tmp_path / "titles.csv").write_text("item,title\n3,Three\n")
    config = PrepareConfig(test=tmp_path / "test.csv", titles=tmp_path / "titles.csv")
    split = prepare(tmp_path / "train.csv", config)
    assert split.item_ids.values.tolist() == [1, 2, 3]
    assert split.test.of(0).tolist() == [2]
    assert split.titles.tolist() == ["", "", "Three"]


def test_everything_filtered_away_names_the_file(shop):
    with pytest.raises(InputError, match=re.escape(f"{shop}: nothing is left after filtering")):
        prepare(shop, PrepareConfig(min_interactions=20))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "odd"}, "split is 'odd', expected one of temporal, last, random"),
        ({"split": "random", "test": "x.txt"}, "expected neither split nor min-interactions"),
        ({"test": "x", "min_interactions": 5}, "expected neither split nor min-interactions"),
        ({"min_interactions": 0}, "min_interactions is 0, expected a whole number from 1"),
        ({"validation": "odd"}, "validation is 'odd', expected one of last, random"),
        ({"validation": "last"}, "validation last with no test file, expected one"),
    ],
)
def test_contradictions_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        PrepareConfig(**options)


def test_temporal_without_times_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("0 1 2\n1 1 2\n")
    with pytest.raises(InputError, match=r"a.txt: has no times, expected a time column"):
        prepare(tmp_path / "a.txt", PrepareConfig(split="temporal", min_interactions=2))


def test_weights_come_through_to_the_file(shop, tmp_path):
    split = prepare(shop, PrepareConfig(columns=Columns(weight="rating"), split="random"))
    assert {len(split.train), len(split.train.weights)} == {84}
    ratings = {100 + i: 1 + i % 5 for i in range(10)}
    items = split.item_ids.values[split.train.items].tolist()
    assert split.train.weights.tolist() == [ratings[item] for item in items]
    split.save(tmp_path / "split.npz")
    again = Split.load(tmp_path / "split.npz")
    assert again.fingerprint() == split.fingerprint()
    order = np.arange(split.n_items)[::-1]
    turned = again.renumbered(order)
    items = turned.item_ids.values[turned.train.items].tolist()
    assert turned.train.weights.tolist() == [ratings[item] for item in items]
