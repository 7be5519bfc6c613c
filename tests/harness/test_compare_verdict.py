"""Verdicts: who, which update, by how much; and that nothing but a whole, equal run ever passes."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hexapla.compare.bits import first_parting
from hexapla.compare.bounds import Provenance, RoundingFloor, Yardsticks
from hexapla.compare.trajectory import Trajectory
from hexapla.compare.untrained import judge_untrained
from hexapla.compare.verdict import Verdict, judge
from hexapla.envelope.load import load_bounds
from hexapla.protocol.results import Outcome
from synthetic_runs import at, run_events, trajectory, with_value, write_events

PAIRED = Yardsticks(load_bounds("paired_tiny"))


def judged(tmp_path: Path, change=None, *, bits: bool = False, jitter: float = 0.0) -> Verdict:
    a = trajectory(tmp_path, "python", change, jitter=jitter)
    return judge(a, trajectory(tmp_path, "c" if bits else "torch"), PAIRED, bits=bits)


def scaled(event: dict, name: str, factor: float) -> dict:
    return with_value(event, name, event[name] * (1 + factor))


def test_equal_runs_pass(tmp_path: Path) -> None:
    for bits in (True, False):
        verdict = judged(tmp_path, bits=bits)
        assert verdict.outcome is Outcome.PASS
        assert verdict.figures["heldout_ce_rel_max"] == 0.0
        assert verdict.figures["heldout_ce_rel_max_bound"] == 2e-5


def test_rounding_passes_the_bounds_but_is_not_bit_equal(tmp_path: Path) -> None:
    assert judged(tmp_path, jitter=1e-7).outcome is Outcome.PASS
    verdict = judged(tmp_path, jitter=1e-7, bits=True)
    assert verdict.outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("kind", "update", "name", "words"),
    [
        ("step", 7, "loss", "step loss differs by 0.0001 relative, bound 2e-05"),
        ("step", 31, "gradient_norm", "gradient norm differs by 0.0001 relative, bound 2e-05"),
        ("evaluation", 40, "loss", "held-out CE differs by 0.0001 relative, bound 2e-05"),
    ],
)
def test_one_value_outside_is_named(tmp_path: Path, kind: str, update: int, name: str, words: str) -> None:
    verdict = judged(tmp_path, at(kind, update, lambda event: scaled(event, name, 1e-4)))
    assert verdict.outcome is Outcome.FAIL
    assert verdict.reason.startswith(f"python parts from torch: update {update}: {words}")
    assert verdict.figures["first_outside_update"] == update


def test_mean_outside_while_every_value_is_inside(tmp_path: Path) -> None:
    verdict = judged(
        tmp_path, lambda event: scaled(event, "loss", 5e-6) if event["event"] == "evaluation" else event
    )
    assert verdict.outcome is Outcome.FAIL
    assert "held-out CE: mean relative difference 5e-06 of 6, bound 2e-06" in verdict.reason


def test_a_batch_digest_is_exact(tmp_path: Path) -> None:
    verdict = judged(tmp_path, at("step", 24, lambda event: event | {"batch_digest": "0" * 16}))
    assert verdict.outcome is Outcome.FAIL
    assert "update 24: batch digest is 0000000000000000, not " in verdict.reason


def test_a_flat_evaluation_points_at_the_adapter(tmp_path: Path) -> None:
    first = next(event for event in run_events() if event["event"] == "evaluation")

    def flat(event: dict) -> dict:
        return first | {"step": event["step"]} if event["event"] == "evaluation" else event

    verdict = judged(tmp_path, flat)
    assert verdict.outcome is Outcome.FAIL
    assert "update 10" in verdict.reason
    assert "is the adapter on while it evaluates?" in verdict.reason


def test_a_schedule_off_by_one_points_at_the_schedule(tmp_path: Path) -> None:
    def shifted(event: dict) -> dict:
        if event["event"] != "step" or event["step"] < 3:
            return event
        return scaled(scaled(event, "learning_rate", 0.01), "loss", 1e-3)

    assert "learning rate differs from update 3 on" in judged(tmp_path, shifted).reason


@pytest.mark.parametrize(
    "change",
    [
        at("step", 7, lambda event: [event, event]),
        at("step", 7, lambda event: None),
        at("step", 60, lambda event: None),
        at("evaluation", 20, lambda event: None),
        at("done", 60, lambda event: None),
        at("step", 9, lambda event: with_value(event, "loss", math.nan)),
        at("evaluation", 20, lambda event: with_value(event, "loss", math.nan)),
        lambda event: with_value(event, "loss", math.nan) if event["event"] == "step" else event,
    ],
)
@pytest.mark.parametrize("bits", [True, False])
def test_a_defect_never_passes(tmp_path: Path, change, bits: bool) -> None:
    verdict = judged(tmp_path, change, bits=bits)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.reason


def test_a_defect_of_the_reference_is_not_the_others_failure(tmp_path: Path) -> None:
    broken = trajectory(tmp_path, "torch", at("step", 7, lambda event: None))
    verdict = judge(trajectory(tmp_path, "go"), broken, PAIRED, bits=False)
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.agree is None


def test_two_runs_of_nan_do_not_agree(tmp_path: Path) -> None:
    change = at("step", 9, lambda event: with_value(event, "loss", math.nan))
    a, b = trajectory(tmp_path, "python", change), trajectory(tmp_path, "c", change)
    assert judge(a, b, PAIRED, bits=True).outcome is Outcome.FAIL


def test_skipped_absent_and_boundless_are_their_own_outcomes(tmp_path: Path) -> None:
    whole = trajectory(tmp_path, "go")
    skipped = Trajectory("torch", "nowhere", skipped="torch is not installed")
    assert judge(whole, skipped, PAIRED, bits=False).outcome is Outcome.SKIPPED
    absent = Trajectory.from_events(tmp_path / "torch" / "train.jsonl")
    assert judge(whole, absent, PAIRED, bits=False).outcome is Outcome.UNKNOWN
    boundless = judge(whole, replace(whole, implementation="torch"), Yardsticks(), bits=False)
    assert boundless.outcome is Outcome.UNKNOWN
    assert boundless.mode == "statistics"


def test_a_run_without_evaluations_is_unknown(tmp_path: Path) -> None:
    a, b = trajectory(tmp_path, "go"), trajectory(tmp_path, "torch")
    verdict = judge(replace(a, evaluations={}), replace(b, evaluations={}), PAIRED, bits=False)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "heldout_ce_rel_mean" in verdict.reason


def test_a_floor_of_zero_makes_bit_equality_the_bound(tmp_path: Path) -> None:
    floor = RoundingFloor({"heldout_ce_rel_mean": 0.0}, 8, Provenance("given", "by this test"))
    a, b = trajectory(tmp_path, "python", jitter=1e-9), trajectory(tmp_path, "torch")
    assert judge(a, b, PAIRED, bits=False).outcome is Outcome.PASS
    assert judge(a, b, replace(PAIRED, floor=floor), bits=False).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("change", "update", "field"),
    [
        (at("step", 5, lambda e: with_value(e, "loss", math.nextafter(e["loss"], 9))), 5, "step loss_bits"),
        (at("step", 5, lambda e: with_value(e, "gradient_norm", 0.5)), 5, "step gradient_norm_bits"),
        (at("step", 5, lambda e: with_value(e, "learning_rate", 0.5)), 5, "step learning_rate_bits"),
        (at("step", 5, lambda e: e | {"batch_digest": "f" * 16}), 5, "step batch_digest"),
        (at("step", 5, lambda e: e | {"clipped": not e["clipped"]}), 5, "step clipped"),
        (at("evaluation", 20, lambda e: e | {"adapter_digest": "f" * 64}), 20, "evaluation adapter_digest"),
        (at("evaluation", 20, lambda e: e | {"record_nll": [1.0, *e["record_nll"][1:]]}), 20,
         "evaluation record_nll[0]"),
        (at("checkpoint", 40, lambda e: e | {"optimizer_digest": "f" * 64}), 40,
         "checkpoint optimizer_digest"),
        (at("checkpoint", 40, lambda e: None), 40, "checkpoint"),
        (at("step", 5, lambda e: e | {"milliseconds": 1e6}), None, None),
    ],
)  # fmt: skip
def test_bits_part_at_a_field(tmp_path: Path, change, update: int | None, field: str | None) -> None:
    found = first_parting(trajectory(tmp_path, "go", change), trajectory(tmp_path, "c"))
    assert (found.update, found.field) == (update, field) if found else update is None


def test_untrained_names_the_record(tmp_path: Path) -> None:
    evaluation = trajectory(tmp_path, "torch").evaluations[0]
    bounds = load_bounds("paired_tiny")
    assert judge_untrained(evaluation, evaluation, ("go", "torch"), bounds).outcome is Outcome.PASS
    nll = list(evaluation.record_nll)
    nll[5] *= 1 + 3e-6
    verdict = judge_untrained(replace(evaluation, record_nll=nll), evaluation, ("go", "torch"), bounds)
    assert verdict.outcome is Outcome.FAIL
    assert "record 5 of the held-out file" in verdict.reason
    # The same difference is inside when the record has so many labels that its NLL is not the measure.
    labels = [20, 20, 20, 20, 20, 400, 20, 20]
    changed = replace(evaluation, record_nll=nll)
    assert judge_untrained(changed, evaluation, ("go", "torch"), bounds, labels).outcome is Outcome.PASS


def test_untrained_nan_and_missing_records_fail(tmp_path: Path) -> None:
    evaluation = trajectory(tmp_path, "torch").evaluations[0]
    bounds = load_bounds("paired_tiny")
    nan = replace(evaluation, record_nll=[math.nan, *evaluation.record_nll[1:]], total=math.nan)
    assert "record 0" in judge_untrained(nan, evaluation, ("go", "torch"), bounds).reason
    short = replace(evaluation, record_nll=evaluation.record_nll[1:])
    assert judge_untrained(short, evaluation, ("go", "torch"), bounds).outcome is Outcome.FAIL
    core = load_bounds("core_bits")
    moved = replace(
        evaluation, record_nll=[math.nextafter(evaluation.record_nll[0], 0), *evaluation.record_nll[1:]]
    )
    assert judge_untrained(moved, evaluation, ("go", "c"), core).outcome is Outcome.FAIL


def test_events_of_another_request_are_no_run(tmp_path: Path) -> None:
    path = write_events(tmp_path / "go" / "train.jsonl", [{"id": "x", "event": "done"}])
    assert Trajectory.from_events(path).defects
