"""Errors: every status provoked, hooks that raise, and saving when the disk is short."""

from __future__ import annotations

import resource
import signal
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from hexapla_core.safe import F16, Checkpoint, Context, HexaplaError, OutOfMemory, Tape, Tensor
from hexapla_core.safe.testing import context_device, raw_id
from hexapla_core.trainer.adapter import Adapter, Moments, check_adapter_config
from hexapla_core.trainer.checkpoint import prepare_output, resume, save
from hexapla_core.trainer.failure import Failure
from hexapla_core.trainer.model import Config
from hexapla_core.trainer.probes.common import (
    OK,
    Choice,
    Parameters,
    Prepared,
    Scenario,
    Seen,
    Skipped,
)
from hexapla_core.trainer.train import open_context

MEBIBYTE = 1 << 20


def provoke_status(choice: Choice, parameters: Parameters) -> Seen:
    """A status provoked as docs/probes.md says, as this binding's error carries it."""
    name = parameters["status"]
    if name not in _PROVOKED:
        raise Skipped(f"no way to provoke {name!r:.40}")
    try:
        _PROVOKED[name](choice)
    except HexaplaError as error:
        kind = type(error)
        name = f"{kind.__module__}.{kind.__qualname__}"
        return {"status": error.status, "message": str(error), "error_type": name}
    except Failure as failure:
        return {"status": failure.status, "message": failure.message}
    return {"status": OK, "message": ""}


def _ok(choice: Choice) -> None:
    with open_context(choice) as context:
        Tensor(context, (1,)).close()


def _invalid_argument(choice: Choice) -> None:
    with open_context(choice) as context:
        Tensor(context, (-1,)).close()


def _limited(choice: Choice, hook: Callable[[int, int, int], bool] | None) -> Context:
    """A context of 1 MiB with this pressure hook; the rest as the request says."""
    return Context(
        choice["device"],
        threads=choice["threads"],
        memory_limit=MEBIBYTE,
        spill=choice["spill"],
        ledger=choice["ledger"],
        pressure_hook=hook,
    )


def _out_of_memory(choice: Choice) -> None:
    with _limited(choice, None) as context:
        Tensor(context, (524288,)).close()


def _stale_handle(choice: Choice) -> None:
    with open_context(choice) as context:
        tensor = Tensor(context, (1,))
        tensor.close()
        tensor.read()


def _wrong_kind(choice: Choice) -> None:
    with open_context(choice) as context, Tensor(context, (1,)) as tensor:
        context_device(raw_id(tensor))


def _wrong_thread(choice: Choice) -> None:
    owned = Context(
        choice["device"],
        threads=choice["threads"],
        memory_limit=choice["memory_limit"],
        spill=choice["spill"],
        ledger=choice["ledger"],
        owner_thread_only=True,
    )
    with owned, ThreadPoolExecutor(1) as pool:
        pool.submit(Tensor, owned, (1,)).result().close()


def _busy(choice: Choice) -> None:
    kept: list[HexaplaError] = []

    def hook(need_bytes: int, live_bytes: int, limit_bytes: int) -> bool:
        try:
            Tensor(context, (1,)).close()
        except HexaplaError as error:
            kept.append(error)
        return False

    with _limited(choice, hook) as context:
        try:
            Tensor(context, (524288,)).close()
        except OutOfMemory:
            if kept:
                raise kept[0] from None


def _device(choice: Choice) -> None:
    open_context({**choice, "device": "cuda:255"}).close()


def _no_gradient(choice: Choice) -> None:
    with open_context(choice) as context, Tape(context) as tape, Tensor(context, (1,)) as tensor:
        tape.backward(tensor)


def _io(choice: Choice) -> None:
    Checkpoint("/nonexistent/hexapla").close()


def _format(choice: Choice) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bad.safetensors"
        path.write_bytes(bytes(7))
        Checkpoint(path).close()


def _not_found(choice: Choice) -> None:
    _fail_next(choice, "HXP_NOT_FOUND")


def _unsupported(choice: Choice) -> None:
    with open_context(choice) as context:
        Tensor(context, (1,), dtype=F16).close()


def _internal(choice: Choice) -> None:
    _fail_next(choice, "HXP_INTERNAL")


def _fail_next(choice: Choice, status: str) -> None:
    with open_context(choice) as context:
        context.fail_next(status)
        Tensor(context, (1,)).close()


_PROVOKED: dict[str, Callable[[Choice], None]] = {
    "HXP_OK": _ok,
    "HXP_INVALID_ARGUMENT": _invalid_argument,
    "HXP_OUT_OF_MEMORY": _out_of_memory,
    "HXP_STALE_HANDLE": _stale_handle,
    "HXP_WRONG_KIND": _wrong_kind,
    "HXP_WRONG_THREAD": _wrong_thread,
    "HXP_BUSY": _busy,
    "HXP_DEVICE": _device,
    "HXP_NO_GRADIENT": _no_gradient,
    "HXP_IO": _io,
    "HXP_FORMAT": _format,
    "HXP_NOT_FOUND": _not_found,
    "HXP_UNSUPPORTED": _unsupported,
    "HXP_INTERNAL": _internal,
}


class HookMistake(Exception):
    """What the throwing hook raises."""


def callback_throws(choice: Choice, parameters: Parameters) -> Seen:
    """A pressure hook that raises: nothing unwinds through C, and the caller hears of it."""

    def hook(need_bytes: int, live_bytes: int, limit_bytes: int) -> bool:
        raise HookMistake("raised inside a pressure hook")

    status, surfaced = OK, False
    with _limited({**choice, "spill": False}, hook) as context:
        try:
            Tensor(context, (2 * MEBIBYTE // 4,)).close()
        except HexaplaError as error:
            status, surfaced = error.status, isinstance(error.__cause__, HookMistake)
        try:
            Tensor(context, (256,)).close()
            alive = True
        except HexaplaError:
            alive = False
    return {"status": status, "surfaced": int(surfaced), "alive": int(alive)}


def write_fails(choice: Choice, parameters: Parameters) -> Seen:
    """A save past the file size limit leaves the checkpoint before it loadable."""
    prepared = Prepared.read(parameters["train"])
    request, status = prepared.request, OK
    config_bytes = check_adapter_config(request["adapter"], prepared.spec)
    prepare_output(request["output"], (1, 2))

    def store(update: int, adapter: Adapter, moments: Moments) -> Path:
        return save(request["output"], update, adapter, moments, config_bytes, request["spec_digest"])

    with ExitStack() as stack:
        context, model = stack.enter_context(prepared.model(choice))
        learner, adapter, moments = stack.enter_context(prepared.learner(context, model))
        learner.run(1)
        first = store(1, adapter, moments)
        with _file_size_limit(parameters["limit_bytes"]):
            learner.run(2)
            try:
                store(2, adapter, moments)
            except Failure as failure:
                status = failure.status
        loads = _loads(context, str(first), model.config, prepared)
    return {"status": status, "previous_loads": int(loads)}


@contextmanager
def _file_size_limit(limit_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler: Any = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def _loads(context: Context, folder: str, config: Config, prepared: Prepared) -> bool:
    try:
        _, adapter, moments = resume(context, folder, config, prepared.spec, prepared.request["spec_digest"])
    except Failure:
        return False
    with adapter, moments:
        return True


SCENARIOS = {
    "status": Scenario(provoke_status, {"status": "s"}),
    "callback_throws": Scenario(callback_throws),
    "write_fails": Scenario(write_fails, {"train": "o", "limit_bytes": "i"}),
}
