"""`hexapla new-binding NAME --language L`: the folder that a new language begins with.

Separate because it only writes files: a manifest, a checklist and a stub trainer that passes hello and
answers `skipped` to the rest, so that the first `hexapla conform` starts it before a line is written by
hand. A language without a stub of its own is refused, unless another's is asked for by name: a column that
says one language and is written in another would be believed. It builds and starts nothing.
"""

from __future__ import annotations

import argparse
import json
import shutil
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from hexapla.commands.inputs import UsageError
from hexapla.toolchains import Places, find_bindings
from hexapla.toolchains.manifest import NAME, ManifestError, load_manifest

_LANGUAGE_LENGTH = 40
_GUIDE = "docs/add-a-language.md"


_TEMPLATES = files("hexapla").joinpath("templates", "binding")
_SUFFIX = ".tmpl"
# As people write it → its folder of templates; adding a language is one entry and that folder.
STUBS = {
    "C": "c",
    "C++": "cpp",
    "Go": "go",
    "Java": "java",
    "JavaScript": "javascript",
    "Python": "python",
    "Rust": "rust",
    "Zig": "zig",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla new-binding`."""
    parser = subparsers.add_parser("new-binding", help="write the folder that a new language begins with")
    parser.add_argument("name", metavar="NAME", help="lower-case letters, digits, - and _")
    parser.add_argument(
        "--language",
        required=True,
        metavar="L",
        help=f"as people write it; there are stubs in {', '.join(STUBS)}",
    )
    parser.add_argument("--stub", metavar="S", help="write the stub of this language instead, as a model")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder to make (default bindings/NAME)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=new_binding)


def new_binding(arguments: argparse.Namespace) -> int:
    """0 when the folder was written whole. Raises UsageError, with nothing left behind."""
    language = arguments.language.strip()
    if not language.isprintable() or not 0 < len(language) <= _LANGUAGE_LENGTH:
        raise UsageError(
            f"--language {arguments.language!r}: must be 1 to {_LANGUAGE_LENGTH} printable characters"
        )
    _refuse_name(arguments.name)
    folder = (arguments.out or Places.find().root / "bindings" / arguments.name).absolute()
    stub = _stub(language, arguments.stub)
    note = "" if stub.lower() == language.lower() else f"The stub is one in {stub}, to be replaced."
    values = {
        "NAME": arguments.name,
        "LANGUAGE": language.replace("\\", "\\\\").replace('"', '\\"'),
        "LANGUAGE_TOML": json.dumps(language, ensure_ascii=False),
        "FOLDER": _shown(folder),
        "STUB_NOTE": note and f"{note} ",
    }
    templates = {"CHECKLIST.md": _TEMPLATES.joinpath(f"CHECKLIST.md{_SUFFIX}")}
    templates |= _templates(_TEMPLATES.joinpath(STUBS[stub]))
    texts = {file: _filled(template.read_text("utf-8"), values) for file, template in templates.items()}
    _write(folder, texts)
    if arguments.json:
        value = {
            "name": arguments.name,
            "language": language,
            "folder": str(folder),
            "files": list(texts),
            "stub_language": stub,
        }
        print(json.dumps(value, ensure_ascii=False, indent=2))
        return 0
    print(f"wrote {folder}: {', '.join(texts)}")
    if note:
        print(note)
    print(f"next: hexapla conform --binding {folder} --references none --spec micro; then {_GUIDE}")
    return 0


def _refuse_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UsageError(f"NAME {name!r}: must be a lower-case letter, then at most 31 of a-z, 0-9, - and _")
    for existing in find_bindings(Places.find()):
        try:
            taken = load_manifest(existing).name
        except ManifestError:
            taken = existing.name
        if taken == name:
            raise UsageError(f"NAME {name}: an implementation of that name is in {existing}")


def _stub(language: str, named: str | None) -> str:
    """The language whose stub is written, as STUBS spells it."""
    spelled = {known.lower(): known for known in STUBS}
    stub = spelled.get((language if named is None else named).strip().lower())
    if stub is not None:
        return stub
    there = f"there are stubs in {', '.join(STUBS)}"
    if named is not None:
        raise UsageError(f"--stub {named}: {there}")
    raise UsageError(f"--language {language}: no stub in it; {there}: name one as a model with --stub")


def _templates(folder: Traversable, below: str = "") -> dict[str, Traversable]:
    """The templates of a language by the path of the file that each makes."""
    found: dict[str, Traversable] = {}
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            found |= _templates(each, f"{below}{each.name}/")
        elif each.name.endswith(_SUFFIX):
            found[below + each.name.removesuffix(_SUFFIX)] = each
    return found


def _filled(text: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def _shown(folder: Path) -> str:
    """As the project's commands name it: from the tree's root where it lies in there."""
    root = Places.find().root
    return str(folder.relative_to(root)) if folder.is_relative_to(root) else str(folder)


def _write(folder: Path, texts: dict[str, str]) -> None:
    """All files or none."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except FileExistsError:
        raise UsageError(f"--out {folder}: exists already; name a new folder") from None
    except OSError as error:
        raise UsageError(f"--out {folder}: {error.strerror}") from None
    try:
        for file, text in texts.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text, "utf-8")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(f"--out {folder}: {error.strerror}") from None
