"""The oracle's `operators` request: the exact values of CASES E, F, G and J5, through the real process."""

from __future__ import annotations

from math import inf, log, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_support import CONTEXT, ask, of_kind, operators

TIED = [[1, 0], [0, 1], [1, 1]]
Case = tuple[str, dict[str, Any], dict[str, Any], list[str]]


def run(tmp_path: Path, **cases: Case) -> dict[str, np.ndarray]:
    """Run cases that must all succeed."""
    events, results = operators(tmp_path, cases)
    assert [event["message"] for event in of_kind(events, "case")] == [""] * len(cases)
    assert events[-1] == {"id": "r", "event": "done", "cases": len(cases)}
    assert {values.dtype for values in results.values()} == {np.dtype(np.float64)}
    return results


def close(found: np.ndarray, expected: Any, rtol: float = 1e-6, atol: float = 1e-12) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def test_clip_reports_the_norm_before_it_clips(tmp_path: Path) -> None:
    """E4: the norm is 5, nothing is added to the divisor; below the limit gradients stay bit-identical."""
    results = run(
        tmp_path,
        over=("clip", {"clip_norm": 1.0}, {"a": [3, 0], "b": [0, 4]}, []),
        under=("clip", {"clip_norm": 6.0}, {"a": [3, 0], "b": [0, 4]}, []),
        norm=("gradient_norm", {}, {"a": [3, 0], "b": [0, 4]}, []),
    )
    close(results["over.output.norm"], [5.0])
    close(results["over.output.a"], [0.6, 0])
    close(results["over.output.b"], [0, 0.8])
    assert results["under.output.b"].tolist() == [0, 4]
    assert results["norm.output"].tolist() == [5]


