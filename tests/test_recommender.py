"""ElasticRecommender end to end on a world whose best lists are known, from every kind of data."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from elasticrec import ElasticRecommender
from elasticrec.blocks.folder import ModelFolder
from elasticrec.errors import InputError
from elasticrec.data.interactions import Ids, Interactions, Pairs
from elasticrec.data.preparation import PrepareConfig
from elasticrec.data.split import Split
from elasticrec.recommender import as_split

pytest.importorskip("torch")

# Two dimensions are enough for two tastes.
QUICK = {"n_blocks": 2, "block_size": 1, "epochs": 20, "batch_size": 64, "negatives": 16}


def quick(**settings) -> ElasticRecommender:
    return ElasticRecommender(device="cpu", **{**QUICK, "learning_rate": 0.02, **settings})


@pytest.fixture(scope="module")
def fitted() -> ElasticRecommender:
    from elasticrec.data.synthetic import two_tastes

    return quick().fit(two_tastes(24, 40, np.random.default_rng(0)))


@pytest.fixture(scope="module")
def visits() -> list[tuple[str, int]]:
    """Who took what: 12 persons of two tastes, 24 items, each person two thirds of her half."""
    rng = np.random.default_rng(1)
    halves = np.arange(24).reshape(2, 12)
    return [
        (f"person {u}", int(i) + 1000)
        for u in range(12)
        for i in sorted(rng.permutation(halves[u % 2])[:8])
    ]


def test_learns_two_tastes(fitted: ElasticRecommender) -> None:
    # A fifth of her 20 items is in test: the best list has these 4 on top.
    assert fitted.evaluate(metrics=["recall@4"]).metrics["recall@4"] == 1.0
    likes_first = {found.id for found in fitted.recommend(items=[0, 1, 2], k=10)}
    assert likes_first <= set(range(3, 20))
    for user in (0, 23):  # all of her half is taken in some part, so none of it is listed
        own_half = range(20) if user < 12 else range(20, 40)
        assert not set(own_half) & {found.id for found in fitted.recommend(user)}
    assert {found.id for found in fitted.similar(3, k=10)} <= set(range(20))


def test_evaluates_both_parts_and_keeps_values_on_demand(fitted: ElasticRecommender) -> None:
    found = fitted.evaluate("validation", ["ndcg@8"], keep_per_user=True)
    assert found.metrics["ndcg@8"] == pytest.approx(found.per_user["ndcg@8"].mean())


def test_repr_says_what_it_is(fitted: ElasticRecommender) -> None:
    assert repr(ElasticRecommender()) == "ElasticRecommender(preset='default', not fitted)"
    assert repr(fitted) == ("ElasticRecommender(two-tastes: 24 users, 40 items; mf, 2 blocks of 1)")


def test_saved_and_loaded_it_is_the_same(fitted: ElasticRecommender, tmp_path) -> None:
    fitted.save(tmp_path / "model")
    loaded = ElasticRecommender.load(tmp_path / "model", device="cpu")
    assert loaded.evaluate().metrics == fitted.evaluate().metrics
    assert loaded.recommend(3) == fitted.recommend(3)
    loaded.save(tmp_path / "copy")
    ids = [ModelFolder.open(tmp_path / name).model_id for name in ("model", "copy")]
    assert ids[0] == ids[1]
    assert ModelFolder.open(tmp_path / "copy").about["train"]["epochs"] == QUICK["epochs"]


def test_equal_seeds_give_equal_models(two_tastes: Split) -> None:
    one, two, other = (quick(seed=seed, epochs=2).fit(two_tastes) for seed in (1, 1, 2))
    assert one.model.table.fingerprint() == two.model.table.fingerprint()
    assert one.model.table.fingerprint() != other.model.table.fingerprint()


def test_items_are_numbered_by_group(fitted: ElasticRecommender) -> None:
    popularity = fitted.model.split.train.per_item
    first = popularity[fitted.model.groups.bounds[:-1]]
    assert np.all(np.diff(first) <= 0)
    assert len(first) == 20


def test_fewer_items_than_groups(visits) -> None:
    few = [(user, item) for user, item in visits if item < 1015]
    fitted = quick(epochs=1).fit(as_interactions(few), min_interactions=2)
    assert fitted.model.groups.n_groups == fitted.model.split.n_items < 20


def test_before_fit_everything_is_refused(tmp_path) -> None:
    for ask in ("evaluate", "recommend"):
        with pytest.raises(InputError, match="not fitted; expected fit"):
            getattr(ElasticRecommender(), ask)()
    with pytest.raises(InputError, match="not fitted"):
        ElasticRecommender().save(tmp_path / "model")


def test_until_it_trains_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from elasticrec import ElasticRecommender; ElasticRecommender(epochs=3)\n"
        "print(*{'torch', 'scipy', 'polars', 'pandas'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "\n"


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(InputError, match="unknown setting 'epoch'; expected one of base, n_blocks"):
        ElasticRecommender(epoch=3)
    with pytest.raises(InputError, match="no preset 'best'; expected one of default"):
        ElasticRecommender("best")
    with pytest.raises(InputError, match="epochs must be positive"):
        ElasticRecommender(epochs=0)


def same_pairs(split: Split, visits: list[tuple[str, int]]) -> bool:
    """Whether the three parts together hold exactly these pairs of original ids."""
    found = [
        (split.user_ids.of_number(user), split.item_ids.of_number(item))
        for part in (split.train, split.validation, split.test)
        for user, item in zip(part.users, part.items, strict=True)
    ]
    return sorted(found) == sorted(visits)


def as_interactions(visits: list[tuple[str, int]]) -> Interactions:
    users, items = (Ids.of(sorted(set(column))) for column in zip(*visits, strict=True))
    pairs = Pairs.from_arrays(
        users.numbers([u for u, _ in visits]),
        items.numbers([i for _, i in visits]),
        n_users=len(users),
        n_items=len(items),
    )
    return Interactions(pairs, users, items)


FEW = PrepareConfig(min_interactions=1)


def test_frames_become_splits(visits) -> None:
    import pandas
    import polars

    who, what = zip(*visits, strict=True)
    for library in (pandas, polars):
        frame = library.DataFrame({"user": who, "item": what})
        assert same_pairs(as_split(frame, FEW), visits)


def test_columns_of_a_frame_may_be_named(visits) -> None:
    import polars

    who, what = zip(*visits, strict=True)
    frame = polars.DataFrame({"reader": who, "volume": what})
    with pytest.raises(InputError, match="user column"):
        quick().fit(frame)
    fitted = quick(epochs=1).fit(frame, user="reader", item="volume", min_interactions=1)
    assert same_pairs(fitted.model.split, visits)


def test_interactions_matrices_and_files_become_splits(visits, tmp_path) -> None:
    interactions = as_interactions(visits)
    split = as_split(interactions, FEW)
    assert same_pairs(split, visits)
    matrix = as_split(interactions.pairs.csr(), FEW)  # row and column numbers are its ids
    numbers = zip(interactions.pairs.users.tolist(), interactions.pairs.items.tolist(), strict=True)
    assert same_pairs(matrix, list(numbers))
    table = tmp_path / "visits.csv"
    table.write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in visits))
    assert same_pairs(as_split(table, FEW), visits)
    split.save(tmp_path / "split.npz")
    assert as_split(str(tmp_path / "split.npz"), FEW).fingerprint() == split.fingerprint()
    assert as_split(split, FEW) is split


def test_rare_users_are_left_out_by_default(visits) -> None:
    with pytest.raises(InputError, match="nothing is left after filtering"):
        quick().fit(as_interactions(visits))


def test_other_data_is_refused() -> None:
    with pytest.raises(InputError, match="cannot fit list; expected a Split, Interactions"):
        quick().fit([(1, 2)])


def test_customizes_a_loaded_model_and_keeps_what_that_took(coded_folder, tmp_path) -> None:
    recommender = ElasticRecommender.load(coded_folder.root, device="cpu")
    withdrawn = coded_folder.split().item_ids.values.tolist()[:2]
    made = recommender.customize("8KB", tmp_path / "watch.elastic", without=withdrawn)
    content = (tmp_path / "watch.elastic").read_bytes()
    assert content == made.content
    assert len(content) < 8_000 == made.budget.n_bytes
    again = recommender.customize(8_000, tmp_path / "same.elastic", without=withdrawn)
    assert again.sha256 == made.sha256
    assert "bytes of 8,000, estimated" in made.summary()
    with pytest.raises(InputError, match="the smallest possible is"):
        recommender.customize("1KB", tmp_path / "small.elastic")
    assert not (tmp_path / "small.elastic").exists()


def test_a_fitted_model_is_coded_and_searched_on_the_way(planted, tmp_path, monkeypatch) -> None:
    from elasticrec import presets
    from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig

    quickly = dataclasses.replace(
        presets.PRESETS["default"],
        samples=SamplesConfig(n_samples=60, n_users=60, metric="recall@20", n_held_out=0),
        estimator=EstimatorConfig(
            widths=(8,), learning_rates=(0.02,), l2s=(1e-2,), steps=40, max_rounds=1
        ),
    )
    monkeypatch.setitem(presets.PRESETS, "default", quickly)
    recommender = ElasticRecommender(
        device="cpu", n_blocks=2, block_size=8, epochs=2, batch_size=512, negatives=32
    )
    with pytest.raises(InputError, match="not fitted"):
        recommender.customize("20KB", tmp_path / "b.elastic")
    recommender.fit(planted)
    made = recommender.customize("20KB", tmp_path / "b.elastic", ids="none")
    assert len(made.content) <= 20_000
    assert made.found.estimate > 0
