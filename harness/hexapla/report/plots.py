"""Which plots a report shows, and of what.

Separate from the drawing (`plot`) and from the page: here is the choice of curves, there their looks.
"""

from __future__ import annotations

import math

from hexapla.report.curves import Curve, residual
from hexapla.report.markup import Markup
from hexapla.report.model import Report
from hexapla.report.plot import Plot, Style, draw

_RESIDUALS = (
    ("heldout_ce", "Residual of held-out cross-entropy"),
    ("step_loss", "Residual of step loss"),
    ("gradient_norm", "Residual of gradient norm"),
)


def overview_plots(report: Report) -> list[Markup]:
    """Held-out cross-entropy and step loss of all who trained, then their residuals against the reference."""
    trained = [name for name in report.implementations if report.curves.get(name)]
    if not trained:
        return []
    styles = _styles(report)
    plots = [
        Plot("Held-out cross-entropy", "nats per label", _curves(report, trained, "heldout_ce"), styles),
        Plot("Step loss", "nats per label", _curves(report, trained, "step_loss"), styles),
    ]
    reference = report.reference
    others = [name for name in trained if name != reference]
    if reference is not None and others:
        for field, title in _RESIDUALS:
            base: Curve = getattr(report.curves[reference], field)
            curves = {name: residual(getattr(report.curves[name], field), base) for name in others}
            note = f"|a − b| / |b|, b is {reference}. A point on the rail marked 0 is equal bit for bit."
            plots.append(
                Plot(title, "relative difference", curves, styles, True, _bound(report, field), note)
            )
    return [draw(plot) for plot in plots]


def step_time_plot(report: Report, name: str) -> Markup | None:
    """Step time of one implementation, where it was observed."""
    curves = report.curves.get(name)
    if not curves:
        return None
    unreadable = curves.unreadable_lines
    note = f"{unreadable} lines of its events could not be read." if unreadable else ""
    return draw(Plot("Time per update", "ms", {name: curves.milliseconds}, _styles(report), note=note))


def live_memory_plot(report: Report, name: str) -> Markup | None:
    """Live device memory of one implementation over time, where core kept a ledger of a whole run."""
    device = report.devices[name]
    if not device.live_mib:
        return None
    note = f"Request {device.drawn}, from core's ledger: the largest value of each stretch of time."
    axis = "ms since the ledger's first record"
    return draw(
        Plot(
            f"Live device memory of {name}",
            "MiB",
            {name: device.live_mib},
            _styles(report),
            note=note,
            axis=axis,
        )
    )


def _styles(report: Report) -> dict[str, Style]:
    return {name: Style(index) for index, name in enumerate(report.implementations)}


def _curves(report: Report, names: list[str], field: str) -> dict[str, Curve]:
    return {name: getattr(report.curves[name], field) for name in names}


def _bound(report: Report, field: str) -> float | None:
    """The bound that the trajectory lines were judged by, when they all name the same one."""
    name = f"{field}_rel_max_bound"
    values = {line.figures[name] for line in report.results.lines if name in line.figures}
    bound = values.pop() if len(values) == 1 else None
    return float(bound) if isinstance(bound, (int, float)) and math.isfinite(bound) and bound > 0 else None
