import io

import numpy as np
import pytest
from rich.console import Console

from elasticrec.search.pictures import save_heat_map, save_scatter, terminal_map
from elasticrec.space.composition import F32, Composition
from elasticrec.space.groups import random_groups

KEPT = Composition(np.array([[F32, 0, 8], [0, 3, 0]]), np.array([0, 4]))


def printed(composition, order):
    out = io.StringIO()
    table = terminal_map(composition, np.array([1200, 5]), np.array([38400, 15]), order)
    Console(file=out, width=100).print(table)
    return [line.replace("│", " ").split() for line in out.getvalue().splitlines()]


def test_a_line_per_group_says_what_it_keeps():
    lines = printed(KEPT, np.array([2, 0, 1]))
    assert ["0", "1,200", "8█·", "2", "0", "38,400"] in lines
    assert ["1", "5", "··3", "1", "4", "15"] in lines


def pixels(path):
    image = pytest.importorskip("matplotlib.image")
    return image.imread(path)[..., :3]


def test_a_heat_map_is_a_png_whose_cells_follow_the_composition(tmp_path):
    order = np.arange(3)
    for name, composition in (("some", KEPT), ("all", Composition.full(2, 3))):
        save_heat_map(composition, tmp_path / f"{name}.png", order=order, title=name)
    dark = {
        name: (pixels(tmp_path / f"{name}.png").sum(axis=2) < 1.0).mean()
        for name in ("some", "all")
    }
    assert dark["all"] > 2 * dark["some"] > 0


def test_a_scatter_plot_shows_at_most_fifty_items_of_each_group(tmp_path):
    rng = np.random.default_rng(0)
    items = rng.normal(size=(400, 6)).astype(np.float32)
    groups = random_groups(rng.integers(0, 9, 400), 4, rng)
    kept = Composition.of_mask(rng.random((4, 3)) < 0.6)
    for name, composition in (("plain", None), ("coloured", kept)):
        path = tmp_path / f"{name}.png"
        save_scatter(items, groups, path, rng=np.random.default_rng(1), composition=composition)
        assert pixels(path).std() > 0.05
    assert len(list(tmp_path.iterdir())) == 2


def test_equal_inputs_give_equal_bytes(tmp_path):
    for name in ("a", "b"):
        save_heat_map(KEPT, tmp_path / name, order=np.arange(3))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
