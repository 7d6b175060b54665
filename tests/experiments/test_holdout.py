"""Splits whose validation lies later than train."""

import gzip

import numpy as np
import pytest
from typer.testing import CliRunner

from elasticrec.data.preparation import PrepareConfig, prepare
from elasticrec.data.splitting import Split
from experiments.holdout import app


@pytest.fixture
def published(tmp_path):
    """A folder with published lines: 30 users, each with 16 items in the order she took them."""
    rng = np.random.default_rng(0)
    rows = [rng.permutation(60)[:20] for _ in range(30)]
    for name, part in (("train", slice(0, 16)), ("test", slice(16, 20))):
        lines = [" ".join(map(str, [user, *row[part]])) for user, row in enumerate(rows)]
        with gzip.open(tmp_path / f"{name}.txt.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    return tmp_path, rows


def whole(folder):
    return prepare(folder / "train.txt.gz", PrepareConfig(test=folder / "test.txt.gz"))


def made(folder, split, *options):
    split.save(folder / "split.npz")
    words = ["make", folder / "train.txt.gz", folder / "split.npz", "-o", folder / "late.npz"]
    done = CliRunner().invoke(app, [*map(str, words), *options])
    assert done.exit_code == 0, done.output
    return Split.load(folder / "late.npz")


def items_of(pairs, split, user):
    number = int(np.flatnonzero(np.asarray(split.user_ids.values) == user)[0])
    return set(np.asarray(split.item_ids.values)[pairs.items[pairs.users == number]].tolist())


def test_everyones_last_eighth_is_held_out_and_test_is_left_behind(published):
    folder, rows = published
    split = whole(folder)
    late = made(folder, split)
    assert len(late.test) == 0
    for user, row in enumerate(rows):
        assert items_of(late.validation, split, user) == set(row[14:16].tolist())
        assert items_of(late.train, split, user) == set(row[:14].tolist())


def test_of_some_users_the_others_keep_their_lines_and_test_stays(published):
    folder, rows = published
    split = whole(folder)
    late = made(folder, split, "--users", "10")
    assert (late.validation.per_user > 0).sum() == 10
    assert len(late.train) + len(late.validation) == 30 * 16
    assert late.test.per_item.tolist() == split.test.per_item.tolist()
    for user, row in enumerate(rows):
        held = items_of(late.validation, split, user)
        assert held in (set(), set(row[14:16].tolist()))
        assert items_of(late.train, split, user) == set(row[:16].tolist()) - held


def test_a_rehearsal_asks_for_everyones_last_eighth_and_validates_as_a_published_split(published):
    folder, rows = published
    split = whole(folder)
    late = made(folder, split, "--rehearsal")
    assert late.kind == "published"
    for user, row in enumerate(rows):
        held = items_of(late.validation, split, user)
        assert items_of(late.test, split, user) == set(row[14:16].tolist())
        assert len(held) == 2  # an eighth of 14, rounded
        assert items_of(late.train, split, user) | held == set(row[:14].tolist())
    assert any(items_of(late.validation, split, u) != set(r[12:14]) for u, r in enumerate(rows))


def test_a_rehearsal_can_validate_by_what_came_last_before_its_test(published):
    folder, rows = published
    split = whole(folder)
    late = made(folder, split, "--rehearsal", "--users", "10")
    assert (late.validation.per_user > 0).sum() == 10
    for user, row in enumerate(rows):
        held = items_of(late.validation, split, user)
        assert items_of(late.test, split, user) == set(row[14:16].tolist())
        assert held in (set(), set(row[12:14].tolist()))
        assert items_of(late.train, split, user) == set(row[:14].tolist()) - held
