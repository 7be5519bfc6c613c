"""Line plots as inline SVG, drawn here so that the page needs no library and no network.

Separate because drawing has its own rules: axes with round numbers, a logarithmic axis that has a place for
exactly 0, curves that are the same drawn once and named together, and each curve told apart by its dashes as
well as by its colour. It knows nothing of levels or trainers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hexapla.report.markup import Markup, join, tag

WIDTH, HEIGHT = 420, 250
_POINTS = 600
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 8, 10, 34
_DASHES = (None, "7 3", "2 3", "9 3 2 3", "5 2 1 2 1 2", "12 4", "1 2", "4 4", "10 2 2 2 2 2")


@dataclass(frozen=True)
class Style:
    """The place of an implementation among all of a page; it fixes colour and dashes."""

    index: int

    @property
    def colour(self) -> str:
        return f"var(--series-{self.index % len(_DASHES)})"

    @property
    def dashes(self) -> str | None:
        return _DASHES[self.index % len(_DASHES)]


@dataclass(frozen=True)
class Plot:
    """What to draw: curves by name (value by update), the words around them, and an optional bound line."""

    title: str
    unit: str
    curves: Mapping[str, Mapping[int, float]]
    styles: Mapping[str, Style]
    logarithmic: bool = False
    bound: float | None = None
    note: str = ""
    axis: str = "update"


def draw(plot: Plot) -> Markup:
    """The plot as a <figure>; when no curve has a finite value it says so instead of drawing axes."""
    curves = {name: curve for name, curve in plot.curves.items() if curve}
    finite = [value for curve in curves.values() for value in curve.values() if math.isfinite(value)]
    caption = tag("figcaption", tag("strong", plot.title), f" in {plot.unit}" if plot.unit else "")
    if not finite:
        return tag("figure", caption, tag("p", "Nothing was observed.", class_="quiet"), class_="plot")
    groups = _same(curves)
    scale = _Scale(plot, curves, finite)
    words = f"{plot.title}: {', '.join(' = '.join(names) for names in groups)}"
    svg = tag(
        "svg",
        _grid(scale, plot),
        *(_line(scale, _thin(curves[names[0]]), plot.styles[names[0]]) for names in groups),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=words,
    )
    missing = sum(not math.isfinite(value) for curve in curves.values() for value in curve.values())
    notes = [plot.note] if plot.note else []
    if missing:
        notes.append(f"{missing} values are not finite: gaps in the lines.")
    note = tag("p", " ".join(notes), class_="quiet") if notes else None
    return tag("figure", caption, svg, _legend(groups, plot), note, class_="plot")


class _Scale:
    """From values to places. On a logarithmic axis 0 has a rail of its own below the smallest value."""

    def __init__(self, plot: Plot, curves: Mapping[str, Mapping[int, float]], finite: list[float]) -> None:
        updates = [update for curve in curves.values() for update in curve]
        self.first, self.last = min(updates), max(*updates, min(updates) + 1)
        self.logarithmic = plot.logarithmic
        shown = [*finite, plot.bound] if plot.bound is not None else finite
        if plot.logarithmic:
            positive = [value for value in shown if value > 0] or [1e-16, 1e-6]
            self.low = float(math.floor(math.log10(min(positive))))
            self.high = max(float(math.ceil(math.log10(max(positive)))), self.low + 1)
            self.zero = any(value == 0 for value in finite)
        else:
            self.low, self.high = min(shown), max(shown)
            spread = self.high - self.low or abs(self.high) or 1.0
            self.low, self.high = self.low - 0.05 * spread, self.high + 0.05 * spread
            self.zero = False
        self.floor = HEIGHT - _BOTTOM - (16 if self.zero else 0)

    def x(self, update: float) -> float:
        return _LEFT + (update - self.first) / (self.last - self.first) * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        if self.logarithmic:
            if value <= 0:
                return HEIGHT - _BOTTOM
            value = math.log10(value)
        return self.floor - (value - self.low) / (self.high - self.low) * (self.floor - _TOP)

    def ticks(self) -> list[tuple[float, str]]:
        """(value, label) along the value axis."""
        if self.logarithmic:
            step = max(1, math.ceil((self.high - self.low) / 6))
            marks = [(10.0**power, _power(power)) for power in range(int(self.low), int(self.high) + 1, step)]
            return [(0.0, "0"), *marks] if self.zero else marks
        return [(value, f"{value:.6g}") for value in _round_ticks(self.low, self.high)]


def _grid(scale: _Scale, plot: Plot) -> Markup:
    parts: list[Markup] = []
    for value, label in scale.ticks():
        y = f"{scale.y(value):.1f}"
        parts.append(tag("line", x1=str(_LEFT), x2=str(WIDTH - _RIGHT), y1=y, y2=y, class_="grid"))
        parts.append(tag("text", label, x=str(_LEFT - 6), y=y, class_="tick value"))
    for update in _round_ticks(scale.first, scale.last, whole=True):
        place = f"{scale.x(update):.1f}"
        parts.append(tag("text", f"{update:.0f}", x=place, y=str(HEIGHT - _BOTTOM + 16), class_="tick"))
    parts.append(tag("text", plot.axis, x=str(WIDTH - _RIGHT), y=str(HEIGHT - 4), class_="tick axis"))
    if plot.bound is not None:
        y = f"{scale.y(plot.bound):.1f}"
        parts.append(tag("line", x1=str(_LEFT), x2=str(WIDTH - _RIGHT), y1=y, y2=y, class_="bound"))
        label = f"bound {plot.bound:.2g}"
        above = str(max(scale.y(plot.bound) - 4, 9))
        parts.append(tag("text", label, x=str(WIDTH - _RIGHT), y=above, class_="tick axis boundword"))
    return join(*parts)


def _line(scale: _Scale, curve: Mapping[int, float], style: Style) -> Markup:
    runs: list[list[str]] = [[]]
    for update, value in sorted(curve.items()):
        if math.isfinite(value):
            runs[-1].append(f"{scale.x(update):.1f},{scale.y(value):.1f}")
        elif runs[-1]:
            runs.append([])
    dots = len(curve) <= 24
    parts = [
        tag(
            "polyline",
            points=" ".join(run),
            stroke=style.colour,
            stroke_dasharray=style.dashes,
            class_="curve",
        )
        for run in runs
        if len(run) > 1
    ]
    for run in runs:
        for point in run if dots or len(run) == 1 else ():
            x, y = point.split(",")
            parts.append(tag("circle", cx=x, cy=y, r="2.4", fill=style.colour))
    return join(*parts)


def _thin(curve: Mapping[int, float]) -> Mapping[int, float]:
    """At most some _POINTS points: the smallest and the largest value of each stretch, so no spike is lost.

    A stretch that holds a value that is not finite keeps it, as the gap it is."""
    if len(curve) <= _POINTS:
        return curve
    updates = sorted(curve)
    length = -(-len(updates) // (_POINTS // 2))
    kept: dict[int, float] = {}
    for start in range(0, len(updates), length):
        stretch = updates[start : start + length]
        odd = [update for update in stretch if not math.isfinite(curve[update])]
        ends = (min(stretch, key=curve.__getitem__), max(stretch, key=curve.__getitem__))
        kept.update((update, curve[update]) for update in sorted(odd or ends))
    return kept


def _legend(groups: Sequence[Sequence[str]], plot: Plot) -> Markup:
    items = []
    for names in groups:
        style = plot.styles[names[0]]
        swatch = tag(
            "svg",
            tag("line", x1="0", x2="26", y1="5", y2="5", stroke=style.colour, stroke_dasharray=style.dashes,
                class_="curve"),
            viewBox="0 0 26 10", aria_hidden="true",
        )  # fmt: skip
        items.append(tag("li", swatch, " = ".join(names)))
    return tag("ul", *items, class_="legend")


def _same(curves: Mapping[str, Mapping[int, float]]) -> list[list[str]]:
    """Names whose curves are the same to the last bit, together."""
    groups: dict[tuple[tuple[int, str], ...], list[str]] = {}
    for name, curve in curves.items():
        key = tuple((update, float(value).hex()) for update, value in sorted(curve.items()))
        groups.setdefault(key, []).append(name)
    return list(groups.values())


def _round_ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Some four to six round numbers from low to high."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    if whole:
        step = max(1.0, round(step))
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


def _power(power: int) -> str:
    return "1" if power == 0 else f"1e{power}"
