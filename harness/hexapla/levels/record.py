"""`python -m hexapla.levels.record`: measure torch's error op by op and write it as a bound's data.

Separate from the level because it is run by hand, when torch's pinned version or a case changes, never by
a conformance run. Torch is asked with one thread and with two; the larger error counts.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import hexapla.envelope
from hexapla.commands import inputs as input_words
from hexapla.commands.participants import Preparation, find
from hexapla.levels.operators import ORACLE, RECORD, TORCH, Operators, measure, write_record
from hexapla.levels.session import ContextChoice
from hexapla.toolchains import Places

_MARGIN = {
    "value": 8.0,
    "source": "Given by the project: how far torch may be from this record on another processor, whose "
    "kernels sum in another order. It bounds torch itself and nobody else; faults of an op are far larger.",
}


def main() -> int:
    """Exit status 0, or 1 when torch or the oracle could not answer."""
    parser = argparse.ArgumentParser(prog="python -m hexapla.levels.record", description=__doc__)
    input_words.add_arguments(parser)
    default = Path(hexapla.envelope.__file__).parent / "bounds" / RECORD
    parser.add_argument("--output", type=Path, default=default)
    arguments = parser.parse_args()
    places = Places.find()
    errors: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="hexapla-record-") as folder:
        inputs = input_words.prepare(arguments, places, Path(folder) / "work")
        for threads in (1, 2):
            computed = {}
            for found in find([TORCH, ORACLE], places, "none"):
                choice = ContextChoice("cpu:0", threads)
                preparation = Preparation(places, Path(folder), choice, print, lambda _name, _event: None)
                session = preparation.prepare(found).session
                if session is None:
                    print(f"{found.name} could not be started", file=sys.stderr)
                    return 1
                computed[found.name] = Operators().observe(session, inputs)
                session.close()
            for name, each in computed.items():
                if each.problem:
                    print(f"{name}: {each.problem}", file=sys.stderr)
                    return 1
            for key, error in measure(computed[TORCH].results, computed[ORACLE].results).errors.items():
                errors[key] = max(error, errors.get(key, 0.0))
    provenance = {
        "kind": "measured",
        "source": "largest error of torch against the oracle's float64 over 5 seeded inputs of 4 shapes, "
        "in ulp of f32 at the output's largest magnitude",
        "command": "python -m hexapla.levels.record",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {platform.system()}, torch {version('torch')}, 1 and 2 threads",
        "runs": 20,
    }
    write_record(arguments.output, errors, _MARGIN, provenance)
    print(f"{arguments.output}: {len(errors)} op results")
    return 0


if __name__ == "__main__":
    sys.exit(main())
