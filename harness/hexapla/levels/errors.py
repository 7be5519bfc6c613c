"""Level `errors`: do failures cross the boundary intact, and is what was saved still there afterwards?

Separate because its text half is compared side by side (core's words are the same in every language) while
the rest holds each implementation to itself: allocations that fail one after another, a disk that is full, a
process that is killed or stopped from outside.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from hexapla.levels.checkpoint import next_of
from hexapla.levels.checks import (
    Attempt,
    Checked,
    Seen,
    Try,
    carry_out_all,
    conclude,
    probe,
    require_core,
    wrong,
)
from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.memory_trials import OUT_OF_MEMORY
from hexapla.levels.session import RequestSkipped, Session
from hexapla.levels.settle import PairVerdict, pairs_of, settle
from hexapla.levels.survival import Left, Survival
from hexapla.levels.sweep import sweep
from hexapla.levels.training import shortened, train_keys
from hexapla.protocol import Outcome
from hexapla.protocol.ledger import STATUSES
from hexapla.spec import Spec, load_spec

UPDATES = 6
_LIMIT_BYTES = 4096  # less than any adapter, more than its adapter_config.json

# What differs from run to run in a text: ids, thread numbers, and the folder of HXP_FORMAT's file.
_MASKS = (
    (re.compile(r"0x[0-9a-f]+"), "<handle>"),
    (re.compile(r"thread \d+"), "thread <number>"),
    (re.compile(r"\S*/bad\.safetensors"), "<folder>/bad.safetensors"),
)


@dataclass(frozen=True)
class Failures:
    """What one implementation did. `texts`: the message of each status, masked; `left`: what its killed run
    left for others to resume, None where it does not train; `foreign`: how it fared with another's."""

    checked: tuple[Checked, ...]
    texts: Mapping[str, str]
    left: Left | None
    foreign: tuple[Checked, ...] = field(default=())


