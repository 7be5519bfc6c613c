"""`junit.xml`: one suite per implementation, one case per level, for CI systems.

Separate because JUnit has three words where PROTOCOL has eleven outcomes. Whatever makes the exit status 1 is
a failure (a crash or a time-out: an error), what does not is a pass or skipped, so that the file is red
exactly when the exit status is not 0. The exact outcome is kept in the type and message. An unfinished run
gets a case of its own that is an error.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hexapla.protocol.results import EXIT_BAD, Line, Outcome
from hexapla.report.model import Report

# XML 1.0 has no way to write these, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(report: Report) -> str:
    """The whole document as text."""
    root = ElementTree.Element("testsuites", name="hexapla")
    for name in report.implementations:
        lines = [line for line in report.results.lines if line.implementation == name]
        suite = ElementTree.SubElement(root, "testsuite", name=_text(name))
        for line in lines:
            _case(suite, line, report.bad(line.outcome))
        _totals(suite, sum(line.seconds for line in lines))
    _run_case(root, report)
    _totals(root, sum(line.seconds for line in report.results.lines))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, line: Line, bad: bool) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=f"hexapla.{_text(line.implementation)}", name=_text(line.level),
        time=f"{line.seconds:.3f}",
    )  # fmt: skip
    message = _text(f"{line.outcome.value}: {line.reason}" if line.reason else line.outcome.value)
    if bad:
        kind = "error" if line.outcome in (Outcome.CRASHED, Outcome.TIMED_OUT) else "failure"
        problem = ElementTree.SubElement(case, kind, type=line.outcome.value, message=message)
        problem.text = _text(f"{line.reason}\nrepeat: {line.repeat}")
    elif line.outcome is not Outcome.PASS:
        ElementTree.SubElement(case, "skipped", message=message)


def _run_case(root: ElementTree.Element, report: Report) -> None:
    """The run itself: an error when it did not finish, a failure when it checked nothing."""
    suite = ElementTree.SubElement(root, "testsuite", name="the run")
    if report.header.core_fault:
        properties = ElementTree.SubElement(suite, "properties")
        ElementTree.SubElement(
            properties, "property", name="core_fault", value=_text(report.header.core_fault)
        )
    case = ElementTree.SubElement(suite, "testcase", classname="hexapla", name="finished", time="0.000")
    if report.unfinished:
        ElementTree.SubElement(case, "error", type="unfinished", message=_text(report.unfinished))
    elif report.exit_status == EXIT_BAD and not report.failures:
        ElementTree.SubElement(case, "failure", type="empty", message="nothing was checked")
    _totals(suite, 0.0)


def _totals(element: ElementTree.Element, seconds: float) -> None:
    cases = list(element.iter("testcase"))
    for key, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(key, str(sum(case.find(kind) is not None for case in cases)))
    element.set("tests", str(len(cases)))
    element.set("time", f"{seconds:.3f}")


def _text(text: str) -> str:
    return _ILLEGAL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
