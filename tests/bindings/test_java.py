"""The Java binding's own tests, run against a core built from this tree.

In processes of their own, with the tools that the harness would take. A machine without a Java compiler
skips by name.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hexapla.toolchains import MissingTool, find_tool

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "core"))

from core_library import build  # noqa: E402

FOLDER = REPOSITORY / "bindings" / "java"
STRICT = ["--release", "22", "-Xlint:all", "-encoding", "UTF-8"]


def tool(name: str) -> list[str]:
    found = find_tool(name)
    if isinstance(found, MissingTool):
        pytest.skip(found.reason)
    return list(found.argv)


def run(*argv: str | Path) -> str:
    """Run in the binding's folder; its output, which must be that of a success."""
    done = subprocess.run(
        [str(word) for word in argv], cwd=FOLDER, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("java")
    said = run(*tool("javac"), *STRICT, "-d", folder / "classes", "@sources.txt")
    assert said == "", "the compiler warns"
    return folder / "classes"


def test_the_safe_layer_passes_its_own_tests(classes: Path) -> None:
    tests = classes.parent / "tests"
    sources = sorted(FOLDER.glob("examples/*.java")) + sorted(FOLDER.glob("tests/*.java"))
    assert run(*tool("javac"), *STRICT, "-cp", classes, "-d", tests, *sources) == ""
    library = f"-Dhexapla.library={build()}"
    path = f"{classes}:{tests}"
    said = run(*tool("java"), "--enable-native-access=ALL-UNNAMED", library, "-cp", path, "LibraryTests")
    assert " passed, 0 failed" in said, said


def test_the_public_api_is_documented(tmp_path: Path) -> None:
    [java] = tool("java")
    javadoc = Path(java).with_name("javadoc")
    if not javadoc.exists():
        pytest.skip(f"no javadoc beside {java}")
    said = run(
        javadoc, "-quiet", "-Xdoclint:all", "-d", tmp_path, "-sourcepath", "src", "hexapla", "hexapla.testing"
    )
    assert "warning" not in said, said


def test_the_list_of_sources_is_complete() -> None:
    listed = (FOLDER / "sources.txt").read_text("utf-8").split()
    assert listed == sorted(str(path.relative_to(FOLDER)) for path in FOLDER.glob("src/**/*.java"))


def test_the_readme_shows_the_example_that_runs() -> None:
    example = (FOLDER / "examples" / "Example.java").read_text("utf-8")
    assert f"```java\n{example}```" in (FOLDER / "README.md").read_text("utf-8")


def test_the_trainer_keeps_to_the_safe_layer() -> None:
    for path in sorted((FOLDER / "src/hexapla/trainer").glob("*.java")):
        text = path.read_text("utf-8")
        assert "hexapla.sys" not in text, path
        assert "java.lang.foreign" not in text, path