def test_adamw_with_moments_and_decay(tmp_path: Path) -> None:
    """E5: update 5 after a resume; E6: a decayed parameter shrinks by rate·decay though its gradient is 0."""
    common = {"learning_rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    resumed = {"p": [-0.0399999996], "g": [0.1], "m": [0.3439], "v": [0.003994003999]}
    still = {"p": [1.0], "g": [0.0], "m": [0.0], "v": [0.0]}
    results = run(
        tmp_path,
        resumed=("adamw", common | {"weight_decay": 0.0, "step": 5}, resumed, []),
        decayed=("adamw", common | {"weight_decay": 0.1, "step": 1}, still, []),
    )
    close(results["resumed.output.p"], [-0.048714452128])
    close(results["decayed.output.p"], [0.999], rtol=1e-12)


def test_lora_on_a_tied_head_and_its_scale(tmp_path: Path) -> None:
    """F1: the adapter reaches the head, never the embedding; F2: alpha/rank is applied once."""
    scaled = {"x": [[1, 2]], "w": np.eye(2), "a": [[1, 1], [0, 1]], "b": [[1, 0], [2, 1]]}
    head = {"x": [[1, 1]], "w": TIED, "a": [[1, 0]], "b": [[0], [0], [1]]}
    results = run(
        tmp_path,
        scale=("lora_linear", {"scale": 3.0}, scaled, []),
        head=("lora_linear", {"scale": 1.0}, head, []),
        embedding=("embedding", {"ids": [2]}, {"table": TIED}, []),
    )
    assert results["scale.output"].tolist() == [[10, 26]]
    assert results["head.output"].tolist() == [[1, 1, 3]]
    assert results["embedding.output"].tolist() == [[1, 1]]


def test_evaluation_losses(tmp_path: Path) -> None:
    """F3: the same cross-entropy with and without the adapter's logits."""
    attributes = {"rows": [0], "targets": [0]}
    results = run(
        tmp_path,
        off=("linear_cross_entropy", attributes, {"h": [[1, 2]], "w": np.eye(2)}, []),
        on=("linear_cross_entropy", attributes, {"h": [[1.3, 2.8]], "w": np.eye(2)}, []),
    )
    close(results["off.output"], [1.3132617])
    close(results["on.output"], [1.7014133])


def test_strided_operands(tmp_path: Path) -> None:
    """G1: the transposed view of a buffer, its gradient in the buffer's own shape, a broadcast incoming."""
    view = {"strides": {"a": [1, 2]}, "offset": {"a": 0}, "view": {"a": [2, 3]}}
    wide = {"strides": {"a": [1, 2], "incoming": [0, 0]}, "view": {"a": [2, 3], "incoming": [2, 2]}}
    operands = {"a": [[1, 2], [3, 4], [5, 6]], "b": TIED}
    results = run(
        tmp_path,
        dense=("matmul", view, operands | {"incoming": [[1, 2], [3, 4]]}, ["a", "b"]),
        wide=("matmul", wide, operands | {"incoming": [1]}, ["b"]),
    )
    assert results["dense.output"].tolist() == [[6, 8], [8, 10]]
    assert results["dense.gradient.b"].tolist() == [[7, 10], [15, 22], [23, 34]]
    assert results["dense.gradient.a"].tolist() == [[1, 3], [2, 4], [3, 7]]
    assert results["wide.gradient.b"].tolist() == [[3, 3], [7, 7], [11, 11]]


def test_masked_softmax_row(tmp_path: Path) -> None:
    """G2: a row of −inf gives zeros and a zero gradient, never NaN."""
    scores = [[0, log(3)], [-inf, -inf]]
    results = run(
        tmp_path,
        softmax=("softmax", {}, {"x": scores, "incoming": [[1, 5], [1, 5]]}, ["x"]),
        matmul=(
            "matmul",
            {},
            {"a": [[0.25, 0.75], [0, 0]], "b": [[1], [5]], "incoming": [[1], [1]]},
            ["a", "b"],
        ),
    )
    close(results["softmax.output"], [[0.25, 0.75], [0, 0]])
    close(results["softmax.gradient.x"], [[-0.75, 0.75], [0, 0]])
    assert results["matmul.output"].tolist() == [[4], [0]]
    assert results["matmul.gradient.b"].tolist() == [[0.25], [0.75]]


@pytest.mark.parametrize(
    ("logits", "target", "expected"),
    [
        ([88.8, 0], 0, 0),
        ([88.8, 0], 1, 88.8),
        ([1000, 1000], 0, log(2)),
        ([-1000, -1000], 0, log(2)),
        ([1e8, 1e8], 0, log(2)),
        ([-200, -200, -200], 0, log(3)),
    ],
)
def test_cross_entropy_at_the_edges(
    tmp_path: Path, logits: list[float], target: int, expected: float
) -> None:
    """G3."""
    inputs = {"h": [logits], "w": np.eye(len(logits)), "incoming": [1]}
    attributes = {"rows": [0], "targets": [target]}
    results = run(tmp_path, case=("linear_cross_entropy", attributes, inputs, ["h", "w"]))
    close(results["case.output"], [expected], rtol=1e-7)
    assert np.isfinite(results["case.gradient.h"]).all() and np.isfinite(results["case.gradient.w"]).all()


def test_rotary_embedding(tmp_path: Path) -> None:
    """G4: half-split pairs; scores depend on the distance alone; position 0 changes nothing."""
    up, down = [[[1, 2, 3, 4]]], [[[4, 3, 2, 1]]]

    def at(x: list[Any], position: int, theta: float = 1e6) -> Case:
        return "rope", {"positions": [position], "theta": theta}, {"x": x}, []

    results = run(
        tmp_path,
        one=at(up, 1),
        small=at(up, 1, 1e4),
        up3=at(up, 3),
        up2=at(up, 2),
        down1=at(down, 1),
        down0=at(down, 0),
    )
    close(results["one.output"].ravel(), [-1.9841106, 1.9959990, 2.4623779, 4.0019980], rtol=1e-7)
    close(results["small.output"].ravel(), [-1.9841106, 1.9599007, 2.4623779, 4.0197997], rtol=1e-7)
    close(np.sum(results["up3.output"] * results["down1.output"]), -3.2744626, rtol=1e-7)
    close(np.sum(results["up2.output"] * results["down0.output"]), -3.2744626, rtol=1e-7)
    assert results["down0.output"].tolist() == down


def test_rms_norm(tmp_path: Path) -> None:
    """G5: epsilon inside the root."""
    inputs = {"x": [[0.001, 0.002, 0.003, 0.004]], "gain": [1, 1, 1, 1], "incoming": [[1, 0, 0, 0]]}
    results = run(tmp_path, case=("rms_norm", {"epsilon": 1e-6}, inputs, ["x"]))
    close(results["case.output"], [[0.3429972, 0.6859943, 1.0289915, 1.3719887]], rtol=2e-7)
    close(results["case.gradient.x"], [[332.909018, -20.176304, -30.264456, -40.352608]], rtol=1e-7)


def test_sums_keep_what_float32_loses(tmp_path: Path) -> None:
    """J5: an embedding row's gradients add up to 2, and 1024.5 times 1 is 1024.5."""
    incoming = [[1e8], [1], [-1e8], [1]]
    results = run(
        tmp_path,
        row=("embedding", {"ids": [0] * 4}, {"table": [[0], [0]], "incoming": incoming}, ["table"]),
        exact=("matmul", {}, {"a": [[1024.5]], "b": [[1]]}, []),
    )
    assert results["row.gradient.table"].tolist() == [[2], [0]]
    assert results["exact.output"].tolist() == [[1024.5]]


def test_attention_keeps_to_its_records(tmp_path: Path) -> None:
    """Rows outside every record give zeros; without the causal mask each row sees its whole record."""
    random = np.random.default_rng(3)
    inputs = {key: random.normal(size=(5, heads, 2)) for key, heads in (("q", 2), ("k", 1), ("v", 1))}
    changed = inputs | {"v": np.concatenate([inputs["v"][:2], inputs["v"][2:] + 1])}
    base: dict[str, Any] = {"starts": [0, 2, 4], "heads": 2, "kv_heads": 1, "causal": True}
    results = run(
        tmp_path,
        base=("attention", base, inputs, []),
        other=("attention", base, changed, []),
        open=("attention", base | {"causal": False}, inputs, []),
    )
    assert not results["base.output"][4].any() and results["base.output"][:4].all()
    assert (results["base.output"][:2] == results["other.output"][:2]).all()
    close(results["base.output"][0], np.repeat(inputs["v"][0], 2, axis=0))
    assert (results["open.output"][0] != results["base.output"][0]).all()
    close(results["open.output"][1], results["base.output"][1])


def test_a_bad_case_says_why_and_leaves_the_others_alone(tmp_path: Path) -> None:
    """Each bad case has its own message; the good one's result is written."""
    two = {"a": [[1.0, nan]], "b": [[1.0, 2.0]]}
    cases: dict[str, Case] = {
        "good": ("add", {}, {"a": [1], "b": [2]}, []),
        "unknown": ("convolve", {}, two, []),
        "shapes": ("add", {}, {"a": [1], "b": [1, 2]}, []),
        "attribute": ("scale", {}, {"x": [1]}, []),
        "extra": ("add", {"scale": 1}, two, []),
        "ids": ("embedding", {"ids": [2]}, {"table": [[1], [2]]}, []),
        "reach": ("scale", {"scale": 1, "strides": {"x": [2]}, "view": {"x": [3]}}, {"x": [1, 2, 3]}, []),
        "gradient": ("gradient_norm", {}, {"a": [1], "incoming": [1]}, ["a"]),
    }
    events, results = operators(tmp_path, cases)
    told = {event["case"]: event for event in of_kind(events, "case")}
    assert [name for name, event in told.items() if event["ok"]] == ["good"]
    assert all(
        event["message"] and "\n" not in event["message"] for event in told.values() if not event["ok"]
    )
    assert "convolve" in told["unknown"]["message"] and "5" not in told["reach"]["message"][:5]
    assert list(results) == ["good.output"] and results["good.output"].tolist() == [3]


def test_a_case_named_twice_is_refused(tmp_path: Path) -> None:
    case = {"case": "c", "op": "add", "attributes": {}, "inputs": ["a", "b"], "gradients": []}
    keys = {"file": str(tmp_path / "in"), "output": str(tmp_path / "out"), "context": CONTEXT}
    (event,) = ask("operators", cases=[case, case], **keys)
    assert (event["event"], event["status"], event["where"]) == ("error", "request", "c")
