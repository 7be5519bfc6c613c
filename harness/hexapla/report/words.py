"""How outcomes and figures are put into words, once for terminal, Markdown, JUnit and HTML.

Separate so that no two reports can call one thing by two names. Nothing here reads a file or decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from hexapla.protocol.results import EXIT_BAD, EXIT_GOOD, Figure, Outcome

MEANINGS = {
    Outcome.PASS: "checked, and held",
    Outcome.FAIL: "checked, and did not hold",
    Outcome.EXPECTED_FAIL: "fails as its manifest says, with a reason",
    Outcome.UNEXPECTED_PASS: "listed as failing, but passes: take it off the list",
    Outcome.BLOCKED: "not run, because a level it stands on failed",
    Outcome.SKIPPED: "could have run, but something is missing here",
    Outcome.NOT_APPLICABLE: "the question has no meaning there",
    Outcome.UNKNOWN: "ran, but nothing was observed that could pass or fail",
    Outcome.FLAKY: "five reruns gave mixed outcomes",
    Outcome.CRASHED: "the process died by a signal",
    Outcome.TIMED_OUT: "silent for too long, and ended by the harness",
}

SIGNS = {
    Outcome.PASS: "✓",
    Outcome.FAIL: "✗",
    Outcome.EXPECTED_FAIL: "≈",
    Outcome.UNEXPECTED_PASS: "!",
    Outcome.BLOCKED: "⊘",
    Outcome.SKIPPED: "–",
    Outcome.NOT_APPLICABLE: "·",
    Outcome.UNKNOWN: "?",
    Outcome.FLAKY: "~",
    Outcome.CRASHED: "✗",
    Outcome.TIMED_OUT: "✗",
}
"""Beside the word, so that nothing is said by colour alone."""

ABSENT = "absent"
"""In the place of an outcome where no line was written: never an outcome, never a pass."""

_NOT_NORMAL = "It says nothing of the normal core."

_UNITS = {
    "nats": "nats per label",
    "ms": "ms",
    "seconds": "s",
    "ratio": "×",
    "multiple": "×",
    "cores": "cores",
}


def outcome_words(outcome: Outcome) -> str:
    """`timed-out` as one reads it: "timed out"."""
    return outcome.value.replace("-", " ")


def counts_words(counts: Mapping[str, int]) -> str:
    """ "36 pass, 2 skipped", or "nothing was checked"."""
    return (
        ", ".join(f"{count} {name.replace('-', ' ')}" for name, count in counts.items())
        or "nothing was checked"
    )


def headline(status: int, counts: Mapping[str, int]) -> str:
    """The one sentence at the top, true to the exit status."""
    if status == EXIT_GOOD:
        return "Nothing failed"
    if status == EXIT_BAD:
        good = {Outcome.PASS, Outcome.EXPECTED_FAIL, Outcome.SKIPPED, Outcome.NOT_APPLICABLE}
        bad = sum(count for name, count in counts.items() if name not in good)
        if bad == 0:
            return (
                "Nothing was checked" if not counts else "Some checks were skipped, and --strict refuses that"
            )
        return f"{bad} of {numbered(sum(counts.values()), 'check')} did not hold"
    return "The run did not finish"


def core_fault_words(fault: str) -> str:
    """What to say of a run on a core that can be made wrong; "" of a normal run."""
    if not fault:
        return ""
    if fault == "none":
        return f"Run on a core that can be made wrong, no fault on (the control). {_NOT_NORMAL}"
    return f"Run on a core made wrong on purpose, fault {fault}. {_NOT_NORMAL}"


def numbered(number: int, noun: str) -> str:
    """ "1 level", "2 levels"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def labelled_figures(figures: Mapping[str, Figure]) -> Iterator[tuple[str, str]]:
    """(name, value with its unit) of each figure; a bound stands beside what it bounds.

    The name stays as `results.jsonl` has it, so that it can be searched for.
    """
    for name, value in figures.items():
        base = name.removesuffix("_bound")
        if base != name and base in figures:
            continue
        text = figure_text(name, value)
        bound = figures.get(f"{name}_bound")
        yield name, text if bound is None else f"{text} (bound {figure_text(name, bound)})"


def figure_text(name: str, value: Figure) -> str:
    """A figure with its unit: bytes in MiB, relative differences as such, counts whole."""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "infinite"
    words = name.split("_")
    if "bytes" in words:
        return f"{value / 2**20:,.2f} MiB" if abs(value) >= 2**20 else f"{value:,.0f} bytes"
    unit = next((_UNITS[word] for word in reversed(words) if word in _UNITS), "")
    if "update" in words or "record" in words:
        unit = ""
    number = f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    return f"{number} {unit}".rstrip()


def seconds_text(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"
