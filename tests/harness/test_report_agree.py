"""Exit status, table, JSON, JUnit, Markdown and page say the same of every run, whatever its outcome."""

import argparse
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hexapla.protocol.results import Outcome, ResultsWriter
from hexapla.report import command
from hexapla.report.model import read_report
from hexapla.report.terminal import print_report
from hexapla.report.words import figure_text, headline, outcome_words
from hexapla.report.write import write_reports
from rich.console import Console
from synthetic_runs import line, results_folder, sample_results


def report_command(*words: object) -> int:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["report", *map(str, words)])
    return int(arguments.run(arguments))


def table_of(folder: Path, width: int, strict: bool = False) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    print_report(read_report(folder, strict=strict), console)
    return console.export_text()


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("finish", [False, True])
def test_every_report_agrees(tmp_path: Path, outcome: Outcome, strict: bool, finish: bool) -> None:
    lines = [line("c", "operators"), line("go", "operators", outcome, reason="because")]
    folder = results_folder(tmp_path / "run", lines, finish=finish, strict=strict)
    report = write_reports(folder)
    status = report.exit_status
    junit = ElementTree.parse(folder / "junit.xml").getroot()
    assert (int(junit.get("failures", "0")) + int(junit.get("errors", "0")) > 0) == (status != 0)
    assert junit.get("tests") == str(len(junit.findall(".//testcase")))
    summary, page = ((folder / name).read_text("utf-8") for name in ("summary.md", "report.html"))
    assert f"Exit status {status};" in summary
    assert f"exit status {status} " in page
    assert f"(exit status {status})" in table_of(folder, 100)
    assert report.as_json()["exit_status"] == status
    assert headline(status, report.counts) in page
    for text in (summary, page, table_of(folder, 100)):
        assert outcome_words(outcome) in text
    assert ("partial result" in summary) == ("partial result" in page) == (not finish)
    if status == 1:
        assert "because" in summary and ("What did not hold" in page)


def test_strict_may_be_asked_for_later(tmp_path: Path) -> None:
    folder = results_folder(tmp_path / "run", [line("c", "abi"), line("go", "abi", Outcome.SKIPPED)])
    assert report_command(folder) == 0
    assert report_command(folder, "--strict") == 1
    junit = ElementTree.parse(folder / "junit.xml").getroot()
    assert junit.get("failures") == "1"


@pytest.mark.parametrize("fault", ["", "none", "handle_leak"])
def test_a_core_that_can_be_made_wrong_is_named_everywhere(tmp_path: Path, fault: str) -> None:
    folder = results_folder(tmp_path / "run", [line("c", "abi")])
    path = folder / "results.jsonl"
    header, rest = path.read_text("utf-8").split("\n", 1)
    path.write_text(json.dumps(json.loads(header) | {"core_fault": fault}) + "\n" + rest, "utf-8")
    report = write_reports(folder)
    words = {"": "", "none": "no fault on (the control)", "handle_leak": "fault handle_leak"}[fault]
    summary, page = ((folder / name).read_text("utf-8") for name in ("summary.md", "report.html"))
    for text in (summary.replace("\\", ""), page, " ".join(table_of(folder, 100).split())):
        assert (" core made wrong" in text or " core that can be made wrong" in text) == bool(fault)
        assert words in text
    assert ('class="fault"' in page) == bool(fault)
    named = ElementTree.parse(folder / "junit.xml").findall(".//property[@name='core_fault']")
    assert [each.get("value") for each in named] == ([fault] if fault else [])
    assert report.as_json()["core_fault"] == fault


def test_an_empty_run_is_red_everywhere(tmp_path: Path) -> None:
    folder = results_folder(tmp_path / "run", [])
    assert report_command(folder) == 1
    junit = ElementTree.parse(folder / "junit.xml").getroot()
    assert junit.get("failures") == "1"
    assert "Nothing was checked" in (folder / "report.html").read_text("utf-8")


