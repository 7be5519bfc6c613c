"""The table "Runtime": threads, memory, limits and handles of all implementations side by side.

Separate because it puts together what several levels and the sampler found. A figure that nobody has is
"not available", never 0.
"""

from __future__ import annotations

from hexapla.protocol.results import Figure
from hexapla.report.markup import Markup, join, tag
from hexapla.report.model import Report
from hexapla.report.samples import NOT_AVAILABLE
from hexapla.report.words import figure_text

_OF_LEVELS = (
    ("threads", "threads", "threads_seen"),
    ("migrations", "threads", "migrations"),
    ("peak", "memory", "device_bytes_peak"),
    ("smallest limit", "memory", "limit_bytes_smallest"),
    ("with the collector", "memory", "limit_bytes_smallest_collector"),
    ("collector score", "memory", "collector_score"),
    ("handle balance", "memory", "handles_left"),
)
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
    """The section, with a row for each implementation of which anything is known."""
    known = {name: runtime_rows(report, name) for name in report.implementations}
    known = {name: pairs for name, pairs in known.items() if pairs}
    if not known:
        return None
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
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="stack")
    note = "Threads to handles from core's ledger; from OS threads on, looked at from outside."
    return join(
        tag("h2", "Runtime", id="runtime"),
        tag("div", table, class_="scroll"),
        tag("p", note, class_="quiet"),
    )


def runtime_rows(report: Report, name: str) -> list[tuple[str, str]]:
    """(label, value) of one implementation; [] when nothing at all is known of it."""
    samples = report.samples[name]
    pairs = []
    for label, level, figure in _OF_LEVELS:
        line = report.cell(name, level)
        value: Figure = line.figures.get(figure, NOT_AVAILABLE) if line is not None else NOT_AVAILABLE
        pairs.append((label, figure_text(figure, value)))
    for label, figure, unit in _SAMPLED:
        seen = samples.values.get(figure)
        pairs.append((label, NOT_AVAILABLE if seen is None else figure_text(unit or figure, seen)))
    if all(value == NOT_AVAILABLE for _, value in pairs):
        return []
    return [*pairs, ("device memory by", samples.source)]
