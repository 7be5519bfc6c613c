"""Probe scenarios of errors: every status provoked, hooks that raise, allocations and writes that fail."""

from __future__ import annotations

import resource
import signal
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import hexapla_native as hxp
from hexapla_native import Checkpoint, Context, Error, Scope, Tape, zeros
from hexapla_native.testing import STATUSES, device_of_id, fail_allocation, fail_next, raw_id

from hexapla_native_trainer.adapter import load_adapter, load_moments
from hexapla_native_trainer.devices import Choice, Place
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.model import Config
from hexapla_native_trainer.probe import Scenario, Seen, live_bytes, load_training, take_train
from hexapla_native_trainer.refusal import Refusal
from hexapla_native_trainer.train import Job, core_status

LIMIT = 1_048_576


def status(choice: Choice, parameters: Fields) -> Seen:
    name = parameters.choice("status", STATUSES)
    parameters.end()
    try:
        PROVOKED[name](choice)
    except Error as error:
        kind = f"{type(error).__module__}.{type(error).__name__}"
        return {"status": error.status, "message": error.message, "error_type": kind}
    except Refusal as refusal:  # opening a context names the request's key
        return {"status": refusal.status, "message": refusal.message}
    return {"status": "HXP_OK", "message": ""}


def _shape(size: int, dtype: int = hxp.F32) -> Callable[[Choice], None]:
    def provoke(choice: Choice) -> None:
        with choice.open() as context:
            zeros(context, [size], dtype).close()

    return provoke


def _out_of_memory(choice: Choice) -> None:
    with choice.open(memory_limit=LIMIT, pressure_hook=None) as context:
        zeros(context, [524288]).close()


def _stale(choice: Choice) -> None:
    with choice.open() as context, zeros(context, [1]) as held:
        held.close()
        held.read()


def _wrong_kind(choice: Choice) -> None:
    with choice.open() as context, zeros(context, [1]) as held:
        device_of_id(raw_id(held))


def _wrong_thread(choice: Choice) -> None:
    errors: list[Error] = []

    def ask(context: Context) -> None:
        try:
            zeros(context, [1]).close()
        except Error as error:
            errors.append(error)

    with choice.open(owner_thread=True) as context:
        thread = threading.Thread(target=ask, args=(context,))
        thread.start()
        thread.join()
    if errors:
        raise errors[0]


def _busy(choice: Choice) -> None:
    errors: list[Error] = []
    inside: list[Context] = []

    def hook(need_bytes: int, live_bytes: int, limit_bytes: int) -> bool:
        try:
            zeros(inside[0], [1]).close()
        except Error as error:
            errors.append(error)
        return False

    with choice.open(memory_limit=LIMIT, pressure_hook=hook) as context:
        inside.append(context)
        with suppress(Error):  # what the hook met is asked for
            zeros(context, [524288]).close()
        inside.clear()  # the context holds the hook: no cycle through core may remain
    if errors:
        raise errors[0]


def _device(choice: Choice) -> None:
    choice.open(device="cuda:255").close()


def _no_gradient(choice: Choice) -> None:
    with choice.open() as context, Tape(context) as tape, zeros(context, [1]) as held:
        tape.backward(held)


def _io(_: Choice) -> None:
    Checkpoint("/nonexistent/hexapla").close()


def _format(_: Choice) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bad.safetensors"
        path.write_bytes(bytes(7))
        Checkpoint(str(path)).close()


def _injected(name: str) -> Callable[[Choice], None]:
    def provoke(choice: Choice) -> None:
        with choice.open() as context:
            fail_next(context, name)
            zeros(context, [1]).close()

    return provoke


PROVOKED: dict[str, Callable[[Choice], None]] = {
    "HXP_OK": _shape(1),
    "HXP_INVALID_ARGUMENT": _shape(-1),
    "HXP_OUT_OF_MEMORY": _out_of_memory,
    "HXP_STALE_HANDLE": _stale,
    "HXP_WRONG_KIND": _wrong_kind,
    "HXP_WRONG_THREAD": _wrong_thread,
    "HXP_BUSY": _busy,
    "HXP_DEVICE": _device,
    "HXP_NO_GRADIENT": _no_gradient,
    "HXP_IO": _io,
    "HXP_FORMAT": _format,
    "HXP_NOT_FOUND": _injected("HXP_NOT_FOUND"),
    "HXP_UNSUPPORTED": _shape(1, hxp.F16),
    "HXP_INTERNAL": _injected("HXP_INTERNAL"),
}


def callback_throws(choice: Choice, parameters: Fields) -> Seen:
    parameters.end()
    thrown = ValueError("thrown by the hook")

    def hook(need_bytes: int, live_bytes: int, limit_bytes: int) -> bool:
        raise thrown

    name, surfaced, alive = "HXP_OK", 0, 0
    with choice.open(memory_limit=LIMIT, pressure_hook=hook) as context:
        try:
            zeros(context, [2 * LIMIT // 4]).close()
        except Error as error:
            name, surfaced = error.status, int(error.__cause__ is thrown)
        try:
            zeros(context, [256]).close()
            alive = 1
        except Error:
            alive = 0
    thrown.__traceback__ = None
    return {"status": name, "surfaced": surfaced, "alive": alive}


def fail_an_allocation(choice: Choice, parameters: Fields) -> Seen:
    job, nth = take_train(parameters), parameters.integer("nth", 1)
    persistent = parameters.take("persistent")
    parameters.end()
    name = "HXP_OK"
    with choice.open() as context, Scope() as scope:
        training = load_training(job, Place(context, scope))
        update = training.start + 1
        before, injected = live_bytes(), context.memory().injected_failures
        fail_allocation(context, nth, bool(persistent))
        try:
            training.updates.run(update, training.records_of(update)[1], "explicit")
        except Exception as error:  # every end of an update has a name
            name = core_status(error)
        difference = live_bytes() - before
        fired = context.memory().injected_failures - injected
    return {"fired": fired, "status": name, "live_difference": difference}


def write_fails(choice: Choice, parameters: Fields) -> Seen:
    job, limit = take_train(parameters), parameters.integer("limit_bytes")
    parameters.end()
    name = "HXP_OK"
    with choice.open() as context, Scope() as scope:
        training = load_training(job, Place(context, scope))
        first, second = training.start + 1, training.start + 2
        training.checkpoints.prepare([first, second])

        def update_and_save(update: int) -> Path:
            updates = training.updates
            updates.run(update, training.records_of(update)[1], "explicit")
            return training.checkpoints.save(update, updates.adapter, updates.moments)

        written = update_and_save(first)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            update_and_save(second)
        except Refusal as refusal:
            name = core_status(refusal)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)
        loads = _loads(str(written), training.model.config, job, context)
    return {"status": name, "previous_loads": loads}


def _loads(folder: str, config: Config, job: Job, context: Context) -> int:
    try:
        with Scope() as scope:
            load_adapter(folder, config, job.spec, Place(context, scope))
            load_moments(folder, config, job.spec, job.spec_digest, Place(context, scope))
    except (Error, Refusal):
        return 0
    return 1


SCENARIOS: dict[str, Scenario] = {
    "status": status,
    "callback_throws": callback_throws,
    "fail_allocation": fail_an_allocation,
    "write_fails": write_fails,
}
