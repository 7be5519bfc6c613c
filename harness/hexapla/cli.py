"""The command line: parse, call one command, turn what went wrong into one line and an exit status.

Separate from the commands, which never exit. Exit status 2 is a wrong command line, spec or corpus; 3 a
run that did not finish; the rest is the command's own.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Sequence

from hexapla.bench import command as bench
from hexapla.bench import profile
from hexapla.commands import attach, conform, doctor, memory, new_binding, preflight, run
from hexapla.commands.inputs import UnfinishedError, UsageError
from hexapla.compare import command as compare
from hexapla.data import command as data
from hexapla.envelope import command as floor
from hexapla.protocol.results import EXIT_UNFINISHED, EXIT_USAGE
from hexapla.report import command as report
from hexapla.spec import SpecError


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    given = list(sys.argv[1:] if words is None else words)
    arguments = _parser().parse_args(given)
    arguments.words = given
    if threading.current_thread() is threading.main_thread():
        # Being ended and being interrupted are one thing: trainers are killed, results stay readable.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = int(arguments.run(arguments))
        sys.stdout.flush()
        return status
    except (UsageError, SpecError) as error:
        print(f"hexapla: {error}", file=sys.stderr)
        return EXIT_USAGE
    except UnfinishedError as error:
        print(f"hexapla: {error}", file=sys.stderr)
        return EXIT_UNFINISHED
    except OSError as error:
        # Most often what reads our output is gone or full; Python would try once more at its exit.
        print(f"hexapla: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        _drop_output()
        return EXIT_UNFINISHED
    except KeyboardInterrupt:
        print("hexapla: interrupted; what was known is in the results folder", file=sys.stderr)
        return EXIT_UNFINISHED


def _drop_output() -> None:
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hexapla", description="One training specification on independent implementations, compared."
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (
        conform,
        preflight,
        compare,
        report,
        floor,
        data,
        doctor,
        run,
        attach,
        bench,
        memory,
        profile,
        new_binding,
    ):
        command.add_parser(subparsers)
    return parser


if __name__ == "__main__":
    sys.exit(main())
