"""The section "Runtime": threads, memory, limits and handles of all implementations side by side.

Separate because it puts together what several levels and the sampler found. A figure that nobody has is
"not available", never 0.
"""

from __future__ import annotations

from hexapla.protocol.results import Figure
from hexapla.report.markup import Markup, join, tag
from hexapla.report.model import Report
from hexapla.report.plots import live_memory_plot
from hexapla.report.samples import NOT_AVAILABLE
from hexapla.report.words import figure_text

# Label, then where it is found: the first of (level, figure) that has it.
_OF_LEVELS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("threads", (("threads", "threads_seen"),)),
    ("migrations", (("threads", "migrations"),)),
    ("peak", (("memory", "device_bytes_peak"), ("trajectory", "device_bytes_peak"))),
    ("smallest limit", (("memory", "limit_bytes_smallest"),)),
    ("with the collector", (("memory", "limit_bytes_smallest_collector"),)),
    ("collector score", (("memory", "collector_score"),)),
    ("own heap grew", (("memory", "managed_heap_growth_bytes_lost"),)),
    ("handle balance", (("ownership", "handles_live_at_bye"), ("memory", "handles_left"))),
)
_OF_A_COLLECTOR = ("with the collector", "collector score", "own heap grew")
_NO_COLLECTOR = "no collector"
_SAMPLED = (
    ("OS threads", "threads_seen", ""),
    ("core changes", "core_changes", ""),
    ("affinity changes", "affinity_changes", ""),
    ("switches, voluntary", "switches_voluntary", ""),
    ("switches, forced", "switches_involuntary", ""),
    ("resident peak", "rss_bytes_peak", "bytes"),
    ("swap peak", "swap_bytes_peak", "bytes"),
    ("open files", "descriptors_peak", ""),
    ("children", "children_peak", ""),
    ("device peak, sampled", "device_bytes_peak", "bytes"),
)


def runtime_table(report: Report) -> Markup | None:
    """The section: two tables with a row for each implementation of which anything is known, and the plots of
    live device memory, one beside the other."""
    names = [name for name in report.implementations if runtime_rows(report, name)]
    if not names:
        return None
    counted = {name: _counted(report, name) for name in names}
    watched = {name: _watched(report, name) for name in names}
    plots = [plot for name in report.implementations if (plot := live_memory_plot(report, name)) is not None]
    return join(
        tag("h2", "Runtime", id="runtime"),
        tag("h3", "What core counted, and what the levels found"),
        _table(counted),
        tag("h3", "What was seen from outside, while it ran"),
        _table(watched),
        tag("h3", "Live device memory over time") if plots else None,
        tag("div", *plots, class_="plots") if plots else None,
    )


def _table(known: dict[str, list[tuple[str, str]]]) -> Markup:
    labels = [label for label, _ in next(iter(known.values()))]
    head = tag("tr", *(tag("th", label, scope="col") for label in ("implementation", *labels)))
    rows = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            *(tag("td", tag("span", value), data_name=label) for label, value in pairs),
        )
        for name, pairs in known.items()
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="stack runtime")
    return tag("div", table, class_="scroll")


def runtime_rows(report: Report, name: str) -> list[tuple[str, str]]:
    """(label, value) of one implementation; [] when nothing at all is known of it."""
    pairs = [*_counted(report, name), *_watched(report, name)[:-1]]
    if all(value == NOT_AVAILABLE for _, value in pairs):
        return []
    return [*pairs, _watched(report, name)[-1]]


def _counted(report: Report, name: str) -> list[tuple[str, str]]:
    memory = report.cell(name, "memory")
    # Only what has no collector is made to leak on purpose there.
    leaks = memory is not None and "leaked_handles" in memory.figures
    pairs = []
    for label, places in _OF_LEVELS:
        figure, value = _first(report, name, places)
        if value == NOT_AVAILABLE and leaks and label in _OF_A_COLLECTOR:
            value = _NO_COLLECTOR
        pairs.append((label, figure_text(figure, value)))
    return pairs


def _first(report: Report, name: str, places: tuple[tuple[str, str], ...]) -> tuple[str, Figure]:
    for level, figure in places:
        line = report.cell(name, level)
        if line is not None and figure in line.figures:
            return figure, line.figures[figure]
    return places[0][1], NOT_AVAILABLE


def _watched(report: Report, name: str) -> list[tuple[str, str]]:
    samples = report.samples[name]
    pairs = []
    for label, figure, unit in _SAMPLED:
        seen = samples.values.get(figure)
        pairs.append((label, NOT_AVAILABLE if seen is None else figure_text(unit or figure, seen)))
    return [*pairs, ("device memory by", samples.source)]
