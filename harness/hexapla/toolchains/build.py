"""Building one binding by the commands of its manifest.

Separate from finding tools because a build leaves files: all of them under build/bindings/<name>/, its
output in a log beside them. A binding is built each time; its own compiler knows what is new.
"""

from __future__ import annotations

import os
import shlex
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from hexapla.toolchains.command import ToolchainMissing, run_logged
from hexapla.toolchains.core import Core
from hexapla.toolchains.manifest import TOOL_PLACEHOLDERS, Manifest, substitute
from hexapla.toolchains.places import Places, compile_caches
from hexapla.toolchains.provision import obtain_tool
from hexapla.toolchains.tools import MissingTool, Tool

_PLACEHOLDER_TOOL = {"cargo": "rust"}


@dataclass(frozen=True)
class Built:
    """A binding that can be started: its command with nothing left to substitute."""

    manifest: Manifest
    argv: list[str]
    environment: dict[str, str]
    folder: Path
    seconds: float


def build_binding(manifest: Manifest, places: Places, core: Core | None) -> Built:
    """Resolve tools, run the build commands. Raises ToolchainMissing, BuildError."""
    started = time.monotonic()
    folder = places.build / "bindings" / manifest.name
    folder.mkdir(parents=True, exist_ok=True)
    tools = _resolve(manifest)
    values = {name: shlex.join(tool.argv) for name, tool in tools.items()}
    values |= {"source": str(manifest.folder), "build": str(folder)}
    if core is not None:
        values |= core.placeholders
    environment = {**os.environ, **compile_caches(places.cache), **_linker(tools, folder)}
    for key, text in manifest.environment.items():
        environment[key] = substitute(text, values)
    log = folder / "build.log"
    with log.open("wb") as output:
        for command in manifest.build:
            run_logged(_words(command, values, tools), manifest.folder, environment, output.fileno(), log)
    argv = _words(manifest.run, values, tools)
    return Built(manifest, argv, environment, folder, time.monotonic() - started)


def _resolve(manifest: Manifest) -> dict[str, Tool]:
    """The tools of `needs` and those that commands mention, by placeholder."""
    texts = [*manifest.run, *(part for command in manifest.build for part in command)]
    texts += manifest.environment.values()
    wanted = {name for name in TOOL_PLACEHOLDERS if any(f"{{{name}}}" in text for text in texts)}
    kinds = {_PLACEHOLDER_TOOL.get(name, name) for name in wanted} | manifest.needs.keys()
    found: dict[str, Tool] = {}
    for kind in sorted(kinds):
        tool = obtain_tool(kind, manifest.needs.get(kind))
        if isinstance(tool, MissingTool):
            raise ToolchainMissing(tool.reason)
        found["cargo" if kind == "rust" else kind] = tool
    return found


def _linker(tools: dict[str, Tool], folder: Path) -> dict[str, str]:
    """rustc links by whatever is called `cc` on the PATH: zig under that name, where nothing is."""
    if "cargo" not in tools or shutil.which("cc"):
        return {}
    compiler = obtain_tool("cc")
    if isinstance(compiler, MissingTool):
        raise ToolchainMissing(compiler.reason)
    script = folder / "linker" / "cc"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec {shlex.join(compiler.argv)} "$@"\n', "utf-8")
    script.chmod(0o755)
    return {"PATH": f"{script.parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def _words(command: list[str], values: dict[str, str], tools: dict[str, Tool]) -> list[str]:
    """Substitute; a word that is just a tool may become several (`zig cc -mcpu=baseline`)."""
    words: list[str] = []
    for part in command:
        tool = tools.get(part[1:-1]) if part.startswith("{") and part.endswith("}") else None
        words += tool.argv if tool else [substitute(part, values)]
    return words
