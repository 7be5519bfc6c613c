"""The oracle's process: takes requests from stdin, answers on stdout, ends in the protocol's exit status.

Holds no arithmetic. One request failing never ends the process.
"""

from __future__ import annotations

import platform
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tokenizers

from .adapter import ADAPTER_CONFIG, adapter_shapes, read_adapter
from .config import Spec, check_adapter_config
from .evaluate import evaluate
from .events import Emit, Event, EventWriter
from .failure import Failure, Skipped
from .model import read_model
from .operators import run_cases
from .render import Renderer, refuse_foreign_ids
from .requests import Request, RequestLines, context_threads, read_request
from .strict_json import Json
from .tensors import digest
from .threads import one_blas_thread
from .train import refuse_non_finite, train

Keys = dict[str, Json]


def main() -> int:
    """Serve requests until `bye` or the end of stdin; returns the exit status."""
    lines, writer, status, number = RequestLines(), EventWriter(sys.stdout.buffer), 0, 0
    while (line := lines.next()) is not None:
        number += 1
        try:
            request = read_request(line, number)
        except Failure as failure:
            writer.write("", _error(failure))
            status = max(status, 2)
            continue
        last = _answer(request, lines, lambda event, to=request.id: writer.write(to, event))  # type: ignore[misc]
        if last["event"] == "bye":
            return status
        status = max(status, 1 if last["event"] == "error" else 0)
    writer.write("", _BYE)
    return status


_BYE: Event = {"event": "bye", "handles_live": None, "bytes_live": None}


def _answer(request: Request, lines: RequestLines, emit: Emit) -> Event:
    """Run one request and emit its last event, which is returned."""
    try:
        request.check()
        if request.name == "train":
            last = train(request.keys, emit, lines.ended)
        else:
            last = _HANDLERS[request.name](request.keys, emit)
    except Skipped as reason:
        last = {"event": "skipped", "reason": str(reason)}
    except Failure as failure:
        last = _error(failure)
    except Exception as error:
        traceback.print_exc()
        last = _error(Failure("internal", f"{type(error).__name__}: {error}", request.name))
    emit(last)
    return last


def _error(failure: Failure) -> Event:
    return {"event": "error", "status": failure.status, "message": failure.message, "where": failure.where}


def _hello(_: Keys, emit: Emit) -> Event:
    runtime = f"{platform.python_implementation()} {platform.python_version()}"
    emit(
        {
            "event": "hello",
            "protocol": 1,
            "implementation": "oracle",
            "language": "Python",
            "runtime": f"{runtime}, NumPy {np.__version__}, tokenizers {tokenizers.__version__}",
            "stack": "numpy",
            "core": None,
            "faults": [],
            "capabilities": ["hello", "operators", "load", "render", "evaluate", "train", "bye"],
        }
    )
    return {"event": "done"}


def _abi(_: Keys, emit: Emit) -> Event:
    raise Skipped("the oracle does not use core, so it has no view of its layout")


def _probe(keys: Keys, emit: Emit) -> Event:
    raise Skipped(f"the oracle does not use core, so it has no probe {keys['scenario']}")


def _operators(keys: Keys, emit: Emit) -> Event:
    cases = keys["cases"]
    assert isinstance(cases, list)
    run_cases(cases, Path(str(keys["file"])), Path(str(keys["output"])), emit)
    return {"event": "done", "cases": len(cases)}


def _load(keys: Keys, emit: Emit) -> Event:
    model, dtype_of = read_model(Path(str(keys["model"])))
    for name in sorted(model.parameters, key=str.encode):
        values = model.parameters[name]
        shape: list[int] = list(values.shape)
        event = {"name": name, "shape": shape, "dtype": dtype_of[name], "digest": digest([values])}
        emit({"event": "tensor", **event})
    count = sum(values.size for values in model.parameters.values())
    return {"event": "done", "tensors": len(model.parameters), "parameters": count}


def _render(keys: Keys, emit: Emit) -> Event:
    renderer = Renderer(Path(str(keys["tokenizer"])), str(keys["template"]))
    accepted, markers, rejected = 0, 0, Counter[str]()
    for record, result in renderer.render_all(Path(str(keys["records"])), int(str(keys["length"]))):
        markers += renderer.marked(record)
        if isinstance(result, str):
            rejected[result] += 1
            emit({"event": "record", "record": record.id, "rejected": result})
        else:
            accepted += 1
            labels = "".join(map(str, result.flags))
            emit({"event": "record", "record": record.id, "ids": result.ids, "labels": labels})
    return {"event": "done", "accepted": accepted, "rejected": dict(rejected), "markers": markers}


def _evaluate(keys: Keys, emit: Emit) -> Event:
    spec = Spec.read(keys["spec"])
    model, _ = read_model(Path(str(keys["model"])))
    adapter = None
    if keys["adapter"] is not None:
        folder = Path(str(keys["adapter"]))
        check_adapter_config(folder / ADAPTER_CONFIG, spec)
        adapter = read_adapter(folder, adapter_shapes(model.config, spec))
    renderer = Renderer(Path(str(keys["tokenizer"])), spec.template)
    records = renderer.render_file(Path(str(keys["heldout"])), spec.length).accepted
    refuse_foreign_ids(records, model.config.vocab_size)
    made = evaluate(model, records, adapter, spec, context_threads(keys))
    emit(made.event(0, adapter))
    refuse_non_finite(made, 0)
    return {"event": "done"}


def _bye(_: Keys, emit: Emit) -> Event:
    return _BYE


_HANDLERS: dict[str, Callable[[Keys, Emit], Event]] = {
    "hello": _hello,
    "abi": _abi,
    "operators": _operators,
    "load": _load,
    "render": _render,
    "evaluate": _evaluate,
    "probe": _probe,
    "bye": _bye,
}

if __name__ == "__main__":
    # What is not finite is found where the specification says, not warned of elsewhere.
    np.seterr(all="ignore")
    one_blas_thread()
    sys.exit(main())
