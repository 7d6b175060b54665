"""Pictures of curves: round ticks, and names that neither cross nor leave the picture."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elasticrec.stream.picture import STYLE, Line, draw_lines, round_sizes, size_text, spread


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (26_000, 1_520_000, [50e3, 100e3, 200e3, 500e3, 1e6]),
        (6, 110, [10, 20, 50, 100]),
        (1e3, 1e6, [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6]),
        (1, 1e6, [1, 10, 100, 1e3, 1e4, 1e5, 1e6]),
        (21, 45, [25, 30, 35, 40, 45]),
        (61e3, 79e3, [65e3, 70e3, 75e3]),
        (1, 1e12, [1, 100, 1e4, 1e6, 1e8, 1e10, 1e12]),
    ],
)
def test_ticks_are_round(low, high, expected):
    assert round_sizes(low, high, most=7) == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.01, 0.2))
def test_names_keep_their_distance_and_their_order(heights, gap):
    placed = spread(heights, gap)
    order = sorted(range(len(heights)), key=lambda n: heights[n])
    assert all(placed[b] - placed[a] >= gap - 1e-9 for a, b in pairwise(order))
    assert abs(sum(placed) - sum(heights)) < 1e-6


SIX = [Line(f"method {n}", {1e4: 0.1, 1e6: 0.2 + 0.001 * n}) for n in range(6)]
DEMO = [Line("the stream", {26476: 0.14, 1.524e6: 0.25}), Line("trained vectors", {}, level=0.2)]


@pytest.mark.parametrize(
    "lines",
    [SIX, DEMO, [Line("one size", {2e4: 0.1})], [Line("near sizes", {2.1e4: 0.1, 2.9e4: 0.2})]],
)
@pytest.mark.parametrize("width", [4.2, 6.4])
def test_no_name_crosses_another_or_is_cut_off(lines, width):
    pytest.importorskip("matplotlib")
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    with rc_context(STYLE):
        figure = Figure(figsize=(width, 3.6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        draw_lines(axes, [*lines, Line("popularity", {}, level=0.05)], size_text)
        figure.canvas.draw()
    names = [Text.get_window_extent(text) for text in axes.texts]  # without its line
    ticks = [label.get_window_extent().padded(2) for label in axes.get_xticklabels()]
    assert len(ticks) > 1
    for group in (names, ticks):
        assert not any(a.overlaps(b) for n, a in enumerate(group) for b in group[:n])
    assert max(box.y1 for box in names) < axes.bbox.y1 + 10
    inside = figure.bbox.padded(1)
    assert all(inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1) for box in names)
    assert not any(line.get_clip_on() for line in axes.lines)
