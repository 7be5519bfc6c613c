"""Bad input and a machine that gives out: one clear line, the right exit status, nothing half written."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from fake_types import MakeBinding
from hexapla.cli import main
from hexapla.protocol.results import read_results
from hexapla.spec import load_spec

EMBEDDED = Path(__file__).parents[2] / "harness/hexapla/data/embedded"


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line of a command that ends in 2."""
    assert main(list(words)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "Traceback" not in error
    return error


SPECS = [
    (b"", "empty line"),
    (b"\xef\xbb\xbf{}", "byte-order mark"),
    (b"{\"seed\": 1, \"seed\": 1}", "duplicate key 'seed'"),
    (b"{\"seed\": NaN}", "NaN is not JSON"),
    (b"\xff", "not UTF-8"),
    (b"[]", "not an object"),
    (b"[" * 100_000, "nesting past 64"),
    (b"{\"mood\": 1}", "mood: unknown key"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "said"), SPECS, ids=[said for _, said in SPECS])
def test_specs(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, said: str) -> None:
    (tmp_path / "spec.json").write_bytes(content)
    run = tmp_path / "run"
    error = refused(capsys, "conform", "--spec", str(tmp_path / "spec.json"), "--results", str(run))
    assert said in error and str(tmp_path / "spec.json") in error
    assert not (run / "results.jsonl").exists()


def test_a_folder_is_no_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(capsys, "conform", "--spec", str(tmp_path), "--results", str(tmp_path / "run"))
    assert "Is a directory" in error


@pytest.mark.parametrize(
    ("word", "file", "content"),
    [
        ("--corpus", "medqa/a.jsonl", b"{\n"),
        ("--corpus", "train.jsonl", b"{}\n"),
        ("--corpus", "manifest.json", b"[]"),
        ("--model", "config.json", b"{"),
        ("--model", "config.json", b"[]"),
        ("--model", "config.json", b"\xff"),
        ("--tokenizer", "tokenizer.json", b"{"),
        ("--tokenizer", "tokenizer.json", b"\xff\xfe"),
        ("--tokenizer", "tokenizer.json", b"{}"),
    ],
)
def test_folders(  # noqa: PLR0913, PLR0917
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    word: str, file: str, content: bytes,
) -> None:  # fmt: skip
    monkeypatch.setenv("HEXAPLA_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "input"
    (folder / file).parent.mkdir(parents=True)
    (folder / file).write_bytes(content)
    error = refused(capsys, "conform", word, str(folder), "--results", str(tmp_path / "run"))
    assert str(folder) in error


@pytest.mark.parametrize("place", ["/dev/null/run", "/dev/full/run", "/proc/run"])
def test_results_that_cannot_be_written(capsys: pytest.CaptureFixture[str], place: str) -> None:
    assert place in refused(capsys, "conform", "--spec", "micro", "--results", place)


def limited(bytes_max: int, *words: str) -> subprocess.CompletedProcess[str]:
    """A harness none of whose files may grow past `bytes_max`; its trainers inherit that."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, bytes_max))

    return subprocess.run(
        [sys.executable, "-m", "hexapla.cli", *words],
        preexec_fn=limit, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_a_full_disk_keeps_what_was_known(tmp_path: Path, binding: MakeBinding) -> None:
    """The events of one trainer do not fit: the run ends in 3, says so, and what came before is there."""
    folder = binding("full_pipes")
    run = tmp_path / "run"
    words = ["conform", "--spec", "micro", "--references", "none", "--binding", str(folder), "--level"]
    ended = limited(2 << 20, *words, "rendering", "--results", str(run))
    assert ended.returncode == 3
    [line] = [line for line in ended.stderr.splitlines() if line.strip()]
    assert line == f"hexapla: {run}: File too large; what was known is kept in {run}"
    read = read_results(run)
    assert read.header is not None and not read.finished
    kept = (run / "events/full-pipes/render-tiny-train.jsonl").read_bytes()
    assert len(kept) == 2 << 20 and json.loads(kept.splitlines()[0])["record"] == "00000"


def test_a_results_file_that_does_not_fit(tmp_path: Path, binding: MakeBinding) -> None:
    """Not even the header fits: one line, 3, and nothing that would be taken for a result."""
    run = tmp_path / "run"
    words = ["conform", "--spec", "micro", "--references", "none", "--level", "rendering"]
    embedded = [*("--model", str(EMBEDDED / "model"))]
    ended = limited(600, *words, *embedded, "--binding", str(binding("good")), "--results", str(run))
    assert ended.returncode in (2, 3) and "File too large" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (run / "junit.xml").exists()


@pytest.mark.parametrize("words", [["conform", "--list"], ["doctor"], ["doctor", "--json"]])
def test_output_that_is_full(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "hexapla.cli", *words],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert ended.returncode == 3
    assert ended.stderr == "hexapla: standard output: No space left on device\n"


def test_a_run_outlives_its_full_output(tmp_path: Path, binding: MakeBinding) -> None:
    """Nobody sees the table; the results and reports are whole."""
    for name in ("good", "good-too"):
        binding("good", name=name)
    words = ["conform", "--spec", "micro", "--references", "none", "--level", "rendering"]
    words += ["--binding", str(tmp_path / "bindings"), "--results", str(tmp_path / "run")]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "hexapla.cli", *words],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert ended.returncode == 3 and ended.stderr.count("\n") == 1
    assert read_results(tmp_path / "run").finished and (tmp_path / "run/report.html").stat().st_size


def test_a_report_that_does_not_fit_leaves_the_old_one(tmp_path: Path, binding: MakeBinding) -> None:
    run = tmp_path / "run"
    words = ["conform", "--spec", "micro", "--references", "none", "--level", "rendering"]
    main([*words, "--binding", str(binding("good")), "--results", str(run)])
    before = (run / "report.html").read_bytes()
    ended = limited(4096, "report", str(run))
    assert ended.returncode == 2 and ended.stderr.count("\n") == 1
    assert (run / "report.html").read_bytes() == before and not list(run.glob("*.partial"))


def test_a_manifest_in_a_read_only_build_folder(
    tmp_path: Path, binding: MakeBinding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that has nowhere to write is that build's failure; the neighbour goes on."""
    root = tmp_path / "root"
    (root / "bindings").mkdir(parents=True)
    (root / "build").write_text("a file where a folder is due", "utf-8")
    monkeypatch.setenv("HEXAPLA_ROOT", str(root))
    words = ["conform", "--spec", "micro", "--references", "none", "--level", "rendering"]
    status = main([*words, "--binding", str(binding("good")), "--results", str(tmp_path / "run")])
    [line] = read_results(tmp_path / "run").lines
    assert status == 1 and line.reason.startswith("build_failed: ") and str(root / "build") in line.reason


def test_spec_is_what_was_read() -> None:
    """The control: what ships is accepted."""
    assert load_spec("micro").values["updates"] == 12
