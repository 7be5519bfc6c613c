"""`hexapla new-binding NAME --language L`: the folder that a new language begins with.

Separate because it only writes files: a manifest, a checklist and a stub trainer that passes hello and
answers `skipped` to the rest, so that the first `hexapla conform` is green before a line is written by
hand. A language without a stub of its own gets one in Python, and all three files say so. It builds and
starts nothing.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from hexapla.commands.inputs import UsageError
from hexapla.toolchains import Places, find_bindings
from hexapla.toolchains.manifest import FILE_NAME, NAME, ManifestError, load_manifest

_LANGUAGE_LENGTH = 40
_GUIDE = "docs/add-a-language.md"


@dataclass(frozen=True, slots=True)
class Stub:
    """The templates of one language: its manifest's, then those of files that keep their names."""

    manifest: str
    files: tuple[str, ...]


_PYTHON = Stub("python.toml", ("trainer.py",))
# Lower-case names; adding a language here is one entry and its templates.
STUBS = {
    "go": Stub("go.toml", ("trainer.go", "go.mod")),
    "javascript": Stub("javascript.toml", ("trainer.mjs",)),
    "python": _PYTHON,
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The words of `hexapla new-binding`."""
    parser = subparsers.add_parser("new-binding", help="write the folder that a new language begins with")
    parser.add_argument("name", metavar="NAME", help="lower-case letters, digits, - and _")
    parser.add_argument(
        "--language",
        required=True,
        metavar="L",
        help=f"as people write it; {', '.join(sorted(STUBS))} have a stub, any other gets one in Python",
    )
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
    known = language.lower() in STUBS
    stub = STUBS.get(language.lower(), _PYTHON)
    templates = {FILE_NAME: stub.manifest} | {file: file for file in ("CHECKLIST.md", *stub.files)}
    texts = {
        file: _filled(template, arguments.name, language, folder, known)
        for file, template in templates.items()
    }
    _write(folder, texts)
    if arguments.json:
        value = {
            "name": arguments.name,
            "language": language,
            "folder": str(folder),
            "files": list(texts),
            "stub_language": language if known else "Python",
        }
        print(json.dumps(value, ensure_ascii=False, indent=2))
        return 0
    print(f"wrote {folder}: {', '.join(texts)}")
    if not known:
        print(f"no stub in {language}: trainer.py is one in Python, to be replaced (CHECKLIST.md)")
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


def _filled(template: str, name: str, language: str, folder: Path, known: bool) -> str:
    text = files("hexapla").joinpath("templates", "binding", f"{template}.tmpl").read_text("utf-8")
    note = f"There is no stub in {language} yet: trainer.py is one in Python, to be replaced by yours."
    values = {
        "NAME": name,
        "LANGUAGE": language.replace("\\", "\\\\").replace('"', '\\"'),
        "LANGUAGE_TOML": json.dumps(language, ensure_ascii=False),
        "FOLDER": _shown(folder),
        "STUB_NOTE": "" if known else note,
        "RUN_NOTE": "" if known else f"# {note} Then `run` and `needs` change too.\n",
    }
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    # An absent note leaves no hole.
    return text.replace("\n\n\n", "\n\n")


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
            (folder / file).write_text(text, "utf-8")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(f"--out {folder}: {error.strerror}") from None
