"""`hexapla new-binding`: what it writes starts and is skipped by name; what it refuses leaves nothing."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hexapla.cli import main
from hexapla.commands.new_binding import STUBS
from hexapla.protocol import LEVELS
from hexapla.toolchains import (
    Built,
    MissingTool,
    Places,
    ToolchainMissing,
    build_binding,
    build_core,
    find_tool,
    load_manifest,
)

# The first conform after a change of core builds it, which takes minutes on a busy machine.
pytestmark = pytest.mark.timeout(900)


# Language → the tool that its stub is built or run by.
TOOLS = {
    "C": "cc",
    "C++": "cxx",
    "Go": "go",
    "Java": "javac",
    "JavaScript": "node",
    "Python": "python",
    "Rust": "rust",
    "Zig": "zig",
}
STRANGE = 'Com"mon \\ Lisp'
HELLO = b'{"protocol":1,"id":"h","request":"hello"}'


def made(capfd: pytest.CaptureFixture[str], folder: Path, name: str, language: str, *more: str) -> dict:
    assert main(["new-binding", name, "--language", language, *more, "--out", str(folder), "--json"]) == 0
    value = json.loads(capfd.readouterr().out)
    assert isinstance(value, dict)
    return value


def lines_of(results: Path) -> list[dict]:
    lines = [json.loads(line) for line in (results / "results.jsonl").read_text("utf-8").splitlines()]
    return [line for line in lines if "level" in line]


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_every_stub_is_tried_below() -> None:
    assert list(STUBS) == list(TOOLS)


@pytest.mark.parametrize("language", TOOLS)
def test_a_stub_is_skipped_at_every_level(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], language: str
) -> None:
    """Hello passes, nothing fails, and nothing claims to be more than skipped."""
    if isinstance(found := find_tool(TOOLS[language]), MissingTool):
        pytest.skip(found.reason)
    folder = tmp_path / "a seventh"
    value = made(capfd, folder, "seventh", language)
    assert value["stub_language"] == language and sorted(value["files"]) == files_below(folder)
    assert load_manifest(folder).language == language
    words = ["conform", "--binding", str(folder), "--references", "none", "--spec", "micro", "--json"]
    assert main([*words, "--results", str(tmp_path / "run")]) == 0
    lines = lines_of(tmp_path / "run")
    assert {line["level"]: line["outcome"] for line in lines} == dict.fromkeys(LEVELS, "skipped")
    assert all(line["reason"] for line in lines)
    event = (tmp_path / "run" / "events" / "seventh" / "hello.jsonl").read_text("utf-8").splitlines()[0]
    hello = json.loads(event)
    assert (hello["implementation"], hello["language"], hello["capabilities"]) == ("seventh", language, [])
    assert hello["runtime"]
    capfd.readouterr()
    assert main([*words, "--strict", "--results", str(tmp_path / "strict")]) == 1


@pytest.fixture(params=TOOLS)
def stub(request: pytest.FixtureRequest, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Built:
    """Each stub, built; of a language whose name has to be escaped everywhere."""
    folder = tmp_path / "stub"
    made(capfd, folder, "stub", STRANGE, "--stub", request.param)
    places = Places.find()
    try:
        return build_binding(
            load_manifest(folder), replace(places, build=tmp_path / "build"), build_core(places)
        )
    except ToolchainMissing as missing:
        pytest.skip(str(missing))


def ask(stub: Built, *lines: bytes) -> tuple[int, list[dict]]:
    done = subprocess.run(
        stub.argv,
        input=b"\n".join(lines),
        capture_output=True,
        env=stub.environment,
        timeout=60,
        check=False,
    )
    assert done.stderr == b""
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


# What docs/protocol.md, "Lines", refuses; and lines that are no JSON at all, or no request.
BAD = [
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf" + HELLO,
    b" ",
    b"{} x",
    b'{"a":1,"a":2}',
    rb'{"a":1,"\u0061":2}',
    b'{"id":"x","request":"load","a":[{"b":1,"b":2}]}',
    rb'{"id":"\ud800","request":"hello"}',
    rb'["\ud800\u0041"]',
    rb'["\udc00"]',
    b"1e999",
    b"[-1e999]",
    b"1" * 400,
    b"NaN",
    b"01",
    b"1.",
    b"[1,]",
    b'"\t"',
    rb'"\x"',
    b'"abc',
    b"[[[",
    b"[" * 65 + b"]" * 65,
    b"null",
    b'{"id":12345678901234567,"request":"hello"}',
    b'{"ID":"x","request":"hello"}',
]


def test_a_stub_keeps_the_protocol(stub: Built) -> None:
    """Each line that cannot be read is an error with its number, and the next request is answered."""
    # Ids of every kind come back as they went, and what is allowed is not refused.
    odd = 'a\u0000\n"\\é\u2028\U0001f600 12345678901234567'
    first = json.dumps({"protocol": 1, "id": odd, "request": "load"}).encode()
    deep = b'{"id":"d","request":"probe","a":' + b"[" * 63 + b"]" * 63 + b',"b":1e308,"c":"\\\\ud800"}\r'
    status, events = ask(stub, first, *BAD, deep, HELLO)
    assert (events[0]["id"], events[0]["event"]) == (odd, "skipped")
    assert events[0]["reason"]
    errors = events[1 : 1 + len(BAD)]
    assert [(each["id"], each["event"], each["status"]) for each in errors] == [
        ("", "error", "request")
    ] * len(BAD)
    assert [each["where"] for each in errors] == [f"stdin:{number + 2}" for number in range(len(BAD))]
    assert all(each["message"] for each in errors)
    rest = events[1 + len(BAD) :]
    assert [(each["id"], each["event"]) for each in rest] == [
        ("d", "skipped"),
        ("h", "hello"),
        ("h", "done"),
        ("", "bye"),
    ]
    assert rest[1]["language"] == STRANGE and rest[1]["core"] is None
    assert status == 2
    # What follows `bye` is not read; the end of input alone is a bye, and no failure.
    status, events = ask(stub, b'{"protocol":1,"id":"e","request":"bye"}', HELLO)
    assert status == 0 and [(each["id"], each["event"]) for each in events] == [("e", "bye")]
    status, events = ask(stub, HELLO, b"")
    assert status == 0 and [each["event"] for each in events] == ["hello", "done", "bye"]


def test_a_language_without_a_stub(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is refused with those that there are; another's is written on demand, and says so."""
    words = ["new-binding", "seventh", "--language", "OCaml", "--out", str(tmp_path / "new")]
    assert main(words) == 2
    said = capfd.readouterr().err
    assert said == (
        "hexapla: --language OCaml: no stub in it; there are stubs in C, C++, Go, Java, JavaScript, Python, "
        "Rust, Zig: name one as a model with --stub\n"
    )
    assert not (tmp_path / "new").exists()
    assert main([*words, "--stub", "c"]) == 0
    assert "The stub is one in C, to be replaced." in capfd.readouterr().out
    assert "The stub is one in C, to be replaced. Every" in (tmp_path / "new/CHECKLIST.md").read_text("utf-8")
    assert load_manifest(tmp_path / "new").language == "OCaml"
    assert main([*words, "--stub", "Cobol"]) == 2
    assert capfd.readouterr().err.startswith("hexapla: --stub Cobol: there are stubs in C, ")


@pytest.mark.parametrize(
    ("name", "language", "said"),
    [
        ("../x", "X", "NAME '../x': must be"),
        ("Seventh", "X", "NAME 'Seventh': must be"),
        ("", "X", "NAME '': must be"),
        ("oracle", "X", "NAME oracle: an implementation of that name is in"),
        ("seventh", " ", "--language ' ': must be"),
        ("seventh", "a\nb", "--language"),
        ("seventh", "X" * 41, "--language"),
    ],
)
def test_bad_words_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, language: str, said: str
) -> None:
    out = tmp_path / "new" / "folder"
    assert main(["new-binding", name, "--language", language, "--out", str(out)]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"hexapla: {said}") and error.count("\n") == 1
    assert not out.parent.exists()


def test_an_existing_folder_is_left_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kept").write_text("mine", "utf-8")
    assert main(["new-binding", "seventh", "--language", "C", "--out", str(tmp_path)]) == 2
    assert f"--out {tmp_path}: exists already" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    file = tmp_path / "kept" / "below"
    assert main(["new-binding", "seventh", "--language", "C", "--out", str(file)]) == 2
    assert "--out" in capfd.readouterr().err and (tmp_path / "kept").read_text("utf-8") == "mine"
