"""Level `operators`: is each op right, forward and backward? Outputs and gradients against float64.

Separate because its truth is the oracle's float64, not another f32 stack, and its bound is relative to
torch's own error: max(1.5 × torch's, 2 ulp of the output's largest magnitude), the largest error over 5
inputs of 4 shapes, for each op and output. Cases with known answers are held to those, the oracle too.
Torch's errors are kept as data (envelope/bounds/operators_torch.json): they stand in where torch is not
installed, and a torch far from its own record cannot excuse anybody else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from hexapla.levels.cases import Case, seeded_cases
from hexapla.levels.exact import exact_cases, repeatability_problem
from hexapla.levels.level import Finding, Inputs, Level
from hexapla.levels.session import Session
from hexapla.levels.settle import PairVerdict, pairs_of, same_core, settle
from hexapla.protocol import CaseResult, Outcome

Array = npt.NDArray[Any]
TORCH, ORACLE = "torch", "oracle"
RECORD = "operators_torch.json"
_TORCH_FACTOR = 1.5
_ULPS = 2.0


@dataclass(frozen=True, slots=True)
class Computed:
    """All results by `<case>.<result>`; `problem` is the first thing that is wrong whatever the truth is."""

    results: Mapping[str, Array]
    problem: str


@dataclass(frozen=True, slots=True)
class Record:
    """Torch's largest errors by `<op>.<result>`, in ulp; `margin` is what another processor may add."""

    errors: Mapping[str, float]
    margin: float


@dataclass
class _Judged:
    """One implementation against the truth: its error by op result, and where it was largest."""

    errors: dict[str, float] = field(default_factory=dict)
    worst_case: dict[str, str] = field(default_factory=dict)


class Operators(Level[Computed]):
    name: ClassVar[str] = "operators"
    stands_on: ClassVar[tuple[str, ...]] = ("abi",)

    def observe(self, session: Session, inputs: Inputs) -> Computed:
        folder = inputs.work / session.name / "operators"
        folder.mkdir(parents=True, exist_ok=True)
        exact = list(exact_cases())
        cases = [*seeded_cases(), *(each.case for each in exact)]
        file, output = folder / "inputs.safetensors", folder / "outputs.safetensors"
        output.unlink(missing_ok=True)
        tensors = {f"{case.name}.{key}": each for case in cases for key, each in case.tensors.items()}
        save_file(tensors, file)
        answer = session.ask(
            "operators",
            "operators",
            context=None,
            cases=[case.message for case in cases],
            file=str(file),
            output=str(output),
        )
        refused = [event for event in answer.events if isinstance(event, CaseResult) and not event.ok]
        try:
            results: dict[str, Array] = load_file(output)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            return Computed({}, f"its output cannot be read: {error}")
        if refused:
            more = f"; {len(refused)} of {len(cases)} cases" if len(refused) > 1 else ""
            return Computed(results, f"case {refused[0].case}: {refused[0].message}{more}")
        problem = _first_problem(cases, results)
        for each in exact if not problem else ():
            own = {name: results[f"{each.case.name}.{name}"] for name in each.case.results}
            words = each.problem(own)
            if words:
                problem = f"case {each.case.name} ({each.case.op}): {words}"
                break
        return Computed(results, problem or repeatability_problem(results))

    def judge(
        self, observed: Mapping[str, Computed], stacks: Mapping[str, str], inputs: Inputs
    ) -> dict[str, Finding]:
        record = load_record()
        # A result that is missing or not finite has no error to measure; `problem` has the words.
        whole = {name: each for name, each in observed.items() if not each.problem or name == ORACLE}
        truth = observed[ORACLE].results if ORACLE in observed else None
        judged = {
            name: measure(each.results, truth) for name, each in whole.items() if truth and name != ORACLE
        }
        torch_errors = _torch_errors(judged.get(TORCH), record)
        breaches = {}
        for name, each in judged.items():
            breaches[name] = (
                _breaches(each, {key: error * record.margin for key, error in record.errors.items()}, 1.0)
                if name == TORCH
                else _breaches(each, torch_errors, _TORCH_FACTOR)
            )
        pairs = _pairs(observed, judged, breaches, stacks, torch_errors)
        findings = settle(list(observed), stacks, pairs)
        return {name: _finding(name, findings[name], observed[name], judged.get(name)) for name in observed}


def load_record() -> Record:
    """Torch's errors as they were recorded by `python -m hexapla.levels.record`."""
    text = files("hexapla.envelope").joinpath("bounds", RECORD).read_text("utf-8")
    document = json.loads(text)
    return Record(document["errors_ulp"], document["margin"]["value"])


def measure(results: Mapping[str, Array], truth: Mapping[str, Array] | None) -> _Judged:
    """Largest error over all seeded cases, by op result, in ulp of f32 at the truth's largest magnitude."""
    judged = _Judged()
    for case in seeded_cases():
        for name in case.results:
            full = f"{case.name}.{name}"
            if truth is None or full not in truth or full not in results:
                continue
            error = error_ulp(results[full], truth[full])
            key = _key(case, name)
            if error >= judged.errors.get(key, -1.0):
                judged.errors[key] = error
                judged.worst_case[key] = case.name
    return judged


