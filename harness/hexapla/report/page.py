"""`report.html`: one self-contained page, readable offline, on a phone, in light and dark, and on paper.

Separate from the other reports because it alone draws. The page's frame and style are `page.html`; the words
and tables are built here, every text of a trainer or a record through `markup`, which escapes it. The page
loads nothing: its policy forbids it, and its only script, which copies a command, is admitted by its digest.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from string import Template

from hexapla.protocol.results import EXIT_BAD, EXIT_GOOD, Line, Outcome, count
from hexapla.report.device import Device, operation_name, status_name
from hexapla.report.markup import Markup, join, tag
from hexapla.report.model import Report
from hexapla.report.plots import overview_plots, step_time_plot
from hexapla.report.runtime import runtime_table
from hexapla.report.words import (
    ABSENT,
    MEANINGS,
    SIGNS,
    core_fault_words,
    counts_words,
    figure_text,
    headline,
    labelled_figures,
    numbered,
    outcome_words,
    seconds_text,
)

_SCRIPT = """
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("pre").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}
"""


def render_page(report: Report) -> str:
    """The whole page as text."""
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    body = join(
        _masthead(report),
        _level_table(report),
        _failures(report),
        _plots(report),
        runtime_table(report),
        _implementations(report),
        _did_not_run(report),
        _circumstances(report),
        _legend(),
    )
    template = Template(files("hexapla.report").joinpath("page.html").read_text("utf-8"))
    title = f"Hexapla: {headline(report.exit_status, report.counts).lower()}"
    return template.substitute(title=join(title), body=body, script=_SCRIPT, script_hash=f"sha256-{digest}")


def mark(outcome: Outcome | str, text: str | None = None) -> Markup:
    """An outcome as sign and word; an absent line has a look of its own."""
    if not isinstance(outcome, Outcome):
        return tag("span", outcome, class_="mark none")
    return tag("span", tag("i", SIGNS[outcome], aria_hidden="true"), text or outcome_words(outcome),
               class_=f"mark {_mood(outcome)}".rstrip(), title=MEANINGS[outcome])  # fmt: skip


def _mood(outcome: Outcome) -> str:
    if outcome is Outcome.PASS:
        return "good"
    if outcome in (Outcome.FAIL, Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.UNEXPECTED_PASS, Outcome.FLAKY):
        return "bad"
    return "warn" if outcome in (Outcome.UNKNOWN, Outcome.BLOCKED, Outcome.EXPECTED_FAIL) else ""


def _masthead(report: Report) -> Markup:
    status = report.exit_status
    mood = {EXIT_GOOD: "good", EXIT_BAD: "bad"}.get(status, "warn")
    header = report.header
    sizes = ((len(report.implementations), "implementation"), (len(report.levels), "level"))
    facts = [f"exit status {status}", *(numbered(number, noun) for number, noun in sizes)]
    if report.results.footer is not None:
        facts.append(seconds_text(report.results.footer.seconds))
    if header.started:
        facts.append(header.started)
    tally = [tag("li", mark(Outcome(name), f"{number} {outcome_words(Outcome(name))}"))
             for name, number in report.counts.items()]  # fmt: skip
    fault = core_fault_words(header.core_fault)
    why = f"This is a partial result: {report.unfinished}." if report.unfinished else None
    return tag(
        "header",
        tag("p", "Hexapla report", class_="kicker"),
        tag("h1", headline(status, report.counts)),
        tag("p", fault, class_="fault", role="note") if fault else None,
        tag("p", why) if why else None,
        tag("p", " · ".join(facts), class_="quiet"),
        tag("ul", *tally, class_="tally"),
        class_=f"mast {mood}",
    )


def _level_table(report: Report) -> Markup:
    if not report.implementations or not report.levels:
        return join(tag("h2", "Levels"), tag("p", "No result line was written."))
    head = tag("tr", tag("th", "implementation", scope="col"),
               *(tag("th", level, scope="col") for level in report.levels))  # fmt: skip
    rows = []
    for name in report.implementations:
        stack = report.header.implementations.get(name, {}).get("stack")
        first = tag(
            "th",
            tag("a", name, href=f"#{_anchor(name)}"),
            tag("small", stack) if stack else None,
            scope="row",
        )
        cells = []
        for level in report.levels:
            line = report.cell(name, level)
            cells.append(tag("td", mark(line.outcome if line else ABSENT), data_name=level))
        rows.append(tag("tr", first, *cells))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="levels stack")
    return join(tag("h2", "Levels", id="levels"), tag("div", table, class_="scroll"))


def _failures(report: Report) -> Markup | None:
    failures = report.failures
    if not failures:
        return None
    direct = [line for line in failures if line.outcome is not Outcome.BLOCKED]
    blocked = len(failures) - len(direct)
    note = f"{blocked} more are blocked by these; they stand under “What did not run”." if blocked else None
    cards = [_failure(line) for line in direct or failures]
    return join(
        tag("h2", "What did not hold", id="failures"),
        *cards,
        tag("p", note, class_="quiet") if note else None,
    )


def _failure(line: Line) -> Markup:
    return tag(
        "section",
        tag("h3", f"{line.implementation} at {line.level} ", mark(line.outcome)),
        tag("p", line.reason or "No reason was given."),
        _command(line.repeat),
        class_="card",
    )


def _command(command: str) -> Markup | None:
    if not command:
        return None
    button = tag(
        "button", "Copy", type="button", data_copy=True, aria_label="Copy the command that repeats this"
    )
    return tag("div", tag("pre", command), button, class_="command")


def _plots(report: Report) -> Markup:
    figures = overview_plots(report)
    head = tag("h2", "Trajectories and residuals", id="trajectories")
    if not figures:
        return join(head, tag("p", "No whole training run was asked for (level trajectory)."))
    return join(head, tag("div", *figures, class_="plots"))


def _implementations(report: Report) -> Markup:
    return join(
        tag("h2", "Each implementation", id="implementations") if report.implementations else None,
        *(_implementation(report, name) for name in report.implementations),
    )


def _implementation(report: Report, name: str) -> Markup:
    lines = [line for level in report.levels if (line := report.cell(name, level)) is not None]
    bad = [line for line in lines if report.bad(line.outcome)]
    marks = [mark(line.outcome, f"{line.level}: {outcome_words(line.outcome)}") for line in bad[:3]]
    said = report.header.implementations.get(name, {})
    rows = [_result_row(line) for line in lines]
    head = tag(
        "tr", *(tag("th", word, scope="col") for word in ("level", "outcome", "reason and figures", "time"))
    )
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="stack results")
    step_time = step_time_plot(report, name)
    stderr = report.stderr.get(name, "")
    return tag(
        "details",
        tag("summary", name, *marks, tag("span", counts_words(count(lines)), class_="quiet")),
        _pairs(said) if said else None,
        tag("div", table, class_="scroll") if rows else tag("p", "No result line was written."),
        tag("div", step_time, class_="plots") if step_time else None,
        _last_calls(report.devices[name]) if bad else None,
        join(
            tag("h3", "End of its standard error"),
            tag("div", tag("pre", stderr, class_="log"), class_="logbox"),
        )
        if stderr and bad
        else None,
        id=_anchor(name),
        open=bool(bad),
    )


def _result_row(line: Line) -> Markup:
    figures = list(labelled_figures(line.figures))
    detail = join(
        tag("div", line.reason) if line.reason else None, _pairs(dict(figures)) if figures else None
    )
    return tag(
        "tr",
        tag("th", line.level, scope="row"),
        tag("td", mark(line.outcome)),
        tag("td", detail or None, class_="detail"),
        tag("td", seconds_text(line.seconds), class_="number"),
    )


def _last_calls(device: Device) -> Markup | None:
    """The end of core's own record: what a process did last, whether or not it lived to tell."""
    if not device.calls:
        return None
    words = ("update", "call", "status", "bytes", "live", "thread")
    head = tag("tr", *(tag("th", word, scope="col") for word in words))
    rows = [
        tag(
            "tr",
            tag("th", str(call.update), scope="row"),
            tag("td", tag("span", operation_name(call)), data_name="call"),
            tag("td", tag("span", status_name(call)), data_name="status"),
            tag("td", tag("span", f"{call.bytes:+,}"), data_name="bytes", class_="number"),
            tag("td", tag("span", f"{call.live_bytes:,}"), data_name="live", class_="number"),
            tag("td", tag("span", str(call.thread)), data_name="thread", class_="number"),
        )
        for call in device.calls
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="stack")
    title = f"Last calls of request {device.request}, from core's ledger"
    return join(tag("h3", title), tag("div", table, class_="scroll"))


