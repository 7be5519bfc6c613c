"""Case C3: training runs that end, are refused at load, and fail in the middle of update 3; all give back.

Separate from the scenarios of `ownership` because these are whole `train` requests. The third needs no help
of the trainer: the records are made so that update 3 alone needs more device memory than a limit that was
measured first, so that core refuses an allocation in the middle of exactly that update.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from safetensors.numpy import load_file, save_file

from hexapla.data.order import epoch_order
from hexapla.levels.account import Account, account_of
from hexapla.levels.checks import Attempt
from hexapla.levels.diagnosis import Fault, FaultKind, describe, diagnose
from hexapla.levels.level import Inputs
from hexapla.levels.memory_trials import left, refusal
from hexapla.levels.session import RequestFailed, Session
from hexapla.levels.training import Leg, shortened, train, train_keys
from hexapla.protocol import Error, Event, Step
from hexapla.protocol.ledger import read_header, read_records
from hexapla.spec import Spec

UPDATES = 2
FAILING_UPDATE = 3
_RECORDS = 4  # an update, at most: the limit must part updates, not exhaust the machine


@dataclass(frozen=True, slots=True)
class Runs:
    """Trains one implementation, each run into its own folder. Each method is one try of a check."""

    session: Session
    inputs: Inputs
    folder: Path

    @property
    def spec(self) -> Spec:
        return shortened(self.inputs.spec, UPDATES, save_every=UPDATES)

    def ends(self) -> Attempt:
        """(a): a run to its end leaves no handle."""
        leg = Leg("ownership-ends", self.folder / "ends", (1, UPDATES))
        trained = train(self.session, self.inputs, self.spec, leg)
        done = trained.run.done
        live = done.values.get("handles_live") if done else None
        words = "" if live == 0 else f"{live} handles live after the run's end"
        return held(words, faults_in(trained.ledger), set())

    def refused(self) -> Attempt:
        """(b): a run that fails at load, for a tensor that is missing, says so and leaves nothing."""
        adapter = self.folder / "refused" / "adapter"
        adapter.mkdir(parents=True, exist_ok=True)
        given = self.inputs.adapter
        (adapter / "adapter_config.json").write_bytes((given / "adapter_config.json").read_bytes())
        tensors = load_file(given / "adapter_model.safetensors")
        missing = sorted(tensors)[len(tensors) // 2]
        save_file({n: t for n, t in tensors.items() if n != missing}, adapter / "adapter_model.safetensors")
        inputs = replace(self.inputs, adapter=adapter)
        keys = train_keys(inputs, self.spec, self.folder / "refused" / "run")
        try:
            self.session.ask("train", "ownership-refused", context=None, **keys)
        except RequestFailed as failed:
            if failed.error.status != "checkpoint":
                return Attempt(problem=f"an adapter without {missing}: {failed}")
            ledger = self.session.ledger_of(failed.error.id)
            # It may be refused before there is a context, and then there is no ledger either.
            words = left(account_of(ledger)) if ledger.exists() else ""
            return held(words, faults_in(ledger), set())
        return Attempt(problem=f"an adapter without {missing} was trained")

    def fails(self) -> Attempt:
        """(c): core refuses memory in the middle of update 3; the error is core's, and all is given back."""
        inputs, spec = heavy_third(self.inputs, self.folder / "fails")
        updates = (1, FAILING_UPDATE)
        leg = Leg("ownership-unlimited", self.folder / "unlimited", updates)
        limit = limit_between(account_of(train(self.session, inputs, spec, leg).ledger))
        if not limit:
            return Attempt(unknown="its ledger does not show that update 3 needs more than those before it")
        heard: list[int] = []

        def hear(event: Event) -> None:
            if isinstance(event, Step):
                heard.append(event.step)

        leg = Leg(
            "ownership-fails",
            self.folder / "limited",
            updates,
            context={"memory_limit": limit, "spill": False},
        )
        try:
            train(self.session, inputs, spec, leg, hear)
        except RequestFailed as failed:
            ledger = self.session.ledger_of(failed.error.id)
            words = judge_failed(failed.error, heard, account_of(ledger))
            figures = {"failed_in_update": len(heard) + 1, "failing_limit_bytes": limit}
            return replace(held(words, faults_in(ledger), set()), figures=figures)
        return Attempt(problem=f"it trains update 3 in {limit} bytes, though it needs more")


def heavy_third(inputs: Inputs, folder: Path) -> tuple[Inputs, Spec]:
    """Records of which those of update 3 fill the length and all others hold a few tokens; the spec."""
    short = shortened(inputs.spec, FAILING_UPDATE, save_every=FAILING_UPDATE)
    batch = min(_RECORDS, int(short["batch"]))
    micro_batch = min(batch, int(short["micro_batch"]))
    spec = Spec(f"{short.name}-heavy-third", {**short.values, "batch": batch, "micro_batch": micro_batch})
    count = FAILING_UPDATE * batch
    heavy = set(epoch_order(int(spec["seed"]), 0, count)[-batch:])
    answers = ["Yes" + " yes" * int(spec["length"]) if each in heavy else "Yes." for each in range(count)]
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "train.jsonl", answers)
    _write(folder / "heldout.jsonl", ["Yes."])
    return replace(inputs, train=folder / "train.jsonl", heldout=folder / "heldout.jsonl"), spec


def _write(path: Path, answers: list[str]) -> None:
    records = ({"id": f"r{n}", "question": "Is it?", "answer": answer} for n, answer in enumerate(answers))
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def limit_between(account: Account) -> int:
    """Bytes halfway between what is needed before update 3 and in it; 0 where that is not more."""
    before = max((peak for update, peak in account.peaks.items() if update < FAILING_UPDATE), default=0)
    there = account.peaks.get(FAILING_UPDATE, 0)
    return (before + there) // 2 if there > before > 0 else 0


def judge_failed(error: Error, heard: list[int], account: Account) -> str:
    """What is wrong with a run that had too little memory for update 3; heard: the updates it said."""
    words = refusal(error)
    if words:
        return words
    if heard != list(range(1, FAILING_UPDATE)):
        return f"it was to fail in update {FAILING_UPDATE}, and said the updates {heard} before it failed"
    if not account.refusals:
        return "its ledger shows no call refused for want of memory"
    return left(account)


def faults_in(ledger: Path | None) -> list[Fault]:
    """The faults that a ledger shows; none where it has lost its beginning, since a balance needs it."""
    header = read_header(ledger) if ledger is not None else None
    if ledger is None or header is None or header.records_written > header.capacity:
        return []
    return diagnose(read_records(ledger))


def held(words: str, faults: list[Fault], meant: set[FaultKind]) -> Attempt:
    """A scenario: what its figures say, then what the ledger says beyond what was meant."""
    beyond = describe([fault for fault in faults if fault.kind not in meant])
    return Attempt(problem="; the ledger shows ".join(each for each in (words, beyond) if each))
