"""Memory baselines: a regression beyond the band fails, a reason is kept, absent is never within."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hexapla.cli import main
from hexapla.commands import memory
from hexapla.compare.bounds import BoundsError
from hexapla.envelope import baseline
from hexapla.envelope.baseline import Level, changes, load_baseline, measured
from hexapla.process.headroom import Headroom, headroom_of, weights_bytes
from hexapla.protocol.results import Line, Outcome

GIB = 1 << 30
FIGURES: Mapping[str, Any] = {
    "device_bytes_peak": 1000,
    "growth_bytes_per_update": 0.0,
    "limit_bytes_smallest": 900,
    "limit_bytes_resolution": 4,
    "pace": "steady",
}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where baselines are kept during a test."""
    folder = tmp_path / "baselines"
    monkeypatch.setattr(baseline, "path_of", lambda spec: folder / f"{spec}.json")
    monkeypatch.setattr(memory, "path_of", lambda spec: folder / f"{spec}.json")
    return folder


class FakeLevel:
    """Stands for the level: what each of its runs shows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *runs: Mapping[str, Any]) -> None:
        self.runs = list(runs)
        self.outcome = Outcome.PASS
        monkeypatch.setattr(memory, "conduct", self.conduct)

    def conduct(self, _arguments: Any, _show: Any) -> Any:
        figures = self.runs.pop(0) if len(self.runs) > 1 else self.runs[0]
        line = Line("c", "none", "memory", self.outcome, "why", figures)
        return SimpleNamespace(results=SimpleNamespace(lines=(line,), finished=True), unfinished="")


def test_band_and_median_are_those_of_the_runs() -> None:
    runs = [FIGURES | {"device_bytes_peak": value} for value in (1000, 1010, 990, 1002, 1001)]
    found = measured(runs)
    assert found["device_bytes_peak"] == Level(1001, 11)
    assert found["limit_bytes_smallest"] == Level(900, 4)
    assert "pace" not in found


def test_a_figure_that_one_run_lacks_is_not_recorded() -> None:
    assert "device_bytes_peak" not in measured([FIGURES, {"device_bytes_peak": "not available"}])


def record(monkeypatch: pytest.MonkeyPatch, reason: str = "first") -> int:
    FakeLevel(monkeypatch, FIGURES)
    return main(["memory", "--rebaseline", "--reason", reason])


def test_recorded_then_held(kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert record(monkeypatch) == 0
    assert json.loads((kept / "micro.json").read_text())["provenance"]["runs"] == 8
    assert main(["memory"]) == 0
    assert "3 of 3 figures within" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("figure", "value", "status"),
    [
        ("device_bytes_peak", 1001, 1),
        ("limit_bytes_smallest", 912, 0),
        ("limit_bytes_smallest", 913, 1),
        ("growth_bytes_per_update", 0.5, 1),
        ("device_bytes_peak", 900, 0),
        ("device_bytes_peak", "not available", 1),
        ("pressure_calls_in_loop", 12, 1),
    ],
)
def test_regressions(
    kept: Path, monkeypatch: pytest.MonkeyPatch, figure: str, value: Any, status: int
) -> None:
    record(monkeypatch)
    FakeLevel(monkeypatch, {**FIGURES, figure: value})
    assert main(["memory"]) == status


def test_without_a_baseline_nothing_is_within(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    FakeLevel(monkeypatch, FIGURES)
    assert main(["memory"]) == 1
    assert "no baseline" in capsys.readouterr().out


def test_a_failing_level_records_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeLevel(monkeypatch, FIGURES).outcome = Outcome.FAIL
    assert main(["memory", "--rebaseline", "--reason", "x"]) == 1
    assert not kept.exists()


def test_rebaseline_wants_a_reason_and_keeps_all_of_them(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    record(monkeypatch)
    assert main(["memory", "--rebaseline"]) == 2
    assert main(["memory", "--rebaseline", "--reason", "x", "--runs", "3"]) == 2
    FakeLevel(monkeypatch, {**FIGURES, "device_bytes_peak": 2000})
    assert main(["memory", "--rebaseline", "--reason", "weights in f32 twice"]) == 0
    assert "regressed: c: device_bytes_peak: 1,000 (band 0) -> 2,000" in capsys.readouterr().out
    history = json.loads((kept / "micro.json").read_text())["history"]
    assert [each["reason"] for each in history] == ["first", "weights in f32 twice"]


def test_a_file_that_is_no_baseline_is_named(kept: Path) -> None:
    kept.mkdir()
    (kept / "micro.json").write_text("{}")
    with pytest.raises(BoundsError, match="not a memory baseline"):
        load_baseline("micro")
    assert main(["memory"]) == 2


def test_changes_name_both_sides() -> None:
    (gone,) = [each for each in changes(None, "c", {"device_bytes_peak": 5})]
    assert gone.regressed and gone.verdict == "no baseline"
    assert str(gone) == "c: device_bytes_peak: nothing -> 5"


def test_headroom_is_small_or_not_or_not_known() -> None:
    roomy = Headroom("cuda:0", 100 * GIB, 90 * GIB, "NVML", 10 * GIB, "planned")
    assert not roomy.small and len(roomy.lines()) == 1
    assert "total 102,400 MiB" in roomy.lines()[0] and "headroom 81,920 MiB" in roomy.lines()[0]
    tight = Headroom("cuda:0", 100 * GIB, 19 * GIB, "NVML", 10 * GIB, "planned")
    assert tight.small and "warning" in tight.lines()[1]
    unknown = Headroom("cuda:0", None, None, "NVML", 10 * GIB, "planned")
    assert not unknown.small and "total not available" in unknown.lines()[0]
    assert "0 MiB" not in unknown.lines()[0].replace("10,240 MiB", "")


def test_headroom_of_this_machine() -> None:
    found = headroom_of("cpu:0", 1, "one byte")
    assert found.total is not None and found.free is not None and found.total >= found.free > 0


def test_weights_are_counted_in_f32(tmp_path: Path) -> None:
    header = json.dumps({"__metadata__": {}, "w": {"dtype": "BF16", "shape": [3, 5]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(30))
    assert weights_bytes(tmp_path) == 60
    assert weights_bytes(tmp_path / "absent") is None
