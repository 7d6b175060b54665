"""Several ranks train the model of one, and a rank that is killed costs a restart."""

import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
import torch

from elasticrec.errors import InputError
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import train
from elasticrec.training.sampler import Sampler
from elasticrec.training.sharding import Ranks
from elasticrec.training.table import BlockTable
from tests.cli.running import run
from tests.training.ranks import CONFIGS, world


def torchrun(*words, looks_every=0.1):
    command = ["torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += [f"--monitor-interval={looks_every}", "-m", "tests.training.ranks"]
    given = [sys.executable, "-m", *command, *map(str, words)]
    return subprocess.run(given, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize("whole_users", [True, False])
@pytest.mark.parametrize("loss", ["softmax", "bpr"])
def test_shares_of_a_batch_are_the_batch(planted, whole_users, loss):
    config = TrainConfig(batch_size=200, negatives=30, loss=loss, cooccurrence=0.0)
    near = np.random.default_rng(0).integers(planted.n_items, size=(planted.n_items, 3))
    sampler = Sampler(planted.train, config, whole_users=whole_users, near=near)
    batch = next(iter(sampler.epoch(0, 0, torch.Generator().manual_seed(0))))
    shares = [batch.share(number, 3) for number in range(3)]
    first, n = 0, len(batch.unseen)
    for share in shares:
        users = batch.users[first : first + len(share.users)]
        assert torch.equal(share.users, users)
        assert 30 < len(share.seen) < 110  # a user has up to 40 pairs
        share.row.add_(first)
        if share.taken is not None:
            share.taken.add_(first * n)
        first += len(users)
    shared = {"unseen"} if loss == "softmax" else set()
    for name in {field.name for field in fields(batch)} - shared:
        parts = [getattr(share, name) for share in shares]
        whole = getattr(batch, name)
        assert parts == [None] * 3 if whole is None else torch.equal(torch.cat(parts), whole)


def test_more_ranks_than_gpus_are_refused(monkeypatch):
    n = torch.cuda.device_count() + 1
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(n))
    ranks = Ranks()
    ranks.size = 2
    with pytest.raises(
        InputError, match=rf"{n} ranks share {n - 1} cuda device\(s\), expected one"
    ):
        ranks.device(torch.device("cuda"))
    assert ranks.device(torch.device("cpu")).type == "cpu"


def test_two_ranks_train_the_tables_of_one(tmp_path):
    ended = torchrun("tables", tmp_path)
    assert ended.returncode == 0, ended.stderr
    for name, config in CONFIGS.items():
        wanted, found = train(world(), config, device="cpu").table, BlockTable.load(tmp_path / name)
        assert found.facts() == wanted.facts()
        for part, array in wanted.arrays().items():
            np.testing.assert_allclose(found.arrays()[part], array, atol=2e-4, err_msg=name)


def test_a_killed_rank_ends_all_and_the_same_command_goes_on(tmp_path):
    world().save(tmp_path / "split.npz")
    train = "n_blocks=2", "epochs=4", "fewest_steps=8", "negatives=64", "trial_share=0.01"
    others = "order.sizes=20", "order.vote_sizes=20", "order.vote_grid=2", "refit=false"
    words = ["fit", tmp_path / "split.npz", "--device", "cpu"]
    for each in (*(f"train.{setting}" for setting in train), *others):
        words += ["--set", each]
    run(*words, "-o", tmp_path / "plain")
    # Rank 0 has two seconds to say what it found before it is ended, too.
    killed = torchrun("command", 25, *words, "-o", tmp_path / "model", looks_every=2)
    assert killed.returncode == 1
    errors = [line for line in killed.stderr.splitlines() if line.startswith("error:")]
    assert errors == [
        "error: another rank of this training ended; the same command goes on from its checkpoint"
    ]
    assert (tmp_path / "model" / "checkpoint.safetensors").exists()
    again = torchrun("command", -1, *words, "-o", tmp_path / "model")
    assert again.returncode == 0, again.stderr
    assert "resumed in epoch 2" in again.stderr
    tables = [BlockTable.load(tmp_path / name / "table.safetensors") for name in ("plain", "model")]
    np.testing.assert_allclose(tables[0].blocks, tables[1].blocks, atol=1e-3)
    # Training through the codes has several ranks, too.
    sizes = [(tmp_path / name / "stream.elastic").stat().st_size for name in ("plain", "model")]
    assert sizes[0] == sizes[1]
