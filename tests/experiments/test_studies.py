"""The studies: their smoke runs, and what lines say."""

import json
from dataclasses import replace

import numpy as np
import pytest

from experiments import (
    ablation,
    claims,
    dropping,
    estimator,
    figures,
    grid,
    groups,
    hyperparameters,
    lines,
    study,
    study_command,
)
from experiments.provenance import commit as commits


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    """Nothing here touches the committed results or figures."""
    monkeypatch.setattr(lines, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(figures, "FOLDER", tmp_path / "figures")
    return tmp_path / "results"


@pytest.mark.parametrize(
    ("experiment", "rows"),
    [
        (ablation, ("rule-printed | RULE-C", "rule-printed | DNNEst", "ours | no neighbours")),
        (groups, ("rule-printed | RULE-P", "rule-printed | RULE-C")),
        (estimator, ("goodbooks | rule-printed", "goodbooks | ours")),
        (hyperparameters, ("goodbooks | rule-printed",)),
        (grid, ("goodbooks | L | 3 | ",)),
        (dropping, ("goodbooks | rule-aligned | λ = 1e-6",)),
    ],
    ids=lambda each: getattr(each, "NAME", ""),
)
def test_the_smoke_run_measures_and_records_nothing(experiment, rows, results):
    shown = experiment.run_smoke()
    for row in rows:
        assert f"| {row}" in shown
    assert not results.exists()


def test_variants_alike_but_for_the_search_share_a_task_and_none_is_done_twice(tmp_path):
    session = study_command.smoke_session(tmp_path)
    chosen = {"rule-printed": ablation.PAPERS}
    todo = study.tasks("ablation", session, "goodbooks", chosen, (10,))
    names = [{variant.name for variant in task.variants} for task in todo]
    assert {ablation.DEFAULT, "DNNEst", "a third mutation"} in names
    assert sum(map(len, names)) == len(ablation.PAPERS)
    trainings = [dict(task.variants[0].train) for task in todo]
    assert trainings[-2:] == [{}, {}]  # RULE-P and RULE-C, whose training others began
    default = study.Variant(ablation.DEFAULT)
    (alone,) = study.tasks("ablation", session, "goodbooks", {"rule-printed": [default]}, (10,))
    ablation.work(alone)
    assert study.tasks("ablation", session, "goodbooks", {"rule-printed": [default]}, (10,)) == []


def test_a_training_that_is_kept_is_found_again_by_another_study(tmp_path, monkeypatch):
    session = replace(study_command.smoke_session(tmp_path), kept=tmp_path / "kept")
    chosen = {"rule-printed": [study.Variant("RULE-P", space={"kind": "popularity"})]}
    (first,) = study.tasks("groups", session, "goodbooks", chosen, (10,))
    groups.work(first)
    (second,) = study.tasks("ablation", session, "goodbooks", chosen, (10,))
    monkeypatch.setattr("elasticrec.training.loop.train", None)  # to be called no more
    ablation.work(second)
    (one,) = lines.read_from(session.results, "groups")
    (other,) = lines.read_from(session.results, "ablation")
    assert one["metrics"] == other["metrics"]


def test_a_study_takes_a_table_that_was_trained_with_its_settings(tmp_path, monkeypatch):
    from experiments import kept, methods, pipeline
    from experiments.tasks import plan_of

    session = replace(study_command.smoke_session(tmp_path), tables=tmp_path / "tables")
    (task,) = study.tasks("ablation", session, "goodbooks", {"ours": ablation.OURS[:1]}, (10,))
    split, plan = methods.load_split(task.start.data), plan_of(task.start).seeded(0)
    done = pipeline.trained(split, plan, "cpu")
    kept.keep(tmp_path / "tables", "goodbooks-0", done.table, plan.preset.train, done.progress)
    monkeypatch.setattr("experiments.study.trained", lambda *_: "trained anew")
    found = study.trained_once(split, plan, task.start)
    np.testing.assert_allclose(found.table.items, done.table.items, atol=1e-3)
    other = study.Variant("λ", train={"diversity": 1e-2}).plan(plan)
    assert study.trained_once(split, other, task.start) == "trained anew"


def test_variants_are_chosen_by_name_and_a_wrong_one_is_refused(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from experiments.tasks import plan_of

    begun = []
    monkeypatch.setattr(study_command, "run_all", lambda todo, *_, **__: begun.extend(todo))
    study_command.smoke_session(tmp_path)
    words = ["run", "--dataset", "goodbooks", "--data", str(tmp_path), "--seeds", "1"]
    words += ["--starts", "rule-printed", "--variants"]
    assert CliRunner().invoke(hyperparameters.app, [*words, "G=5,N=4"]).exit_code == 0
    assert [v.name for task in begun for v in task.variants] == ["G=5", "N=4"]
    first, config = begun[0], begun[0].variants[0].plan(plan_of(begun[0].start)).config()
    about = {"dataset": "goodbooks", "split": "temporal", "method": "rule-printed", "seed": 0}
    measured = {"metrics": {}, "seconds": 1.0, "config": config, "variant": first.variants[0].name}
    lines.append_to(first.start.results, "hyperparameters", about | measured)
    begun.clear()
    for more, left in (([], ["N=4"]), (["--again"], ["G=5", "N=4"])):
        CliRunner().invoke(hyperparameters.app, [*words, "G=5,N=4", *more])
        assert [v.name for task in begun for v in task.variants] == left
        begun.clear()
    wrong = CliRunner().invoke(hyperparameters.app, [*words, "G=6"])
    assert wrong.exit_code == 2
    assert "no variant among 'G=6'" in wrong.stderr


def test_a_star_marks_a_variant_of_another_commit_or_machine(tmp_path, monkeypatch):
    about = {"dataset": "yelp2018", "split": "published", "method": "ours", "seed": 0}
    origins = {
        ablation.DEFAULT: ("a", "GPU"),
        "LowReg": ("a", "GPU"),
        "HighReg": ("b", "GPU"),
        "no depths": ("a", "CPU"),
    }
    for variant, (commit, machine) in origins.items():
        monkeypatch.setenv("ELASTICREC_COMMIT", commit)
        commits.cache_clear()
        measured = {"metrics": {"ndcg@50": 0.1, "recall@50": 0.2}, "seconds": 1.0}
        measured |= {"variant": variant, "nominal_mb": 5, "config": {"is": variant}}
        lines.append_to(tmp_path, "ablation", about | measured | {"machine": machine})
    commits.cache_clear()
    table = ablation.table(tmp_path)
    for name in ("LowReg", "HighReg*", "no depths*"):
        assert f"| {name} | " in table


def test_of_a_variant_the_newest_settings_count(tmp_path):
    ways = {way: {"recall@50": 0.1} for way in dropping.WAYS}
    about = {"dataset": "gowalla", "method": "rule-aligned", "metrics": {}, "seconds": 1.0}
    about |= {"variant": "λ = 0", "ways": ways, "shared": 0.5}
    for epochs, seed in ((20, 0), (20, 1), (60, 1), (60, 0)):
        measured = about | {"seed": seed, "epochs": epochs, "config": {"epochs": epochs}}
        lines.append_to(tmp_path, dropping.NAME, measured)
    assert [(x["seed"], x["epochs"]) for x in study.newest(tmp_path, dropping.NAME)] == [
        (1, 60),
        (0, 60),
    ]
    rows = dropping.table(tmp_path).splitlines()[2:]
    assert [row.split(" | ")[3:5] for row in rows] == [["0", "60"], ["1", "60"]]


def test_a_study_takes_the_settings_of_table2(tmp_path):
    session = study_command.smoke_session(tmp_path)
    first = study.settled(session, "goodbooks", "rule-printed")
    assert first == ("paper", session.trials("goodbooks", "rule-printed", "paper")[0])
    known = {"dataset": "goodbooks", "split": "temporal", "method": "rule-printed", "seed": 0}
    config = {"settings": {"l2": 0.5}}
    more = {"metrics": {}, "seconds": 1.0, "config": config, "loss": "paper"}
    lines.append_to(session.results, "table2", {**known, **more})
    assert study.settled(session, "goodbooks", "rule-printed") == ("paper", {"l2": 0.5})


def test_another_estimator_starts_from_the_draws_alone(tmp_path):
    from types import SimpleNamespace

    from elasticrec.rule.estimator.building import LEDGER
    from elasticrec.rule.estimator.draws import FOUND

    source = tmp_path / "source"
    source.mkdir()
    about = {"about": {"estimating_seconds": 1.0, "coding_seconds": 2.0}}
    (source / "model.json").write_text(json.dumps(about))
    (source / LEDGER).write_text(f'{{"format": 1}}\n{{"i": 7}}\n{{"i": {FOUND}}}\n')
    preset = SimpleNamespace(estimator="fm")
    ready = SimpleNamespace(
        folder=SimpleNamespace(root=source), plan=SimpleNamespace(preset=preset)
    )
    study._copy(ready, tmp_path / "same", estimator="fm")
    assert (tmp_path / "same" / LEDGER).read_text() == (source / LEDGER).read_text()
    study._copy(ready, tmp_path / "other", estimator="dnn")
    assert (tmp_path / "other" / LEDGER).read_text() == '{"format": 1}\n{"i": 7}\n'
    kept = json.loads((tmp_path / "other" / "model.json").read_text())
    assert kept == {"about": {"coding_seconds": 2.0}}


def test_ours_without_depths_keeps_blocks_whole_and_without_neighbours_none(planted):
    from elasticrec.training.table import BlockTable
    from experiments.plans import limited_menu

    rng = np.random.default_rng(0)
    users, items = (rng.normal(size=(n, 32)).astype(np.float32) for n in (300, 200))
    table = BlockTable(items.reshape(-1, 4, 8), users, "mf")
    whole, dense = limited_menu(table, "whole"), limited_menu(table, "dense")
    assert set(np.unique(whole.depths)) == {0, 8}
    assert whole.neighbours.max() == 16
    assert not dense.neighbours.any()
    assert len(np.unique(dense.depths)) > 2
    everything = limited_menu(table, "all")
    assert everything.n_rows > dense.n_rows


def _line(results, experiment, dataset, start, variant, mb, value, **more):
    fields = {
        "dataset": dataset, "split": "published", "method": start, "person": "vector",
        "budget_mb": mb, "nominal_mb": mb, "seed": 0, "seconds": 1.0, "variant": variant,
        "config": {"variant": variant}, "metrics": {"ndcg@50": value, "recall@50": 2 * value},
    }  # fmt: skip
    lines.append_to(results, experiment, fields | more)


def test_the_figures_are_drawn_and_stay_the_same(results, tmp_path):
    for mb in (5, 10, 25):
        for variant in ablation.PAPERS:
            _line(results, "ablation", "yelp2018", "rule-printed", variant.name, mb, 0.1)
    for variant in hyperparameters.variants():
        _line(results, "hyperparameters", "yelp2018", "rule-printed", variant.name, 10, 0.1)
    for n, variant in enumerate(estimator.variants()):
        more = {"rmse": 0.1 / (n + 1)}
        _line(results, "estimator", "yelp2018", "ours", variant.name, 10, 0.1 + n / 100, **more)
    kept = {"neighbours": [0] * 3, "blocks": 6, "group_sizes": [2] * 3}
    masks = [[32, 32, 32], [32, 32, 0], [32, 0, 0]]
    _line(results, "groups", "yelp2018", "ours", "RULE-P", 10, 0.1, depths=masks, **kept)
    more = {"points": [[[0, 0], [1, 1]]] * 3, "centres": [[0, 0], [1, 0], [5, 5]]}
    _line(results, "groups", "yelp2018", "ours", "RULE-C", 10, 0.1, depths=masks, **kept, **more)
    for experiment in (ablation, hyperparameters, estimator, groups):
        assert experiment.draw_figure()
        first = (tmp_path / "figures" / f"{experiment.NAME}.svg").read_bytes()
        assert experiment.draw_figure()
        assert (tmp_path / "figures" / f"{experiment.NAME}.svg").read_bytes() == first
        assert figures.link(experiment.NAME, "words").startswith("![words]")


def test_nothing_is_drawn_where_nothing_was_measured():
    for experiment in (ablation, hyperparameters, estimator, groups):
        assert not experiment.draw_figure()
        assert figures.link(experiment.NAME, "words") == ""
    assert {claim.verdict for claim in claims.ours()} == {"not measured yet"}


def test_claims_are_judged_place_by_place(results):
    for mb, dense in ((5, 0.09), (10, 0.11)):
        for name, value in (("as it is", 0.1), ("DNNEst", dense), ("RULE-P", 0.12)):
            _line(results, "ablation", "yelp2018", "rule-printed", name, mb, value)
    found = {claim.text: claim for claim in claims.papers()}
    fm = found["the FM estimator beats a dense network"]
    assert fm.verdict == "held in 1 of 2"
    assert "10 MB (DNNEst 0.1100, as it is 0.1000)" in fm.exceptions
    assert found["popular groups get more blocks"].verdict == "not measured yet"
    grouping = found["grouping by popularity or by clusters improves results in some cases"]
    assert grouping.verdict == "held (2 of 2)"


def test_the_best_number_of_groups_and_the_flat_end_of_blocks_are_told(results):
    values = {"G=5": 0.1, "G=10": 0.2, "G=15": 0.21, "G=20": 0.2, "G=50": 0.1}
    values |= {"N=4": 0.05, "N=8": 0.1, "N=12": 0.15, "N=20": 0.205}
    for name, value in values.items():
        _line(results, "hyperparameters", "yelp2018", "ours", name, 10, value)
    told = hyperparameters.claims()
    assert told["G"] == [("yelp2018", "ours", True)]
    assert told["N"] == [("yelp2018", "ours", True)]
    _line(results, "hyperparameters", "yelp2018", "ours", "G=50", 10, 0.3)
    _line(results, "hyperparameters", "yelp2018", "ours", "N=20", 10, 0.3)
    told = hyperparameters.claims()
    assert told["G"] == [("yelp2018", "ours", False)]
    assert told["N"] == [("yelp2018", "ours", False)]


def test_trends_of_groups_by_hand():
    falling = {"depths": [[32] * 3, [32, 32, 0], [32, 0, 0]], "neighbours": [0, 0, 0]}
    assert groups.popularity_trend(falling) == pytest.approx(1.0)
    rising = {"depths": falling["depths"][::-1], "neighbours": [0, 0, 0]}
    assert groups.popularity_trend(rising) == pytest.approx(-1.0)
    alike = {"depths": [[32, 0]] * 3, "neighbours": [0, 0, 0]}
    assert groups.popularity_trend(alike) == 0.0
    line = np.arange(6, dtype=float)
    near = {"centres": np.column_stack([line, line]).tolist(),
            "depths": [[32] * n + [0] * (6 - n) for n in range(1, 7)]}  # fmt: skip
    correlation, p = groups.nearness(near)
    assert correlation == pytest.approx(1.0)
    assert p < 0.02
    assert groups.nearness(near | {"depths": [[32, 0]] * 6}) == (0.0, 1.0)


def test_the_grid_has_the_intervals_of_the_appendix():
    assert len(list(grid.points("amazon-book"))) == 1 + sum(map(len, grid.INTERVALS.values())) - 8
    start = grid.printed("yelp2018")
    assert start == {"L": 2, "N": 16, "G": 20, "λ": 1e-4, "d0": 128, "P": 50, "C": 50, "S": 5}
    for point in grid.points("yelp2018"):
        assert sum(point[name] != start[name] for name in start) <= 1
        assert all(point[name] in grid.INTERVALS[name] for name in start)
    assert sum(1 for _ in grid.points("yelp2018", whole=True)) == 312_500


def test_names_at_line_ends_keep_their_distance():
    placed = figures.spread([0.5, 0.51, 0.9, 0.505], 0.1)
    assert np.diff(np.sort(placed)).min() == pytest.approx(0.1)
    assert placed[0] < placed[3] < placed[1] < placed[2]
    assert figures.spread([0.1, 0.5], 0.1) == [0.1, 0.5]


def test_centring_matters_only_where_groups_keep_different_blocks(tmp_path):
    session = study_command.smoke_session(tmp_path)
    chosen = {"rule-aligned": dropping.VARIANTS[:1]}
    (task,) = study.tasks(dropping.NAME, session, "goodbooks", chosen, ())
    dropping.work(task)
    (line,) = lines.read_from(session.results, dropping.NAME)
    ways = line["ways"]
    for way in ("all blocks", "the same half"):
        assert ways[f"{way}, centred"]["recall@50"] == pytest.approx(
            ways[way]["recall@50"], abs=1e-3
        )
    assert ways["own halves, centred"]["recall@50"] > ways["own halves"]["recall@50"] + 0.01
    assert 0 < line["shared"] < 1
    assert study.tasks(dropping.NAME, session, "goodbooks", chosen, ()) == []


def test_halves_keep_half_of_the_blocks_and_differ_by_group_where_they_should():
    drawn = dropping.halves(20, 16, np.random.default_rng(0))
    for way in ("the same half", "own halves"):
        assert all((mask.sum(axis=1) == 8).all() for mask in drawn[way])
    assert all((mask == mask[0]).all() for mask in drawn["the same half"])
    assert all(len(np.unique(mask, axis=0)) > 15 for mask in drawn["own halves"])


def test_the_grid_names_the_printed_value_where_another_is_no_better(tmp_path):
    start = grid.printed("yelp2018")
    values = {5: 0.20001, 2: 0.20004, 10: 0.19}  # of S
    for s, value in values.items():
        point = grid.variant(start | {"S": s})
        about = {"dataset": "yelp2018", "method": "rule-printed", "seed": 0, "seconds": 1.0}
        measured = {"metrics": {grid.METRIC: value}, "variant": point.name, "config": {"S": s}}
        lines.append_to(tmp_path, grid.NAME, about | measured)
    row = next(each for each in grid.table(tmp_path).splitlines() if "| S |" in each)
    assert row == ("| yelp2018 | S | 5 | 0.2000 | 5 | 0.2000 | 2: 0.2000, 5: 0.2000, 10: 0.1900 |")
