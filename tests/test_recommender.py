"""ElasticRecommender end to end on worlds whose best lists are known, from every kind of data."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from elasticrec import ElasticRecommender
from elasticrec.data.ids import Ids
from elasticrec.data.interactions import Interactions, Pairs
from elasticrec.errors import InputError
from elasticrec.model import Model
from elasticrec.stream.chunk import read_index

pytest.importorskip("torch")

QUICK = {"n_blocks": 1, "epochs": 20, "batch_size": 64, "negatives": 16, "learning_rate": 0.02}


def quick(**settings) -> ElasticRecommender:
    return ElasticRecommender(device="cpu", **{**QUICK, **settings})


@pytest.fixture(scope="module")
def fitted(two_tastes) -> ElasticRecommender:
    return quick().fit(two_tastes)


@pytest.fixture(scope="module")
def loaded(tiny_model) -> ElasticRecommender:
    return ElasticRecommender.load(tiny_model.root, device="cpu")


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


def test_lists_leave_out_what_is_excluded_and_keep_to_what_is_allowed(fitted) -> None:
    first, second, *_ = (found.id for found in fitted.recommend(items=[0, 1]))
    assert fitted.recommend(items=[0, 1], exclude=[first])[0].id == second
    assert [found.id for found in fitted.recommend(items=[0, 1], only=[second, 999])] == [second]
    assert fitted.recommend("3") == fitted.recommend(3)


def test_unknown_items_are_skipped_and_counted(fitted, caplog) -> None:
    assert fitted.recommend(items=[0, 999, "x"]) == fitted.recommend(items=[0])
    assert "2 of 3 items given are unknown, skipped" in caplog.text


def test_evaluates_both_parts_and_a_budget(loaded: ElasticRecommender, tiny_model) -> None:
    point = tiny_model.curve["points"][0]
    found = loaded.evaluate("validation", ["recall@50"], budget=point["bytes"])
    assert found.metrics["recall@50"] == pytest.approx(point["recall@50"], abs=1e-6)
    whole = loaded.evaluate("validation", ["recall@50", "ndcg@8"])
    assert whole.metrics["recall@50"] > found.metrics["recall@50"]
    assert loaded.evaluate().metrics != whole.metrics


def test_a_budget_has_one_file_whoever_asks(loaded, tiny_model, tmp_path) -> None:
    n_bytes = loaded.customize("5KB", tmp_path / "watch.elastic")
    content = (tmp_path / "watch.elastic").read_bytes()
    assert content == tiny_model.stream_path.read_bytes()[:n_bytes]
    assert n_bytes == len(content) <= 5_000
    assert loaded.customize(5_000, tmp_path / "same.elastic") == n_bytes
    assert loaded.customize("5KB", tmp_path / "ids.elastic", ids="u32") <= 5_000
    assert read_index(tmp_path / "ids.elastic").head.id_kind == 1
    with pytest.raises(InputError, match="the smallest useful size of this stream is"):
        loaded.customize("1KB", tmp_path / "small.elastic")
    assert not (tmp_path / "small.elastic").exists()


def test_saved_and_loaded_it_is_the_same(fitted: ElasticRecommender, tmp_path) -> None:
    fitted.save(tmp_path / "MODEL")
    loaded = ElasticRecommender.load(tmp_path / "MODEL", device="cpu")
    assert loaded.evaluate().metrics == fitted.evaluate().metrics
    assert loaded.recommend(3) == fitted.recommend(3)
    assert loaded.model.id == fitted.model.id
    with pytest.raises(InputError, match="holds files already, expected a new or empty folder"):
        loaded.save(tmp_path / "MODEL")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file, expected a new or empty folder"):
        loaded.save(tmp_path / "file")


def test_an_unsaved_model_goes_with_its_recommender(two_tastes) -> None:
    recommender = quick(epochs=1).fit(two_tastes)
    root = recommender.model.root
    assert root.is_dir()
    del recommender
    assert not root.exists()


def test_equal_seeds_give_equal_models(two_tastes) -> None:
    one, two, other = (quick(seed=seed, epochs=2).fit(two_tastes).model for seed in (1, 1, 2))
    assert one.table.fingerprint() == two.table.fingerprint()
    assert one.table.fingerprint() != other.table.fingerprint()


def test_repr_says_what_it_is(fitted: ElasticRecommender) -> None:
    assert repr(ElasticRecommender("demo", epochs=3)) == (
        "ElasticRecommender('demo', epochs=3, not fitted)"
    )
    assert "not fitted" not in repr(fitted)


def test_it_has_the_habits_of_scikit_learn(fitted: ElasticRecommender) -> None:
    from sklearn.base import clone

    made = clone(ElasticRecommender("demo", seed=3, epochs=2, betas=(0.8, 0.9)))
    assert made.get_params() == {
        "preset": "demo", "seed": 3, "device": "auto", "epochs": 2, "betas": (0.8, 0.9),
    }  # fmt: skip
    assert made.set_params(epochs=5, seed=1) is made
    assert (made.config.train.epochs, made.config.order.seed) == (5, 1)
    assert made.config.train.betas == (0.8, 0.9)
    with pytest.raises(InputError, match="unknown setting 'epoch'"):
        made.set_params(epoch=5)
    assert "not fitted" in repr(clone(fitted))
    assert clone(fitted).get_params() == fitted.get_params()


def test_a_pickle_is_whole(two_tastes) -> None:
    first = quick(epochs=2).fit(two_tastes)
    expected, content = first.recommend(3), pickle.dumps(first)
    del first  # and with it its folder
    second = pickle.loads(content)
    assert second.recommend(3) == expected
    assert second.get_params() == quick(epochs=2).get_params()
    assert copy.deepcopy(second).recommend(3) == expected
    assert pickle.loads(pickle.dumps(quick())).get_params() == quick().get_params()


def test_many_persons_get_a_frame(loaded: ElasticRecommender, caplog) -> None:
    found = loaded.recommend(users=[14, 5, "21"], k=3, exclude=[1001])
    assert (
        "1 of 3 users are unknown, skipped, the first is 5; ids look like 0, 7, 14" in caplog.text
    )
    assert found.columns == ["user", "place", "item", "score", "title"]
    assert found["user"].to_list() == [14] * 3 + [21] * 3
    assert found["place"].to_list() == [1, 2, 3] * 2
    expected = [e.id for user in (14, 21) for e in loaded.recommend(user, k=3, exclude=[1001])]
    assert found["item"].to_list() == expected
    histories = [[1003, 1004], (7,), [1010, 1003, 1010]]
    allowed = list(range(1000, 1050))
    found = loaded.recommend(items=histories, k=2, only=allowed)
    assert found["user"].to_list() == [0, 0, 2, 2]
    assert "1 of 3 persons have no known item, skipped" in caplog.text
    expected = [
        e.id for n in (0, 2) for e in loaded.recommend(items=histories[n], k=2, only=allowed)
    ]
    assert found["item"].to_list() == expected


def test_baselines_stand_beside_an_evaluation(loaded: ElasticRecommender) -> None:
    found = loaded.evaluate(metrics=["recall@9", "coverage@9"])
    assert list(found.baselines) == ["itemknn", "popularity"]
    assert all(each.n_users == found.n_users for each in found.baselines.values())
    lines = repr(found).splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["model", "itemknn", "popularity"]
    assert f"recall@9 {found.metrics['recall@9']:.4f}" in lines[0]


def test_loaded_it_keeps_its_settings(fitted: ElasticRecommender, tiny_model, tmp_path) -> None:
    fitted.save(tmp_path / "MODEL")
    again = ElasticRecommender.load(tmp_path / "MODEL", device="cpu")
    assert again.get_params() == fitted.get_params()
    assert again.config == fitted.config
    of_command = ElasticRecommender.load(tiny_model.root)
    assert of_command.preset == "demo"
    assert of_command.settings["n_blocks"] == 4
    assert of_command.config.compression.stages == 2  # not of the training, but kept


def test_callbacks_are_told_numbers(two_tastes) -> None:
    told = []
    made = quick(epochs=4, evaluate_every=2).fit(
        two_tastes, callbacks=[lambda *numbers: told.append(numbers)]
    )
    validations = [(step, values) for stage, step, values in told if stage == "validation"]
    assert [step for step, _ in validations] == [2, 4]
    assert set(validations[0][1]) == {"loss", "recall@50"}
    measured = {step: values for stage, step, values in told if stage == "measure"}
    assert measured[made.model.curve["points"][-1]["bytes"]]["recall@50"] > 0


def test_before_fit_everything_is_refused(tmp_path) -> None:
    for ask in ("evaluate", "recommend"):
        with pytest.raises(InputError, match="is not fitted, expected fit"):
            getattr(ElasticRecommender(), ask)()
    for ask in ("save", "load"):
        with pytest.raises(InputError, match=r"is not fitted|is no model"):
            getattr(ElasticRecommender(), ask)(tmp_path / "MODEL")
    with pytest.raises(InputError, match="is not fitted"):
        ElasticRecommender().customize("5MB", tmp_path / "w.elastic")


def test_until_it_trains_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from elasticrec import ElasticRecommender; ElasticRecommender(epochs=3)\n"
        "print(*{'torch', 'scipy', 'polars', 'pandas'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "\n"


def test_numbers_of_numpy_and_lists_are_settings() -> None:
    made = ElasticRecommender(
        seed=np.int64(3), epochs=np.int32(2), temperature=np.float64(0.2), exponents=[0.0, 0.1]
    )
    same = ElasticRecommender(seed=3, epochs=2, temperature=0.2, exponents=(0.0, 0.1))
    assert made.config == same.config
    assert type(made.config.train.epochs) is int


def test_histories_of_any_kind_get_lists(fitted: ElasticRecommender) -> None:
    expected = fitted.recommend(items=[[0, 1], [2, 3]], k=2).rows()
    for many in (
        np.array([[0, 1], [2, 3]]),
        [{0, 1}, np.array([2, 3])],
        [pl.Series([0, 1]), (2, 3)],
    ):
        assert fitted.recommend(items=many, k=2).rows() == expected


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(InputError, match="unknown setting 'epoch', expected one of base, n_blocks"):
        ElasticRecommender(epoch=3)
    with pytest.raises(InputError, match="no preset 'best'; expected one of default"):
        ElasticRecommender("best")
    with pytest.raises(InputError, match="n_blocks is 0, expected"):
        ElasticRecommender(n_blocks=0)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r, _: ElasticRecommender(3), "no preset 3"),
        (lambda r, _: ElasticRecommender(seed="one"), "seed is 'one', expected a whole number"),
        (lambda r, _: ElasticRecommender(seed=-1), "seed is -1"),
        (lambda r, _: ElasticRecommender(seed=2**63), "seed is 9223372036854775808, expected"),
        (lambda r, _: ElasticRecommender(epochs="many"), "epochs is 'many', expected"),
        (lambda r, _: ElasticRecommender(epochs=2.5), "epochs is 2.5, expected"),
        (lambda r, _: ElasticRecommender(temperature=float("nan")), "temperature is nan"),
        (lambda r, _: r.recommend(), "expected a user or a list of items, and not both"),
        (lambda r, _: r.recommend(7, items=[1000]), "and not both"),
        (lambda r, _: r.recommend(11), "no user 11 in the data; ids look like 0, 7, 14"),
        (lambda r, _: r.recommend([7]), r"no user \[7\] in the data"),
        (lambda r, _: r.recommend(users=[11]), "none of 1 users is known; ids look like 0, 7, 14"),
        (lambda r, _: r.recommend(users="14"), "users: '14', expected a list of ids"),
        (lambda r, _: r.recommend(users=[7], items=[[1000]]), "users or items, and not both"),
        (lambda r, _: r.recommend(7, users=[7]), "user 7 beside users or histories"),
        (lambda r, _: r.recommend(items=[[1000], 1001]), "items given: 1001, expected a list"),
        (lambda r, _: ElasticRecommender(betas=0.9), "betas is 0.9, expected 2 numbers"),
        (lambda r, _: ElasticRecommender(device="tpu"), "device is 'tpu', expected auto"),
        (lambda r, p: r.customize(1.5e6, p / "w"), "a budget of 1500000.0, expected a text"),
        (lambda r, p: r.customize("5KB", 7), "path is 7, expected a path"),
        (lambda r, p: r.save(7), "folder is 7, expected a path"),
        (lambda r, p: r.fit("goodbooks", titles=7), "titles is 7, expected a path or a frame"),
        (lambda r, p: r.fit("goodbooks", where=7), "where is 7, expected a text"),
        (lambda r, p: r.fit("goodbooks", weight=[7]), r"weight is \[7\], expected a text"),
        (lambda r, p: r.fit("goodbooks", min_rating="4"), "min_rating is '4', expected a number"),
        (lambda r, p: r.fit("goodbooks", callbacks=print), "callbacks: <built-in function print>"),
        (lambda r, p: r.save(pl.DataFrame({"a": [1]})), "folder is .*, expected a path"),
        (
            lambda r, p: r.fit("goodbooks", min_interactions="5"),
            "min_interactions is '5', expected a whole",
        ),
        (lambda r, p: r.fit("goodbooks", user=5), "user is 5, expected a text"),
        (lambda r, p: r.fit("goodbooks", callbacks=[5]), r"callbacks: \[5\], expected a list"),
        (lambda r, _: r.recommend(items="1000"), "items given: '1000', expected a list of ids"),
        (lambda r, _: r.recommend(items=1000), "items given: 1000, expected a list of ids"),
        (lambda r, _: r.recommend(items={1: 2}), "items given: {1: 2}, expected a list of ids"),
        (lambda r, _: r.similar([3]), r"item is \[3\], expected one id"),
        (lambda r, _: r.recommend(items=[]), "none of the items given is known"),
        (lambda r, _: r.recommend(7, exclude="1000"), "items excluded: '1000', expected"),
        (lambda r, _: r.recommend(7, only=5), "items allowed: 5, expected a list of ids"),
        (lambda r, _: r.recommend(7, k="ten"), "k is 'ten', expected a whole number"),
        (lambda r, _: r.recommend(7, diversity=2), "diversity is 2, expected a number from 0 to 1"),
        (lambda r, _: r.recommend(7, diversity="x"), "diversity is 'x', expected a number"),
        (lambda r, _: r.recommend(7, k=0), "k is 0, expected a whole number of at least 1"),
        (lambda r, _: r.similar(5), "none of the items given is known"),
        (lambda r, _: r.evaluate("train"), "on part 'train'; expected test or validation"),
        (
            lambda r, _: r.evaluate(metrics="recall@20"),
            "metrics: 'recall@20', expected",
        ),
        (lambda r, _: r.evaluate(metrics=["auc"]), "unknown metric 'auc'"),
        (lambda r, _: r.evaluate(budget=2.5), "a budget of 2.5, expected a text such as '5MB'"),
        (lambda r, p: r.customize(None, p / "w"), "a budget of None, expected a text"),
        (
            lambda r, p: r.customize("5KB", p / "w", ids="i8"),
            "ids of kind 'i8', expected u32",
        ),
        (lambda r, p: r.customize("5KB", p / "no" / "w"), "there is no folder"),
        (lambda r, p: ElasticRecommender.load(p), "is no model, expected a folder"),
        (lambda r, p: quick().fit([(1, 2)]), "is of type list, expected a path, Interactions"),
        (lambda r, p: quick().fit(p / "none.csv"), "none.csv: no such file"),
    ],
)
def test_what_is_of_a_wrong_type_is_refused_in_one_line(loaded, tmp_path, ask, message) -> None:
    with pytest.raises(InputError, match=message) as error:
        ask(loaded, tmp_path)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def pairs_of(model: Model) -> list[tuple[str, int]]:
    """The pairs of original ids in all parts of a model's split."""
    split = model.split
    return sorted(
        (str(split.user_ids.of_number(user)), split.item_ids.of_number(item))
        for part in (split.train, split.validation, split.test)
        for user, item in zip(part.users, part.items, strict=True)
    )


