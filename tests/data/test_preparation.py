import re

import pytest

from elasticrec.data.readers.columns import Columns
from elasticrec.errors import InputError
from elasticrec.data.preparation import PrepareConfig, prepare
from elasticrec.data.splitting import PARTS


@pytest.fixture
def shop(tmp_path):
    """Twelve users who bought all of ten articles, one after the other, and a rare visitor."""
    path = tmp_path / "shop.csv"
    rows = [f"u{u},{100 + i},{1 + i % 5},{1_000 * u + i}" for u in range(12) for i in range(10)]
    path.write_text("user,item,rating,time\n" + "\n".join(rows) + "\nrare,100,5,7\n")
    return path


def test_read_filter_split(shop):
    told = []
    split = prepare(shop, report=told.append)
    split.check()
    assert (split.n_users, split.n_items) == (12, 10)
    assert [len(getattr(split, part)) for part in PARTS] == [84, 12, 24]
    assert (split.name, split.kind) == ("shop", "random-70-10-20")
    assert "rare" not in split.user_ids.values.tolist()
    assert told == [
        f"reading {shop}",
        "filtering 121 interactions",
        "splitting 120 interactions",
    ]


def test_the_seed_decides(shop):
    prints = [prepare(shop, PrepareConfig(seed=seed)).fingerprint() for seed in (0, 0, 1)]
    assert prints[0] == prints[1] != prints[2]


def test_temporal(shop):
    split = prepare(shop, PrepareConfig(split="temporal", name="mine"))
    assert (split.name, split.kind) == ("mine", "temporal")
    for user in range(12):
        assert split.train.of(user).tolist() == list(range(7))
        assert split.test.of(user).tolist() == [8, 9]


def test_a_smallest_rating_and_titles(shop, tmp_path):
    (tmp_path / "titles.csv").write_text("id,title\n104,Four\n")
    config = PrepareConfig(
        columns=Columns(min_rating=4), min_interactions=2, titles=tmp_path / "titles.csv"
    )
    split = prepare(shop, config)
    assert split.item_ids.values.tolist() == [103, 104, 108, 109]
    assert split.titles.tolist() == ["", "Four", "", ""]


def test_published_lists_are_not_filtered(tmp_path):
    (tmp_path / "train.txt").write_text("0 0 1 2 3 4 5 6 7\n1 8\n")
    (tmp_path / "test.txt").write_text("0 9\n1\n2 11\n")
    split = prepare(tmp_path / "train.txt", PrepareConfig(test=tmp_path / "test.txt", name="p"))
    split.check()
    assert (split.n_users, split.n_items, split.kind, split.name) == (3, 12, "published", "p")
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


def test_a_user_with_one_interaction_is_named_with_her_line(shop, tmp_path):
    expected = f"{shop} line 122: user 'rare' has 1 interaction (1 such users), expected at least 2"
    with pytest.raises(InputError, match=re.escape(expected)):
        prepare(shop, PrepareConfig(min_interactions=1))
    lists = tmp_path / "lists.txt"
    lists.write_text("0 1 2\n\n5 1\n")
    with pytest.raises(InputError, match=re.escape(f"{lists} line 3: user 5 has 1 interaction")):
        prepare(lists, PrepareConfig(min_interactions=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "published"}, "split published with no test file, expected one"),
        ({"split": "random", "test": "x.txt"}, "split random with test file x.txt, expected none"),
        ({"split": "odd"}, "split 'odd' is unknown, expected random, published, temporal"),
        ({"test": "x", "min_interactions": 5}, "a published split is never filtered"),
        ({"min_interactions": 0}, "min-interactions is 0, expected 1 or more"),
        ({"validation_users": 0}, "validation-users is 0, expected 1 or more"),
    ],
)
def test_contradictions_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        PrepareConfig(**options)


def test_temporal_without_times_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("0 1 2\n1 1 2\n")
    with pytest.raises(InputError, match=r"a.txt: has no times, expected a time column"):
        prepare(tmp_path / "a.txt", PrepareConfig(split="temporal", min_interactions=2))