class Errors(Level[Failures]):
    name: ClassVar[str] = "errors"
    stands_on: ClassVar[tuple[str, ...]] = ("abi",)
    rounds: ClassVar[int] = 2
    beside: ClassVar[tuple[str, ...]] = ("c",)

    def observe(self, session: Session, inputs: Inputs) -> Failures:
        require_core(session)
        spec, folder = _spec(inputs), _folder(session, inputs)
        texts: dict[str, str] = {}
        types: dict[str, str] = {}
        checks: dict[str, Try] = {
            f"status_{status.removeprefix('HXP_').lower()}": partial(_status, session, status, texts, types)
            for status in STATUSES
        }
        small = _micro(inputs)
        keys = train_keys(small, small.spec, folder / "swept")
        checks |= {
            "callback_throws": partial(_callback_throws, session),
            "fail_allocation": partial(sweep, session, keys),
            "write_fails": partial(_write_fails, session, inputs, spec, folder / "write"),
        }
        checked = carry_out_all(checks)
        left: Left | None = None
        try:
            survived, left = Survival(session, inputs, spec, folder).observe()
        except RequestSkipped as skipped:  # what failed above is said all the same
            attempt = Attempt(unanswered=str(skipped))
            survived = tuple(Checked(name, (attempt,)) for name in ("killed", "paused"))
        return Failures((*checked, *survived), texts, left)

    def observe_again(
        self, session: Session, inputs: Inputs, own: Failures, observed: Mapping[str, Failures]
    ) -> Failures:
        """Resume what the next implementation of the ring left when it was killed."""
        able = {name: each.left for name, each in observed.items() if each.left and each.left.update}
        other = next_of(session.name, list(able)) if session.name in able else None
        if other is None:
            return own
        survival = Survival(session, inputs, _spec(inputs), _folder(session, inputs))
        return replace(own, foreign=survival.resume_foreign(able[session.name], other, able[other]))

    def judge(
        self, observed: Mapping[str, Failures], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        texts = judge_texts({name: each.texts for name, each in observed.items()}, stacks)
        return {
            name: conclude(name, (*each.checked, *each.foreign, texts[name]))
            for name, each in observed.items()
        }


def _spec(inputs: Inputs) -> Spec:
    return shortened(inputs.spec, UPDATES, save_every=1)


def _micro(inputs: Inputs) -> Inputs:
    """The inputs with an update as small as that of `micro`, on its records: what the sweep goes through, in
    every run. What fits the run's adapter stays the run's."""
    kept = {key: inputs.spec[key] for key in ("rank", "alpha", "targets", "template", "precision")}
    spec = Spec("micro", {**load_spec("micro").values, **kept})
    train, heldout = inputs.render_files["micro-train"], inputs.render_files["micro-heldout"]
    return replace(inputs, spec=spec, train=train, heldout=heldout)


def _folder(session: Session, inputs: Inputs) -> Path:
    return inputs.work / session.name / "errors"


def mask(text: str) -> str:
    """A message without what may differ from run to run."""
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return text


def judge_texts(texts: Mapping[str, Mapping[str, str]], stacks: Mapping[str, str]) -> dict[str, Checked]:
    """Texts must be the same everywhere, byte for byte once masked; who is odd alone is blamed."""
    pairs = []
    answered = [name for name, said in texts.items() if said]
    for a, b in pairs_of(answered):
        words = next(_differences(texts[a], texts[b], b), "")
        pairs.append(PairVerdict(a, b, not words, words))
    silent = Attempt(unanswered="no status was answered", figures={"texts_compared": 0})
    checked = {name: Checked("texts", (silent,)) for name in texts if name not in answered}
    for name, finding in settle(answered, stacks, pairs).items():
        figures = {"texts_compared": len(texts[name]) if len(answered) > 1 else 0}
        if finding.outcome is Outcome.FAIL:
            attempt = Attempt(problem=finding.reason, figures=figures)
        elif finding.outcome is Outcome.PASS:
            attempt = Attempt(figures=figures)
        else:
            words = "nobody to compare core's texts with: add --binding c"
            attempt = Attempt(unknown=words, figures=figures)
        checked[name] = Checked("texts", (attempt,))
    return checked


def _differences(mine: Mapping[str, str], theirs: Mapping[str, str], other: str) -> Iterator[str]:
    for status in STATUSES:
        # A status that was skipped or failed has been said already, by its own check.
        if status in mine and status in theirs and mine[status] != theirs[status]:
            yield f"{status} says {mine[status]!r}, {other} {theirs[status]!r}"


def judge_status(status: str, seen: Seen) -> str:
    """The status asked for, with a text exactly where it is a failure."""
    words = wrong(seen, status=status)
    if words or "message" not in seen:
        return words or "its message is absent"
    said = seen["message"] != ""
    return "" if said == (status != "HXP_OK") else f"its message is {seen['message']!r}"


def judge_error_type(status: str, types: Mapping[str, str]) -> str:
    """Memory that ran out is met as a type, class or value of the language's own, apart from other errors.

    types: as the probe `status` named them, by status; "" where it named none.
    """
    kind = types.get(status, "")
    if status == "HXP_OK":
        return f"nothing failed, and it names the error type {kind!r}" if kind else ""
    if status != OUT_OF_MEMORY:
        return ""
    if not kind:
        return "it does not say as which error_type of its language this is met"
    same = [other for other in types if other != status and types[other] == kind]
    return f"its error_type is {kind}, as that of {same[0]} is: nobody can tell them apart" if same else ""


def _status(session: Session, status: str, texts: dict[str, str], types: dict[str, str]) -> Attempt:
    seen = probe(session, "status", {"status": status}).seen
    texts[status] = mask(str(seen.get("message", "")))
    types[status] = str(seen.get("error_type", ""))
    figures = {"error_type_out_of_memory": types[status]} if status == OUT_OF_MEMORY else {}
    return Attempt(problem=judge_status(status, seen) or judge_error_type(status, types), figures=figures)


def judge_callback(seen: Seen) -> str:
    """What is thrown in a callback comes to the caller after the call, and core lives on."""
    return wrong(seen, status="HXP_OUT_OF_MEMORY", surfaced=1, alive=1)


def _callback_throws(session: Session) -> Attempt:
    return Attempt(problem=judge_callback(probe(session, "callback_throws").seen))


def judge_write(seen: Seen) -> str:
    """A save that finds the disk full is core's error, and the checkpoint before it is whole."""
    return wrong(seen, status="HXP_IO", previous_loads=1)


def _write_fails(session: Session, inputs: Inputs, spec: Spec, output: Path) -> Attempt:
    shutil.rmtree(output, ignore_errors=True)
    parameters = {"limit_bytes": _LIMIT_BYTES, "train": train_keys(inputs, spec, output)}
    return Attempt(problem=judge_write(probe(session, "write_fails", parameters).seen))
