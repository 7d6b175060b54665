"""The demo from end to end, really, on a small slice of goodbooks with tiny settings."""

import json
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from elasticrec.cli import _narrator
from elasticrec.cli.main import app
from elasticrec.data.readers.embedded import read_goodbooks
from elasticrec.data.interactions import Ids, Interactions, Pairs
from elasticrec.data.splitting import Split, split_by_user
from elasticrec_demo.runtime import device_runtime
from elasticrec.rule.estimator.config import EstimatorConfig, SamplesConfig
from elasticrec.presets import PRESETS, Preset
from elasticrec.rule.config import SearchConfig
from elasticrec.space.composition import Composition
from elasticrec.space.regroup import SpaceConfig
from elasticrec.training.config import TrainConfig

N_USERS, N_ITEMS = 200, 150
TINY = Preset(
    TrainConfig(n_blocks=4, epochs=2, batch_size=512, negatives=64, evaluate_every=1),
    SpaceConfig(n_groups=5),
    SamplesConfig(n_samples=60, n_users=100, metric="recall@50", n_held_out=10),
    EstimatorConfig(widths=(8,), learning_rates=(0.01,), l2s=(0.0,), steps=60, max_rounds=1),
    SearchConfig(rounds=20),
)
BUDGETS = ["5 KB", "7 KB", "9 KB"]
METHODS = ("searched", "uniform", "best-of-random", "greedy")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A split of the first 200 who chose at least 12 of the 150 most wanted books."""
    whole = read_goodbooks()
    popular = whole.pairs.items < N_ITEMS
    users, items = whole.pairs.users[popular], whole.pairs.items[popular]
    chosen = np.flatnonzero(np.bincount(users, minlength=whole.pairs.n_users) >= 12)[:N_USERS]
    mine = np.isin(users, chosen)
    pairs = Pairs.from_arrays(
        np.searchsorted(chosen, users[mine]), items[mine], n_users=N_USERS, n_items=N_ITEMS
    )
    ids, titles = whole.item_ids.take(np.arange(N_ITEMS)), whole.titles[:N_ITEMS]
    small = Interactions(pairs, Ids.dense(N_USERS), ids, titles=titles, name="goodbooks")
    path = tmp_path_factory.mktemp("source") / "small.npz"
    split_by_user(small, rng=np.random.default_rng(0)).save(path)
    return path


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setitem(PRESETS, "tiny", TINY)


def run(source, folder, *arguments):
    return CliRunner().invoke(
        app, ["demo", str(source), "-o", str(folder), "--preset", "tiny", *arguments]
    )


@pytest.fixture(scope="module")
def told(source, tmp_path_factory):
    """A folder in which the demo ran, and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "tiny", TINY)
        done = run(source, folder)
    assert done.exit_code == 0, done.output
    return folder, done.output


@pytest.fixture
def mine(told, tmp_path):
    """A copy of that folder, to be changed."""
    return Path(shutil.copytree(told[0], tmp_path / "mine"))


def test_tells_every_step_and_where_the_files_are(told):
    folder, output = told
    steps = re.findall(r"^0:\d\d (\d)\. (\w+):", output, flags=re.MULTILINE)
    named = ["Prepare", "Train", "Code", "Estimate", "Search", "Measure", "Recommend"]
    assert steps == [(str(i), name) for i, name in enumerate(named, start=1)]
    assert "60 compositions measured on 100 users" in output
    for word in (*METHODS, "full model", "recall@50", "✓", "report.html"):
        assert word in output
    for name in ("split.npz", "model", "compositions", "bundles", "story.json", "report.html"):
        assert (folder / name).exists()


def test_the_story_holds_sizes_qualities_and_lists(told):
    folder, output = told
    story = json.loads((folder / "story.json").read_text())
    full = story["full"]
    assert full["n_bytes"] == 4 * 32 * (N_ITEMS + 1)
    assert [fit["budget"] for fit in story["fits"]] == BUDGETS
    for fit in story["fits"]:
        assert [way["method"] for way in fit["ways"]] == list(METHODS)
        for way in fit["ways"]:
            assert way["n_bytes"] <= float(fit["budget"].split()[0]) * 1000
            assert 0 < way["metrics"]["recall@50"] < 1
            assert 0 < way["coverage"] <= 1
        assert len(fit["listed"]) == 10
        assert fit["listed"][0]["title"][:12] in output
    assert story["metric"] == "recall@50"
    assert story["person"]["named"] is False
    assert len(story["person"]["known"]) + story["person"]["n_wanted"] >= 12


def test_the_compositions_are_those_of_the_model(told):
    folder, _ = told
    model_id = json.loads((folder / "model" / "model.json").read_text())["model_id"]
    written = list((folder / "compositions").iterdir())
    assert {path.name for path in written} == {f"{name.replace(' ', '')}.json" for name in BUDGETS}
    for path in written:
        assert Composition.load(path, model_id=model_id).n_groups == 5
    searched = CliRunner().invoke(app, ["search", str(folder / "model"), "--budget", "8KB"])
    assert searched.exit_code == 0, searched.output