def as_interactions(visits: list[tuple[str, int]]) -> Interactions:
    users, items = (Ids.of(sorted(set(column))) for column in zip(*visits, strict=True))
    pairs = Pairs.from_arrays(
        users.numbers([u for u, _ in visits]),
        items.numbers([i for _, i in visits]),
        n_users=len(users),
        n_items=len(items),
    )
    return Interactions(pairs, users, items)


def test_every_kind_of_data_becomes_a_model(visits, tmp_path: Path) -> None:
    import pandas
    import polars

    who, what = zip(*visits, strict=True)
    table = tmp_path / "visits.csv"
    table.write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in visits))
    columns = {"user": who, "item": what}
    for data in (table, pandas.DataFrame(columns), polars.DataFrame(columns)):
        fitted = quick(epochs=1).fit(data, min_interactions=1)
        assert pairs_of(fitted.model) == sorted(visits)
    matrix = as_interactions(visits).pairs.csr()  # row and column numbers are its ids
    fitted = quick(epochs=1).fit(matrix, min_interactions=1)
    assert len(pairs_of(fitted.model)) == len(visits)


def test_columns_of_a_frame_may_be_named(visits) -> None:
    import polars

    who, what = zip(*visits, strict=True)
    frame = polars.DataFrame({"reader": who, "volume": what})
    with pytest.raises(InputError, match="user column"):
        quick().fit(frame)
    fitted = quick(epochs=1).fit(frame, user="reader", item="volume", min_interactions=1)
    assert pairs_of(fitted.model) == sorted(visits)


def test_rows_are_chosen_and_weighed_as_on_the_command_line(visits) -> None:
    import polars

    who, what = zip(*visits, strict=True)
    stars = [1 + i % 5 for i in range(len(visits))]
    frame = polars.DataFrame({"user": who, "item": what, "stars": stars})
    liked = [pair for pair, n in zip(visits, stars, strict=True) if n >= 3]
    asked = {"min_interactions": 1}
    for chosen in ({"min_rating": 3}, {"where": "stars >= 3"}, {"weight": "stars >= 3"}):
        assert pairs_of(quick(epochs=1).fit(frame, **asked, **chosen).model) == sorted(liked)
    weighed = quick(epochs=1).fit(frame, **asked, weight="stars").model
    assert pairs_of(weighed) == sorted(visits)
    assert set(weighed.split.train.weights.tolist()) == {1, 2, 3, 4, 5}


def test_rare_users_are_left_out_by_default(visits) -> None:
    with pytest.raises(InputError, match="nothing is left after filtering"):
        quick().fit(as_interactions(visits), min_interactions=10)
