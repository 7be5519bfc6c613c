"""The real trainers, built by the harness and asked through its own classes.

Apart from the tests so that each of them is one question to one implementation or to all. A trainer is
built once and stays alive for the whole test session, as it must for a user; a run that several tests look
at is made once. Nothing here compares or judges.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hexapla.commands.participants import launch_of
from hexapla.data.adapter import make_initial_adapter
from hexapla.levels.session import ContextChoice, RequestFailed, RequestSkipped, Session
from hexapla.process import Answer
from hexapla.protocol import Checkpoint, Data, Done, Error, Evaluation, Event, Step
from hexapla.spec import Spec, load_spec
from hexapla.toolchains import (
    Built,
    Core,
    Places,
    ToolchainMissing,
    build_binding,
    build_core,
    find_bindings,
    load_manifest,
)

IMPLEMENTATIONS = ("torch", "oracle", "c", "python")
CORE_DRIVEN = ("c", "python")
SHARED = Path(os.environ.get("HEXAPLA_DATA", Path(__file__).resolve().parents[2].parent / "shared/data"))
EMBEDDED = Path(__file__).resolve().parents[2] / "harness/hexapla/data/embedded"

every_implementation = pytest.mark.parametrize("name", IMPLEMENTATIONS)
every_core_driven = pytest.mark.parametrize("name", CORE_DRIVEN)


def shared(*parts: str) -> Path:
    """A place in the shared data; the test is skipped, naming it, where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is absent; set HEXAPLA_DATA")
    return path


def write_records(path: Path, *records: Mapping[str, Any]) -> Path:
    """A record file; ids are given by place where a record has none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    numbered = ({"id": f"r{number}", **record} for number, record in enumerate(records))
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in numbered]
    path.write_bytes("".join(lines).encode("utf-8"))
    return path


@dataclass(frozen=True)
class Place:
    """What `train` and `evaluate` are given. `adapter` is the initial one for `spec` on `model`."""

    spec: Spec
    model: Path
    tokenizer: Path
    train: Path
    heldout: Path
    adapter: Path

    @classmethod
    def embedded(cls, folder: Path, spec_name: str = "micro", **changes: Any) -> Place:
        """The embedded default at a shipped specification, some of its values changed."""
        spec = load_spec(spec_name)
        spec = Spec(spec_name, {**spec.values, **changes})
        records = EMBEDDED / "records" / spec_name
        model = EMBEDDED / "model"
        adapter = folder / "adapter"
        make_initial_adapter(model, spec.values, adapter)
        return cls(
            spec, model, EMBEDDED / "tokenizer", records / "train.jsonl", records / "heldout.jsonl", adapter
        )

    def with_spec(self, **changes: Any) -> Place:
        """The same with other values, which must not be the adapter's (rank, alpha, seed, targets)."""
        return replace(self, spec=Spec(self.spec.name, {**self.spec.values, **changes}))

    def train_keys(self, output: Path, **changes: Any) -> dict[str, Any]:
        """The keys of a `train` request."""
        return {
            "context": None,
            "spec": self.spec.values,
            "spec_digest": self.spec.digest,
            "model": str(self.model),
            "tokenizer": str(self.tokenizer),
            "train": str(self.train),
            "heldout": str(self.heldout),
            "adapter": str(self.adapter),
            "output": str(output),
            "resume_from": None,
            "stop_after": None,
            "schedule": "pinned",
            "release": "explicit",
            **changes,
        }

    def evaluate_keys(self, adapter: Path | None, **changes: Any) -> dict[str, Any]:
        """The keys of an `evaluate` request."""
        return {
            "context": None,
            "spec": self.spec.values,
            "model": str(self.model),
            "tokenizer": str(self.tokenizer),
            "heldout": str(self.heldout),
            "adapter": str(adapter) if adapter else None,
            **changes,
        }


