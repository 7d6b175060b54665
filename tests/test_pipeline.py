"""The pipeline: every stage is kept, equal seeds give equal bytes, and devices rank as it does."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.synthetic import planted_world
from elasticrec import pipeline, stages
from elasticrec.errors import InputError
from elasticrec.model import Model
from elasticrec.recommending import Ranker
from elasticrec.space import Budget
from elasticrec.stream.chunk import read_index
from elasticrec.stream.curve import evaluate_stream

pytest.importorskip("torch")

WORK = ("train", "neighbours", "compress", "order", "write", "measure")
"""What a whole fit does, in this order."""


class Killed(Exception):  # noqa: N818
    """Stands for a process that ends in the middle."""


def telling(told: list[tuple[str, str]]) -> stages.Report:
    """A report that keeps what it is told."""
    return lambda stage, text: told.append((stage, text))


def worked(told: list[tuple[str, str]]) -> list[str]:
    """The stages that ran to their end."""
    return [stage for stage, text in told if text.startswith("done in")]


def fit(split, root, preset, **more) -> tuple[Model, list[str]]:
    """The model, and what was done for it."""
    told: list[tuple[str, str]] = []
    made = pipeline.fit(split, root, preset, device="cpu", report=telling(told), **more)
    return made, worked(told)


@pytest.fixture(scope="module")
def whole(tiny_split, tiny_preset, tmp_path_factory):
    """A model of another seed, and what was done for it."""
    preset = replace(tiny_preset, train=replace(tiny_preset.train, seed=3))
    return (*fit(tiny_split, tmp_path_factory.mktemp("whole") / "MODEL", preset), preset)


def test_a_finished_model_is_taken_as_it_is(whole, tiny_split) -> None:
    made, done, preset = whole
    assert tuple(done) == WORK
    assert fit(tiny_split, made.root, preset)[1] == []
    assert not (made.root / "checkpoint.safetensors").exists()


CUTS = {
    "elasticrec.stages.by_popularity": [],
    "elasticrec.training.loop.train": [],
    "elasticrec.stages.make_neighbours": ["train"],
    "elasticrec.compression.ranking.trained_to_rank": ["neighbours"],
    "elasticrec.stages.find_order": ["compress"],
    "elasticrec.stream.writer.stream_parts": ["order"],
    "elasticrec.stream.curve.curve_of": ["write"],
}
"""Where a process may end, and what it did since it last ended one place before."""


def test_a_fit_that_is_cut_off_at_every_stage_goes_on(whole, tiny_split, tmp_path, monkeypatch):
    made, _, preset = whole

    def killed(*args, **kwargs):
        raise Killed

    for cut, expected in CUTS.items():
        told: list[tuple[str, str]] = []
        with monkeypatch.context() as patch:
            patch.setattr(cut, killed)
            with pytest.raises(Killed):
                pipeline.fit(tiny_split, tmp_path / "MODEL", preset, report=telling(told))
        assert worked(told) == expected, cut
    again, done = fit(tiny_split, tmp_path / "MODEL", preset)
    assert done == ["measure"]
    assert again.stream_path.read_bytes() == made.stream_path.read_bytes()
    assert again.curve == made.curve


def test_a_training_that_was_stopped_goes_on(whole, tiny_split, tmp_path) -> None:
    from elasticrec.training.loop import InterruptedTraining

    made, _, preset = whole
    asked = iter([False] * 20 + [True])
    with pytest.raises(InterruptedTraining):
        fit(tiny_split, tmp_path / "MODEL", preset, stop=lambda: next(asked))
    assert (tmp_path / "MODEL" / "checkpoint.safetensors").exists()
    again, _ = fit(tiny_split, tmp_path / "MODEL", preset)
    assert again.stream_path.read_bytes() == made.stream_path.read_bytes()


def test_other_settings_redo_what_depends_on_them(whole, tiny_split, tmp_path) -> None:
    made, _, preset = whole
    root = Path(shutil.copytree(made.root, tmp_path / "MODEL"))
    votes = replace(preset, order=replace(preset.order, vote_weight=1.0))
    assert tuple(fit(tiny_split, root, votes)[1]) == WORK[3:]
    others = replace(votes, order=replace(votes.order, n_persons=50))
    assert {"order", "measure"} <= set(fit(tiny_split, root, others)[1])
    longer = replace(others, compression=replace(preset.compression, stages=1))
    assert tuple(fit(tiny_split, root, longer)[1]) == WORK[1:]


@pytest.fixture(scope="module")
def refitted(tiny_split, tiny_preset, tmp_path_factory):
    """A refitted model, what was done for it, and its preset."""
    preset = replace(tiny_preset, refit=True)
    return (*fit(tiny_split, tmp_path_factory.mktemp("refit") / "MODEL", preset), preset)


AGAIN = ("train", "neighbours", "compress", "write")
"""What a refit does; it chooses and measures nothing."""


def test_a_refit_knows_validation_and_keeps_every_choice(refitted, tiny_model, tiny_split) -> None:
    made, done, preset = refitted
    assert tuple(done) == (*WORK, *AGAIN)
    assert made.split.train.keys().size == len(tiny_split.train) + len(tiny_split.validation)
    assert not len(made.split.validation)
    assert len(made.split.test) == len(tiny_split.test)
    for part in made.content["parts"]:
        made.check(part)
    assert made.is_finished
    assert made.about["choices"] == tiny_model.about["choices"]
    assert made.table.popularity_exponent == tiny_model.table.popularity_exponent
    assert made.codes.recency == tiny_model.codes.recency
    np.testing.assert_array_equal(made.weights, tiny_model.weights)
    assert made.order.fingerprint() == tiny_model.order.fingerprint()
    assert made.about["preset"] == preset.as_dict()


def test_the_curve_of_a_refit_is_that_of_the_model_before(refitted, tiny_model) -> None:
    made, _, _ = refitted
    assert made.curve == {**tiny_model.curve, "measured": "before the refit"}
    ends = read_index(made.stream_path).ends
    assert {point["bytes"] for point in made.curve["points"]} <= set(ends)
    assert made.stream_path.read_bytes() != tiny_model.stream_path.read_bytes()


def test_a_refit_is_done_once(refitted, tiny_split) -> None:
    made, _, preset = refitted
    before = (made.root / "model.json").read_bytes()
    again, done = fit(tiny_split, made.root, preset)
    assert done == []
    assert (again.root / "model.json").read_bytes() == before
    assert not (made.root / ".next").exists()


@pytest.mark.parametrize("cut", ["loop.train", "split", "make_neighbours", "write_stream"])
def test_a_refit_that_is_cut_off_leaves_the_measured_model_and_goes_on(
    refitted, tiny_model, tiny_split, tmp_path, monkeypatch, cut
) -> None:
    made, _, preset = refitted
    root = Path(shutil.copytree(tiny_model.root, tmp_path / "MODEL"))
    place = {
        "loop.train": "elasticrec.training.loop.train",
        "split": "elasticrec.pipeline.by_popularity",
        "make_neighbours": "elasticrec.stages.make_neighbours",
        "write_stream": "elasticrec.stream.writer.stream_parts",
    }[cut]

    def killed(*args, **kwargs):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(place, killed)
        with pytest.raises(Killed):
            fit(tiny_split, root, preset)
    left = Model.open(root)
    assert left.is_finished
    assert left.stream_path.read_bytes() == tiny_model.stream_path.read_bytes()
    again, done = fit(tiny_split, root, preset)
    assert set(done) <= {*AGAIN, "measure"}
    assert again.stream_path.read_bytes() == made.stream_path.read_bytes()


def test_the_temperature_is_chosen_once(tiny_split, tiny_preset, tmp_path, monkeypatch) -> None:
    train = replace(tiny_preset.train, temperatures=(0.2,), temperature=0.01)
    preset = replace(tiny_preset, train=train, refit=True)

    def killed(*args, **kwargs):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("elasticrec.stages.coarse", killed)
        with pytest.raises(Killed):
            fit(tiny_split, tmp_path / "MODEL", preset)
    monkeypatch.setattr("elasticrec.training.loop.choose_temperature", killed)
    made, done = fit(tiny_split, tmp_path / "MODEL", preset)
    assert tuple(done) == (*WORK[2:], *AGAIN)
    (choice,) = (each for each in made.about["choices"] if each["name"] == "temperature")
    assert choice["default"] == "0.01"
    assert float(choice["chosen"]) == made.about["fixed"]["train"]["temperature"]


def test_other_settings_fit_a_refitted_model_from_the_start(
    refitted, tiny_split, tiny_preset, tmp_path
) -> None:
    made, _, preset = refitted
    root = Path(shutil.copytree(made.root, tmp_path / "MODEL"))
    other = replace(preset, compression=replace(preset.compression, stages=1))
    again, done = fit(tiny_split, root, other)
    assert tuple(done) == (*WORK, *AGAIN)
    assert again.is_finished


def test_a_refitted_model_has_nothing_to_choose_by(refitted) -> None:
    made, _, preset = refitted
    other = replace(preset.order, n_persons=9)
    with pytest.raises(InputError, match=r"nobody has validation items, .* refit=false"):
        stages.Stages(made, "cpu").order(replace(preset, order=other))
    with pytest.raises(InputError, match=r"nobody has validation items, .* refit=false"):
        evaluate_stream(made, part="validation", device="cpu")


def test_the_seed_decides(whole, tiny_model) -> None:
    made, _, _ = whole
    assert made.stream_path.read_bytes() != tiny_model.stream_path.read_bytes()


def test_other_data_are_refused(whole, rng) -> None:
    made, _, preset = whole
    other = planted_world(300, 200, 6_000, rng, n_clusters=4)
    with pytest.raises(InputError, match="holds a model of other data; give another folder"):
        fit(other, made.root, preset)


def test_items_are_numbered_by_popularity(tiny_model, tiny_split) -> None:
    popularity = tiny_model.split.train.per_item
    assert (np.diff(popularity) <= 0).all()
    before = tiny_split.train.per_item[
        tiny_split.item_ids.numbers(tiny_model.split.item_ids.values)
    ]
    np.testing.assert_array_equal(before, popularity)


def test_the_curve_says_on_whom_it_was_measured(tiny_model) -> None:
    curve, index = tiny_model.curve, read_index(tiny_model.stream_path)
    assert (curve["part"], curve["metric"], curve["person"]) == (
        "validation", "recall@50", "history",
    )  # fmt: skip
    assert 0 < curve["users"] <= tiny_model.split.n_users
    sizes = [point["bytes"] for point in curve["points"]]
    assert sizes == sorted(set(sizes) & set(index.ends))
    assert (sizes[0], sizes[-1]) == (index.head.least, index.head.length)
    assert curve["points"][-1]["recall@50"] > curve["popularity"]["recall@50"]


def test_choices_settings_and_times_are_recorded(tiny_model, tiny_preset) -> None:
    about = Model.open(tiny_model.root).about
    names = [choice["name"] for choice in about["choices"]]
    assert names == ["popularity_exponent", "vote weight, history", "columns_per_slot", "lead"]
    assert all(c["chosen"] in c["lead_percent"] and c["few"] for c in about["choices"])
    assert set(about["seconds"]) == set(WORK)
    assert about["preset"]["train"]["n_blocks"] == tiny_preset.train.n_blocks == 4


def test_tiled_scores_end_with_the_table(tiny_split, tiny_preset, tmp_path) -> None:
    tiled = replace(tiny_preset.train, base="mf", score="tiled", epochs=1)
    made, done = fit(tiny_split, tmp_path / "MODEL", replace(tiny_preset, train=tiled))
    assert done == ["train"]
    assert made.table.score == "tiled"
    assert not made.has("stream")


def agreement(model: Model, share: float, rng: np.random.Generator) -> tuple[float, float]:
    """Shares of the best 20 items, and of the first ones, that a device and the ranker share.

    A device rounds its tables to 16 bits, so near ties may change places.
    """
    device = pytest.importorskip("elasticrec_device")
    content = model.stream_path.read_bytes()
    least = read_index(model.stream_path).head.least
    size = int(least + share * (len(content) - least))
    ranker, ids = Ranker(model, Budget(size)), model.split.item_ids.values
    same, first = [], []
    with device.open(content[:size]) as stream:
        for length in [1, 2, 5, 20] * 25:
            history = rng.permutation(len(ids))[:length]
            here = [found.id for found in ranker.recommend(items=ids[history].tolist(), k=20)]
            there = [int(ids[item.id]) for item in stream.recommend(history.tolist(), k=20)]
            same.append(len(set(here) & set(there)) / 20)
            first.append(here[0] == there[0])
    return float(np.mean(same)), float(np.mean(first))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
def test_a_device_lists_what_the_ranker_lists(tiny_model, share: float, rng) -> None:
    same, first = agreement(tiny_model, share, rng)
    assert same >= 0.95
    assert first >= 0.95


def test_a_device_weighs_recent_items_as_the_ranker_does(
    tiny_split, tiny_preset, tmp_path, rng
) -> None:
    recent = replace(tiny_preset, train=replace(tiny_preset.train, recency=0.5))
    made, _ = fit(tiny_split, tmp_path / "MODEL", recent)
    assert made.codes.recency == made.table.recency == 0.5
    ids, ranker = made.split.item_ids.values[:3].tolist(), Ranker(made)
    assert ranker.recommend(items=ids) != ranker.recommend(items=ids[::-1])
    same, first = agreement(made, 1.0, rng)
    assert same >= 0.95
    assert first >= 0.95
