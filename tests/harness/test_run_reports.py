"""A real run over fakes: exit status, table, results.jsonl, JUnit, summary and page say the same of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fake_types import MakeBinding
from hexapla.cli import main
from hexapla.protocol.results import Outcome, read_results
from hexapla.report.words import outcome_words

WORDS = ["conform", "--spec", "micro", "--references", "none"]

# Fake → its outcome at `rendering`; the two good ones agree with each other.
EXPECTED = {
    "good": Outcome.PASS,
    "good-too": Outcome.PASS,
    "crash": Outcome.CRASHED,
    "hang": Outcome.TIMED_OUT,
    "missing-end": Outcome.FAIL,
}


def bindings(binding: MakeBinding) -> str:
    for name in EXPECTED:
        fake = "good" if name.startswith("good") else name.replace("-", "_")
        folder = binding(fake, name=name, silence_s=1.0 if fake == "hang" else 20.0)
    return str(folder.parent)


def test_five_reports_agree(tmp_path: Path, capfd: pytest.CaptureFixture[str], binding: MakeBinding) -> None:
    run = tmp_path / "run"
    words = [*WORDS, "--binding", bindings(binding), "--level", "rendering", "--results", str(run)]
    status = main(words)
    table = capfd.readouterr().out
    lines = read_results(run).lines
    assert status == 1 and read_results(run).exit_status == 1
    assert {line.implementation: line.outcome for line in lines} == EXPECTED
    footer = json.loads((run / "results.jsonl").read_text("utf-8").splitlines()[-1])
    assert footer["exit_status"] == 1
    assert footer["counts"] == {"pass": 2, "fail": 1, "crashed": 1, "timed-out": 1}
    junit = ElementTree.parse(run / "junit.xml").getroot()
    assert {key: junit.get(key) for key in ("failures", "errors", "skipped")} == {
        "failures": "1",
        "errors": "2",
        "skipped": "0",
    }
    page, summary = ((run / name).read_text("utf-8") for name in ("report.html", "summary.md"))
    for text in (table, page, summary):
        assert re.search(r"exit status 1\b", text, re.IGNORECASE)
    for name, outcome in EXPECTED.items():
        cell = outcome_words(outcome)
        assert re.search(rf"^ *{name} .*{cell}", table, re.MULTILINE), table
        escaped = re.escape(name)
        assert re.search(rf"^\| {escaped} \|.*{cell}", summary.replace("\\", ""), re.MULTILINE)
        assert re.search(rf">{escaped}</a>.*?{cell}", page, re.DOTALL)
        [case] = junit.findall(f".//testsuite[@name='{name}']/testcase")
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        assert (problem is None) == (outcome is Outcome.PASS)
        assert problem is None or problem.get("type") == outcome.value
    assert main(["report", str(run), "--json"]) == 1
    value = json.loads(capfd.readouterr().out)
    assert {line["implementation"]: line["outcome"] for line in value["lines"]} == EXPECTED


def test_conform_as_an_object(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], binding: MakeBinding
) -> None:
    """--json leaves nothing but the object on stdout; what goes on is told on stderr."""
    words = [*WORDS, "--binding", str(binding("good")), "--level", "rendering", "--json"]
    assert main([*words, "--results", str(tmp_path / "run")]) == 1
    captured = capfd.readouterr()
    assert json.loads(captured.out)["counts"] == {"unknown": 1}
    assert "rendering: good" in captured.err


def test_the_last_calls_of_a_dead_trainer(tmp_path: Path, binding: MakeBinding) -> None:
    """The reason and the page both name the last ten calls into core, the failed one with its status."""
    run = tmp_path / "run"
    words = [*WORDS, "--binding", str(binding("crash_in_core")), "--level", "trajectory"]
    assert main([*words, "--results", str(run)]) == 1
    [line] = read_results(run).lines
    assert line.outcome is Outcome.CRASHED
    assert "last core calls, in update 3: tensor_create, " in line.reason
    assert line.reason.endswith("context_mark, linear, attention (HXP_OUT_OF_MEMORY)")
    assert line.reason.count("tensor_create") == 7
    page = (run / "report.html").read_text("utf-8")
    assert "Last calls of request train" in page and page.count("<span>tensor_create</span>") == 7


def test_a_log_of_another_run_is_found_out(tmp_path: Path, binding: MakeBinding) -> None:
    """Replayed with the right ids, the log of another seed still has another run's batches."""
    lying = binding("changed", name="replay", words="order_seed")
    words = ["conform", "--spec", "micro", "--references", "oracle", "--level", "trajectory"]
    assert main([*words, "--binding", str(lying), "--results", str(tmp_path / "run")]) == 1
    lines = {line.implementation: line for line in read_results(tmp_path / "run").lines}
    assert lines["replay"].outcome is Outcome.FAIL and "batch digest" in lines["replay"].reason


def test_a_loss_that_is_not_a_number(tmp_path: Path, binding: MakeBinding) -> None:
    """NaN as the protocol writes it is a well-formed event and a failed trajectory."""
    lying = binding("changed", name="nan", words="nan")
    words = ["conform", "--spec", "micro", "--references", "oracle", "--level", "trajectory"]
    assert main([*words, "--binding", str(lying), "--results", str(tmp_path / "run")]) == 1
    lines = {line.implementation: line for line in read_results(tmp_path / "run").lines}
    assert lines["nan"].outcome is Outcome.FAIL, lines["nan"]
    assert lines["nan"].reason.startswith("nan: not finite at update 3: loss is nan")
