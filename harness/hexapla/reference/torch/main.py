"""The request loop: one line in, its events out, the exit status at the end.

Separate because it must run, and answer, where torch is not installed: it imports the stages that
need torch only when a request calls for them. It must hold no training logic.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from .channel import EventWriter, LineReader
from .config import REQUEST_KEYS, TEMPLATES, check_keys, checked_threads, read_spec, shown
from .failure import Failure, Skip
from .strict_json import LineError, parse_line

PROTOCOL = 1
_CAPABILITIES = ["bye", "evaluate", "hello", "load", "operators", "render", "train"]
_LIBRARIES = ("torch", "transformers", "peft", "tokenizers", "safetensors")
_INSTALL = "install with pip install 'hexapla[torch]'"
_COMMON_KEYS = {"protocol": "i", "id": "s", "request": "s"}
Emit = Callable[..., None]


def main() -> int:
    """Serve requests until `bye` or the end of input; return the exit status."""
    reader, writer = LineReader(0), EventWriter()
    status = 0
    try:
        while True:
            try:
                line = reader.next_line()
                if line is None:
                    writer.write("", "bye", handles_live=None, bytes_live=None)
                    return status
                request = _read_request(line)
            except LineError as error:
                where = f"stdin:{reader.line_number}"
                writer.write("", "error", status="request", message=str(error), where=where)
                status = 2
                continue
            request_id = request["id"]
            ended = _answer(request, partial(writer.write, request_id), reader)
            if ended == "bye":
                return status
            if ended == "error":
                status = max(status, 1)
    except BrokenPipeError:
        # Whoever asked is gone and so is every way to tell; stdout needs no flush at exit.
        return max(status, 1)


def _read_request(line: bytes) -> dict[str, Any]:
    request = parse_line(line)
    if not isinstance(request, dict):
        raise LineError(f"a request must be an object, not {shown(request)}")
    if not isinstance(request.get("id"), str):
        raise LineError("the request has no id that is a string")
    return request


def _answer(request: dict[str, Any], emit: Emit, reader: LineReader) -> str:
    """Answer one request with its events and return the name of the one that ended it."""
    try:
        name = _checked_name(request)
        if name == "bye":
            emit("bye", handles_live=None, bytes_live=None)
            return "bye"
        _require_libraries()
        if name in ("abi", "probe"):
            raise Skip(f"the torch trainer does not run on core: it has nothing to answer {name} with")
        _HANDLERS[name](request, emit, reader)
    except BrokenPipeError:
        raise
    except Exception as error:
        ended, values = _ending(error, request)
        emit(ended, **values)
        return ended
    return "done"


def _ending(error: Exception, request: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The event that an exception becomes, and its values; the trainer stays alive after any of them."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if isinstance(error, Skip):
        return "skipped", {"reason": error.reason}
    if isinstance(error, ImportError):  # found, but unusable
        return "skipped", {"reason": f"{text}: {_INSTALL}"}
    if isinstance(error, Failure):
        return "error", {"status": error.status, "message": error.message, "where": error.where}
    # Whatever a library raises: the whole trace goes to stderr.
    traceback.print_exception(error)
    return "error", {"status": "internal", "message": text, "where": request["request"]}


def _checked_name(request: dict[str, Any]) -> str:
    for key, kind in (("protocol", int), ("request", str)):
        if key not in request:
            raise Failure("request", f"the request lacks the key {shown(key)}", key)
        if type(request[key]) is not kind:
            raise Failure("request", f"{key} is {shown(request[key])}", key)
    if request["protocol"] != PROTOCOL:
        message = f"protocol must be {PROTOCOL}, not {request['protocol']}"
        raise Failure("request", message, "protocol")
    name: str = request["request"]
    if name not in REQUEST_KEYS:
        raise Skip(f"the request {shown(name)} is not known")
    check_keys(request, {**_COMMON_KEYS, **REQUEST_KEYS[name]}, "request", "the request")
    return name


def _require_libraries() -> None:
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise Skip(f"{', '.join(missing)} cannot be imported: {_INSTALL}")


def _use_threads(request: dict[str, Any]) -> None:
    threads = checked_threads(request["context"])
    # Read once, when torch loads its OpenMP. Threads that spin at its barriers made a run ten times
    # slower on two cores shared with other work (10.1 s in place of 0.9 s for twelve updates).
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import torch  # noqa: PLC0415

    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)


def _hello(request: dict[str, Any], emit: Emit, reader: LineReader) -> None:
    from importlib.metadata import version  # noqa: PLC0415

    versions = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    emit(
        "hello",
        protocol=PROTOCOL,
        implementation="torch",
        language="Python",
        runtime=f"CPython {platform.python_version()}, {versions}",
        stack="torch",
        core=None,
        faults=[],
        capabilities=_CAPABILITIES,
    )
    emit("done")


def _operators(request: dict[str, Any], emit: Emit, reader: LineReader) -> None:
    _use_threads(request)
    from .operators import run_cases  # noqa: PLC0415

    run_cases(request["cases"], request["file"], request["output"], emit)
    emit("done", cases=len(request["cases"]))


def _load(request: dict[str, Any], emit: Emit, reader: LineReader) -> None:
    _use_threads(request)
    from .model import load_model, loaded_tensors  # noqa: PLC0415

    model = load_model(request["model"])
    tensors = loaded_tensors(request["model"], model)
    for tensor in tensors:
        emit("tensor", name=tensor.name, shape=tensor.shape, dtype=tensor.dtype, digest=tensor.digest)
    emit("done", tensors=len(tensors), parameters=sum(value.numel() for value in model.parameters()))


def _render(request: dict[str, Any], emit: Emit, reader: LineReader) -> None:
    if request["template"] not in TEMPLATES:
        message = f"template must be {' or '.join(TEMPLATES)}, not {shown(request['template'])}"
        raise Failure("request", message, "template")
    if request["length"] < 2:
        raise Failure("request", f"length must be at least 2, not {request['length']}", "length")
    from .render import Rendered, TextEncoder, render_file  # noqa: PLC0415

    rendered = Rendered()
    encoder = TextEncoder(request["tokenizer"])
    files = render_file(encoder, request["records"], request["template"], request["length"], rendered)
    for record, result in files:
        if isinstance(result, str):
            emit("record", record=record.id, rejected=result)
        else:
            emit("record", record=record.id, ids=result.ids, labels="".join(map(str, result.labels)))
    emit("done", accepted=len(rendered.accepted), rejected=dict(rendered.rejected), markers=rendered.markers)


def _evaluate(request: dict[str, Any], emit: Emit, reader: LineReader) -> None:
    _use_threads(request)
    spec = read_spec(request["spec"])
    from .evaluate import evaluate_request  # noqa: PLC0415

    evaluate_request(request, spec, emit)
    emit("done")


def _train(request: dict[str, Any], emit: Emit, reader: LineReader) -> None:
    for key, allowed in (("schedule", ("pinned", "migrating")), ("release", ("explicit", "collector"))):
        if request[key] not in allowed:
            message = f"{key} must be {' or '.join(allowed)}, not {shown(request[key])}"
            raise Failure("request", message, key)
    if request["schedule"] == "migrating":
        raise Skip("torch has no native gate to block in: schedule must be pinned")
    if request["release"] == "collector":
        raise Skip("torch releases its tensors itself: release must be explicit")
    _use_threads(request)
    spec = read_spec(request["spec"])
    from .train import train  # noqa: PLC0415

    train(request, spec, emit, reader.at_end)


_HANDLERS: dict[str, Callable[[dict[str, Any], Emit, LineReader], None]] = {
    "hello": _hello,
    "operators": _operators,
    "load": _load,
    "render": _render,
    "evaluate": _evaluate,
    "train": _train,
}
