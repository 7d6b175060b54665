import numpy as np
import pytest

from elasticrec.data.counts import count
from elasticrec.data.preparation import PrepareConfig, prepare
from elasticrec.data.readers.sources import read_published
from elasticrec.data.splitting import PARTS, published_split

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
    assert (split.validation.per_user > 0).sum() == 5_000
    assert (split.name, split.kind) == (name, "published")


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("gowalla", (343, 8975)),
        ("yelp2018", ("nkN_do3fJ9xekchVC-v68A", "na4Th5DrNauOv-c43QQFvA")),
        ("amazon-book", ("A3GT2VY34AXBOJ", "0060090383")),
    ],
)
def test_original_ids_come_from_the_lists_beside(real_data, name, first):
    folder = real_data / name
    train, test = read_published(folder / PUBLISHED[name][0], folder / "test.txt.gz", id_lists=True)
    assert (train.user_ids.of_number(0), train.item_ids.of_number(0)) == first
    assert (len(train.user_ids), len(train.item_ids)) == PUBLISHED[name][1:3]
    split = published_split(train, test, rng=np.random.default_rng(0), everyone=True)
    split.check()
    eighth = len(split.validation) / len(train.pairs)
    assert eighth == pytest.approx(1 / 8, abs=0.005)
    assert (split.train.per_user > 0).all()


def test_goodbooks_is_its_own_ten_core():
    split = prepare("goodbooks")
    assert (split.n_users, split.n_items) == (30_723, 8_828)
    assert sum(len(getattr(split, part)) for part in PARTS) == 824_125
    assert f"{count(split)[0].sparsity:.2%}" == "99.70%"
