"""The whole command on fakes: every implementation reported, faults named at their level, exit statuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fake_types import MakeBinding
from hexapla.cli import main
from hexapla.levels import all_levels
from hexapla.protocol.results import Line, Outcome, read_results


def conform(results: Path, *words: str) -> tuple[int, dict[tuple[str, str], Line]]:
    """Run on `micro` against the oracle alone; exit status and lines by implementation and level."""
    given = ["conform", "--spec", "micro", "--references", "oracle", "--results", str(results), *words]
    status = main(given)
    read = read_results(results)
    assert read.finished and read.exit_status == status
    return status, {(line.implementation, line.level): line for line in read.lines}


def test_good_crashing_hanging_and_lying(tmp_path: Path, binding: MakeBinding) -> None:
    """One bad neighbour must not cost another its result."""
    for fake in ("oracle", "crash", "hang", "not_json"):
        binding(fake, name="good" if fake == "oracle" else "", silence_s=1.0 if fake == "hang" else 20.0)
    binding("changed", name="lying", words="label_mask")
    folder = tmp_path / "bindings"
    status, lines = conform(tmp_path / "run", "--binding", str(folder), "--level", "rendering")
    assert status == 1
    assert lines["good", "rendering"].outcome is Outcome.PASS
    assert lines["oracle", "rendering"].outcome is Outcome.PASS
    assert lines["crash", "rendering"].outcome is Outcome.CRASHED
    assert lines["hang", "rendering"].outcome is Outcome.TIMED_OUT
    assert lines["not-json", "rendering"].outcome is Outcome.FAIL
    assert lines["lying", "rendering"].outcome is Outcome.FAIL
    assert "label flag" in lines["lying", "rendering"].reason
    for name, reason in (("crash", "signal"), ("hang", "silence"), ("not-json", "not_json")):
        line = lines[name, "rendering"]
        assert line.reason.startswith(f"{reason}: {name}: ")
        assert line.repeat.startswith(f"hexapla conform --binding {folder}/{name} --level rendering")


FAULTS = [
    ("op_epsilon", "operators", r"changed: case G5.norm \(rms_norm\): output"),
    ("digest", "loading", r"changed loads otherwise .*k_proj.weight: digest 0000"),
    (
        "newline",
        "rendering",
        r"changed renders .* than oracle: tiny-train, record .*: ids part at position",
    ),
    ("label_mask", "rendering", r"label flag 0, not 1, at position \d+"),
    (
        "epsilon",
        "untrained",
        r"changed parts from oracle: record micro-\S+ of the held-out file: NLL .*bound 2e-06",
    ),
    ("lora_scale", "trajectory", r"update 1: gradient norm differs by 1 relative"),
    ("order_seed", "trajectory", r"update 1: batch digest"),
    ("flat_evaluation", "trajectory", r"update 4: held-out CE differs .* never moves"),
]


def standing_on(failed: str) -> set[str]:
    """The levels that stand on one, or on one that does."""
    found: set[str] = set()
    for level in all_levels():
        if {failed, *found} & set(level.stands_on):
            found.add(level.name)
    return found


@pytest.mark.parametrize(("change", "level", "words"), FAULTS)
def test_one_changed_value(tmp_path: Path, binding: MakeBinding, change: str, level: str, words: str) -> None:
    """It fails at its level and at none before; what stands on that level is blocked."""
    folder = binding("changed", words=change)
    status, lines = conform(tmp_path / "run", "--binding", str(folder))
    assert status == 1
    mine = {name: line for (implementation, name), line in lines.items() if implementation == "changed"}
    failed = [name for name, line in mine.items() if line.outcome is Outcome.FAIL]
    assert failed == [level], {name: line.reason for name, line in mine.items()}
    assert re.search(words, mine[level].reason), mine[level].reason
    assert mine[level].axis == "ambiguous"
    assert all(line.outcome is not Outcome.FAIL for (name, _), line in lines.items() if name == "oracle")
    blocked = {name for name, line in mine.items() if line.outcome is Outcome.BLOCKED}
    assert blocked == standing_on(level)


def test_unchanged_passes(tmp_path: Path, binding: MakeBinding) -> None:
    """The control of the faults above, and the files that a run leaves."""
    folder = binding("changed", words="nothing")
    status, lines = conform(tmp_path / "run", "--binding", str(folder))
    assert status == 0, {key: line.reason for key, line in lines.items()}
    run = tmp_path / "run"
    for name in ("oracle", "changed"):
        train = (run / "events" / name / "train.jsonl").read_text("utf-8").splitlines()
        assert json.loads(train[-1])["event"] == "done"
        assert (run / "stderr" / f"{name}.log").exists()
    for name in ("report.html", "junit.xml", "summary.md"):
        assert (run / name).stat().st_size > 0


def test_expected_failures(tmp_path: Path, binding: MakeBinding) -> None:
    """A known failure does not fail the run; one that starts passing does."""
    for change, outcome in (("digest", Outcome.EXPECTED_FAIL), ("nothing", Outcome.UNEXPECTED_PASS)):
        folder = binding("changed", name=change, words=change)
        manifest = (folder / "binding.toml").read_text("utf-8")
        extra = '[expected_failures]\nloading = "one digest is known to be wrong"\n'
        (folder / "binding.toml").write_text(manifest + extra, "utf-8")
        status, lines = conform(tmp_path / change, "--binding", str(folder), "--level", "loading")
        assert lines[change, "loading"].outcome is outcome
        assert status == (0 if outcome is Outcome.EXPECTED_FAIL else 1)


def test_bad_manifest_and_failed_build(tmp_path: Path, binding: MakeBinding) -> None:
    """Both fail the first level and block the rest; the good neighbour goes on."""
    manifest = binding("good", name="odd") / "binding.toml"
    manifest.write_text(manifest.read_text("utf-8") + "mood = 1\n", "utf-8")
    manifest = binding("good", name="broken") / "binding.toml"
    text = manifest.read_text("utf-8")
    manifest.write_text(text + 'build = [["{python}", "-c", "raise SystemExit(\'error: no\')"]]\n', "utf-8")
    binding("oracle", name="sound")
    words = ["--binding", str(tmp_path / "bindings"), "--level", "loading", "--level", "rendering"]
    status, lines = conform(tmp_path / "run", *words)
    assert status == 1
    for name, reason in (("odd", "bad_manifest"), ("broken", "build_failed")):
        assert lines[name, "loading"].outcome is Outcome.FAIL
        assert lines[name, "loading"].reason.startswith(reason)
        assert lines[name, "rendering"].outcome is Outcome.BLOCKED
    assert lines["sound", "rendering"].outcome is Outcome.PASS


def test_no_start_blocks_the_rest(tmp_path: Path, binding: MakeBinding) -> None:
    folder = binding("no_start")
    words = ["--binding", str(folder), "--level", "loading", "--level", "rendering"]
    _, lines = conform(tmp_path / "run", *words)
    assert lines["no-start", "loading"].reason.startswith("no_start: ")
    assert lines["no-start", "rendering"].outcome is Outcome.BLOCKED


def test_exit_status_counts(tmp_path: Path, binding: MakeBinding) -> None:
    """A trainer whose words are all right but whose exit status is not."""
    _, lines = conform(tmp_path / "run", "--binding", str(binding("exit_status")), "--level", "loading")
    assert lines["exit-status", "loading"].outcome is Outcome.FAIL
    assert lines["exit-status", "loading"].reason.startswith("exit_status: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--binding", "cobol"], "--binding cobol"),
        (["--spec", "/nowhere.json"], "spec /nowhere.json"),
        (["--corpus", "/nowhere"], "--corpus /nowhere"),
        (["--tokenizer", "/nowhere"], "--tokenizer /nowhere"),
        (["--model", "/nowhere"], "--model /nowhere"),
        (["--threads", "0"], "--threads 0"),
    ],
)
def test_wrong_command_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    """One line, exit status 2, nothing started."""
    assert main(["conform", "--results", str(tmp_path / "run"), *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("hexapla: ") and said in error and error.count("\n") == 1
    assert not (tmp_path / "run" / "results.jsonl").exists()


def test_results_are_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results.jsonl").write_text("{}\n", "utf-8")
    assert main(["conform", "--results", str(tmp_path)]) == 2
    assert "holds results already" in capsys.readouterr().err
    assert (tmp_path / "results.jsonl").read_text("utf-8") == "{}\n"


def test_list_and_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--list"]) == 0
    assert "oracle" in capsys.readouterr().out
    assert main(["doctor"]) == 0
    assert "python" in capsys.readouterr().out


def test_run_prints_raw_events(capfd: pytest.CaptureFixture[str], binding: MakeBinding) -> None:
    """One request to one implementation, as `hexapla run` sends it."""
    assert main(["run", "--binding", str(binding("good")), '{"request": "hello"}']) == 0
    names = [json.loads(line)["event"] for line in capfd.readouterr().out.splitlines()]
    assert names == ["hello", "done"]
    assert main(["run", "--binding", str(binding("oracle")), '{"request": "load"}']) == 2
