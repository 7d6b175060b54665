"""Size against quality as an SVG picture: what each method makes of each budget."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from math import log2

from elasticrec_demo.report.story import Measured, Story, size_text

WIDTH, HEIGHT = 460, 330
"""Of the drawing, in its own units; small, so that its letters stay legible on a phone."""
LEFT, RIGHT, TOP, BOTTOM = 46, 16, 22, 44
"""Room for the axes."""
STYLES = {
    "searched": ("searched", "evolutionary search by estimates"),
    "uniform": ("uniform", "all groups alike"),
    "best-of-random": ("random", "the best estimate of as many random tries"),
    "greedy": ("greedy", "always the most estimated gain per byte"),
    "greedy-measured": ("measured", "always the most measured gain per byte"),
}
"""The CSS class of each method and what it does; the first is drawn on top."""


def size_quality_chart(story: Story) -> str:
    """An inline SVG: bytes on a logarithmic axis, share of the full model's quality upwards."""
    chart = _Chart(story)
    lines = [
        chart.line(method, style)
        for method, (style, _) in reversed(STYLES.items())
        if method in chart.methods
    ]
    label = f"Share of the full model's {story.metric} kept at each size, by method"
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    return (
        f'<svg class="chart" {box} role="img" aria-label="{escape(label)}">'
        + "".join([*chart.axes(), *lines, chart.full()])
        + "</svg>"
    )


def legend(story: Story) -> str:
    """The methods with their marks and what they do, as HTML."""
    drawn = [way.method for way in story.fits[0].ways] if story.fits else []
    items = (
        f'<li><svg viewBox="0 0 26 12" class="key {style}" aria-hidden="true">'
        f'<path class="way" d="M1 6H25"/><circle class="dot" cx="13" cy="6" r="4"/></svg>'
        f"<span><b>{escape(method)}</b> {escape(about)}</span></li>"
        for method, (style, about) in STYLES.items()
        if method in drawn
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


class _Chart:
    """Scales of one chart."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.ways: dict[str, list[Measured]] = {}
        for fit in story.fits:
            for way in fit.ways:
                self.ways.setdefault(way.method, []).append(way)
        self.methods = set(self.ways)
        every = [way for ways in self.ways.values() for way in ways]
        sizes = [way.n_bytes for way in every] + [story.full.n_bytes]
        self.low, self.high = log2(min(sizes)) - 0.25, log2(max(sizes)) + 0.15
        least = min([story.share(way) for way in every] + [1.0])
        most = max([story.share(way) for way in every] + [1.0])
        self.floor = max(0.0, int((least - 0.02) * 10) / 10)
        self.ceiling = max(1.0, most) + 0.03

    def x(self, n_bytes: float) -> float:
        """Where a size is."""
        share = (log2(n_bytes) - self.low) / (self.high - self.low)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, share: float) -> float:
        """Where a share of the full quality is."""
        up = (share - self.floor) / (self.ceiling - self.floor)
        return round(HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM), 1)

    def line(self, method: str, style: str) -> str:
        """One method: a line through its budgets, a dot with its numbers at each."""
        places = [(self.x(w.n_bytes), self.y(self.story.share(w)), w) for w in self.ways[method]]
        path = " L".join(f"{x} {y}" for x, y, _ in places)
        if method == "searched":  # where everything fits, it keeps everything
            path += f" L{self.x(self.story.full.n_bytes)} {self.y(1.0)}"
        radius = 5 if method == "searched" else 3.5
        dots = (
            f'<circle class="dot" cx="{x}" cy="{y}" r="{radius}">'
            f"<title>{escape(_told(self.story, way))}</title></circle>"
            for x, y, way in places
        )
        return f'<g class="{style}"><path class="way" d="M{path}"/>{"".join(dots)}</g>'

    def full(self) -> str:
        """The whole model: a dot at the end of the line of 100 %."""
        full = self.story.full
        x, y = self.x(full.n_bytes), self.y(1.0)
        return (
            f'<g class="full"><circle class="dot" cx="{x}" cy="{y}" r="5">'
            f"<title>{escape(_told(self.story, full))}</title></circle>"
            f'<text x="{x}" y="{y - 11}" text-anchor="end">full model</text></g>'
        )

    def axes(self) -> Iterable[str]:
        """Lines and numbers of both axes."""
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        step = 10 if self.ceiling - self.floor > 0.35 else 5
        for percent in range(round(self.floor * 100), 101, step):
            y = self.y(percent / 100)
            whole = " whole" if percent == 100 else ""
            yield f'<path class="grid{whole}" d="M{LEFT} {y}H{right}"/>'
            at = f'x="{LEFT - 6}" y="{y + 4}" text-anchor="end"'
            yield f'<text class="tick" {at}>{percent}%</text>'
        sizes = [(way.n_bytes, fit.budget) for fit in self.story.fits for way in [fit.searched]]
        sizes.append((self.story.full.n_bytes, size_text(self.story.full.n_bytes)))
        for n_bytes, text in sizes:
            x = self.x(n_bytes)
            end = "end" if x > right - 24 else "middle"
            yield f'<path class="grid" d="M{x} {TOP}V{bottom}"/>'
            yield f'<text class="tick" x="{x}" y="{bottom + 17}" text-anchor="{end}">{text}</text>'
        middle = (LEFT + right) / 2
        yield (
            f'<text class="name" x="{middle}" y="{HEIGHT - 7}" text-anchor="middle">'
            "size of what is shipped, on a logarithmic scale</text>"
        )


def _told(story: Story, way: Measured) -> str:
    """A way in one line."""
    value = way.metrics[story.metric]
    share = f"{story.share(way):.1%} of the full model"
    return f"{way.method}: {size_text(way.n_bytes)}, {story.metric} {value:.4f}, {share}"
