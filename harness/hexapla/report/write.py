"""Writes `summary.md`, `junit.xml` and `report.html` into the results folder they are made from.

Separate so that `conform`, at its end or after a crash, calls one function. Each file is written beside its
place and renamed, so an older report is whole until the newer one is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hexapla.report.junit import render_junit
from hexapla.report.markdown import render_markdown
from hexapla.report.model import Report, read_report
from hexapla.report.page import render_page

FILES: dict[str, Callable[[Report], str]] = {
    "summary.md": render_markdown,
    "junit.xml": render_junit,
    "report.html": render_page,
}


def write_reports(folder: Path, *, strict: bool = False) -> Report:
    """Read the folder, finished or not, write all three files, and give back what they show.

    Raises ResultsError when the folder holds no results, OSError when it cannot be written to.
    """
    report = read_report(folder, strict=strict)
    for name, render in FILES.items():
        _replace(folder / name, render(report))
    return report


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    try:
        # What is not UTF-8 in a trainer's words (a lone surrogate) must not cost the report.
        partial.write_bytes(text.encode("utf-8", "replace"))
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
