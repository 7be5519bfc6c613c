"""binding.toml: how one implementation is built and run.

Separate because a manifest may come from a stranger: its keys are strict, its placeholders known, and
neither a command nor an argument may name a place outside its own folder and build folder.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hexapla.protocol import LEVELS, VERSION
from hexapla.protocol.checks import CHECKS
from hexapla.toolchains.versions import Requirement

STACKS = ("core", "torch", "numpy", "other")
TOOL_NAMES = ("cc", "cxx", "go", "rust", "zig", "java", "javac", "python", "node")
# The tools' placeholders: `needs` says rust, commands say cargo.
TOOL_PLACEHOLDERS = ("cc", "cxx", "go", "cargo", "zig", "java", "javac", "python", "node")
FOLDER_PLACEHOLDERS = ("source", "build", "include", "library", "library_dir")
PLACEHOLDERS = frozenset(TOOL_PLACEHOLDERS + FOLDER_PLACEHOLDERS)
FILE_NAME = "binding.toml"

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SEPARATOR = re.compile(r"[=:,;\s\"'()]")
# A path from the root, also glued to a flag (-o/etc/passwd, -MF/etc/passwd) or to the @ of an argument file.
_ABSOLUTE = re.compile(r"(-[A-Za-z-]*|@|~[^/]*)?/")


class ManifestError(ValueError):
    """A manifest that cannot be used: file, key, value, what it must be; one line."""


@dataclass(frozen=True)
class Manifest:
    """A checked manifest. Commands still hold their placeholders."""

    folder: Path
    name: str
    language: str
    stack: str
    build: list[list[str]]
    run: list[str]
    needs: dict[str, Requirement] = field(default_factory=dict)
    silence_s: float = 60.0
    environment: dict[str, str] = field(default_factory=dict)
    expected_failures: dict[str, str] = field(default_factory=dict)

    @property
    def needs_core(self) -> bool:
        return self.stack == "core"


def load_manifest(folder: Path) -> Manifest:
    """Read `folder`/binding.toml. Raises ManifestError."""
    path = folder / FILE_NAME
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path}: {error}") from None
    try:
        return _check(folder.resolve(), values)
    except ManifestError as error:
        raise ManifestError(f"{path}: {error}") from None


def _check(folder: Path, values: dict[str, Any]) -> Manifest:
    _known(values)
    if values["protocol"] != VERSION or isinstance(values["protocol"], bool):
        raise ManifestError(f"protocol: is {values['protocol']!r}, this harness speaks {VERSION}")
    name = _string(values, "name")
    if not NAME.fullmatch(name):
        raise ManifestError(f"name: is {name!r}, must be lower-case letters, digits, - and _")
    stack = _string(values, "stack")
    if stack not in STACKS:
        raise ManifestError(f"stack: is {stack!r}, must be one of {', '.join(STACKS)}")
    build = values.get("build", [])
    if not isinstance(build, list):
        raise ManifestError("build: must be a list of commands")
    silence_s = values.get("silence_s", 60)
    if isinstance(silence_s, bool) or not isinstance(silence_s, int | float) or not 0 < silence_s <= 86400:
        raise ManifestError(f"silence_s: is {silence_s!r}, must be seconds above 0, at most 86400")
    return Manifest(
        folder=folder,
        name=name,
        language=_string(values, "language"),
        stack=stack,
        build=[_command(command, f"build[{index}]") for index, command in enumerate(build)],
        run=_command(values["run"], "run"),
        needs=_needs(values.get("needs", {})),
        silence_s=float(silence_s),
        environment=_environment(values.get("environment", {})),
        expected_failures=_expected(values.get("expected_failures", {})),
    )


_REQUIRED = ("protocol", "name", "language", "stack", "run")
_OPTIONAL = ("build", "needs", "silence_s", "environment", "expected_failures")


def _known(values: dict[str, Any]) -> None:
    for key in values:
        if key not in _REQUIRED + _OPTIONAL:
            raise ManifestError(f"{key}: unknown key; known are {', '.join(_REQUIRED + _OPTIONAL)}")
    for key in _REQUIRED:
        if key not in values:
            raise ManifestError(f"{key}: missing")


def _string(values: dict[str, Any], key: str) -> str:
    value = values[key]
    if not isinstance(value, str) or not value.strip():
        raise ManifestError(f"{key}: is {value!r}, must be a string that is not empty")
    return value


def _command(command: Any, where: str) -> list[str]:
    if not isinstance(command, list) or not command or not all(isinstance(part, str) for part in command):
        raise ManifestError(f"{where}: must be a list of strings, not empty")
    for part in command:
        _check_text(part, where)
    if not command[0].startswith("{"):
        raise ManifestError(
            f"{where}: begins with {command[0]!r}; a bare name is not looked up: begin with a placeholder "
            "like {python}, {build} or {source}"
        )
    return command


def _check_text(text: str, where: str) -> None:
    for name in _PLACEHOLDER.findall(text):
        if name not in PLACEHOLDERS:
            raise ManifestError(f"{where}: unknown placeholder {{{name}}} in {text!r}")
    if "\0" in text:
        raise ManifestError(f"{where}: holds a NUL")
    words = _SEPARATOR.split(text)
    if any(_ABSOLUTE.match(word) or ".." in re.split(r"[/\\]", word) for word in words):
        raise ManifestError(f"{where}: {text!r} names a place outside the binding's folder")


def _needs(values: Any) -> dict[str, Requirement]:
    if not isinstance(values, dict):
        raise ManifestError('needs: must be a table like { go = ">=1.24" }')
    needs = {}
    for tool, text in values.items():
        if tool not in TOOL_NAMES:
            raise ManifestError(f"needs.{tool}: unknown tool; known are {', '.join(TOOL_NAMES)}")
        try:
            needs[tool] = Requirement.parse(text)
        except ValueError as error:
            raise ManifestError(f"needs.{tool}: {error}") from None
    return needs


def _environment(values: Any) -> dict[str, str]:
    if not isinstance(values, dict):
        raise ManifestError("environment: must be a table of strings")
    for key, value in values.items():
        if not _VARIABLE.fullmatch(key) or not isinstance(value, str):
            raise ManifestError(f"environment.{key}: must be a variable's name and a string")
        _check_text(value, f"environment.{key}")
    return values


def _expected(values: Any) -> dict[str, str]:
    if not isinstance(values, dict):
        raise ManifestError("expected_failures: must be a table of level or check = reason")
    for key, value in values.items():
        if key not in LEVELS and not any(key in checks for checks in CHECKS.values()):
            raise ManifestError(
                f"expected_failures.{key}: neither a level nor a check; levels are {', '.join(LEVELS)}, "
                "checks are named in docs/probes.md"
            )
        if not isinstance(value, str) or not value.strip():
            raise ManifestError(f"expected_failures.{key}: must say why, in a string")
    return values


def substitute(text: str, values: dict[str, str]) -> str:
    """Replace placeholders. `values` must hold all that occur: _check_text let no others through."""
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], text)
