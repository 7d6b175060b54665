"""Table 2: a run on a made world, what is left of it afterwards, and what the lines say."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from elasticrec.blocks.folder import ModelFolder
from elasticrec.data.synthetic import planted_world
from experiments import lines, methods, paired, table2, table2_session, table2_tables
from experiments.comparison import Measurements, row_of
from experiments.table2_session import Session, measure_all
from experiments.tasks import CHOSEN_BY, plan_of


@pytest.fixture
def session(tmp_path):
    world = planted_world(200, 400, 5_000, np.random.default_rng(0), n_clusters=6)
    world.save(tmp_path / "goodbooks.npz")
    results, kept = tmp_path / "results", tmp_path / "kept"
    return Session(
        tmp_path, tmp_path, table2.GOODBOOKS, results, kept,
        ("pmf", "itemcf"), (2, 5), 2, extent=table2.SMOKE,
    )  # fmt: skip


def test_the_smoke_run_measures_ours_and_rivals_and_records_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "RESULTS", tmp_path)
    shown = table2.run_smoke(("ours", "rule-printed", "rule-aligned", "pmf", "itemcf"))
    for row in ("ours", "ours, history alone", "rule-printed", "rule-aligned", "itemcf"):
        assert f"| {row} |" in shown
    assert "| pmf, our loss |" in shown
    assert "| pmf, the paper's loss |" in shown
    assert list(tmp_path.iterdir()) == []


def test_a_run_tunes_then_tests_and_skips_what_is_there(session):
    first = measure_all(session, ["goodbooks"], 1, None, False)
    assert not [outcome for outcome in first if outcome.failed]
    tuned = lines.read_from(session.results, "table2-tuning")
    assert {line["part"] for line in tuned} == {"validation"}
    assert {line["nominal_mb"] for line in tuned} == {5}
    found = lines.read_from(session.results, "table2")
    assert {line["seed"] for line in found} == {0, 1}
    best = max(
        (line for line in tuned if line["method"] == "pmf" and line["loss"] == "ours"),
        key=lambda line: line["metrics"]["recall@50"],
    )
    chosen = [line for line in found if line["method"] == "pmf" and line["loss"] == "ours"]
    assert {str(line["config"]["settings"]) for line in chosen} == {str(best["config"]["settings"])}
    for line in found:
        assert line["file_bytes"] <= line["budget_mb"] * 1e6
    assert measure_all(session, ["goodbooks"], 1, None, False) == []


def test_what_lost_its_values_per_user_is_tested_again_where_they_are_asked_for(session):
    session = replace(session, chosen=("itemcf",))
    measure_all(session, ["goodbooks"], 1, None, False)
    asking = replace(session, values=True)
    assert measure_all(asking, ["goodbooks"], 1, None, False) == []
    (path, *_) = sorted((session.kept / "users").rglob("*-5-*.npz"))
    path.unlink()
    assert measure_all(session, ["goodbooks"], 1, None, False) == []
    (outcome,) = measure_all(asking, ["goodbooks"], 1, None, False)
    assert (outcome.task.part, outcome.task.sizes) == ("test", (5,))
    assert path.exists()


def test_tiny_files_of_ours_are_searched_on_their_own(session, monkeypatch, capsys):
    monkeypatch.setattr(methods, "TINY", (0.25, 2))
    monkeypatch.setattr(methods, "SMALL", ())
    found = {}
    for sizes in ((), (5,)):
        some = replace(session, chosen=("ours",), sizes=sizes, seeds=1)
        (task,) = some.test_tasks("goodbooks", "ours")
        found[sizes] = {each.nominal_mb: each.found.metrics for each in methods.measured(task)}
    assert list(found[()]) == [5, 10, 25, 2]
    assert found[()][5] == found[(5,)][5]
    assert "at 0.25 MB: a budget of 1.092 KB is too small" in capsys.readouterr().out


def test_a_method_that_fails_does_not_stop_the_others(session, monkeypatch, capsys):
    from experiments.baselines import BASELINES

    class Broken:
        name, losses, sizes = "itemcf", ("none",), "any"

        def trials(self, loss):
            return [{}]

        def fit(self, *args, **kwargs):
            raise RuntimeError("it broke")

    monkeypatch.setattr(methods, "_baselines", lambda: BASELINES | {"itemcf": Broken()})
    ended = measure_all(session, ["goodbooks"], 1, None, False)
    assert {outcome.task.method for outcome in ended if outcome.failed} == {"itemcf"}
    assert "RuntimeError: it broke" in capsys.readouterr().out
    assert {line["method"] for line in lines.read_from(session.results, "table2")} == {"pmf"}


def _append(results, method, mb, seed, value, *, seconds=1.0, once=0.0, config=None):
    person = "vector+history" if method == "ours" else "vector"
    config = ({"chosen_by": CHOSEN_BY} if method == "ours" else {}) | (config or {"a": 1})
    return lines.append_to(
        results, "table2",
        {"dataset": "gowalla", "split": "published", "method": method, "person": person,
         "budget_mb": mb / 2, "nominal_mb": mb, "seed": seed, "seconds": seconds,
         "once_seconds": once, "config": config, "loss": "ours", "part": "test",
         "metrics": {"recall@50": value}},
    )  # fmt: skip


def test_leads_are_over_the_best_rival_and_have_a_p_value(tmp_path):
    rng, users = np.random.default_rng(0), tmp_path / "users"
    base = rng.random(500)
    for seed in (0, 1):
        for method, mb, value in (("ours", 5, 0.3), ("pmf", 5, 0.2), ("lightrec", 5, 0.25)):
            line = _append(tmp_path, method, mb, seed, value)
            noise = rng.normal(0, 0.1, 500)
            paired.keep(users, line, {"recall@50": base + value + noise})
    assert paired.compare_all(users, tmp_path, 2) == 2
    assert paired.compare_all(users, tmp_path, 2) == 0  # they are there
    (lead,) = Measurements(tmp_path).leads("gowalla", dense=True)
    assert lead.rival.method == "lightrec"
    assert lead.better == pytest.approx(0.2)
    assert lead.p < 1e-6
    assert Measurements(tmp_path).leads("gowalla", dense=False) == []


def test_every_column_has_a_test_of_its_own(tmp_path):
    users = tmp_path / "users"
    for method, more in (("ours", 0.1), ("pmf", 0.0)):
        line = _append(tmp_path, method, 5, 0, 0.3 + more)
        recall, ndcg = np.array([0.2, 0.3, 0.4]), np.array([0.5, 0.1, 0.3])
        values = {"recall@50": recall + more * np.array([1, 2, 3]), "ndcg@100": ndcg - more}
        paired.keep(users, line, values | {"recall@20": recall})
    assert paired.compare_all(users, tmp_path, 3) == 2
    assert paired.compare_all(users, tmp_path, 3) == 0
    found = {x["metric"]: x["metrics"] for x in lines.read_from(tmp_path, "table2-tests")}
    assert {name: each["difference"] for name, each in found.items()} == {
        "recall@50": pytest.approx(0.2), "ndcg@100": pytest.approx(-0.1)
    }  # fmt: skip
    (lead,) = Measurements(tmp_path).leads("gowalla", dense=True)
    assert lead.p == found["recall@50"]["p"] != found["ndcg@100"]["p"]


def test_users_are_averaged_over_seeds_before_the_test(tmp_path):
    users = tmp_path / "users"
    values = {"ours": ([0.0, 1.0, 0.5], [1.0, 0.0, 0.5]), "pmf": ([0.5, 0.5, 0.0], [0.5, 0.5, 0.0])}
    for method, by_seed in values.items():
        for seed, each in enumerate(by_seed):
            line = _append(tmp_path, method, 5, seed, float(np.mean(each)))
            paired.keep(users, line, {"recall@50": np.array(each)})
    paired.compare_all(users, tmp_path, 2)
    (test,) = lines.read_from(tmp_path, "table2-tests")
    assert test["metrics"]["difference"] == pytest.approx(1 / 6)
    assert test["metrics"]["t"] == pytest.approx(1.0)  # differences 0, 0, 1/2


def test_only_the_newest_settings_of_a_row_count(tmp_path):
    _append(tmp_path, "lightrec", 5, 0, 0.9, config={"a": "old"})
    _append(tmp_path, "lightrec", 5, 0, 0.2, config={"a": "new"})
    found = Measurements(tmp_path)
    (row,) = found.rows("gowalla")
    assert found.value("gowalla", row, 5) == 0.2


def test_seconds_count_one_training_once_and_retraining_each_time(tmp_path):
    for mb in (5, 10, 25):
        _append(tmp_path, "ours", mb, 0, 0.3, seconds=2.0, once=60.0)
        _append(tmp_path, "lightrec", mb, 0, 0.2, seconds=40.0)
    found = Measurements(tmp_path)
    taken = {row.method: found.seconds("gowalla", row) for row in found.rows("gowalla")}
    assert taken == {"ours": (60.0, 2.0, 66.0), "lightrec": (0.0, 40.0, 120.0)}
    shown = table2_tables.seconds_table(found, "gowalla")
    assert "| ours | 60.0 | 2.0 | 66.0 | – | " in shown
    assert "| lightrec | 0.0 | 40.0 | 120.0 | 2 sizes | " in shown  # 64 s against 80


def test_seconds_of_other_machines_are_shown_and_not_compared(tmp_path, monkeypatch):
    from experiments import claims

    for machine, method, taken in (
        ("one", "ours", 2.0),
        ("one", "pmf", 9.0),
        ("two", "lightrec", 9),
    ):
        monkeypatch.setenv("ELASTICREC_MACHINE", machine)
        for mb in (5, 10, 25):
            _append(tmp_path, method, mb, 0, 0.3, seconds=taken)
    found = Measurements(tmp_path)
    shown = table2_tables.seconds_table(found, "gowalla")
    assert "| pmf, our loss | 0.0 | 9.0 | 27.0 | 1 size | one |" in shown
    assert "| lightrec | 0.0 | 9.0 | 27.0 | – | two |" in shown
    ((place, held),) = claims._cheaper(found)
    assert "pmf" in place
    assert held


def test_a_rivals_lines_do_not_depend_on_what_is_spent_on_others(session):
    more = replace(session, extent=replace(session.extent, rule_epochs=7, rule_samples=9, steps=3))
    for method, same in (("pmf", True), ("itemcf", True), ("rule-printed", False)):
        one, other = (
            each.tuning_tasks("goodbooks", method)[0].config() for each in (session, more)
        )
        assert (one == other) == same
    shorter = replace(session, extent=replace(session.extent, epochs=2))
    assert shorter.tuning_tasks("goodbooks", "pmf")[0].config()["epochs"] == 2


def test_seconds_are_those_of_the_machine_that_measured_most(tmp_path, monkeypatch):
    for seed, machine, taken in ((0, "a slow one", 900.0), (1, "one", 9.0), (2, "one", 11.0)):
        monkeypatch.setenv("ELASTICREC_MACHINE", machine)
        for mb in (5, 10, 25):
            _append(tmp_path, "ours", mb, seed, 0.3, seconds=1.0, once=taken)
    found = Measurements(tmp_path)
    (row,) = found.rows("gowalla")
    assert found.machine("gowalla", row) == "one"
    assert found.seconds("gowalla", row) == (10.0, 1.0, 13.0)


@pytest.mark.slow
def test_the_quick_run_on_goodbooks(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    monkeypatch.setattr(lines, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(table2, "KEPT", tmp_path / "kept")
    asked = ["run", "--quick", "--data", str(tmp_path), "--methods", "ours,itemcf"]
    done = CliRunner().invoke(table2.app, asked)
    assert done.exit_code == 0, done.output
    found = Measurements(tmp_path / "results")
    assert {row.method for row in found.rows("goodbooks")} == {"ours", "itemcf"}


def test_a_kept_table_serves_ours_only_if_it_was_trained_with_these_settings(session, tmp_path):
    from elasticrec.errors import InputError
    from elasticrec.training.loop import train
    from experiments import kept

    settled = replace(session, tables=tmp_path / "tables", chosen=("ours",))
    task = settled.test_tasks("goodbooks", "ours")[0]
    split, plan = methods.load_split(task.data), plan_of(task).seeded(task.seed)
    assert methods._kept(task, split, plan) is None  # nothing was kept yet
    done = train(split, plan.preset.train, device="cpu")
    name = f"goodbooks-{task.seed}"
    kept.keep(task.tables, name, done.table, plan.preset.train, done.progress)
    found = methods._kept(task, split, plan)
    np.testing.assert_allclose(found.table.items, done.table.items, atol=1e-3)
    assert found.progress == done.progress
    other = replace(task, settings=task.settings | {"temperature": 0.3})
    with pytest.raises(InputError, match="other settings"):
        methods._kept(other, split, plan_of(other).seeded(task.seed))


def test_users_are_compared_by_a_command_of_its_own(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    monkeypatch.setattr(lines, "RESULTS", tmp_path)
    monkeypatch.setattr(table2, "KEPT", tmp_path)
    for method, value in (("ours", 0.3), ("pmf", 0.2)):
        line = _append(tmp_path, method, 5, 0, value)
        values = np.array([value, value + 0.1, value])
        paired.keep(tmp_path / "users", line, {"recall@50": values})
    for seeds, made in ((0, 0), (1, 1), (3, 0)):
        done = CliRunner().invoke(table2.app, ["compare", "--seeds", str(seeds)])
        assert done.output == f"{made} comparisons of up to {seeds} seeds\n"


def test_one_seed_is_all_of_a_method_that_draws_nothing(session, tmp_path, monkeypatch):
    monkeypatch.setattr(Session, "best", lambda *_: iter([("ours", {})]))
    for method, seeds in (("itemcf", [0]), ("faiss-pq", [0, 1])):
        assert [task.seed for task in session.test_tasks("goodbooks", method)] == seeds
    users = tmp_path / "users"
    for method, seeds in (("ours", 2), ("itemcf", 1), ("pmf", 1)):
        for seed in range(seeds):
            values = {"recall@50": np.array([0.1, 0.4, 0.2])}
            paired.keep(users, _append(tmp_path, method, 5, seed, 0.3), values)
    assert paired.compare_all(users, tmp_path, 2) == 2
    found = {x["method"]: x["config"]["seeds"] for x in lines.read_from(tmp_path, "table2-tests")}
    assert found == {"itemcf": 2, "pmf": 1}  # what both have


def test_a_comparison_is_made_again_once_both_have_more_seeds(tmp_path):
    users = tmp_path / "users"
    values = {
        "ours": ([0.3, 0.6, 0.4, 0.4], [0.5, 0.3, 0.6, 0.5]),
        "pmf": ([0.3, 0.4, 0.4, 0.5],) * 2,
    }
    for seed in (1, 0):
        for method, by_seed in values.items():
            line = _append(tmp_path, method, 5, seed, float(np.mean(by_seed[seed])))
            paired.keep(users, line, {"recall@50": np.array(by_seed[seed])})
        assert paired.compare_all(users, tmp_path, 3) == 1
    assert paired.compare_all(users, tmp_path, 3) == 0
    one, both = (x["metrics"]["p"] for x in lines.read_from(tmp_path, "table2-tests"))
    assert one != both
    path = tmp_path / "table2-tests.jsonl"
    for order in (1, -1):  # whichever was made last, the test of most seeds counts
        path.write_text("\n".join(path.read_text().splitlines()[::order]) + "\n")
        (lead,) = Measurements(tmp_path).leads("gowalla", dense=True)
        assert lead.p == both
    values = {"recall@50": np.array([0.4, 0.5, 0.4, 0.4])}
    paired.keep(users, _append(tmp_path, "ours", 5, 0, 0.4), values)
    assert paired.compare_all(users, tmp_path, 3) == 1  # measured anew


def test_ours_may_choose_on_another_split_and_its_lines_say_so(session, tmp_path):
    from elasticrec.coding.mixing import Mixing
    from elasticrec.data.splitting import Split

    split = Split.load(tmp_path / "goodbooks.npz")
    (tmp_path / "last").mkdir()
    later = replace(split, validation=split.test, test=split.validation)  # another one, disjoint
    later.save(tmp_path / "last" / "goodbooks.npz")
    usual = session.test_tasks("goodbooks", "ours")[0]
    named = replace(session, metric="recall@50").test_tasks("goodbooks", "ours")[0]
    assert named.config() == usual.config()  # the preset's own
    task = replace(session, choose=tmp_path / "last").test_tasks("goodbooks", "ours")[0]
    assert task.data == usual.data
    assert task.config() == usual.config() | {"chosen_on": "last"}
    more = {"chooser": {"temperature": 0.2}, "even": 0.125, "measured": True}
    task = replace(task, settings=task.settings | more)
    measured = methods.measured(task)
    found = [next(measured)]
    (place,) = (task.kept / "models").iterdir()
    weights = [Mixing.load(place / each / "mixing.json").weights for each in ("chosen", "model")]
    np.testing.assert_array_equal(*weights)
    abouts = [json.loads((place / each / "model.json").read_text()) for each in ("chosen", "model")]
    temperatures = [each["about"]["train"]["temperature"] for each in abouts]
    assert temperatures == [0.2, task.settings["temperature"]]
    assert abouts[0]["about"]["storing"]["even"] == 0.125  # where votes are weighed
    assert "estimator" not in abouts[1]["parts"]
    assert plan_of(task).measured
    found += list(measured)
    assert {each.nominal_mb for each in found} == {2, 5}
    for each in found:
        assert each.file_bytes <= each.budget.n_bytes
        assert each.found.metrics["recall@50"] > 0
    assert not place.exists()  # all is done


def test_ours_may_choose_by_another_metric_and_has_a_row_of_its_own(session, tmp_path):
    usual = session.test_tasks("goodbooks", "ours")[0]
    named = replace(session, metric="recall@50").test_tasks("goodbooks", "ours")[0]
    assert named.config() == usual.config()  # the preset's own
    task = replace(session, metric="ndcg@50").test_tasks("goodbooks", "ours")[0]
    assert task.config() == usual.config() | {"chosen_by": "ndcg@50"}
    assert plan_of(task).preset.samples.metric == "ndcg@50"
    measured = next(methods.measured(task))
    (place,) = (task.kept / "models").iterdir()
    about = ModelFolder.open(place / "model").about
    assert about["storing"]["metric"] == "ndcg@50"  # weights as well as compositions
    lines.append_to(tmp_path / "rows", "table2", table2_session._line(task, measured))
    found = Measurements(tmp_path / "rows")
    assert [str(row) for row in found.rows("goodbooks")] == ["ours, by NDCG@50"]
    assert found.ours("goodbooks") is None  # the main row is another


def test_the_main_row_is_chosen_by_what_the_data_sets_rehearsal_said(session, tmp_path):
    session = replace(session, metric="")
    split = session.data / "goodbooks.npz"
    shutil.copy(split, split.with_name("yelp2018.npz"))
    text = session.config.read_text().replace('"goodbooks"', '"yelp2018"')
    config = tmp_path / "yelp2018.toml"
    config.write_text(text)
    asked = session.test_tasks("goodbooks", "ours")
    asked += replace(session, config=config).test_tasks("yelp2018", "ours")
    assert [task.metric for task in asked] == ["both@50"] * 2 + ["both@100"] * 2  # two seeds each
    for task in asked:
        for metric, by in ((task.metric, ""), ("recall@20", "recall@20")):
            line = {"dataset": task.dataset, "method": "ours", "person": "history", "loss": "ours"}
            assert row_of(line | {"config": replace(task, metric=metric).config()}).by == by
