"""`hexapla data build SOURCE OUT`: the command line of corpus.py, and nothing else."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from hexapla.data.corpus import Manifest, build
from hexapla.data.source import CorpusError

BAD_CORPUS = 2  # exit status for a bad command line, spec or corpus


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register `data build`; the parsed arguments carry `run`, which gives the exit status."""
    data = subparsers.add_parser("data", help="build a corpus from published question files")
    actions = data.add_subparsers(required=True, metavar="ACTION")
    parser = actions.add_parser("build", help="convert, drop duplicates, hold out, account for every row")
    parser.add_argument(
        "source", type=Path, help="folder with medmcqa/, medqa/ and pubmedqa/, or some of them"
    )
    parser.add_argument("out", type=Path, help="folder to write: train.jsonl, heldout.jsonl, manifest.json")
    parser.add_argument("--seed", type=int, default=1, help="seed of the held-out choice (default 1)")
    parser.add_argument("--json", action="store_true", help="print the account as one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Build, print the account, and give the exit status: 0, or 2 with one line on stderr."""
    if not 0 <= arguments.seed < 2**31:
        print(f"--seed: {arguments.seed} is not from 0 to 2147483647", file=sys.stderr)
        return BAD_CORPUS
    try:
        manifest = build(arguments.source, arguments.out, arguments.seed)
    except (CorpusError, OSError) as error:
        print(error, file=sys.stderr)
        return BAD_CORPUS
    if arguments.json:
        print(json.dumps(asdict(manifest), ensure_ascii=False, indent=2))
    else:
        print(account(manifest))
    return 0


def account(manifest: Manifest) -> str:
    """The counts of a manifest as a table, a line per source file and one for the sum."""
    lines = [f"{'file':<40}{'rows':>9}{'converted':>11}{'duplicate':>11}  rejected"]
    for name, count in [(file.path, file) for file in manifest.files] + [("all", manifest)]:
        rejected = ", ".join(f"{reason} {number}" for reason, number in count.rejected.items()) or "0"
        lines.append(f"{name:<40}{count.rows:>9}{count.converted:>11}{count.duplicate:>11}  {rejected}")
    return "\n".join([*lines, f"{manifest.train} train, {manifest.heldout} held out"])
