from dataclasses import replace

import pytest

from elasticrec.data.preparation import PrepareConfig, prepare
from elasticrec.data.readers.lists import read_lists
from elasticrec.data.split import PARTS, count
from elasticrec.data.splitting import informative_order

pytestmark = pytest.mark.realdata

PUBLISHED = {
    # train file, users, items, train pairs, test pairs, users without test items, sparsity
    "gowalla": ("train.txt.gz", 29_858, 40_981, 810_128, 217_242, 0, "99.92%"),
    "yelp2018": ("train.txt.gz", 31_668, 38_048, 1_237_259, 324_147, 0, "99.87%"),
    "amazon-book": ("train_known.txt.gz", 52_643, 91_599, 2_103_720, 603_378, 4, "99.94%"),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_counts_are_the_published_ones(real_data, name):
    train, users, items, n_train, n_test, untested, sparsity = PUBLISHED[name]
    folder = real_data / name
    split = prepare(folder / train, PrepareConfig(test=folder / "test.txt.gz"))
    split.check()
    whole, *_ = count(split)
    assert (whole.users, whole.items, whole.interactions) == (users, items, n_train + n_test)
    assert f"{whole.sparsity:.2%}" == sparsity
    assert len(split.train) + len(split.validation) == n_train
    assert len(split.test) == n_test
    assert (split.test.per_user == 0).sum() == untested
    assert len(split.validation) / n_train == pytest.approx(1 / 8, abs=0.005)
    assert (split.train.per_user > 0).all()
    ordered = name != "amazon-book"
    assert (split.name, split.kind) == (name, f"published-{'last' if ordered else 'random'}")
    assert (split.train.order is not None) == ordered


def test_lists_in_the_order_of_time_are_told_from_others(real_data, rng):
    sports = read_lists([real_data / "amazon-sports" / "sequences.txt.gz"])[0].pairs
    assert informative_order(sports, "sports") is sports
    gowalla = read_lists([real_data / "gowalla" / "train.txt.gz"])[0].pairs
    shuffled = gowalla.rank(rng.random(len(gowalla)))
    assert informative_order(replace(gowalla, order=shuffled), "shuffled").order is None


def test_titles_and_attributes_go_in_as_they_are(real_data):
    """Columns of names of their own in `.dat` files, and one JSON object of attributes."""
    anime = prepare(
        real_data / "anime" / "history.dat.gz",
        PrepareConfig(titles=real_data / "anime" / "items.dat.gz"),
    )
    assert anime.titles[anime.item_ids.numbers([1723])].tolist() == ["Kimi no Na wa."]
    sports = prepare(
        real_data / "amazon-sports" / "sequences.txt.gz",
        PrepareConfig(titles=real_data / "amazon-sports" / "item_attributes.json.gz"),
    )
    assert sports.kind == "last-70-10-20"
    assert sports.titles[sports.item_ids.numbers([1])].tolist() == ["1, 2, 3, 4, 5, 6"]


def test_goodbooks_is_its_own_ten_core():
    split = prepare("goodbooks")
    assert (split.n_users, split.n_items) == (30_723, 8_828)
    assert sum(len(getattr(split, part)) for part in PARTS) == 824_125
    assert f"{count(split)[0].sparsity:.2%}" == "99.70%"
