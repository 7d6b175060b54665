"""A checkpoint comes back as it was saved, is whole or not there, and is not taken for another."""

from dataclasses import replace

import pytest
import torch

from elasticrec.errors import InputError
from elasticrec.training.config import TrainConfig
from elasticrec.training.state import Progress, load_checkpoint, save_checkpoint

CONFIG = TrainConfig(learning_rate=0.1)
PROGRESS = Progress(
    epoch=3, step=2, steps=17, best=0.25, since_best=1, seconds=4.5,
    validations=[{"epoch": 1, "loss": 0.1, "value": 0.25, "seconds": 1.5}],
)  # fmt: skip


def test_what_was_saved_comes_back(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    generator = torch.Generator().manual_seed(3)
    tensors = {
        "table.items": torch.randn(4, 3, generator=generator),
        "by columns": torch.arange(6.0).view(2, 3).T,
        "generator": generator.get_state().cpu(),
    }
    wanted = torch.randn(5, generator=generator)
    save_checkpoint(path, tensors, PROGRESS, CONFIG, "a split")
    found, progress = load_checkpoint(path, CONFIG, "a split")
    assert progress == PROGRESS
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    again = torch.Generator()
    again.set_state(found["generator"])
    assert torch.equal(torch.randn(5, generator=again), wanted)


def test_a_save_that_fails_leaves_the_one_before(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, {"x": torch.ones(2)}, PROGRESS, CONFIG, "a split")

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, {"x": torch.zeros(2)}, PROGRESS, CONFIG, "a split")
    found, _ = load_checkpoint(path, CONFIG, "a split")
    assert found["x"].tolist() == [1, 1]


def test_other_settings_another_split_and_broken_files_are_refused(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, {"x": torch.ones(2)}, PROGRESS, CONFIG, "a split")
    with pytest.raises(InputError, match=r"learning_rate=0\.1, expected 0\.2; resume with the"):
        load_checkpoint(path, replace(CONFIG, learning_rate=0.2), "a split")
    with pytest.raises(InputError, match="was made from another split"):
        load_checkpoint(path, CONFIG, "another split")
    whole = path.read_bytes()
    for broken in (b"", whole[:20], whole[:-3], b"{}" + whole):
        path.write_bytes(broken)
        with pytest.raises(InputError, match="is not a checkpoint"):
            load_checkpoint(path, CONFIG, "a split")
