"""Logs of other training tools as curves: what the field writes down, read as it stands.

Separate because these logs prove less than our events do: no digest, no bits, no end. They give statistics,
and a verdict only against bounds that the caller names. Four forms are known, told apart by their content:
`trainer_state.json` of transformers, `trainer_log.jsonl` of LLaMA-Factory, the result files of PEFT's method
comparison, and CSV with a `step` column (and a `run` column where one file holds many runs).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hexapla.compare.trajectory import Series

_LOSS = ("loss", "train_loss", "train loss")
_HELDOUT = ("eval_loss", "val_loss", "valid loss")
_NORM = ("grad_norm", "gradient_norm")
_RATE = ("learning_rate", "lr")
_STEP = ("step", "current_steps")


class ForeignLogError(ValueError):
    """A file in none of the known forms; the message is one line and names it."""


def read_foreign(path: Path) -> dict[str, Series]:
    """The runs in one file, by name (the file's own, or `<file>/<run>`; one per group of evaluations)."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ForeignLogError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from error
    try:
        if path.suffix == ".csv":
            runs = _csv(path.stem, text)
        elif path.suffix == ".jsonl":
            runs = {path.stem: _series(json.loads(line) for line in text.split("\n") if line.strip())}
        else:
            runs = _document(path.stem, json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ForeignLogError):
            raise ForeignLogError(f"{path}: {error}") from error
        raise ForeignLogError(f"{path}: not a training log that is known here ({error})") from error
    found = {name: run for name, run in runs.items() if run.step_loss or run.heldout_ce}
    if not found:
        raise ForeignLogError(f"{path}: no loss with a step in it")
    return found


def _document(name: str, value: Mapping[str, Any]) -> dict[str, Series]:
    if "log_history" in value:
        return _trainer_state(name, value["log_history"])
    if "train_info" in value:
        return {name: _series(value["train_info"]["metrics"])}
    raise ForeignLogError("neither log_history nor train_info in it")


def _trainer_state(name: str, rows: list[Mapping[str, Any]]) -> dict[str, Series]:
    """Several evaluation sets log as eval_<set>_loss, each a run of its own with the same steps."""
    groups = {
        key.removeprefix("eval_").removesuffix("_loss")
        for row in rows
        for key in row
        if key.startswith("eval_") and key.endswith("_loss") and key != "eval_loss"
    }
    if not groups:
        return {name: _series(rows)}
    steps = [row for row in rows if not any(key.startswith("eval_") for key in row)]
    runs = {}
    for group in sorted(groups):
        key = f"eval_{group}_loss"
        mine = [{"step": row["step"], "eval_loss": row[key]} for row in rows if key in row]
        runs[f"{name}/{group}"] = _series([*steps, *mine])
    return runs


def _csv(name: str, text: str) -> dict[str, Series]:
    rows = list(csv.DictReader(text.splitlines()))
    if not rows or "run" not in rows[0]:
        return {name: _series(rows)}
    runs = dict.fromkeys(row["run"] for row in rows)
    return {f"{name}/{run}": _series(row for row in rows if row["run"] == run) for run in runs}


def _series(rows: Iterable[Mapping[str, Any]]) -> Series:
    curves: dict[tuple[str, ...], dict[int, float]] = {_LOSS: {}, _HELDOUT: {}, _NORM: {}, _RATE: {}}
    for row in rows:
        step = _first(row, _STEP)
        if step is None:
            continue
        for names, curve in curves.items():
            value = _first(row, names)
            if value is None:
                continue
            if int(step) in curve and curve[int(step)] != float(value):
                raise ForeignLogError(f"two values of {names[0]} at step {step}: split the file by run")
            curve[int(step)] = float(value)
    return Series(curves[_HELDOUT], curves[_LOSS], curves[_NORM], curves[_RATE])


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)
