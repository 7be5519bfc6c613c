"""`hexapla preflight`: rendering and untrained only, and what they say of the run that is to follow.

Separate from `conform`, whose table it does not need: the question before an expensive run is whether every
implementation sees the same text and starts from the same loss, and what becomes of the records.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from hexapla.commands.conform import add_run_arguments, conduct
from hexapla.commands.show import Show
from hexapla.protocol import Outcome
from hexapla.report.model import Report
from hexapla.report.terminal import print_report
from hexapla.spec import Spec, load_spec

LEVELS = ("rendering", "untrained")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla preflight`."""
    parser = subparsers.add_parser("preflight", help="the cheap check before an expensive run")
    add_run_arguments(parser)
    parser.set_defaults(run=preflight, level=list(LEVELS))


def preflight(arguments: argparse.Namespace) -> int:
    """As `conform`'s: 0 only when nothing parts."""
    show = Show(to_stderr=arguments.json)
    report = conduct(arguments, show)
    summary = summarise(report, load_spec(arguments.spec))
    if arguments.json:
        print(json.dumps({**summary, **report.as_json()}, ensure_ascii=False, indent=2))
        return report.exit_status
    print_report(report, show.console)
    for line in _lines(summary):
        show.say(line)
    show.say(f"results: {report.folder}")
    return report.exit_status


def summarise(report: Report, spec: Spec) -> dict[str, Any]:
    """`ready`, per file what became of the records, the held-out loss (nats per label) of each, the plan."""
    losses = {
        line.implementation: line.figures["heldout_ce_nats"]
        for line in report.results.lines
        if line.level == "untrained" and "heldout_ce_nats" in line.figures
    }
    passed = {
        level: sorted(
            line.implementation
            for line in report.results.lines
            if line.level == level and line.outcome is Outcome.PASS
        )
        for level in LEVELS
    }
    return {
        "ready": report.exit_status == 0 and bool(passed["untrained"]),
        "agree": passed,
        "records": _records(report.folder),
        "heldout_ce_nats": losses,
        "updates": spec["updates"],
        "records_per_update": spec["batch"],
    }


def _records(folder: Path) -> dict[str, dict[str, Any]]:
    """The end of each rendering, from whoever was asked first: those that agree say the same."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("events/*/render-*.jsonl")):
        lines = path.read_bytes().splitlines()
        try:
            end = json.loads(lines[-1]) if lines else {}
        except ValueError:
            continue
        if end.get("event") == "done":
            account = {key: end[key] for key in ("accepted", "rejected", "markers")}
            found.setdefault(path.stem.removeprefix("render-"), account)
    return found


def _lines(summary: dict[str, Any]) -> list[str]:
    lines = []
    for name, account in summary["records"].items():
        counts = sorted(account["rejected"].items())
        rejected = ", ".join(f"{reason} {count}" for reason, count in counts) or "none"
        lines.append(
            f"{name}: {account['accepted']} records accepted, rejected: {rejected}, "
            f"with control tokens as text: {account['markers']}"
        )
    for level, names in summary["agree"].items():
        lines.append(f"{level}: {len(names)} agree ({', '.join(names) or 'nobody'})")
    for name, loss in summary["heldout_ce_nats"].items():
        lines.append(f"before step 1: {name}: held-out cross-entropy {loss:.6f} nats per label")
    lines.append(f"plan: {summary['updates']} updates of {summary['records_per_update']} records")
    lines.append("ready: nothing parts" if summary["ready"] else "not ready: see above")
    return lines