def _did_not_run(report: Report) -> Markup:
    rows = [
        tag("tr", tag("th", name, scope="row"), tag("td", tag("span", level), data_name="level"),
            tag("td", mark(_outcome(outcome)), data_name="outcome"),
            tag("td", tag("span", reason), data_name="reason"))
        for name, level, outcome, reason in report.did_not_run()
    ]  # fmt: skip
    missing = report.levels_not_asked
    words = (
        f"Levels without any line in this run: {', '.join(missing)}. Nothing is known of them."
        if missing
        else None
    )
    if not rows and not words:
        return join(tag("h2", "What did not run"), tag("p", "Everything that could run here did."))
    head = tag(
        "tr", *(tag("th", word, scope="col") for word in ("implementation", "level", "outcome", "reason"))
    )
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="stack")
    return join(
        tag("h2", "What did not run", id="not-run"),
        tag("p", "None of this is a pass. It says what the run cannot tell."),
        tag("div", table, class_="scroll") if rows else None,
        tag("p", words, class_="quiet") if words else None,
    )


def _circumstances(report: Report) -> Markup:
    header = report.header
    facts = {
        "command": header.command or "not recorded",
        "specification": header.spec_digest or "not recorded",
        "seed": str(header.seed),
        "strict": "yes: skipped counts as failed" if report.strict else "no",
        "core fault": header.core_fault,
    }
    facts |= {name: figure_text(name, value) for name, value in header.machine.items()}
    facts |= {f"version of {name}": version for name, version in header.versions.items()}
    return join(tag("h2", "Under which circumstances", id="circumstances"), _pairs(facts))


def _legend() -> Markup:
    rows = [join(tag("dt", mark(outcome)), tag("dd", meaning)) for outcome, meaning in MEANINGS.items()]
    return tag(
        "footer",
        tag("h2", "The words"),
        tag("dl", *rows, tag("dt", mark(ABSENT)), tag("dd", "no result was written for this place")),
        tag("p", "When everything agrees, that is evidence for the tested configuration only."),
    )


def _pairs(values: Mapping[str, str]) -> Markup:
    return tag(
        "dl", *(join(tag("dt", str(key)), tag("dd", str(value))) for key, value in values.items() if value)
    )


def _outcome(word: str) -> Outcome | str:
    return Outcome(word) if word in set(Outcome) else word


def _anchor(name: str) -> str:
    return "implementation-" + "".join(each if each.isalnum() else "-" for each in name)
