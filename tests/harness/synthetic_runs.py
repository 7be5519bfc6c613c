"""Makes training runs and results folders that look as a trainer's do, without a trainer.

Separate because the tests of compare, envelope and report share it. Everything follows from a seed and from
the change that a test asks for, so a test can say by how much two runs differ.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hexapla.compare.trajectory import Trajectory
from hexapla.protocol.events import float_bits
from hexapla.protocol.results import Header, Line, Outcome, ResultsWriter

UPDATES = 60
EVALUATE_EVERY = 10
SAVE_EVERY = 20
RECORDS = 8

Change = Callable[[dict[str, Any]], dict[str, Any] | list[dict[str, Any]] | None]
"""Takes an event, gives what stands in its place: an event, several, or nothing."""


def run_events(
    change: Change | None = None,
    *,
    jitter: float = 0.0,
    seed: int = 1,
    core: bool = True,
    updates: int = UPDATES,
) -> list[dict[str, Any]]:
    """A whole `train` answer. `jitter`: relative size of a difference in every loss and norm."""
    noise = random.Random(f"{seed}{jitter}")
    events = [
        _event("data", train=360, heldout=RECORDS, rejected={"think": 2}, markers=9),
        _evaluation(0, noise, 0.0),
    ]
    for update in range(1, updates + 1):
        events.append(_step(update, noise, jitter, seed))
        if update % EVALUATE_EVERY == 0 or update == updates:
            events.append(_evaluation(update, noise, jitter))
        if update % SAVE_EVERY == 0 or update == updates:
            events.append(
                _event(
                    "checkpoint",
                    step=update,
                    path=f"out/checkpoint-{update:06}",
                    adapter_digest=_sha(f"a{update}{jitter}"),
                    optimizer_digest=_sha(f"o{update}{jitter}"),
                )
            )
    peak = 48_000_000 if core else None
    events.append(
        _event("done", step=updates, stopped=False, device_bytes_peak=peak, handles_live=0 if core else None)
    )
    return list(_changed(events, change))


def with_value(event: dict[str, Any], name: str, value: float) -> dict[str, Any]:
    """The event with one number changed, its bits with it."""
    changed = event | {name: _number(value)}
    if f"{name}_bits" in event:
        changed[f"{name}_bits"] = float_bits(value)
    return changed


def at(kind: str, step: int, then: Change) -> Change:
    """The change `then` for one event, every other one left alone."""
    return lambda event: then(event) if event["event"] == kind and event.get("step") == step else event


def write_events(path: Path, events: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events), "utf-8")
    return path


def trajectory(folder: Path, name: str, change: Change | None = None, **options: Any) -> Trajectory:
    """Written and read again, as the harness does it."""
    return Trajectory.from_events(
        write_events(folder / "events" / name / "train.jsonl", run_events(change, **options))
    )


def results_folder(
    folder: Path,
    lines: Iterable[Line],
    *,
    finish: bool = True,
    strict: bool = False,
    runs: dict[str, list[dict[str, Any]]] | None = None,
) -> Path:
    header = Header(
        versions={"hexapla": "0.1.0", "core": "0.1.0 gcc 12.2 cpu", "python": "3.11.7", "torch": "2.13.0"},
        spec_digest=_sha("tiny"),
        machine={"cpu": "x86-64, AVX2", "cores": 2, "memory_bytes": 24 * 2**30, "system": "Linux 6.1"},
        seed=1,
        command="hexapla conform --results runs/example",
        started="2026-01-02T03:04:05Z",
        strict=strict,
        implementations={name: {"stack": stack_of(name), "language": name} for name in runs or {}},
    )
    with ResultsWriter(folder, header) as writer:
        for line in lines:
            writer.write(line)
        if finish:
            writer.finish(93.5)
    for name, events in (runs or {}).items():
        write_events(folder / "events" / name / "train.jsonl", events)
    return folder


def line(implementation: str, level: str, outcome: Outcome = Outcome.PASS, **keys: Any) -> Line:
    repeat = f"hexapla conform --binding {implementation} --level {level} --results runs/repeat"
    return Line(implementation, keys.pop("axis", "stack"), level, outcome, repeat=repeat, **keys)


def stack_of(name: str) -> str:
    return {"torch": "torch", "oracle": "numpy"}.get(name, "core")


def _changed(events: list[dict[str, Any]], change: Change | None) -> Iterable[dict[str, Any]]:
    for event in events:
        new = event if change is None else change(event)
        if new is not None:
            yield from new if isinstance(new, list) else [new]


def _step(update: int, noise: random.Random, jitter: float, seed: int) -> dict[str, Any]:
    curve = random.Random(seed * 1000 + update).uniform(-0.08, 0.08)
    rate = 2e-3 * min(1.0, update / 2) * (0.55 + 0.45 * math.cos(math.pi * update / UPDATES))
    values = {
        "loss": (1.1 + 1.9 * math.exp(-update / 18) + curve) * (1 + jitter * noise.uniform(-1, 1)),
        "gradient_norm": (0.7 + 0.9 * math.exp(-update / 9) + curve) * (1 + jitter * noise.uniform(-1, 1)),
        "learning_rate": rate,
    }
    event = _event(
        "step",
        step=update,
        epoch=(update - 1) // 23,
        records=16,
        tokens=1800,
        labels=700,
        clipped=values["gradient_norm"] > 1.0,
        batch_digest=_sha(f"{seed}b{update}")[:16],
        milliseconds=40 + 12 * noise.random(),
    )
    for name, value in values.items():
        event |= {name: value, f"{name}_bits": float_bits(value)}
    return event


def _evaluation(update: int, noise: random.Random, jitter: float) -> dict[str, Any]:
    base = 1.2 + 1.8 * math.exp(-update / 20)
    records = [20 * (base + 0.05 * index) * (1 + jitter * noise.uniform(-1, 1)) for index in range(RECORDS)]
    total = 0.0
    for value in records:
        total += value
    labels = 20 * RECORDS
    event = _event(
        "evaluation",
        step=update,
        adapter=True,
        labels=labels,
        record_nll=records,
        adapter_digest=_sha(f"a{update}{jitter}"),
    )
    for name, value in (("loss", total / labels), ("total", total)):
        event |= {name: value, f"{name}_bits": float_bits(value)}
    return event


def _event(kind: str, **keys: Any) -> dict[str, Any]:
    return {"id": "train", "event": kind, **keys}


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def sample_results(folder: Path, *, finish: bool = True) -> Path:
    """A results folder that holds every outcome, nine trainers, and words that try to be markup."""
    good = ("operators", "loading", "rendering", "untrained")
    names = ("torch", "oracle", "c", "go", "java", "native", "python", "rust", "zig")
    lines = [
        line(name, level, seconds=1.4, axis="stack") for name in names if name != "zig" for level in good
    ]
    bounds = {
        "heldout_ce_rel_mean_bound": 2e-6,
        "heldout_ce_rel_max_bound": 2e-5,
        "step_loss_rel_max_bound": 2e-5,
        "gradient_norm_rel_max_bound": 2e-5,
    }
    figures = {
        "heldout_ce_rel_mean": 3.1e-7,
        "heldout_ce_rel_max": 8.2e-7,
        "gradient_norm_rel_median": 2.2e-7,
        "gradient_norm_rel_max": 1.9e-6,
        "step_ms_median": 41.7,
        "device_bytes_peak": 48_000_000,
    } | bounds
    for name in ("torch", "oracle", "c", "python", "native", "rust"):
        lines.append(line(name, "trajectory", figures=figures, seconds=4.2))
    reason = (
        "go parts from c: update 24: step loss_bits is 0x3ff5c1 (1.3594), not 0x3ff5c2 (1.3596); record "
        "<script>alert('x')</script> & \"quotes\""
    )
    lines += [
        line(
            "go",
            "trajectory",
            Outcome.FAIL,
            reason=reason,
            figures=figures,
            seconds=4.0,
            axis="orchestration",
        ),
        line(
            "java",
            "trajectory",
            Outcome.TIMED_OUT,
            reason="silence: no event for 60 s after update 30",
            seconds=75,
        ),
        line("zig", "operators", Outcome.CRASHED, reason="signal: SIGSEGV in case attention-3", seconds=0.2),
        *(
            line("zig", level, Outcome.BLOCKED, reason="operators failed")
            for level in (*good[1:], "trajectory")
        ),
        line("torch", "abi", Outcome.NOT_APPLICABLE, reason="torch has no C ABI"),
        line("oracle", "abi", Outcome.NOT_APPLICABLE, reason="oracle has no C ABI"),
        line("c", "abi"),
        line("go", "abi"),
        line("python", "abi", Outcome.EXPECTED_FAIL, reason="listed: cffi sees no padding"),
        line("rust", "abi", Outcome.UNEXPECTED_PASS, reason="listed as failing, passes"),
        line("native", "abi", Outcome.SKIPPED, reason="not built yet"),
        line("c", "threads", axis="runtime", figures={"threads_seen": 9, "migrations": 60}),
        line("go", "threads", Outcome.FLAKY, reason="3 of 5 reruns failed", axis="runtime"),
        line("python", "threads", Outcome.UNKNOWN, reason="no migration was observed", axis="runtime"),
    ]
    runs = {name: run_events() for name in ("c", "native", "python", "rust")}
    runs["torch"] = run_events(jitter=4e-7)
    runs["oracle"] = run_events(jitter=2e-7, seed=1, core=False)
    runs["go"] = run_events(_parted)
    runs["java"] = [event for event in run_events() if event.get("step", 0) <= 30]
    runs["zig"] = []
    results_folder(folder, lines, finish=finish, runs=runs)
    (folder / "stderr").mkdir()
    text = (
        "\n".join(f"attention-3: row {row} <b>of</b> 64" for row in range(40))
        + "\nsegmentation fault\x1b[31m\n"
    )
    (folder / "stderr" / "zig.log").write_text(text, "utf-8")
    write_ledger(folder / "ledger" / "zig" / "operators.bin", 40, capacity=64)
    write_ledger(folder / "ledger" / "go" / "train.bin", 5000, capacity=4096)
    return folder


def write_ledger(path: Path, calls: int, *, capacity: int) -> Path:
    """A ledger as core writes it: `calls` calls into a ring of `capacity`, one each 0.2 ms, MiB by MiB."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = struct.pack("<4sIIIQqqqq", b"HXPL", 1, 64, capacity, calls, 3 << 20, 48 << 20, 0, 7)
    slots = [bytes(64)] * min(calls, capacity)
    for number in range(max(0, calls - capacity), calls):
        live = (20 + 12 * (number % 300) // 300) << 20
        values = (number * 200_000, 7, 1 << 20, live, number // 80, 1, 4000 + number % 3, 54, 0, number + 1)
        slots[number % capacity] = struct.pack("<QQqqQQIHHQ", *values)
    path.write_bytes(header.ljust(4096, b"\0") + b"".join(slots))
    return path


def _parted(event: dict[str, Any]) -> dict[str, Any]:
    if event.get("step", 0) < 24 or event["event"] not in ("step", "evaluation"):
        return event
    return with_value(event, "loss", event["loss"] * (1 + 3e-6 * 1.12 ** (event["step"] - 24)))
