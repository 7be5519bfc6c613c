"""`hexapla floor rounding|seeds EVENTS…`: measures a floor from runs that are already there and saves it.

Separate so that a floor is never a number somebody typed: command, date, machine and figures are written
beside it by the program that computed it. It starts no run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hexapla.compare.bounds import RUNS_MINIMUM, BoundsError, Provenance, RoundingFloor, SeedEnvelope
from hexapla.compare.trajectory import Trajectory
from hexapla.envelope.floor import rounding_floor, seed_envelope
from hexapla.envelope.load import save_floor
from hexapla.protocol.results import EXIT_GOOD, EXIT_USAGE

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(subparsers: Subparsers) -> None:
    """Add `floor` to the command line."""
    parser = subparsers.add_parser("floor", help="measure a rounding floor or a seed envelope from runs")
    parser.add_argument("kind", choices=("rounding", "seeds"), help="what differs between the runs")
    parser.add_argument(
        "events", nargs="+", type=Path, metavar="EVENTS", help=f"{RUNS_MINIMUM} or more train.jsonl"
    )
    parser.add_argument("--source", required=True, help="in words: what was run, and what was varied")
    parser.add_argument("--save", required=True, type=Path, metavar="FILE", help="a new file for the result")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """0: measured and saved; 2: these runs make no floor, or FILE cannot be written."""
    runs = [Trajectory.from_events(path) for path in arguments.events]

    def describe(figures: dict[str, float], count: int) -> Provenance:
        command = shlex.join(["hexapla", "floor", arguments.kind, "…", "--source", arguments.source])
        date = datetime.now(UTC).date().isoformat()
        return Provenance("measured", arguments.source, command, date, _machine(), count, figures)

    try:
        floor: RoundingFloor | SeedEnvelope
        floor = (
            rounding_floor(runs, describe) if arguments.kind == "rounding" else seed_envelope(runs, describe)
        )
        save_floor(arguments.save, floor)
    except BoundsError as error:
        print(f"hexapla floor: {error}", file=sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        print(f"hexapla floor: {arguments.save}: {error.strerror}; name a new file", file=sys.stderr)
        return EXIT_USAGE
    if arguments.json:
        print(json.dumps({"file": str(arguments.save), **asdict(floor)}, ensure_ascii=False, indent=2))
        return EXIT_GOOD
    for name, value in floor.figures.items():
        print(f"{name} {value:.3g}")
    return EXIT_GOOD


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
