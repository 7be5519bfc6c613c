"""The level `checkpoint` on runs that are wrong in one known way each: nothing it compares goes unseen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hexapla.compare.trajectory import Trajectory
from hexapla.levels.checkpoint import CheckpointLevel, Saved, short_spec
from hexapla.protocol import Checkpoint, Done, Evaluation, Event, Outcome, Step
from hexapla.protocol.events import float_bits
from hexapla.spec import Spec, load_spec

STACKS = {"torch": "torch", "c": "core", "go": "core"}


@dataclass(frozen=True)
class _Inputs:
    """What the judge reads of Inputs."""

    spec: Spec


def events(first: int, last: int, scale: float = 1.0) -> list[Event]:
    """The events of a tiny run from update `first` to `last`, its losses multiplied by `scale`."""
    made: list[Event] = []
    for k in range(first, last + 1):
        loss, norm, rate = scale * 4.0 / k, scale * 2.0 / k, 0.001 * k
        made.append(
            Step(
                id="t",
                step=k,
                epoch=0,
                records=4,
                tokens=40,
                labels=9,
                loss=loss,
                loss_bits=float_bits(loss),
                gradient_norm=norm,
                gradient_norm_bits=float_bits(norm),
                clipped=False,
                learning_rate=rate,
                learning_rate_bits=float_bits(rate),
                batch_digest=f"{k:016x}",
                milliseconds=1.0,
            )
        )
    total = scale * 9.0 / last
    made.append(
        Evaluation(
            id="t",
            step=last,
            adapter=True,
            loss=total / 3,
            loss_bits=float_bits(total / 3),
            total=total,
            total_bits=float_bits(total),
            labels=3,
            record_nll=[total],
            adapter_digest=f"{last:064x}",
        )
    )
    made.append(
        Checkpoint(
            id="t", step=last, path="/x", adapter_digest=f"{last:064x}", optimizer_digest=f"{last + 100:064x}"
        )
    )
    values = {"step": last, "stopped": last < 6, "device_bytes_peak": None, "handles_live": None}
    return [*made, Done(id="t", values=values)]


def run(first: int, last: int, scale: float = 1.0) -> Trajectory:
    return Trajectory.from_parsed("x", events(first, last, scale), (first, last))


def whole(scale: float = 1.0) -> Trajectory:
    """Six updates, an evaluation and a checkpoint at 3 as well as at the end."""
    end, middle = run(1, 6, scale), run(1, 3, scale)
    return replace(
        end,
        evaluations={**middle.evaluations, **end.evaluations},
        checkpoints={**middle.checkpoints, **end.checkpoints},
    )


def saved(other: str, scale: float = 1.0) -> Saved:
    evaluation = whole().evaluations[6]
    return Saved(
        whole(scale), run(1, 3, scale), run(4, 6, scale), Path("/x"), {other: run(4, 6)}, {other: evaluation}
    )


def findings(observed: dict[str, Saved]) -> dict[str, str]:
    inputs = _Inputs(load_spec("tiny"))
    judged = CheckpointLevel().judge(observed, STACKS, inputs)  # type: ignore[arg-type]
    assert all((each.outcome is Outcome.PASS) == (each.reason == "") for each in judged.values())
    return {name: each.reason for name, each in judged.items()}


def good() -> dict[str, Saved]:
    return {"torch": saved("c"), "c": saved("go"), "go": saved("torch")}


def test_all_agree() -> None:
    assert findings(good()) == {"torch": "", "c": "", "go": ""}


def test_short_spec_keeps_all_but_the_extent() -> None:
    tiny = load_spec("tiny")
    short = short_spec(tiny)
    changed = {key for key in tiny.values if tiny[key] != short[key]}
    assert changed == {"updates", "evaluate_every", "save_every"} and short.digest != tiny.digest
    assert short["save_every"] < short["updates"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: replace(s, resumed=run(4, 6, 1.001)), "update 4"),
        (lambda s: replace(s, resumed=run(5, 6)), "update 4"),
        (lambda s: replace(s, stopped=run(1, 3, 1.001)), "update 1"),
        (lambda s: replace(s, foreign={"go": run(4, 6, 1 + 1e-9)}), "go's checkpoint"),
        (lambda s: replace(s, foreign={"go": "train ended in error checkpoint"}), "go's checkpoint"),
        (lambda s: replace(s, evaluated={"go": "evaluate ended in error"}), "go's adapter"),
        (
            lambda s: replace(s, evaluated={"go": replace(s.evaluated["go"], adapter_digest="0" * 64)}),
            "another digest",
        ),
        (
            lambda s: replace(
                s, evaluated={"go": replace(s.evaluated["go"], loss=s.evaluated["go"].loss * 1.001)}
            ),
            "held-out CE",
        ),
    ],
)
def test_one_difference_is_named(change: Callable[[Saved], Saved], words: str) -> None:
    observed = good()
    observed["c"] = change(observed["c"])
    reasons = findings(observed)
    assert words in reasons["c"] and reasons["torch"] == "" and reasons["go"] == ""


def test_another_stack_may_round_otherwise() -> None:
    observed = good()
    observed["torch"] = replace(observed["torch"], foreign={"c": run(4, 6, 1 + 1e-7)})
    assert findings(observed)["torch"] == ""
    observed["torch"] = replace(observed["torch"], foreign={"c": run(4, 6, 1 + 1e-3)})
    assert "c's checkpoint" in findings(observed)["torch"]
