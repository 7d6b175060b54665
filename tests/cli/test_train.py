"""`elasticrec train`: a model from a split, refusals in one line, and Ctrl-C with --resume."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
from safetensors import safe_open
from typer.testing import CliRunner

from elasticrec.blocks.folder import ModelFolder
from elasticrec.cli.main import app
from elasticrec.data.synthetic import planted_world
from elasticrec.model import Model

SHORT = [
    "--epochs", "2", "--blocks", "2", "--n-groups", "4", "--device", "cpu",
    "--set", "batch_size=512", "--set", "negatives=32", "--set", "cooccurrence=0.3",
]  # fmt: skip


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "split.npz"
    planted_world(300, 200, 6_000, np.random.default_rng(0), n_clusters=8).save(path)
    return path


@pytest.fixture
def train(split):
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, ["train", str(split), *map(str, arguments)])


def refused(result):
    """The one line of an error, after checking that it is one."""
    assert result.exit_code == 2, result.output
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


def test_trains_and_saves_a_model(train, tmp_path):
    out = tmp_path / "model"
    result = train("-o", out, *SHORT, "--seed", 3, "--set", "temperature=0.2")
    assert result.exit_code == 0, result.output
    model, folder = Model.load(out), ModelFolder.open(out)
    assert f"model {folder.model_id[:12]}" in result.stdout
    assert "16 dimensions, 2 epochs" in result.stdout
    settings = model.about["train"]
    assert (settings["n_blocks"], settings["seed"], settings["temperature"]) == (2, 3, 0.2)
    assert (settings["epochs"], settings["negatives"]) == (2, 32)
    assert model.table.n_blocks == 2
    assert model.groups.n_groups == 4
    assert model.cooccurrence is not None
    assert len(model.recommend(0, k=5)) == 5


@pytest.mark.parametrize("base", ["mf", "lightgcn", "history"])
def test_every_base_is_one_option_away(train, tmp_path, base):
    result = train("-o", tmp_path / "model", *SHORT, "--base", base)
    assert result.exit_code == 0, result.output
    assert Model.load(tmp_path / "model").table.base == base


def test_groups_may_be_chosen(train, tmp_path):
    result = train("-o", tmp_path / "model", *SHORT, "--groups", "random")
    assert result.exit_code == 0, result.output
    assert Model.load(tmp_path / "model").about["space"]["kind"] == "random"


def test_an_existing_model_is_replaced_only_by_force(train, tmp_path):
    out = tmp_path / "model"
    assert train("-o", out, *SHORT).exit_code == 0
    before = ModelFolder.open(out).model_id
    assert "holds a model already; choose another folder, or --force" in refused(
        train("-o", out, *SHORT, "--seed", 1)
    )
    assert ModelFolder.open(out).model_id == before
    assert train("-o", out, *SHORT, "--seed", 1, "--force").exit_code == 0
    assert ModelFolder.open(out).model_id != before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "temprature=0.1"], "expected name=value with a name of aggregation, base"),
        (["--set", "temperature"], "--set temperature: expected name=value"),
        (["--set", "epochs=many"], "--set epochs=many: expected a value of type int"),
        (["--set", "aggregation=perhaps"], "expected a value of type bool"),
        (["--set", "temperature=0"], "temperature must be above 0"),
        (["--base", "svd"], "base is 'svd'; expected one of mf, lightgcn, history"),
        (["--preset", "best"], "no preset 'best'; expected one of default"),
        (["--device", "tpu"], "device 'tpu' is not available here"),
        (["--groups", "alphabet"], "alphabet"),
    ],
)
def test_bad_options_are_one_line_code_2_and_no_model(train, tmp_path, options, message):
    out = tmp_path / "model"
    assert message in refused(train("-o", out, *SHORT, *options))
    assert not (out / "model.json").exists()


def test_what_is_no_split_or_no_place_for_a_model_is_refused(train, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert "exists and is not a model folder" in refused(train("-o", tmp_path, *SHORT))
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
    runner = CliRunner()
    source, out = tmp_path / "thesis.tex", tmp_path / "model"
    refused(runner.invoke(app, ["train", str(source), "-o", str(out), *SHORT]))
    assert not out.exists()


def test_help_shows_an_example():
    result = CliRunner().invoke(app, ["train", "--help"])
    assert result.exit_code == 0
    assert "elasticrec train split.npz" in result.stdout


LONG = [
    "--epochs", "16", "--blocks", "2", "--n-groups", "4", "--device", "cpu", "--seed", "1",
    "--set", "batch_size=64", "--set", "negatives=32", "--set", "cooccurrence=0.3",
    "--set", "patience=0", "--set", "evaluate_every=16",
]  # fmt: skip


def start(split, out, *more, **streams):
    """The real command in a process of its own."""
    command = [sys.executable, "-m", "elasticrec", "train", str(split), "-o", str(out)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TERM": "xterm", "COLUMNS": "100"}
    return subprocess.Popen(
        [*command, *LONG, *more], stdout=subprocess.PIPE, text=True, env=environment, **streams
    )


def interrupted(split, out):
    """Exit code and output of a training that got SIGINT once its bar showed a second epoch."""
    terminal, bar = pty.openpty()  # a bar is drawn on a terminal alone
    process = start(split, out, stderr=bar)
    os.close(bar)
    shown, asked = b"", False
    with suppress(OSError):  # what reading raises once the process has closed its end
        while more := os.read(terminal, 4096):
            shown += more
            if not asked and re.search(rb"epoch ([2-9]|\d\d)/16", shown):
                process.send_signal(signal.SIGINT)
                asked = True
    os.close(terminal)
    stdout, _ = process.communicate(timeout=60)
    return process.returncode, stdout, shown.decode()


def test_ctrl_c_saves_and_resume_ends_as_if_nothing_had_happened(split, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    uninterrupted = start(split, whole, stderr=subprocess.PIPE)
    code, stdout, stderr = interrupted(split, parts)
    assert code == 130, stderr
    assert f"stopped and saved; go on with --resume -o {parts}" in stdout
    assert [file.name for file in parts.iterdir()] == ["checkpoint.safetensors"]
    with safe_open(parts / "checkpoint.safetensors", framework="numpy") as file:
        progress = json.loads(file.metadata()["elasticrec"])["progress"]
    assert 66 <= progress["steps"] < 16 * 66  # 4,200 train pairs in batches of 64

    resumed = start(split, parts, "--resume", stderr=subprocess.PIPE)
    for process in (resumed, uninterrupted):
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
    assert not (parts / "checkpoint.safetensors").exists()
    for name in ("blocks.safetensors", "split.npz", "groups.npz", "cooccurrence.npz"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes(), name
    assert ModelFolder.open(parts).model_id == ModelFolder.open(whole).model_id
