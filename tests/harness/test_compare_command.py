"""`hexapla compare` on results folders, events files and the field's logs: pairs, words, exit status."""

import argparse
import json
import os
from pathlib import Path

import pytest
from hexapla.compare import command
from hexapla.compare.foreign import ForeignLogError, read_foreign
from synthetic_runs import at, line, results_folder, run_events, with_value, write_events

DATA = Path(os.environ.get("HEXAPLA_DATA", Path(__file__).parents[3] / "shared" / "data")) / "trajectories"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no real logs: set HEXAPLA_DATA to the data folder")


def compare(*words: object) -> int:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["compare", *map(str, words)])
    return int(arguments.run(arguments))


def folder(path: Path, change=None) -> Path:
    runs = {
        "torch": run_events(jitter=2e-7),
        "c": run_events(),
        "python": run_events(),
        "go": run_events(change),
    }
    return results_folder(path, [line(name, "trajectory") for name in runs], runs=runs)


def test_one_folder_compares_everyone_with_everyone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(folder(tmp_path / "run"), "--json") == 0
    value = json.loads(capsys.readouterr().out)
    assert {(pair["a"], pair["b"], pair["mode"]) for pair in value["pairs"]} == {
        ("c", "torch", "bounds"), ("python", "torch", "bounds"), ("go", "torch", "bounds"),
        ("python", "c", "bits"), ("go", "c", "bits"), ("go", "python", "bits"),
    }  # fmt: skip
    assert "evidence for the tested configuration only" in value["attribution"]["words"]
    assert value["pairs"][0]["statistics"]["rounding_floor_multiple"] == "unknown"


def test_the_odd_trainer_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change = at("step", 24, lambda event: with_value(event, "loss", event["loss"] * 1.001))
    assert compare(folder(tmp_path / "run", change)) == 1
    out = capsys.readouterr().out
    assert "go parts from c: update 24: step loss_bits" in out
    assert "axis: go parts from its siblings on the same core (c and python)" in out


def test_two_folders_compare_the_same_implementation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = folder(tmp_path / "one"), folder(tmp_path / "other")
    assert compare(one, other, "--json") == 0
    pairs = json.loads(capsys.readouterr().out)["pairs"]
    assert len(pairs) == 6 + 6 + 4
    assert (f"{other}:go", f"{one}:go") in [(pair["a"], pair["b"]) for pair in pairs]


def test_events_files_and_a_floor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder(tmp_path / "run")
    assert compare(run / "events" / "go" / "train.jsonl", run / "events" / "c" / "train.jsonl") == 0
    assert "go against c (bits): pass" in capsys.readouterr().out
    loose = write_events(tmp_path / "torch" / "train.jsonl", run_events(jitter=1e-7))
    assert compare(loose, run / "events" / "c" / "train.jsonl") == 0
    assert "c against torch (bounds): pass" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["absent"], "No such file"),
        (["empty"], "give a results folder"),
        (["run/events/c/train.jsonl"], "give a second RUN"),
        (["run", "--bounds", "absent"], "there are core_bits, memory, paired_tiny"),
        (["run", "--floor", "odd.json"], "holds a None, not a rounding_floor"),
        (["odd.json"], "neither log_history nor train_info"),
        (["odd.csv"], "no loss with a step"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "run")
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd.json").write_text("{}")
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    assert compare(*words) == 2
    error = capsys.readouterr().err
    assert expected in error and error.count("\n") == 1


def test_two_values_of_one_step_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("step,loss\n1,2.0\n1,3.0\n")
    with pytest.raises(ForeignLogError, match="two values of loss at step 1"):
        read_foreign(path)


@needs_data
@pytest.mark.parametrize(
    ("name", "runs", "steps", "evaluations"),
    [
        ("nanogpt_38_runs/val_loss.csv", 38, 0, 14),
        ("hf_trainer_state/multi_eval_groups.json", 6, 30, 31),
        ("llamafactory/qwen2.5-7b_medical_lora_trainer_log.jsonl", 1, 675, 13),
        ("csv/qwen3_0.6b_pretrain_loss.csv", 1, 612, 0),
        ("peft_metamath_lora/r32_472121382.json", 1, 20, 0),
    ],
)
def test_real_logs_are_read(name: str, runs: int, steps: int, evaluations: int) -> None:
    found = read_foreign(DATA / name)
    assert len(found) == runs
    assert {(len(run.step_loss), len(run.heldout_ce)) for run in found.values()} == {(steps, evaluations)}


@needs_data
def test_real_logs_have_statistics_but_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    logs = [DATA / "peft_metamath_lora" / f"r32_{name}.json" for name in ("472121382", "51c2ff666")]
    assert compare(*logs, "--json") == 1
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert pair["outcome"] == "unknown"
    assert 0 < pair["statistics"]["step_loss_rel_max"] < 1e-2
    assert pair["statistics"]["heldout_ce_rel_mean"] == "unknown"
