"""One implementation and one request, as `run` and `attach` take them from the command line.

Separate because both mean the same by --binding and REQUEST. Nothing is started here but a build.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hexapla.commands.inputs import UsageError
from hexapla.commands.participants import Found, Preparation, find
from hexapla.levels.level import Inputs
from hexapla.levels.session import ContextChoice
from hexapla.protocol import VERSION, LineError, SchemaError, parse_object, validate_request
from hexapla.toolchains import BuildError, Built, Places, ToolchainMissing, build_binding

NAMED = ("hello", "abi", "load", "render", "evaluate", "train")


def say(text: str) -> None:
    """One line for people, out of the way of what is for programs."""
    print(text, file=sys.stderr)


def one_binding(word: str) -> Found:
    """The implementation that --binding names. Raises UsageError for none, several and a bad manifest."""
    found = find([word], Places.find(), "none")
    if len(found) != 1:
        raise UsageError(f"--binding {word}: {len(found)} implementations in it; name one of them")
    if found[0].manifest is None:
        raise UsageError(found[0].problem)
    return found[0]


def build_one(found: Found, results: Path) -> Built | str:
    """Core, if it needs core, and the binding; what went wrong as one line."""
    assert found.manifest is not None
    places = Places.find()
    preparation = Preparation(places, results, ContextChoice("cpu:0", 1), say, lambda _name, _event: None)
    try:
        core = preparation.built_core() if found.manifest.needs_core else None
        return build_binding(found.manifest, places, core)
    except (BuildError, ToolchainMissing, OSError) as error:
        return f"{found.name}: {error}"


def read_request(words: str) -> dict[str, Any]:
    """A JSON object, `@FILE` with one, or `-` for one on standard input, `protocol` and `id` filled in.

    Raises UsageError when it is none or does not fit the protocol.
    """
    try:
        if words == "-":
            raw = sys.stdin.buffer.read()
        else:
            raw = Path(words[1:]).read_bytes() if words.startswith("@") else words.encode()
        given = parse_object(raw)
    except OSError as error:
        raise UsageError(f"REQUEST {words}: {error.strerror}") from None
    except (LineError, UnicodeEncodeError) as error:
        raise UsageError(f"REQUEST: {error}") from None
    message = {"protocol": VERSION, "id": "run", **given}
    if not isinstance(message.get("request"), str):
        raise UsageError("REQUEST: no string `request`")
    try:
        validate_request(message)
    except SchemaError as error:
        raise UsageError(f"REQUEST: {error}") from None
    return message


def named_request(name: str, inputs: Inputs, choice: ContextChoice, folder: Path) -> dict[str, Any]:
    """The request of that name over a run's inputs, as the levels send it; outputs go below `folder`."""
    spec = inputs.spec
    limits = {"memory_limit": 0, "spill": False, "ledger": None}
    context = {"device": choice.device, "threads": choice.threads, **limits}
    model = {"model": str(inputs.model)}
    texts = {**model, "tokenizer": str(inputs.tokenizer), "heldout": str(inputs.heldout)}
    keys: dict[str, Any] = {
        "load": {"context": context, **model},
        "render": {
            "tokenizer": str(inputs.tokenizer),
            "records": str(inputs.train),
            "template": spec["template"],
            "length": spec["length"],
        },
        "evaluate": {"context": context, "spec": spec.values, **texts, "adapter": str(inputs.adapter)},
        "train": {
            "context": context,
            "spec": spec.values,
            "spec_digest": spec.digest,
            **texts,
            "train": str(inputs.train),
            "adapter": str(inputs.adapter),
            "output": str(folder / "output"),
            "resume_from": None,
            "stop_after": None,
            "schedule": "pinned",
            "release": "explicit",
        },
    }.get(name, {})
    return {"protocol": VERSION, "id": name, "request": name, **keys}
