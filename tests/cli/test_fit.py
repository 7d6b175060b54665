"""`fit` and its stages `train`, `compress` and `order`: one model either way, and Ctrl-C."""

import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from elasticrec.card import verdict
from elasticrec.changing import extended
from elasticrec.evaluation.baselines import BASELINES
from elasticrec.model import FILES, Model
from tests.cli.running import refused, run

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def options(tiny_settings):
    """The tiny settings as options."""
    return [*(word for setting in tiny_settings for word in ("--set", setting)), "--preset", "demo"]


@pytest.fixture(scope="module")
def split(tiny_split, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "split.npz"
    tiny_split.save(path)
    return path


def test_a_prepared_split_becomes_a_model(split, options, tiny_model, tmp_path):
    shown = run("fit", split, "-o", tmp_path / "MODEL", "--device", "cpu", *options)
    made = Model.open(tmp_path / "MODEL")
    assert made.stream_path.read_bytes() == tiny_model.stream_path.read_bytes()
    curve = made.curve
    beside = ", ".join(f"{name} {curve[name]['recall@50']:.4f}" for name in BASELINES)
    assert f"recall@50 on {curve['users']} validation users: {beside}" in shown
    assert shown.rstrip().endswith(verdict(made))
    for point in curve["points"]:
        assert f"{point['recall@50']:.4f}" in shown
    assert f"next: elasticrec customize {made.root} --budget" in shown


def test_what_is_shown_next_works(tiny_model, tmp_path, monkeypatch):
    from elasticrec.cli.fit import summary

    monkeypatch.chdir(tmp_path)
    command = summary(tiny_model).splitlines()[-2].removeprefix("next: elasticrec ")
    assert "device.elastic: " in run(*command.split())


def test_a_table_is_read_filtered_and_split(tiny_split, options, tmp_path):
    users, items = tiny_split.train.users, tiny_split.item_ids.values[tiny_split.train.items]
    first = np.bincount(items).argmax()
    rows = "".join(f"member {u}#{i}#buy\n" for u, i in zip(users, items, strict=True))
    (tmp_path / "visits.log").write_text("member#sku#event\nstranger#0#view\n" + rows)
    (tmp_path / "titles.csv").write_text(f"sku,title\n{first},The First\n")
    asked = ("fit", tmp_path / "visits.log", "-o", tmp_path / "MODEL", "--user", "member")
    asked += ("--format", "csv", "--separator", "#", "--where", "event == 'buy'")
    run(*asked, "--item", "sku", "--titles", tmp_path / "titles.csv", *options)
    found = Model.open(tmp_path / "MODEL").split
    assert found.user_ids.are_text
    assert "stranger" not in found.user_ids.values
    assert found.titles[found.item_ids.numbers([first])].tolist() == ["The First"]


def test_stages_one_by_one_make_the_same_model(split, options, tiny_model, tmp_path):
    root = tmp_path / "MODEL"
    assert "4 epochs, validation recall@50 0." in run("train", split, "-o", root, *options)
    assert not Model.open(root).has("codes")
    assert "lists of up to 16 neighbours with at least 2" in run("compress", root)
    assert "next: elasticrec customize" in run("order", root)
    made = Model.open(root)
    assert made.stream_path.read_bytes() == tiny_model.stream_path.read_bytes()
    assert made.curve == tiny_model.curve


def test_a_stage_starts_from_the_models_own_settings(tiny_copy, tiny_model):
    before = tiny_model.stream_path.read_bytes()
    run("order", tiny_copy)
    assert Model.open(tiny_copy).stream_path.read_bytes() == before
    run("compress", tiny_copy, "--set", "compression.stages=1")
    run("order", tiny_copy)
    changed = Model.open(tiny_copy)
    assert changed.about["preset"]["compression"]["stages"] == 1
    assert changed.about["preset"]["compression"]["min_support"] == 2
    assert changed.codes.n_columns < tiny_model.codes.n_columns


@pytest.mark.parametrize(
    ("command", "part"),
    [
        *(("compress", part) for part in ("split", "table", "codes", "neighbours")),
        *(("order", part) for part in FILES if part not in ("card", "samples", "estimator")),
    ],
)
def test_a_damaged_part_is_refused_where_nothing_is_left_to_do(tiny_copy, command, part):
    path = tiny_copy / FILES[part]
    sound = path.read_bytes()
    path.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    assert f"error: {path}: is damaged or was swapped" in refused(command, tiny_copy)
    assert not (tiny_copy / ".next").exists()
    path.write_bytes(sound)
    run(command, tiny_copy)


def test_an_edited_card_is_no_damage(tiny_copy):
    with (tiny_copy / "README.md").open("a") as card:
        card.write("Ask Ada before you use it.\n")
    run("order", tiny_copy)
    assert (tiny_copy / "README.md").read_text().endswith("Ask Ada before you use it.\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--preset", "best"], "no preset 'best'; expected one of default, demo"),
        (["--set", "train.epoch=3"], "--set train.epoch=3: no 'epoch', expected one of base"),
        (["--set", "train"], "--set train: expected stage.name=value"),
        (["--set", "train=3"], "--set train=3: 'train', expected a name after it"),
        (["--set", "train.epochs.x=3"], "'epochs', expected a plain setting"),
        (["--set", "train.epochs=many"], "'many', expected a whole number from 0 to 10,000"),
        (["--set", f"train.seed={2**63}"], "seed is 9223372036854775808, expected a whole"),
        (
            ["--set", "train.temperature=inf"],
            "temperature is inf, expected a number from 0.001 to 100",
        ),
        (
            ["--set", "train.temperature=nan"],
            "temperature is nan, expected a number from 0.001 to 100",
        ),
        (["--set", "train.temperature=0"], "temperature is 0.0, expected a number from"),
        (["--set", "train.init_rounds=1e12"], "'1e12', expected a whole number from 1 to 1,000"),
        (["--set", f"train.init_rounds={10**12}"], "expected a whole number from 1 to 1,000"),
        (["--set", "train.betas=0.9"], "betas is (0.9,), expected 2 numbers from 0 to 0.999999"),
        (["--set", "train.block_size=4"], "block_size is 4, expected 8, as a stream has"),
        (["--seed", "-1"], "seed is -1, expected a whole number from 0"),
        (["--set", "refit=perhaps"], "'perhaps', expected true or false"),
        (["--set", "order.sizes=8,wide"], "'8,wide', expected numbers from 1e-12 to 1e+06"),
        (["--set", "order.sizes="], "sizes is (), expected numbers from"),
        (["--set", "order.leads=0,-2"], "leads is (0, -2), expected whole numbers from 0"),
        (["--set", "order.n_persons=0"], "n_persons is 0, expected a whole number from 1"),
        (["--set", "order.metric=auc"], "unknown metric 'auc'"),
        (["--set", "curve.persons=0"], "persons is 0, expected a whole number from 1"),
        (
            ["--set", "compression.min_support=0"],
            "min_support is 0, expected a whole number from 1",
        ),
    ],
)
def test_bad_settings_are_one_line_and_no_training(split, tmp_path, words, message):
    out = tmp_path / "MODEL"
    assert message in refused("train", split, "-o", out, *words)
    assert not (out / "table.safetensors").exists()


