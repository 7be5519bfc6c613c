"""results.jsonl: what is written is read again; torn, doubled or miscounted never counts as finished."""

import json
from pathlib import Path

import pytest
from hexapla.protocol.results import (
    EXIT_BAD,
    EXIT_GOOD,
    EXIT_UNFINISHED,
    Header,
    Outcome,
    ResultsError,
    ResultsWriter,
    exit_status,
    read_results,
)
from synthetic_runs import line, results_folder, sample_results

GOOD = {Outcome.PASS, Outcome.EXPECTED_FAIL, Outcome.SKIPPED, Outcome.NOT_APPLICABLE}


@pytest.mark.parametrize("outcome", Outcome)
def test_exit_status_of_each_outcome(outcome: Outcome) -> None:
    assert exit_status([Outcome.PASS, outcome], finished=True) == (EXIT_GOOD if outcome in GOOD else EXIT_BAD)
    strict = outcome in GOOD - {Outcome.SKIPPED}
    assert exit_status([outcome], finished=True, strict=True) == (EXIT_GOOD if strict else EXIT_BAD)
    assert exit_status([outcome], finished=False) == EXIT_UNFINISHED


def test_nothing_checked_is_not_good() -> None:
    assert exit_status([], finished=True) == EXIT_BAD


def test_what_is_written_is_read(tmp_path: Path) -> None:
    lines = [
        line("c", "abi", figures={"x_rel": float("nan"), "n": 3}),
        line("go", "abi", Outcome.FAIL, reason="é\n\u2028"),
    ]
    results = read_results(results_folder(tmp_path / "run", lines))
    assert results.finished
    assert results.exit_status == EXIT_BAD
    assert results.lines[0].figures == {"x_rel": "NaN", "n": 3}
    assert results.lines[1] == lines[1]
    assert results.footer is not None and results.footer.counts == {"pass": 1, "fail": 1}


def test_lines_are_on_disk_as_they_come(tmp_path: Path) -> None:
    with ResultsWriter(tmp_path / "run", Header()) as writer:
        writer.write(line("c", "abi"))
        assert len(read_results(tmp_path / "run").lines) == 1
    results = read_results(tmp_path / "run")
    assert not results.finished and results.exit_status == EXIT_UNFINISHED


def test_an_older_run_is_not_overwritten(tmp_path: Path) -> None:
    results_folder(tmp_path / "run", [line("c", "abi")])
    with pytest.raises(FileExistsError):
        results_folder(tmp_path / "run", [])


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda rows: rows[:-1], None),
        (lambda rows: [*rows[:-1], rows[-1][:-5]], "line 57"),
        (lambda rows: rows[1:], "no header line"),
        (lambda rows: [], "no header line"),
        (lambda rows: [*rows[:2], rows[1], *rows[2:]], "a second time"),
        (lambda rows: [*rows, rows[1]], "behind the footer"),
        (lambda rows: [*rows, rows[-1]], "a second footer"),
        (lambda rows: [*rows[:1], *rows[2:]], "footer counts"),
        (lambda rows: [*rows[:-1], rows[-1].replace('"exit_status": 1', '"exit_status": 0')], "footer says"),
        (lambda rows: [rows[0], "[1]", *rows[1:]], "not an object"),
        (lambda rows: [rows[0], rows[1].replace("pass", "great"), *rows[2:]], "great"),
        (
            lambda rows: [rows[0], rows[1].replace('"figures": {}', '"figures": null'), *rows[2:]],
            "wrong type",
        ),
    ],
)
def test_a_damaged_file_is_never_finished(tmp_path: Path, edit, words: str | None) -> None:
    path = sample_results(tmp_path / "run") / "results.jsonl"
    rows = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(edit(rows)) + "\n", "utf-8")
    results = read_results(path.parent)
    assert results.exit_status == EXIT_UNFINISHED
    assert words is None or any(words in fault for fault in results.faults), results.faults


def test_no_file_and_another_version(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="give a folder"):
        read_results(tmp_path)
    (tmp_path / "results.jsonl").write_text(json.dumps({"results": 2}) + "\n")
    with pytest.raises(ResultsError, match="version 2"):
        read_results(tmp_path)
