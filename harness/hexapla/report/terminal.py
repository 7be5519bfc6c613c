"""The terminal's table implementation × level, and the failures below it.

Separate because it must fit a narrow window: where the words of all levels do not fit, the table is turned
and has one row a level; where they still do not fit, the longest outcomes are shortened. Text of trainers is
printed as text, never as rich's markup or as control codes.
"""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hexapla.protocol.results import Line, Outcome
from hexapla.report.model import Report
from hexapla.report.words import (
    ABSENT,
    SIGNS,
    core_fault_words,
    counts_words,
    headline,
    outcome_words,
)

_STYLES = {
    Outcome.PASS: "green",
    Outcome.EXPECTED_FAIL: "yellow",
    Outcome.BLOCKED: "yellow",
    Outcome.UNKNOWN: "yellow",
    Outcome.SKIPPED: "dim",
    Outcome.NOT_APPLICABLE: "dim",
}
_SHORT = {
    Outcome.EXPECTED_FAIL: "xfail",
    Outcome.UNEXPECTED_PASS: "xpass",
    Outcome.NOT_APPLICABLE: "n/a",
    Outcome.TIMED_OUT: "time",
    Outcome.SKIPPED: "skip",
    Outcome.BLOCKED: "block",
    Outcome.CRASHED: "crash",
    Outcome.UNKNOWN: "unkn.",
}
"""For a window too narrow for the words in full: six cells at most, so that nine columns fit in eighty."""

_COLUMN = 19
"""Cells that the longest outcome needs, sign and padding with it."""


def print_report(report: Report, console: Console) -> None:
    """Table, failures with the command that repeats each, and the closing line with the exit status."""
    if report.implementations and report.levels:
        console.print(_table(report, console.width))
    for line in report.failures:
        if line.outcome is not Outcome.BLOCKED:
            _print_failure(line, console)
    if report.header.core_fault:
        console.print(printable(core_fault_words(report.header.core_fault)), style="yellow")
    if report.unfinished:
        console.print(printable(f"partial result: {report.unfinished}"), style="yellow")
    words = f"{headline(report.exit_status, report.counts)}: {counts_words(report.counts)}"
    console.print(Text(f"{words} (exit status {report.exit_status})", style="bold"))


def printable(text: str) -> Text:
    """Text of others without control codes: a trainer must not be able to move the cursor."""
    return Text(
        "".join(each if each.isprintable() or each == "\n" else f"\\x{ord(each):02x}" for each in text)
    )


def _table(report: Report, width: int) -> Table:
    upright = _COLUMN * (len(report.levels) + 1) <= width
    rows, columns = (
        (report.implementations, report.levels) if upright else (report.levels, report.implementations)
    )
    short = _COLUMN * (len(columns) + 1) > width
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0) if short else (0, 1))
    table.add_column("implementation" if upright else "level", no_wrap=True)
    for column in columns:
        # Folded, not cut: a narrow window may be ugly, but no word is lost.
        table.add_column(printable(column), overflow="fold")
    for row in rows:
        places = ((row, each) if upright else (each, row) for each in columns)
        table.add_row(printable(row), *(_cell(report.cell(*place), short) for place in places))
    return table


def _cell(line: Line | None, short: bool) -> Text:
    if line is None:
        return Text(ABSENT, style="dim")
    words = outcome_words(line.outcome)
    words = _SHORT.get(line.outcome, words) if short else f"{SIGNS[line.outcome]} {words}"
    return Text(words, style=_STYLES.get(line.outcome, "bold red"))


def _print_failure(line: Line, console: Console) -> None:
    console.print()
    head = f"{SIGNS[line.outcome]} {line.implementation} at {line.level}: {outcome_words(line.outcome)}"
    console.print(printable(head), style=_STYLES.get(line.outcome, "bold red"))
    console.print(printable(line.reason or "No reason was given."))
    if line.repeat:
        # Not wrapped: the command must survive being copied.
        console.print(printable(line.repeat), style="cyan", soft_wrap=True)