@dataclass(frozen=True)
class TrainingRun:
    """What a `train` request said, by kind, and where it wrote."""

    data: Data
    steps: dict[int, Step]
    evaluations: dict[int, Evaluation]
    checkpoints: dict[int, Checkpoint]
    done: Mapping[str, Any]
    output: Path

    @classmethod
    def of(cls, answer: Answer, output: Path) -> TrainingRun:
        def kind(wanted: type[Any]) -> list[Any]:
            return [event for event in answer.events if isinstance(event, wanted)]

        assert isinstance(answer.end, Done)
        return cls(
            kind(Data)[0],
            {event.step: event for event in kind(Step)},
            {event.step: event for event in kind(Evaluation)},
            {event.step: event for event in kind(Checkpoint)},
            answer.end.values,
            output,
        )

    def bits(self, after: int = 0) -> list[Step | Evaluation | Checkpoint]:
        """All that two equal runs must share, behind update `after`: no id, no path, no time."""
        steps = [replace(step, id="", milliseconds=0.0) for k, step in self.steps.items() if k > after]
        evaluations = [replace(each, id="") for k, each in self.evaluations.items() if k > after]
        checkpoints = [replace(each, id="", path="") for k, each in self.checkpoints.items() if k > after]
        return [*steps, *evaluations, *checkpoints]


class Crew:
    """All implementations. `session` starts one when it is first asked for, or skips the test by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.places = Places.find()
        self._core: Core | None = None
        self._built: dict[str, Built] = {}
        self._sessions: dict[tuple[str, int], Session] = {}
        self._runs: dict[tuple[Any, ...], TrainingRun] = {}
        self.heard: list[Event] = []

    @property
    def core(self) -> Core:
        """Core as `hexapla conform` builds it; the test is skipped where no compiler is."""
        if self._core is None:
            try:
                self._core = build_core(self.places)
            except ToolchainMissing as missing:
                pytest.skip(str(missing))
        return self._core

    def session(self, name: str, threads: int = 1) -> Session:
        """A running implementation whose contexts have this many workers."""
        if (name, threads) not in self._sessions:
            results = self.folder / f"threads-{threads}"
            choice = ContextChoice("cpu:0", threads)
            self._sessions[name, threads] = Session(
                launch_of(self.built(name), results), choice, lambda _name, event: self.heard.append(event)
            )
        return self._sessions[name, threads]

    def ask(self, name: str, request: str, threads: int = 1, **keys: Any) -> Answer:
        """An answer that ended in `done`; the test is skipped with the reason of `skipped`."""
        try:
            return self.session(name, threads).ask(request, request, **keys)
        except RequestSkipped as skipped:
            pytest.skip(f"{name}: {skipped}")

    def refusal(self, name: str, request: str, **keys: Any) -> Error:
        """The `error` that a request must end in; what came before it is in `heard`."""
        self.heard.clear()
        try:
            answer = self.session(name).ask(request, request, **keys)
        except RequestFailed as failed:
            return failed.error
        except RequestSkipped as skipped:
            pytest.skip(f"{name}: {skipped}")
        pytest.fail(f"{name} took the {request} request and should not: {answer.end}")

    def train(self, name: str, place: Place, threads: int = 1, **changes: Any) -> TrainingRun:
        """A training run into a folder of its own, made once for equal arguments."""
        key = (name, threads, str(place), tuple(sorted(changes.items())))
        if key not in self._runs:
            output = self.folder / "runs" / f"{len(self._runs)}-{name}"
            answer = self.ask(name, "train", threads, **place.train_keys(output, **changes))
            self._runs[key] = TrainingRun.of(answer, output)
        return self._runs[key]

    def evaluate(self, name: str, place: Place, adapter: Path | None, **changes: Any) -> Evaluation:
        """One `evaluate` request."""
        event = self.ask(name, "evaluate", **place.evaluate_keys(adapter, **changes)).events[0]
        assert isinstance(event, Evaluation)
        return event

    def close(self) -> None:
        """Say bye to all: a wrong exit status, a live handle or a child left behind raises."""
        for session in self._sessions.values():
            session.close()

    def built(self, name: str) -> Built:
        """How to start an implementation, built if need be; skips the test where its toolchain is absent."""
        if name not in self._built:
            manifests = (
                load_manifest(folder) for folder in find_bindings(self.places) if folder.name == name
            )
            manifest = next(manifests)
            try:
                core = self.core if manifest.needs_core else None
                self._built[name] = build_binding(manifest, self.places, core)
            except ToolchainMissing as missing:
                pytest.skip(f"{name}: {missing}")
        return self._built[name]
