"""No bound without provenance; a floor and an envelope of at least eight runs, never mixed."""

import argparse
from pathlib import Path

import pytest
from hexapla.compare.bounds import BoundsError, Provenance
from hexapla.envelope import command
from hexapla.envelope.floor import rounding_floor, seed_envelope
from hexapla.envelope.load import load_bounds, load_rounding_floor, load_seed_envelope, save_floor, shipped
from synthetic_runs import at, run_events, trajectory, write_events

BOUND = '[[bound]]\nname = "x_rel"\nvalue = 1e-6\nunit = "relative"\nbounds = "x"\n'
HEAD = 'name = "n"\nsummary = "s"\n'
GIVEN = '[bound.provenance]\nkind = "given"\nsource = "the issue"\n'


def describe(figures: dict[str, float], runs: int) -> Provenance:
    return Provenance("measured", "this test", "pytest", "2026-01-02", "a machine", runs, figures)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(text, "utf-8")
    return path


def test_shipped_bounds_are_the_issues() -> None:
    bounds = load_bounds("paired_tiny")
    assert {bound.name: bound.value for bound in bounds} == {
        "untrained_total_rel": 1e-6,
        "untrained_record_scaled_max": 2e-6,
        "heldout_ce_rel_mean": 2e-6,
        "heldout_ce_rel_max": 2e-5,
        "step_loss_rel_max": 2e-5,
        "gradient_norm_rel_median": 2e-6,
        "gradient_norm_rel_max": 2e-5,
    }
    assert all(bound.value == 0 for bound in load_bounds("core_bits"))
    assert all(bound.provenance.source for name in shipped() for bound in load_bounds(name))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + BOUND, "has no provenance"),
        (HEAD + BOUND + GIVEN.replace("the issue", " "), "without a source"),
        (HEAD + BOUND + GIVEN.replace("given", "measured"), "without command, date, machine, figures"),
        (HEAD + BOUND + GIVEN.replace("given", "felt"), "say given or measured"),
        (HEAD + BOUND + GIVEN + "mood = 1\n", "unknown mood"),
        (HEAD + BOUND.replace("1e-6", "nan") + GIVEN, "finite number"),
        (HEAD + BOUND.replace("1e-6", "-1") + GIVEN, "finite number"),
        (HEAD + BOUND + GIVEN + BOUND + GIVEN, "given twice"),
        (HEAD + BOUND.replace("unit", "units") + GIVEN, "has no unit"),
        ("name = ", "Invalid value"),
        (HEAD, "has no bound"),
    ],
)
def test_refused_bounds(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(BoundsError, match=words) as caught:
        load_bounds(write(tmp_path, text))
    assert "own.toml" in str(caught.value) and "\n" not in str(caught.value)


def test_the_shipped_floor_is_far_inside_the_shipped_bounds() -> None:
    floor, bounds = load_rounding_floor("torch_tiny"), load_bounds("paired_tiny")
    ratios = [bound.value / floor.figures[bound.name] for bound in bounds if bound.name in floor.figures]
    assert floor.runs >= 8 and len(ratios) == 6
    assert all(40 < ratio < 1000 for ratio in ratios)


def test_no_such_set() -> None:
    with pytest.raises(BoundsError, match="there are core_bits, memory, paired_tiny"):
        load_bounds("absent")


def test_measured_provenance_takes_eight_runs() -> None:
    with pytest.raises(BoundsError, match="at least 8"):
        describe({"x": 1.0}, 7)


def test_rounding_floor_is_the_largest_pair(tmp_path: Path) -> None:
    runs = [trajectory(tmp_path / str(index), "torch", jitter=1e-7 * (index + 1)) for index in range(8)]
    floor = rounding_floor(runs, describe)
    assert floor.runs == 8
    assert 1e-7 < floor.figures["step_loss_rel_max"] < 2e-6
    same = [trajectory(tmp_path / f"same{index}", "c") for index in range(8)]
    assert set(rounding_floor(same, describe).figures.values()) == {0.0}


def test_what_is_no_floor(tmp_path: Path) -> None:
    runs = [trajectory(tmp_path / str(index), "torch") for index in range(8)]
    with pytest.raises(BoundsError, match="7 runs given"):
        rounding_floor(runs[:7], describe)
    with pytest.raises(BoundsError, match="whole runs only"):
        rounding_floor(
            [*runs[:7], trajectory(tmp_path, "torch", at("step", 3, lambda event: None))], describe
        )
    with pytest.raises(BoundsError, match="different batches"):
        rounding_floor([*runs[:7], trajectory(tmp_path, "torch", seed=2)], describe)
    with pytest.raises(BoundsError, match="same batches"):
        seed_envelope(runs, describe)


def test_floor_and_envelope_are_never_mixed(tmp_path: Path) -> None:
    seeds = [trajectory(tmp_path / str(index), "torch", seed=index) for index in range(8)]
    same = [trajectory(tmp_path / f"same{index}", "torch", jitter=1e-8 * index) for index in range(8)]
    envelope, floor = seed_envelope(seeds, describe), rounding_floor(same, describe)
    save_floor(tmp_path / "envelope.json", envelope)
    save_floor(tmp_path / "floor.json", floor)
    assert load_seed_envelope(tmp_path / "envelope.json") == envelope
    assert load_rounding_floor(tmp_path / "floor.json") == floor
    with pytest.raises(BoundsError, match="never mixed"):
        load_rounding_floor(tmp_path / "envelope.json")
    with pytest.raises(BoundsError, match="never mixed"):
        load_seed_envelope(tmp_path / "floor.json")
    with pytest.raises(FileExistsError):
        save_floor(tmp_path / "floor.json", floor)


def test_the_command_measures_and_saves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())

    def run(kind: str, count: int, save: str) -> int:
        events = [
            write_events(tmp_path / f"{kind}{index}" / "train.jsonl", run_events(jitter=1e-8 * (index + 1)))
            for index in range(count)
        ]
        words = ["floor", kind, *map(str, events), "--source", "synthetic", "--save", str(tmp_path / save)]
        arguments = parser.parse_args(words)
        return int(arguments.run(arguments))

    assert run("rounding", 8, "floor.json") == 0
    provenance = load_rounding_floor(tmp_path / "floor.json").provenance
    assert (provenance.kind, provenance.runs, provenance.source) == ("measured", 8, "synthetic")
    assert run("rounding", 7, "few.json") == 2
    assert run("seeds", 8, "same.json") == 2
    assert run("rounding", 8, "floor.json") == 2
    error = capsys.readouterr().err
    assert "7 runs given" in error and "same batches" in error and "name a new file" in error
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["floor.json"]
