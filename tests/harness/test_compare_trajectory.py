"""A run is read as far as it goes, and everything odd about it is a defect of its own kind."""

import json
import math
from pathlib import Path

import pytest
from hexapla.compare.trajectory import DefectKind, Trajectory
from synthetic_runs import RECORDS, UPDATES, at, run_events, trajectory, with_value, write_events


def kinds(run: Trajectory) -> list[DefectKind]:
    return [defect.kind for defect in run.defects]


def test_a_whole_run_has_no_defect(tmp_path: Path) -> None:
    run = trajectory(tmp_path, "c")
    assert run.defects == ()
    assert run.implementation == "c"
    assert list(run.steps) == list(range(1, UPDATES + 1))
    assert list(run.evaluations) == [0, 10, 20, 30, 40, 50, 60]
    assert list(run.checkpoints) == [20, 40, 60]
    assert len(run.evaluations[0].record_nll) == RECORDS
    assert run.series.heldout_ce[60] == run.evaluations[60].loss


@pytest.mark.parametrize(
    ("change", "kind", "where"),
    [
        (at("step", 7, lambda event: [event, event]), DefectKind.DUPLICATE, "update 7"),
        (at("evaluation", 20, lambda event: [event, event]), DefectKind.DUPLICATE, "evaluation 20"),
        (at("checkpoint", 20, lambda event: [event, event]), DefectKind.DUPLICATE, "update 20"),
        (at("step", 7, lambda event: None), DefectKind.GAP, "update 8"),
        (at("step", 1, lambda event: None), DefectKind.GAP, "update 1"),
        (at("step", 60, lambda event: None), DefectKind.SHORT, "update 59"),
        (at("evaluation", 60, lambda event: None), DefectKind.GAP, "evaluation 60"),
        (at("done", 60, lambda event: None), DefectKind.SHORT, "update 60"),
        (at("done", 60, lambda event: [event, event]), DefectKind.ORDER, "the end"),
        (at("step", 9, lambda event: with_value(event, "loss", math.nan)), DefectKind.NON_FINITE, "update 9"),
        (
            at("step", 9, lambda event: with_value(event, "gradient_norm", math.inf)),
            DefectKind.NON_FINITE,
            "update 9",
        ),
        (at("step", 9, lambda event: event | {"loss": "nan"}), DefectKind.UNREADABLE, "line 11"),
        (
            at("step", 9, lambda event: event | {"loss_bits": "0x0000000000000000"}),
            DefectKind.UNREADABLE,
            "line 11",
        ),
        (at("step", 9, lambda event: event | {"surprise": 1}), DefectKind.UNREADABLE, "line 11"),
        (
            at("evaluation", 30, lambda event: event | {"record_nll": [*event["record_nll"][1:], "NaN"]}),
            DefectKind.NON_FINITE,
            "evaluation 30",
        ),
    ],
)
def test_each_oddity_is_named(tmp_path: Path, change, kind: DefectKind, where: str) -> None:
    run = trajectory(tmp_path, "c", change)
    assert (kind, where) in [(defect.kind, defect.where) for defect in run.defects]


def test_steps_out_of_order(tmp_path: Path) -> None:
    events = run_events()
    first = next(index for index, event in enumerate(events) if event.get("step") == 5)
    events[first], events[first + 1] = events[first + 1], events[first]
    run = Trajectory.from_events(write_events(tmp_path / "c" / "train.jsonl", events))
    assert DefectKind.ORDER in kinds(run)


def test_an_absent_file_and_an_empty_one(tmp_path: Path) -> None:
    assert kinds(Trajectory.from_events(tmp_path / "c" / "train.jsonl")) == [DefectKind.ABSENT]
    empty = write_events(tmp_path / "c" / "train.jsonl", [])
    assert kinds(Trajectory.from_events(empty)) == [DefectKind.ABSENT]


def test_a_torn_last_line(tmp_path: Path) -> None:
    path = write_events(tmp_path / "c" / "train.jsonl", run_events()[:30])
    path.write_bytes(path.read_bytes()[:-40])
    assert kinds(Trajectory.from_events(path)) == [DefectKind.UNREADABLE, DefectKind.SHORT]


def test_skipped_and_error_are_not_runs(tmp_path: Path) -> None:
    skipped = [{"id": "train", "event": "skipped", "reason": "torch is not installed"}]
    run = Trajectory.from_events(write_events(tmp_path / "torch" / "train.jsonl", skipped))
    assert run.skipped == "torch is not installed"
    assert run.defects == ()
    error = {
        "id": "train",
        "event": "error",
        "status": "HXP_OUT_OF_MEMORY",
        "message": "needs 8",
        "where": "update 4",
    }
    run = Trajectory.from_events(write_events(tmp_path / "go" / "train.jsonl", [*run_events()[:5], error]))
    assert DefectKind.ERROR in kinds(run)
    assert "HXP_OUT_OF_MEMORY: needs 8 (update 4)" in str(run.defects[0])


def test_a_run_that_owes_more_updates_is_short(tmp_path: Path) -> None:
    path = write_events(tmp_path / "c" / "train.jsonl", run_events(updates=20))
    assert Trajectory.from_events(path).defects == ()
    assert kinds(Trajectory.from_events(path, updates=(1, 60))) == [DefectKind.SHORT]


def test_a_resumed_run_begins_where_it_resumed(tmp_path: Path) -> None:
    events = [event for event in run_events() if event["event"] == "data" or event.get("step", 0) > 20]
    path = write_events(tmp_path / "c" / "train.jsonl", events)
    assert Trajectory.from_events(path).defects == ()
    assert kinds(Trajectory.from_events(path, updates=(20, 60))) == [DefectKind.GAP]


def test_nan_travels_as_a_string(tmp_path: Path) -> None:
    run = trajectory(tmp_path, "c", at("step", 9, lambda event: with_value(event, "loss", math.nan)))
    assert math.isnan(run.steps[9].loss)
    assert '"loss": "NaN"' in json.dumps(
        run_events(at("step", 9, lambda e: with_value(e, "loss", math.nan)))[10]
    )
