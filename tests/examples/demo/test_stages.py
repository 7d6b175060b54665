"""Stages take up what fits, and make anew what does not."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticrec.customizing import Customizer
from elasticrec.errors import InputError
from elasticrec_demo.config import DemoConfig
from elasticrec_demo.folder import DemoFolder
from elasticrec_demo.stages import estimated, prepared, stage_stored, stored, trained
from elasticrec_demo.versions import Versions
from elasticrec.rule.estimator.building import LEDGER
from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.evaluation.device_path import device_scores
from elasticrec.evaluation.questions import questions
from elasticrec.evaluation.toplist import top_list
from elasticrec.model import Model
from elasticrec.presets import PRESETS, Preset
from elasticrec.rule.config import SearchConfig
from elasticrec.search.searcher import Searcher
from elasticrec.space.budget import Budget
from elasticrec.space.regroup import SpaceConfig
from elasticrec.training.config import TrainConfig

TINY = Preset(
    TrainConfig(n_blocks=4, epochs=1, batch_size=512, negatives=64, evaluate_every=1),
    SpaceConfig(n_groups=5),
    SamplesConfig(n_samples=40, n_users=50, metric="recall@20", n_held_out=0),
    EstimatorConfig(widths=(8,), learning_rates=(0.01,), l2s=(0.0,), steps=20, max_rounds=1),
)


class Listener:
    """A narrator that keeps what it is told, and asks a training to stop after some steps."""

    def __init__(self, stop_after=None):
        self.said, self.trained, self.counts = [], 0, []
        self.stop_after = stop_after

    def step(self, title, about):
        self.said.append(title)

    def say(self, text):
        self.said.append(text)

    @contextmanager
    def training(self, config):
        def report(step):
            self.trained += 1

        yield report

    @contextmanager
    def counting(self, noun):
        yield lambda finished, total: self.counts.append(finished)

    @contextmanager
    def interruptible(self):
        yield lambda: self.stop_after is not None and self.trained >= self.stop_after


@pytest.fixture
def config(planted, tmp_path, monkeypatch):
    monkeypatch.setitem(PRESETS, "tiny", TINY)
    planted.save(tmp_path / "planted.npz")
    return DemoConfig(str(tmp_path / "planted.npz"), "tiny", device="cpu")


@pytest.fixture
def place(tmp_path):
    return DemoFolder.create(tmp_path / "demo")


def retuned(monkeypatch, **changes):
    """The tiny preset with other settings of its stages."""
    stages = {stage: replace(getattr(TINY, stage), **fields) for stage, fields in changes.items()}
    monkeypatch.setitem(PRESETS, "tiny", replace(TINY, **stages))


def test_a_model_is_trained_once_and_again_for_other_settings(place, config, monkeypatch):
    split = prepared(place, config)
    first, second, third = Listener(), Listener(), Listener()
    folder = trained(place, split, config, first)
    again = trained(place, split, config, second)
    assert (first.trained > 0, second.trained) == (True, 0)
    assert again.model_id == folder.model_id
    retuned(monkeypatch, train={"temperature": 0.2})
    other = trained(place, split, config, third)
    assert third.trained == first.trained
    assert other.model_id != folder.model_id


def test_a_checkpoint_goes_on_or_is_removed_where_it_does_not_fit(place, config, monkeypatch):
    split = prepared(place, config)
    with pytest.raises(KeyboardInterrupt):
        trained(place, split, config, Listener(stop_after=3))
    checkpoint = place.model / "checkpoint.safetensors"
    kept = checkpoint.read_bytes()
    going_on = Listener()
    trained(place, split, config, going_on)
    whole = Listener()
    place.clear()
    trained(place, split, config, whole)
    assert going_on.trained == whole.trained - 3
    for odd in (kept, b"torn"):
        place.clear()
        place.model.mkdir()
        checkpoint.write_bytes(odd)
        retuned(monkeypatch, train={"seed": 0, "temperature": 0.3})
        anew = Listener()
        trained(place, split, config, anew)
        assert anew.trained == whole.trained


@pytest.mark.parametrize("part", ["groups", "table", "split"])
@pytest.mark.parametrize("content", [b"", b"not what it was"])
def test_a_model_whose_file_was_damaged_is_trained_again(place, config, part, content):
    split = prepared(place, config)
    folder = trained(place, split, config, Listener())
    folder.path(part).write_bytes(content)
    again = Listener()
    trained(place, split, config, again)
    assert again.trained > 0


def test_measurements_are_taken_up_unless_they_are_of_other_things(place, config, monkeypatch):
    folder = trained(place, prepared(place, config), config, Listener())
    stored(folder, config, Listener())
    estimator = estimated(folder, config, Listener())
    again = Listener()
    assert estimated(folder, config, again).fingerprint() == estimator.fingerprint()
    assert again.counts == []
    retuned(monkeypatch, samples={"n_samples": 60})
    more = Listener()
    estimated(folder, config, more)
    assert (more.counts[0], sum(more.counts)) == (40, 60)  # the first 40 were there
    retuned(monkeypatch, samples={"metric": "recall@10"})
    other = Listener()
    stored(folder, config, Listener())  # mixing weights go by the metric, too
    assert estimated(folder, config, other).about["metric"] == "recall@10"
    assert (other.counts[0], sum(other.counts)) == (0, 40)
    assert len((folder.root / LEDGER).read_text().splitlines()) == 41


def test_items_are_coded_once(place, config):
    folder = trained(place, prepared(place, config), config, Listener())
    first, again = Listener(), Listener()
    assert stored(folder, config, first)
    assert not stored(folder, config, again)
    assert first.counts == [1] * 4
    assert "taken as it is" in again.said[-1]
    assert stage_stored(folder).about == "32 bytes of planes and 16 neighbours of 200 items"


def test_the_whole_version_is_the_model_itself(place, config):
    folder = trained(place, prepared(place, config), config, Listener())
    stored(folder, config, Listener())
    estimated(folder, config, Listener())
    model, searcher = Model.load(folder.root), Searcher(folder)
    versions = Versions(model, searcher, ["recall@20"])
    versions.evaluate(None, "cpu")
    way = versions.measured("full", None)
    assert (way.n_bytes, way.n_blocks) == (4 * 32 * 201, 20)
    person = versions.first_telling(10)
    listed = versions.listed(None, person, 10)
    hidden = {str(i) for i in model.split.item_ids.take(model.split.test.of(person)).values}
    assert [each.wanted for each in listed] == [each.title in hidden for each in listed]
    known = versions.person(person, named=False).known
    assert all(isinstance(title, str) for title in known)  # ids, where there are no titles
    assert not {each.title for each in listed} & set(known)
    assert len(known) + len(hidden) == sum(
        len(part.of(person))
        for part in (model.split.train, model.split.validation, model.split.test)
    )


def test_a_device_lists_what_the_evaluation_ranks_first(place, config, tmp_path):
    folder = trained(place, prepared(place, config), config, Listener())
    stored(folder, config, Listener())
    estimated(folder, config, Listener())
    customizer = Customizer(folder, ids="original")
    budget = Budget(9_000)
    (made,) = customizer.customize([budget], SearchConfig(rounds=5))
    versions = Versions(Model.load(folder.root), customizer.searcher, ["recall@20"])
    vector = tmp_path / "person.vector"
    vector.write_bytes(versions.vector_file(3))
    bundle = made.write(tmp_path / "b.elastic")
    listed = versions.listed_on_device(bundle, vector, 3, 12)
    asked = questions(folder.split(), "test", np.array([3]))
    scores = device_scores(versions.coded, made.found.composition, asked)
    whole = np.concatenate(
        [
            write(scores, g, made.found.composition.depths[g], made.found.composition.neighbours[g])
            for g in range(5)
        ]
    )
    ranked = top_list(whole, 12, asked.seen.items)
    ids = folder.split().item_ids.take(ranked).values.tolist()
    assert [each.title for each in listed] == [str(each) for each in ids]


def write(scores, group, depths, neighbours):
    """(|V_g|,) scores of the first person."""
    out = torch.empty((1, int(np.diff(scores.bounds)[group])))
    scores.write(out, group, depths, int(neighbours), 0, 1)
    return out[0].numpy()


def test_only_a_demos_own_folder_is_ever_cleared(tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(InputError, match="holds other things"):
        DemoFolder.create(tmp_path)
    place = DemoFolder.create(tmp_path / "new" / "folder")
    (place.root / "notes.txt").write_text("mine")
    place.story.write_text("{}")
    DemoFolder.create(place.root).clear()
    assert sorted(path.name for path in place.root.iterdir()) == [".elasticrec-demo", "notes.txt"]
