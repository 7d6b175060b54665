"""`elasticrec curve`: what was measured, as a table, as JSON and as a picture."""

import sys

import pytest

from tests.cli.running import refused, run, run_json


def test_the_table_has_every_size_and_the_baselines(tiny_model):
    curve, shown = tiny_model.curve, run("curve", tiny_model.root)
    assert f"measured on {curve['users']} validation users" in shown
    for point in curve["points"]:
        assert f"{point['bytes']:,}" in shown
        assert f"{point['recall@50']:.4f}" in shown
    for name, label in (("full", "trained vectors"), ("popularity", "popularity")):
        (line,) = [line for line in shown.splitlines() if label in line]
        assert f"{curve[name]['recall@50']:.4f}" in line


def test_json_is_the_curve(tiny_model):
    assert run_json("curve", tiny_model.root) == tiny_model.curve


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_a_picture_is_drawn(tiny_model, tmp_path, name, start):
    pytest.importorskip("matplotlib")
    assert f"{name} written" in run("curve", tiny_model.root, "-o", tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_another_kind_of_picture_is_refused(tiny_model, tmp_path):
    pytest.importorskip("matplotlib")
    line = refused("curve", tiny_model.root, "-o", tmp_path / "a.txt")
    assert "expected a name in .png, .svg, .pdf" in line


def test_without_matplotlib_the_extra_is_named(tiny_model, tmp_path, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    line = refused("curve", tiny_model.root, "-o", tmp_path / "a.png")
    assert line.endswith("this needs matplotlib; install it by: pip install 'elasticrec[plots]'")


def test_an_unfinished_model_says_how_it_is_finished(tmp_path):
    from elasticrec.model import Model

    Model.create(tmp_path / "MODEL")
    assert "has no curve yet" in refused("curve", tmp_path / "MODEL")