def error_ulp(values: Array, truth: Array) -> float:
    """max |values − truth| over one f32 ulp of max |truth|; infinite where it cannot be formed."""
    if values.shape != truth.shape or not np.isfinite(values).all():
        return float("inf")
    if not truth.size:
        return 0.0
    scale = float(np.spacing(np.float32(np.abs(truth).max())))
    return float(np.abs(values.astype(np.float64) - truth).max()) / scale


def _key(case: Case, result: str) -> str:
    # Tensors of one kind (clip's g0, g1, …) share a bound: their number differs by shape.
    if case.op == "clip" and result != "output.norm":
        return "clip.output.g"
    return f"{case.op}.{result}"


def _first_problem(cases: list[Case], results: Mapping[str, Array]) -> str:
    """A tensor that is missing, too much, of a wrong dtype or shape, or not finite; in words."""
    wanted = {f"{case.name}.{name}": case for case in cases for name in case.results}
    missing = [name for name in wanted if name not in results]
    if missing:
        return f"{missing[0]} is missing from the output; {len(missing)} of {len(wanted)} are"
    extra = sorted(results.keys() - wanted.keys())
    if extra:
        return f"{extra[0]} was not asked for; {len(extra)} such"
    for name, case in wanted.items():
        values = results[name]
        shape = case.expected_shape(name.removeprefix(f"{case.name}."))
        if values.dtype not in (np.float32, np.float64):
            return f"{name} has dtype {values.dtype}, not F32"
        if shape is not None and values.shape != shape:
            return f"{name} has shape {list(values.shape)}, its buffer {list(shape)}"
        if not np.isfinite(values).all():
            return f"{name} is not finite in {int((~np.isfinite(values)).sum())} of {values.size} places"
    return ""


def _torch_errors(torch: _Judged | None, record: Record) -> dict[str, float]:
    """Torch's error of this run where it is near its record, else the record."""
    errors = dict(record.errors)
    for key, error in torch.errors.items() if torch else ():
        if key not in errors or error <= max(record.margin * errors[key], _ULPS):
            errors[key] = error
    return errors


def _breaches(judged: _Judged, errors: Mapping[str, float], factor: float) -> list[str]:
    """What lies outside its bound, in words, the worst first."""
    outside = []
    for key, error in judged.errors.items():
        bound = max(factor * errors.get(key, 0.0), _ULPS)
        if not error <= bound:
            words = (
                f"{key} (case {judged.worst_case[key]}): error {error:.3g} ulp of the largest magnitude, "
                f"bound {bound:.3g} (torch's {errors.get(key, 0.0):.3g})"
            )
            outside.append((error / bound, words))
    return [words for _, words in sorted(outside, reverse=True)]


def _pairs(
    observed: Mapping[str, Computed],
    judged: Mapping[str, _Judged],
    breaches: Mapping[str, list[str]],
    stacks: Mapping[str, str],
    torch_errors: Mapping[str, float],
) -> list[PairVerdict]:
    pairs = []
    for name, words in breaches.items():
        more = f"; {len(words)} of {len(judged[name].errors)} op results outside" if len(words) > 1 else ""
        reason = f"{name}: {words[0]}{more}" if words else ""
        pairs.append(PairVerdict(name, ORACLE, not words, reason))
    for a, b in pairs_of([name for name in observed if name not in breaches and name != ORACLE]):
        pairs.append(PairVerdict(a, b, None, observed[a].problem or observed[b].problem))
    for a, b in pairs_of(list(breaches)):
        one, other = observed[a].results, observed[b].results
        if same_core(a, b, stacks):
            differing = [name for name in one if one[name].tobytes() != other[name].tobytes()]
            reason = f"{a}: {differing[0]} is not bit for bit {b}'s" if differing else ""
            pairs.append(PairVerdict(a, b, not differing, reason))
        else:
            # Each may be its own bound away from the truth, so both may be two apart.
            apart = measure(one, other)
            words = _breaches(apart, torch_errors, 2 * _TORCH_FACTOR)
            pairs.append(PairVerdict(a, b, not words, f"{a} against {b}: {words[0]}" if words else ""))
    return pairs


def _finding(name: str, settled: Finding, computed: Computed, judged: _Judged | None) -> Finding:
    figures = {"tensors_compared": len(computed.results)}
    if judged is not None and judged.errors:
        worst = max(judged.errors, key=lambda key: judged.errors[key])
        figures |= {"operator_error_ulp_max": judged.errors[worst], "operator_error_ulp_max_op": worst}  # type: ignore[dict-item]
    if computed.problem:
        axis = settled.axis if settled.outcome is Outcome.FAIL else "ambiguous"
        return Finding(Outcome.FAIL, f"{name}: {computed.problem}", axis, figures)
    if settled.outcome is Outcome.UNKNOWN and judged is None and name != ORACLE:
        return Finding(Outcome.UNKNOWN, f"no {ORACLE} in this run to hold it against", "none", figures)
    if settled.outcome is Outcome.UNKNOWN and name == ORACLE:
        # Nobody to be held against, but the known answers were its test and it passed them.
        return Finding(Outcome.PASS, figures=figures)
    return replace(settled, figures=figures)


def write_record(path: Path, errors: Mapping[str, float], margin: Mapping[str, Any], provenance: Any) -> None:
    """Write torch's errors with where they come from."""
    document = {"provenance": provenance, "margin": margin, "errors_ulp": dict(sorted(errors.items()))}
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
