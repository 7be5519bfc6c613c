"""`hexapla report RUN`: make the reports of a results folder again, and print the table.

Separate so that the command line needs to know one function, `add_parser`. The exit status is the run's own.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from hexapla.protocol.results import EXIT_USAGE, ResultsError
from hexapla.report.terminal import print_report
from hexapla.report.write import write_reports

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(subparsers: Subparsers) -> None:
    """Add `report` to the command line."""
    parser = subparsers.add_parser(
        "report", help="write summary.md, junit.xml and report.html of a run again"
    )
    parser.add_argument("folder", type=Path, metavar="RUN", help="a results folder, finished or not")
    parser.add_argument("--strict", action="store_true", help="skipped counts as failed")
    parser.add_argument(
        "--json", action="store_true", help="print the results as one JSON object, not the table"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit status 0, 1 or 3 as PROTOCOL has them for the run; 2 when there is nothing to report on."""
    try:
        report = write_reports(arguments.folder, strict=arguments.strict)
    except ResultsError as error:
        print(f"hexapla report: {error}", file=sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        print(f"hexapla report: {error.filename}: {error.strerror}; give a writable folder", file=sys.stderr)
        return EXIT_USAGE
    if arguments.json:
        print(json.dumps(report.as_json(), ensure_ascii=False, indent=2))
    else:
        print_report(report, Console())
    return report.exit_status