def test_a_bad_setting_of_a_late_stage_is_refused_at_once(tiny_copy):
    for name in ("compress", "order"):
        assert "leads is (-1,)" in refused(name, tiny_copy, "--set", "order.leads=-1")


def test_a_table_of_other_settings_is_not_overwritten(split, options, tmp_path):
    root, other = tmp_path / "MODEL", ("--set", "train.epochs=2")
    run("train", split, "-o", root, *options)
    before = (root / "table.safetensors").read_bytes()
    line = refused("train", split, "-o", root, *options, *other)
    assert f"{root}: holds a table of other settings; give another folder, or --force" in line
    assert (root / "table.safetensors").read_bytes() == before
    assert "2 epochs" in run("train", split, "-o", root, *options, *other, "--force")


def test_a_table_is_no_split(tiny_split, tmp_path):
    table = tmp_path / "ratings.csv"
    table.write_text("user,item\n1,2\n")
    line = refused("train", table, "-o", tmp_path / "MODEL")
    assert f"{table}: is no split, expected a split written by `elasticrec data prepare`" in line
    assert not (tmp_path / "MODEL").exists()


def test_wrong_folders_are_refused(split, tiny_model, options, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert "holds other files" in refused("train", split, "-o", tmp_path, *options)
    assert "is no model" in refused("compress", tmp_path)
    Model.create(tmp_path / "NEW")
    assert "has no split yet" in refused("compress", tmp_path / "NEW", after=["neighbours"])
    assert "none.npz: no such file" in refused("train", "none.npz", "-o", tmp_path / "OTHER")
    assert not (tmp_path / "OTHER").exists()


def test_an_unknown_device_is_refused(split, options, tmp_path):
    asked = ("train", split, "-o", tmp_path / "MODEL", "--device", "tpu", *options)
    line = refused(*asked, after=["prepare", "train"])
    assert "device 'tpu' is not available here; expected auto, cpu or cuda" in line


def test_what_a_fit_cannot_use_is_refused_before_it_reads(tmp_path):
    table = tmp_path / "ratings.csv"
    table.write_text("user,item\n" + "".join(f"{n % 30},{n % 29}\n" for n in range(870)))
    assert "holds other files" in refused("fit", table, "-o", tmp_path)
    assert "is a file, expected a folder" in refused("fit", table, "-o", table)
    line = refused("fit", table, "-o", tmp_path / "MODEL", "--device", "tpu")
    assert "device 'tpu' is not available here" in line
    assert [*tmp_path.iterdir()] == [table]


def test_a_checkpoint_of_other_settings_goes_only_by_force(split, options, tiny_split, tmp_path):
    from elasticrec.changing import changed
    from elasticrec.cli._settings import configured
    from elasticrec.stages import Stages
    from elasticrec.training.loop import InterruptedTraining

    root, settings = tmp_path / "MODEL", options[1:-2:2]
    with changed(root) as model:
        Stages(model).prepare(tiny_split, configured("demo", settings))
        with pytest.raises(InterruptedTraining):
            Stages(model, "cpu", stop=lambda: True).train(configured("demo", settings))
    kept = (root / "checkpoint.safetensors").read_bytes()
    others = (*options, "--set", "train.temperature=0.2")
    line = refused("train", split, "-o", root, *others, after=["train"])
    assert "made with temperature=0.1, expected 0.2; resume with the same settings, or" in line
    assert "--force" in line
    assert (root / "checkpoint.safetensors").read_bytes() == kept
    assert "4 epochs, validation" in run("train", split, "-o", root, *others, "--force")
    assert not (root / "checkpoint.safetensors").exists()


def test_other_data_are_refused(tiny_copy, two_tastes, options, tmp_path):
    two_tastes.save(tmp_path / "other.npz")
    line = refused("train", tmp_path / "other.npz", "-o", tiny_copy, *options)
    assert "holds a model of other data" in line


def test_a_second_writer_is_refused(tiny_copy):
    with extended(tiny_copy):
        for name in ("compress", "order"):
            assert "another elasticrec is writing this model" in refused(name, tiny_copy)


def test_ctrl_c_saves_and_the_same_command_goes_on(split, options, tiny_model, tmp_path):
    """The first steps print a line, so the process is known to be training by then."""
    words = [sys.executable, "-c", LOGGING, "train", split, "-o", tmp_path / "MODEL", *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("epoch 2/4"):
            process.send_signal(signal.SIGINT)
            break
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert rest.endswith("stopped; what is done is kept, and the same command goes on\n")
    assert (tmp_path / "MODEL" / "checkpoint.safetensors").exists()
    run("train", split, "-o", tmp_path / "MODEL", *options)
    table = (tmp_path / "MODEL" / "table.safetensors").read_bytes()
    assert table == (tiny_model.root / "table.safetensors").read_bytes()
    shutil.rmtree(tmp_path / "MODEL")


LOGGING = (
    "import functools, elasticrec.training.loop as loop\n"
    "loop.train = functools.partial(loop.train, report_seconds=0)\n"
    "from elasticrec.cli.main import run; run()"
)
"""The command, with a line for every step."""
