"""The bench and the profile: figures of known values, whole runs on `micro`, and what they refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake_types import MakeBinding
from hexapla.bench import machine
from hexapla.bench.figures import middle, ratios
from hexapla.bench.profile import rows_of
from hexapla.bench.results import Bench, to_json
from hexapla.bench.sample import Sample
from hexapla.cli import main
from hexapla.protocol.ledger import read_records


def test_interval_is_the_order_statistics() -> None:
    """Of 7 values only the outermost pair covers the median with 95 % (98.4 %); of 12 it is the third."""
    seven = middle([7.0, 1.0, 3.0, 2.0, 6.0, 5.0, 4.0])
    assert (seven.median, seven.low, seven.high) == (4.0, 1.0, 7.0)
    twelve = middle([float(value) for value in range(12)])
    assert (twelve.low, twelve.high) == (2.0, 9.0)


def test_too_few_values_have_no_interval() -> None:
    assert middle([1.0, 2.0, 3.0, 4.0, 5.0]).interval == [None, None]
    with pytest.raises(ValueError, match="no values"):
        middle([])


def test_interval_covers_as_often_as_it_says() -> None:
    """10 000 samples of 9 from a skewed distribution: the median is inside 96.1 % of the intervals."""
    draws = np.random.default_rng(3).exponential(size=(10_000, 9))
    inside = [(m.low or 0) <= np.log(2) <= (m.high or 0) for m in map(middle, draws.tolist())]
    assert 0.95 < np.mean(inside) < 0.972


def test_ratios_pair_rounds() -> None:
    """Load that doubles both of a round leaves the ratio alone."""
    assert ratios([2.0, 4.0, 40.0], [1.0, 2.0, 20.0]).median == 2.0
    with pytest.raises(ValueError, match="shorter"):
        ratios([1.0, 2.0], [1.0])


def bench_of(torch_ms: float, core_ms: float, *, load: float = 0.0, others: float = 0.0) -> Bench:
    bench = Bench("tiny", 3, 2, 7, load)
    for name, ms in (("torch", torch_ms), ("torch-active", 0.9 * torch_ms), ("c", core_ms)):
        bench.samples[name] = [Sample([ms, ms + 1, ms], ms / 100, ms, others) for _ in range(7)]
    return bench


def test_speed_is_against_the_faster_torch() -> None:
    document = to_json(bench_of(300.0, 100.0), "hexapla bench", {}, "now")
    assert document["torch_variant"] == "torch-active"
    assert document["speed_ratio_core_to_torch"] == pytest.approx(2.7)
    assert document["speed_ratio_core_to_torch_interval"] == pytest.approx([2.7, 2.7])
    assert document["step_ms_median"] == {"torch": 300.0, "torch-active": 270.0, "c": 100.0}
    assert document["wall_ratio_to_c"]["torch"] == pytest.approx(3.0)
    assert document["noisy"] is False


def test_a_busy_machine_claims_nothing() -> None:
    assert bench_of(300.0, 100.0).claims == ""
    busy = bench_of(300.0, 100.0, load=1000.0)
    assert busy.claims.startswith("load average 1000.00") and to_json(busy, "", {}, "")["noisy"] is True
    assert "others took 50%" in bench_of(300.0, 100.0, others=0.5).claims
    few = bench_of(300.0, 100.0)
    few.rounds = 3
    assert few.claims == "3 rounds, a claim needs 7"


def test_absent_is_not_zero() -> None:
    """Without c there is no ratio, without a probe no call_ns: keys without a value, never 0."""
    bench = bench_of(300.0, 100.0)
    del bench.samples["c"]
    document = to_json(bench, "hexapla bench", {}, "now")
    assert "speed_ratio_core_to_torch" not in document and "call_ns_over_c" not in document
    assert document["wall_ratio_to_c"] == {} and document["call_ns"] == {}


def test_others_share_counts_what_is_not_ours() -> None:
    before, after = machine.Moment(10.0, 100.0), machine.Moment(16.0, 120.0)
    assert machine.others_share(before, after, 4.0) == pytest.approx(0.1)
    assert machine.others_share(before, after, 9.0) == 0.0
    assert machine.others_share(before, before, 0.0) == 0.0


def test_whole_bench_on_micro(tmp_path: Path, binding: MakeBinding) -> None:
    """The oracle under another name gives times; one that crashes gives a reason, and exit status 1."""
    good, crash = binding("oracle", name="good"), binding("crash")
    file = tmp_path / "bench.json"
    words = ["bench", "--shape", "micro", "--rounds", "2", "--updates", "3", "--calls", "10"]
    status = main([*words, "--binding", str(good), "--binding", str(crash), "--json", str(file)])
    assert status == 1
    document = json.loads(file.read_text("utf-8"))
    assert set(document["step_ms_median"]) == {"good"} and document["step_ms_median"]["good"] > 0
    assert [len(sample["step_ms"]) for sample in document["samples"]["good"]] == [2, 2]
    assert document["step_ms_median_interval"]["good"] == [None, None]
    assert document["call_ns"] == {}
    assert list(document["failed"]) == ["crash"] and document["failed"]["crash"]


@pytest.mark.parametrize(
    "words", [["--rounds", "0"], ["--updates", "1"], ["--updates", "13"], ["--json", "/nowhere/x.json"]]
)
def test_wrong_words(words: list[str], binding: MakeBinding, capsys: pytest.CaptureFixture[str]) -> None:
    good = binding("oracle", name="good")
    assert main(["bench", "--shape", "micro", "--binding", str(good), *words]) == 2
    assert words[0] in capsys.readouterr().err


def records_file(folder: Path, calls: list[tuple[int, int, int]]) -> Path:
    """A ledger of (operation, update, milliseconds after the start)."""
    whole = read_records(folder / "absent")
    ring = np.zeros(len(calls), whole.dtype)
    for number, (operation, update, ms) in enumerate(calls):
        ring[number]["operation"], ring[number]["update"] = operation, update
        ring[number]["time_ns"], ring[number]["sequence"] = 1 + ms * 1_000_000, number + 1
    header = b"HXPL" + np.array([1, 64, len(calls)], "<u4").tobytes()
    header += np.array([len(calls), 0, 0, 0, 0], "<i8").tobytes()
    path = folder / "ledger.bin"
    path.write_bytes(header.ljust(4096, b"\0") + ring.tobytes())
    return path


def test_profile_of_known_times(tmp_path: Path) -> None:
    """Warm updates alone, from mark to adamw; what follows it (an evaluation) is not in the step."""
    calls = []
    for update in (1, 2, 3, 4):
        base = 1000 * update
        times = ((4, 0), (50, 3), (50, 6), (37, 16), (82, 20), (50, 500))
        calls += [(operation, update, base + ms) for operation, ms in times]
    rows = rows_of(read_records(records_file(tmp_path, calls)))
    seen = {row.operation: (row.part, row.calls, row.ms) for row in rows}
    assert seen == {
        "linear": ("forward", 2.0, pytest.approx(6.0)),
        "tape_backward": ("backward", 1.0, pytest.approx(10.0)),
        "adamw_step": ("optimizer", 1.0, pytest.approx(4.0)),
    }
    assert rows[0].operation == "tape_backward" and sum(row.share for row in rows) == pytest.approx(1.0)


def test_profile_without_a_ledger(binding: MakeBinding, capsys: pytest.CaptureFixture[str]) -> None:
    good = binding("oracle", name="good")
    status = main(["profile", "--shape", "micro", "--updates", "3", "--binding", str(good)])
    assert status == 2 and "left no ledger" in capsys.readouterr().err


def test_noise_is_the_median_runs(tmp_path: Path) -> None:
    """One disturbed run of seven does not make a bench noisy."""
    bench = bench_of(300.0, 100.0)
    first = bench.samples["c"][0]
    bench.samples["c"][0] = replace(first, others=0.9)
    assert bench.noisy == ""
