"""Every experiment from its command to its tables, on a small world."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from elasticrec.data.split import Split
from elasticrec.evaluation.ranking import evaluate
from elasticrec.presets import PRESETS
from experiments import (
    blocks,
    command,
    comparing,
    default,
    equal_bytes,
    formats,
    lines,
    orders,
    releases,
    rivals,
    table2,
    tables,
    verdicts,
)
from experiments.baselines.quantisers import along_axes


def invoke(app, *arguments):
    answer = CliRunner().invoke(app, ["run", *map(str, arguments)], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    assert "FAILED" not in answer.output
    return answer.output


def test_formats_are_compared_at_equal_bytes(results, data, small_preset):
    told = invoke(formats.app, "--dataset", "goodbooks", "--data", data)
    found = lines.read("formats")
    assert {line["method"] for line in found} == {formats.STREAM, formats.OLD}
    assert all(line["file_bytes"] <= line["bytes_per_item"] * 300 for line in found)
    tested = tables.leads("formats", formats.STREAM, formats.OLD)
    assert tested
    assert all(lead.p is not None for lead in tested)
    assert f"{len(tested)} tests made" in told
    again = invoke(formats.app, "--dataset", "goodbooks", "--data", data)  # nothing is left
    assert again.strip() == "0 tests made"


def test_a_kept_table_is_measured_instead_of_a_trained_one(results, data, small_preset, tmp_path):
    items = np.random.default_rng(0).normal(size=(300, 16)).astype(np.float16)
    np.save(tmp_path / "goodbooks-0.npy", items[:200])
    np.save(tmp_path / "goodbooks-1.npy", items[200:])
    asked = ("--dataset", "goodbooks", "--data", data, "--person", "history")
    invoke(orders.app, *asked, "--tables", tmp_path)
    assert {line["dimensions"] for line in lines.read("orders")} == {16}
    assert not (results.parent / "tables").exists()


@pytest.mark.parametrize("person", ["history", "vector"])
def test_three_orders_of_one_table_are_compared(results, data, small_preset, person):
    invoke(orders.app, "--dataset", "goodbooks", "--data", data, "--person", person)
    found = lines.read("orders")
    assert {line["method"] for line in found} == {orders.ALIKE, orders.POPULAR, orders.FOUND}
    assert {line["person"] for line in found} == {person}
    assert all(set(line["config"]) == set(PRESETS["default"].as_dict()) for line in found)
    assert orders.leads(person, orders.ALIKE)
    simple = [[x["metrics"] for x in found if x["method"] == name]
              for name in (orders.ALIKE, orders.POPULAR)]  # fmt: skip
    assert simple[0] != simple[1]
    assert len(list((results.parent / "tables").iterdir())) == 1


def test_the_default_is_measured_on_validation_or_test(results, data, small_preset):
    for part in ("validation", "test"):
        invoke(default.app, "--dataset", "goodbooks", "--data", data, "--part", part)
    found = {part: [x for x in lines.read("default") if x["part"] == part]
             for part in ("validation", "test")}  # fmt: skip
    for part, measured in found.items():
        settings = replace(small_preset.seeded(0), refit=part == "test").as_dict()
        assert all(line["config"] == lines.plain(settings) for line in measured)
    split = Split.load(data / "goodbooks.npz")
    everyone = int((split.test.per_user > 0).sum())
    assert {line["metrics"]["users"] for line in found["test"]} == {everyone}
    half = len(comparing.halves(split).reporting)
    assert {line["metrics"]["users"] for line in found["validation"]} == {half}
    assert "ours" in tables.by_size("default", ["ours"], part="validation")


def test_fit_is_shown_no_validation_item_of_those_who_are_reported(data):
    split = Split.load(data / "goodbooks.npz")
    shown, users = default.shown_to_fit(split, "validation")
    assert not shown.validation.per_user[users].any()
    assert shown.validation.per_user.sum() > 0
    assert default.shown_to_fit(split, "test") == (split, None)


def test_rivals_take_the_settings_that_tuning_found_best(results, data, small_preset):
    asked = ("--dataset", "goodbooks", "--data", data)
    told = invoke(rivals.app, *asked, "--methods", "pmf-int8")
    tried = lines.read("rivals-tuning")
    assert len(tried) == 8  # at two sizes
    found = lines.read("rivals")
    assert {line["bytes_per_item"] for line in found} == set(rivals.SIZES)
    for line in found:
        size = rivals.TUNED_AT[line["bytes_per_item"]]
        here = [x for x in tried if x["bytes_per_item"] == size]
        best = max(here, key=lambda x: x["metrics"]["recall@50"])
        assert line["config_hash"] == best["config_hash"]
    assert "0 tests made" in told  # ours was not measured
    assert told.count("plan: pmf-int8") == 2
    blocks_of_mf = ("--seeds", 0, "--bases", "mf", "--methods", "ours")
    invoke(blocks.app, *asked, *blocks_of_mf)
    assert "| goodbooks | pmf-int8 | 1 |" in blocks.block("vector")
    against = {line["against"] for line in lines.read("blocks-tests")}
    assert against == {"pmf-int8"}


@pytest.mark.parametrize("part", ["validation", "test"])
def test_table_2_tunes_rivals_on_validation_and_tests_ours_against_each(
    results, data, small_preset, part
):
    some = ("pq", "int4")
    asked = ("--dataset", "goodbooks", "--data", data, "--part", part, "--seeds", "0,1",
             "--methods", ",".join(["ours", *table2.LISTS_ALONE, "popularity", table2.BASE, *some]),
             )  # fmt: skip
    told = invoke(table2.app, *asked)
    found = verdicts.measured(part)
    rivals_of = {line["method"] for line in found} - {"ours"}
    lists = {f"{name} + lists" for name in some}
    alone = {"popularity", "itemknn", "sparse linear", table2.BASE, "int4"}
    assert rivals_of >= alone | lists | {table2.ALIKE, table2.POPULAR, table2.CODES}
    assert {line["part"] for line in lines.read("table2")} == {part}
    if part == "test":  # everyone who has test items, and everything that is known of them
        split = Split.load(data / "goodbooks.npz")
        everyone = int((split.test.per_user > 0).sum())
        assert {line["metrics"]["users"] for line in found} == {everyone}
    seeds = {name: {x["seed"] for x in found if x["method"] == name} for name in rivals_of}
    assert seeds["itemknn"] == {0}
    assert seeds["int4 + lists"] == seeds["int4"] == {0, 1}
    assert "| int4 + lists | 2 |" in verdicts.whole_table("goodbooks", "recall@50", part)
    cells = verdicts.cells("goodbooks", "recall@50", part)
    assert all(0 <= cell.p_users <= 1 and 0 <= cell.p_seeds <= 1 for cell in cells)
    assert "| goodbooks | 54 |" in table2.decomposition()
    assert "plan: ours, 2 tasks" in told
    again = invoke(table2.app, *asked)  # nothing is left but what no size can hold
    assert "tasks are left" in again
    assert "  ours " not in again
    assert "0 tests made" in again


@pytest.mark.parametrize("part", ["validation", "test"])
def test_users_are_known_by_history_by_a_vector_or_by_both(results, data, small_preset, part):
    asked = ("--dataset", "goodbooks", "--data", data, "--seeds", 0, "--part", part)
    told = invoke(blocks.app, *asked, "--bases", "history,mf", "--methods", "ours,int8")
    found = lines.read("blocks")
    kinds = {(line["person"], line["method"]) for line in found}
    expected = {("history", "ours of history")}
    expected |= {(p, f"{m} of mf") for p in ("vector", "both") for m in ("ours", "int8")}
    assert kinds == expected
    assert "| goodbooks | 54 | 1 |" in blocks.worth()
    assert "| goodbooks | int8 of mf | 1 |" in blocks.block("both")
    assert "plan: int8, 1 tasks" in told
    quality = {(x["person"], x["method"], x["bytes_per_item"]): x["metrics"]["recall@50"]
               for x in found}  # fmt: skip
    task = command.Task("goodbooks", 0, data, "cpu", part=part, method="ours", base="mf")
    model = default.fitted(task)[1]
    split, users = default.reported(task, model)
    whole = evaluate(model.table, split, part=part, users=users, metrics=("recall@50",))
    expected = whole.metrics["recall@50"]
    assert quality["vector", "int8 of mf", 110] == pytest.approx(expected, rel=0.03)


def test_a_vector_meets_what_a_rival_decodes_in_the_axes_of_the_table(data, results, small_preset):
    task = command.Task("goodbooks", 0, data, "cpu", person="vector", base="mf", method="ours")
    _, model = default.fitted(task)
    split, users = default.reported(task, model)
    ranker = blocks.ByVector(model, split, task, users, "validation")
    items = equal_bytes.units(model, "cpu")
    plain, turned = (ranker.evaluate(each).metrics for each in (items, along_axes(items, 32)))
    assert turned == pytest.approx(plain)


def test_ours_without_support_shares_the_table_and_is_no_rival(results, data, small_preset):
    asked = ("--dataset", "goodbooks", "--data", data, "--part", "test")
    told = invoke(table2.app, *asked, "--seeds", 0, "--methods", f"ours,{default.OPEN}")
    found = {line["bytes_per_item"]: line for line in lines.read("table2")
             if line["method"] == default.OPEN}  # fmt: skip
    assert set(found) == set(tables.cells(lines.read("default"), method="ours"))
    task = command.Task("goodbooks", 0, data, "auto", part="test", method=default.OPEN)
    (before, model), ours = default.fitted(task), default.fitted(replace(task, method="ours"))
    np.testing.assert_array_equal(before.table.items, ours[0].table.items)
    assert (model.neighbours.votes > 0).sum() > (ours[1].neighbours.votes > 0).sum()
    assert default.OPEN not in verdicts.rivals_of(verdicts.cells("goodbooks", "recall@50", "test"))
    assert f"| {default.OPEN} | 1 |" in verdicts.whole_table("goodbooks", "recall@50", "test")
    assert f"plan: {default.OPEN}, 1 tasks" in told
    every = invoke(table2.app, *asked, "--seeds", 0, "--minutes", -1)
    assert default.OPEN not in every  # privacy costs nothing there: only where it is asked for


@pytest.mark.parametrize(
    ("app", "arguments", "expected"),
    [
        (orders.app, ["--dataset", "moon"], "holds no moon.npz; expected what `elasticrec data"),
        (default.app, ["--part", "train"], "part 'train', expected validation or test"),
        (default.app, ["--seeds", "0,x"], "seeds '0,x', expected whole numbers"),
        (orders.app, ["--person", "ghost"], "no kind of person is called ghost"),
        (table2.app, ["--methods", "nothing"], "no method is called nothing; expected ours"),
        (rivals.app, ["--methods", "nothing"], "no method is called nothing; expected pmf"),
    ],
)
def test_wrong_words_are_refused_in_one_line(app, arguments, expected, data):
    asked = ["run", "--data", str(data), "--dataset", "goodbooks", *arguments]
    answer = CliRunner().invoke(app, asked)
    assert answer.exit_code == 2
    assert expected in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_the_printed_table_is_whole_and_its_slips_are_ten_times_too_high():
    printed = releases.printed()
    assert len(printed) == 14
    assert printed["amazon-book", "rule"]["5"]["recall@50"] == 0.05335
    for dataset, method, mb, metric in releases.SLIPS:
        neighbour = printed[dataset, method]["5"][metric]
        assert printed[dataset, method][mb][metric] > 9 * neighbour


def test_every_line_of_the_first_release_is_of_a_rival():
    found = lines.read("first-release")
    assert len(found) == 510
    assert {line["method"] for line in found} == set(releases.METHODS)
    assert {line["part"] for line in found} == {"test"}
    assert "| Gowalla | lightrec | vector |" in releases.first_rivals()