def test_the_lists_are_those_of_the_bundles_on_a_device(told):
    folder, _ = told
    story = json.loads((folder / "story.json").read_text())
    split = Split.load(folder / "model" / "split.npz")
    user = split.user_ids.numbers([story["person"]["id"]])[0]
    known = np.concatenate([split.train.of(user), split.validation.of(user)])
    history = split.item_ids.take(known).values.tolist()
    titles = dict(zip(split.item_ids.values.tolist(), split.titles, strict=True))
    for fit in story["fits"]:
        path = folder / "bundles" / f"{fit['budget'].replace(' ', '')}.elastic"
        assert path.stat().st_size < fit["ways"][0]["n_bytes"]  # a vector's bytes are reserved
        with device_runtime().open(path) as bundle:
            vector = folder / "bundles" / "person.vector"
            listed = bundle.recommend(history=history, user=vector, k=10)
        assert [titles[each.id] for each in listed] == [each["title"] for each in fit["listed"]]


class _Page(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.urls, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.urls += [value for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_data(self, data):
        self.texts.append(data)


def test_the_report_needs_nothing_from_elsewhere(told):
    folder, _ = told
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = _Page(text)
    assert page.urls == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert "http:" not in text
    assert "https:" not in text
    assert "@import" not in text
    story = json.loads((folder / "story.json").read_text())
    assert (
        page.tags.count("rect") == len(BUDGETS) * 5 * 4
    )  # heat maps of five groups and four blocks
    shown = " ".join(page.texts)
    for fit in story["fits"]:
        assert all(each["title"] in shown for each in fit["listed"])


def test_the_second_time_takes_everything_up(mine, source):
    before = times(mine)
    page = (mine / "report.html").read_bytes()
    again = run(source, mine)
    assert again.exit_code == 0, again.output
    assert again.output.count("taken as it is") == 4
    changed = {path.name for path, when in times(mine).items() if when != before[path]}
    assert changed == {"report.html"}
    assert (mine / "report.html").read_bytes() == page


def test_the_second_time_needs_no_torch(mine, source):
    code = (
        "import sys\n"
        "from elasticrec.cli.main import app\n"
        "from elasticrec.presets import PRESETS\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "PRESETS['tiny'] = __import__('test_demo').TINY\n"
        f"words = ['demo', {str(source)!r}, '-o', {str(mine)!r}, '--preset', 'tiny']\n"
        "app(words, standalone_mode=False)\n"
        "print(sorted({'torch', 'polars', 'matplotlib'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_the_whole_demo_takes_less_than_four_minutes_on_two_idle_cores(tmp_path):
    started = time.monotonic()
    done = CliRunner().invoke(app, ["demo", "-o", str(tmp_path / "out")])
    took = time.monotonic() - started
    assert done.exit_code == 0, done.output
    story = json.loads((tmp_path / "out" / "story.json").read_text())
    seconds = {stage["name"]: stage["seconds"] for stage in story["stages"]}
    assert seconds["train"] <= 90
    assert took <= 240
    assert [fit["budget"] for fit in story["fits"]] == ["200 KB", "300 KB", "700 KB"]
    for fit in story["fits"]:
        recalls = {way["method"]: way["metrics"]["recall@50"] for way in fit["ways"]}
        assert recalls["searched"] > recalls["uniform"]


def times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_other_budgets_keep_the_model_and_other_settings_do_not(mine, source):
    other = run(source, mine, "--budget", "8KB", "-k", "3", "--reader", "7")
    assert other.exit_code == 0, other.output
    assert other.output.count("taken as it is") == 3
    story = json.loads((mine / "story.json").read_text())
    assert [fit["budget"] for fit in story["fits"]] == ["8 KB"]
    assert (story["person"]["id"], len(story["full_listed"])) == (7, 3)
    assert story["person"]["named"] is True
    model_id = story["model_id"]
    reseeded = run(source, mine, "--seed", "1")
    assert reseeded.exit_code == 0, reseeded.output
    assert "taken as it is" not in reseeded.output
    assert json.loads((mine / "story.json").read_text())["model_id"] != model_id


def test_a_training_cut_off_goes_on_to_the_same_model(told, source, tmp_path, monkeypatch):
    straight, _ = told
    folder = tmp_path / "out"
    asked = iter([False, False, True])

    @contextmanager
    def ask_to_stop():
        yield lambda: next(asked)

    with monkeypatch.context() as patch:
        patch.setattr(_narrator, "stop_on_interrupt", ask_to_stop)
        cut = run(source, folder)
    assert cut.exit_code == 130
    assert "the same command goes on from there" in cut.output
    assert not (folder / "story.json").exists()
    done = run(source, folder)
    assert done.exit_code == 0, done.output
    assert "going on from where it stopped" in done.output
    found = [json.loads((each / "story.json").read_text()) for each in (folder, straight)]
    assert found[0]["model_id"] == found[1]["model_id"]
    assert found[0]["fits"][0]["listed"] == found[1]["fits"][0]["listed"]


def test_fresh_starts_over_and_spares_what_is_not_the_demos(mine, source):
    (mine / "notes.txt").write_text("mine")
    again = run(source, mine, "--fresh")
    assert again.exit_code == 0, again.output
    assert "taken as it is" not in again.output
    assert (mine / "notes.txt").read_text() == "mine"