def test_json_holds_every_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = sample_results(tmp_path / "run")
    assert report_command(folder, "--json") == 1
    value = json.loads(capsys.readouterr().out)
    assert len(value["lines"]) == sum(value["counts"].values()) == 55
    assert value["finished"] is True


def test_counts_of_the_sample_agree(tmp_path: Path) -> None:
    folder = sample_results(tmp_path / "run")
    report = write_reports(folder)
    bad = sum(report.bad(each.outcome) for each in report.results.lines)
    assert headline(report.exit_status, report.counts) == f"{bad} of 55 checks did not hold"
    junit = ElementTree.parse(folder / "junit.xml").getroot()
    assert int(junit.get("failures", "0")) + int(junit.get("errors", "0")) == bad
    page = (folder / "report.html").read_text("utf-8")
    assert page.count('class="card"') == bad - report.counts["blocked"]


@pytest.mark.parametrize("width", [40, 80, 100, 220])
def test_no_outcome_is_lost_in_a_narrow_window(tmp_path: Path, width: int) -> None:
    text = table_of(sample_results(tmp_path / "run"), width)
    assert "…" not in text
    commands = re.findall(r"^hexapla conform .*", text, re.MULTILINE)
    assert all(each.endswith("runs/repeat") for each in commands) and len(commands) == 6


def test_text_of_a_trainer_is_text(tmp_path: Path) -> None:
    words = "<script>alert(1)</script> | `x` [red]y[/red] \x1b[2J \x00 \ud800 &amp;"
    with ResultsWriter(tmp_path / "run", read_report(sample_results(tmp_path / "other")).header) as writer:
        writer.write(line("go<b>", "operators", Outcome.FAIL, reason=words.replace("\ud800", "")))
        writer.finish()
    path = tmp_path / "run" / "results.jsonl"
    path.write_text(path.read_text("utf-8").replace("&amp;", "&amp; \\ud800"), "utf-8")
    write_reports(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert (
        "<script>alert" not in page
        and "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        and "&amp;amp;" in page
    )
    assert "go<b>" not in page
    ElementTree.parse(tmp_path / "run" / "junit.xml")
    summary = (tmp_path / "run" / "summary.md").read_text("utf-8")
    assert "<script>" not in summary.replace("\\<script\\>", "")
    table = table_of(tmp_path / "run", 200)
    assert "\x1b" not in table and "[red]y[/red]" in table


def test_an_implementations_name_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "stderr.log").write_text("secret")
    folder = results_folder(tmp_path / "run", [line("../../stderr", "abi", Outcome.FAIL)])
    assert read_report(folder).stderr == {"../../stderr": ""}


def test_stderr_is_kept_to_its_last_64_kib(tmp_path: Path) -> None:
    folder = results_folder(tmp_path / "run", [line("go", "abi", Outcome.CRASHED)])
    (folder / "stderr").mkdir()
    (folder / "stderr" / "go.log").write_text("first" + "x" * 70_000 + "last")
    text = read_report(folder).stderr["go"]
    assert len(text) == 65536 and text.endswith("last")


def test_bad_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report_command(tmp_path / "absent") == 2
    folder = sample_results(tmp_path / "run")
    (folder / "report.html").mkdir()
    assert report_command(folder) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 2
    assert not list(folder.glob("*.partial"))


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("device_bytes_peak", 48_000_000, "45.78 MiB"), ("device_bytes_peak", 512, "512 bytes"),
        ("step_ms_median", 41.73, "41.73 ms"), ("heldout_ce_rel_max", 8.2e-7, "8.2e-07"),
        ("heldout_ce_rel_max_update", 40, "40"), ("end_difference_nats", 0.25, "0.25 nats per label"),
        ("rounding_floor_multiple", 3.0, "3 ×"), ("x_rel", "NaN", "NaN"), ("x_rel", float("inf"), "infinite"),
    ],
)  # fmt: skip
def test_figures_have_units(name: str, value: float | str, text: str) -> None:
    assert figure_text(name, value) == text
