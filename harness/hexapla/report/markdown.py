"""`summary.md`: the level table and the failures, short enough for a CI page.

Separate because Markdown has its own way to be broken by what a trainer said: everything is flattened to one
line and escaped, commands stand in code blocks whose fence is longer than any run of backticks inside.
"""

from __future__ import annotations

import re

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

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#!~])")


def render_markdown(report: Report) -> str:
    """The whole summary, ending in a newline."""
    parts = [
        f"# Hexapla: {headline(report.exit_status, report.counts).lower()}",
        f"Exit status {report.exit_status}; {counts_words(report.counts)}.",
    ]
    fault = core_fault_words(report.header.core_fault)
    if fault:
        parts.append(f"**{plain(fault)}**")
    if report.unfinished:
        parts.append(f"This is a partial result: {plain(report.unfinished)}.")
    if report.implementations and report.levels:
        parts.append(_table(report))
    direct = [line for line in report.failures if line.outcome is not Outcome.BLOCKED]
    if direct:
        parts.append("## What did not hold")
        parts.extend(_failure(line) for line in direct)
    quiet = [f"- {plain(name)} at {plain(level)}: {outcome.replace('-', ' ')}: {plain(reason)}"
             for name, level, outcome, reason in report.did_not_run()]  # fmt: skip
    if report.levels_not_asked:
        quiet.append(f"- levels without any line: {', '.join(report.levels_not_asked)}")
    if quiet:
        parts.append("## What did not run")
        parts.append("\n".join(quiet))
    parts.append(
        f"Specification {plain(report.header.spec_digest) or 'not recorded'}, seed {report.header.seed}."
    )
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """Text of others as one line that no Markdown reader takes for markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _table(report: Report) -> str:
    rows = [["implementation", *report.levels], ["---"] * (len(report.levels) + 1)]
    for name in report.implementations:
        lines = [report.cell(name, level) for level in report.levels]
        rows.append([plain(name), *(_cell(line) for line in lines)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(line: Line | None) -> str:
    if line is None:
        return ABSENT
    words = f"{SIGNS[line.outcome]} {outcome_words(line.outcome)}"
    return (
        words if line.outcome in (Outcome.PASS, Outcome.SKIPPED, Outcome.NOT_APPLICABLE) else f"**{words}**"
    )


def _failure(line: Line) -> str:
    words = f"**{plain(line.implementation)} at {plain(line.level)}: {outcome_words(line.outcome)}.** "
    words += plain(line.reason) or "No reason was given."
    if not line.repeat:
        return words
    longest = max((len(run) for run in re.findall("`+", line.repeat)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{words}\n\n{fence}sh\n{line.repeat}\n{fence}"
