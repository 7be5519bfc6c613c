"""Cases E4, E5, E6's toy, F1 to F4, G1 to G5 and J5 through every trainer's `operators`.

The cases and their values are the harness's own (hexapla.levels.exact): here every trainer is held to each
of them, and each of them is held to the wrong values that the cases name, which it must refuse.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crew import Crew, every_core_driven, every_implementation
from hexapla.levels.exact import exact_cases, repeatability_problem
from hexapla.protocol import CaseResult
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

CASES = {each.case.name: each for each in exact_cases()}
Results = dict[str, NDArray[Any]]


def operate(crew: Crew, name: str, cases: list[dict[str, Any]], tensors: Results, folder: Path) -> Results:
    """One `operators` request, all of whose cases must go well."""
    file, output = folder / "in.safetensors", folder / "out.safetensors"
    save_file(tensors, file)
    answer = crew.ask(name, "operators", context=None, cases=cases, file=str(file), output=str(output))
    refused = [event for event in answer.events if isinstance(event, CaseResult) and not event.ok]
    assert not refused, refused
    return load_file(output)


@every_implementation
def test_cases_with_known_answers(crew: Crew, name: str, tmp_path: Path) -> None:
    assert {case.split(".")[0] for case in CASES} >= {
        *("E4", "E5", "F1", "F2", "F3", "F4", "G1", "G2", "G3", "G4", "G5", "J5")
    }
    tensors = {
        f"{case}.{key}": value for case, each in CASES.items() for key, value in each.case.tensors.items()
    }
    results = operate(crew, name, [each.case.message for each in CASES.values()], tensors, tmp_path)
    problems = {}
    for case, each in CASES.items():
        own = {result: results[f"{case}.{result}"] for result in each.case.results}
        assert all(np.isfinite(values).all() for values in own.values()), case
        if words := each.problem(own):
            problems[case] = words
    assert not problems
    assert not repeatability_problem(results)


@every_core_driven
def test_e7_rows_behind_the_last_record_change_nothing(crew: Crew, name: str, tmp_path: Path) -> None:
    """Attention over two records, alone and before three rows of padding: difference 0, and zeros behind."""
    rows, padded, heads, kv_heads, head_dim = 9, 12, 4, 2, 8
    rng = np.random.default_rng(5)
    attributes = {"starts": [0, 4, rows], "heads": heads, "kv_heads": kv_heads, "causal": True}
    tensors: Results = {}
    for key, count in (("q", heads), ("k", kv_heads), ("v", kv_heads), ("incoming", heads)):
        values = rng.standard_normal((padded, count, head_dim)).astype(np.float32)
        tensors[f"padded.{key}"] = values
        tensors[f"alone.{key}"] = values[:rows].copy()
    inputs = ["q", "k", "v"]
    cases = [
        {"case": case, "op": "attention", "attributes": attributes, "inputs": inputs, "gradients": inputs}
        for case in ("alone", "padded")
    ]
    results = operate(crew, name, cases, tensors, tmp_path)
    for result in ("output", *(f"gradient.{key}" for key in inputs)):
        alone, behind = results[f"alone.{result}"], results[f"padded.{result}"]
        assert behind[:rows].tobytes() == alone.tobytes() and alone.any(), result
        assert not behind[rows:].any(), result


# What the cases say a faulty implementation gives.
FAULTY: list[tuple[str, str, Any]] = [
    ("E4.clip", "output.norm", [4.1231056]),
    ("E4.clip", "output.g1", [0.0, 0.79999984]),
    ("E5.resumed", "output.p", [-0.049999998600]),
    ("E5.resumed", "output.p", [-0.055975479561]),
    ("E6.decay", "output.p", [1.0]),
    ("F2.scale", "output", [[19, 50]]),
    ("F2.scale", "output", [[4, 10]]),
    ("F2.scale", "output", [[28, 74]]),
    ("F2.scale", "output", [[13.7279221, 35.9411255]]),
    ("F1.embedding", "output", [[2, 1]]),
    ("F3.adapted", "output", [1.3132617]),
    ("G1.strided", "output", [[4, 5], [10, 11]]),
    ("G1.strided", "gradient.b", [[13, 18], [17, 24], [21, 30]]),
    ("G1.strided", "gradient.a", [[1, 2], [3, 3], [4, 7]]),
    ("G2.softmax", "output", [[0.25, 0.75], [0.5, 0.5]]),
    ("G4.rotated", "output", [[[-1.1426397, 1.9220756, 2.9959985, 4.0029980]]]),
    ("G4.rotated", "output", [[[-1.9841106, 1.9599007, 2.4623779, 4.0197997]]]),
    ("G5.norm", "output", [[0.2390457, 0.6859943, 1.0289915, 1.3719887]]),
    ("G5.norm", "output", [[0.3650151, 0.6859943, 1.0289915, 1.3719887]]),
    ("G5.norm", "output", [[0.3651484, 0.6859943, 1.0289915, 1.3719887]]),
]


@pytest.mark.parametrize(("case", "result", "wrong"), FAULTY)
def test_the_faulty_value_is_refused(case: str, result: str, wrong: Any) -> None:
    """And the right ones, all else equal, are taken."""
    right: Results = {name: np.asarray(values, np.float32) for name, values in CASES[case].expected.items()}
    assert CASES[case].problem(right) == ""
    assert result in CASES[case].problem({**right, result: np.asarray(wrong, np.float32)})
