"""Level `loading`: are these the released weights? Name, shape, dtype and digest of every tensor.

Separate because it has a judge that no other level has: the harness reads the file itself (weights.py),
and both the implementations and that reading must say the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.session import Session
from hexapla.levels.settle import PairVerdict, pairs_of, settle
from hexapla.levels.weights import Weight, read_weights
from hexapla.protocol import Outcome, TensorInfo

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Loaded:
    tensors: dict[str, Weight]
    parameters: int


class Loading(Level[Loaded]):
    name: ClassVar[str] = "loading"
    stands_on: ClassVar[tuple[str, ...]] = ("abi",)

    def observe(self, session: Session, inputs: Inputs) -> Loaded:
        answer = session.ask("load", "load", context=None, model=str(inputs.model))
        infos = [event for event in answer.events if isinstance(event, TensorInfo)]
        tensors = {info.name: Weight(info.name, info.shape, info.dtype, info.digest) for info in infos}
        return Loaded(tensors, getattr(answer.end, "values", {})["parameters"])

    def judge(
        self, observed: Mapping[str, Loaded], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        stored = {weight.name: weight for weight in read_weights(inputs.model)}
        parameters = sum(_count(weight.shape) for weight in stored.values())
        wrong = {name: _against(loaded, stored, parameters) for name, loaded in observed.items()}
        pairs = [
            PairVerdict(a, b, observed[a] == observed[b], wrong[a] or wrong[b])
            for a, b in pairs_of(list(observed))
        ]
        settled = settle(list(observed), stacks, pairs)
        findings = {}
        for name, words in wrong.items():
            figures = {"tensors": len(observed[name].tensors), "parameters": observed[name].parameters}
            # The file is the truth here: who agrees with it passes, whoever else parts.
            outcome = Outcome.FAIL if words else Outcome.PASS
            axis = settled[name].axis if words else "none"
            reason = f"{name} loads otherwise than {inputs.model.name} is stored: {words}" if words else ""
            findings[name] = Finding(
                outcome, reason, "ambiguous" if words and axis == "none" else axis, figures
            )
        return findings


def _against(loaded: Loaded, stored: Mapping[str, Weight], parameters: int) -> str:
    """What differs from the file, in words; "" when nothing does."""
    missing = sorted(stored.keys() - loaded.tensors.keys())
    extra = sorted(loaded.tensors.keys() - stored.keys())
    if missing or extra:
        return f"missing {_names(missing)}, unexpected {_names(extra)}"
    differing = [name for name, weight in stored.items() if loaded.tensors[name] != weight]
    if differing:
        name = differing[0]
        got, right = loaded.tensors[name], stored[name]
        for field in ("shape", "dtype", "digest"):
            one, other = getattr(got, field), getattr(right, field)
            if one != other:
                words = f"{len(differing)} of {len(stored)} tensors differ"
                return f"tensor {name}: {field} {one}, not {other}; {words}"
    if loaded.parameters != parameters:
        return f"{loaded.parameters} parameters, the file has {parameters}"
    return ""


def _names(names: Sequence[str]) -> str:
    if not names:
        return "none"
    more = ", …" if len(names) > _SHOWN else ""
    return f"{len(names)} ({', '.join(names[:_SHOWN])}{more})"


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count
