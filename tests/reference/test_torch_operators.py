"""The torch trainer's operators: the exact values of cases E4, E5, F1, F2, F3, F4, G and J5."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from torch_process import Trainer

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("peft", reason="peft is not installed")

TOLERANCE = 1e-6  # CASES.md: relative, for f32


@pytest.fixture(scope="module")
def trainer() -> Iterator[Trainer]:
    running = Trainer()
    yield running
    running.close()


class Bench:
    """Runs one case and returns its tensors by name, without the case's own name."""

    def __init__(self, trainer: Trainer, folder: Path) -> None:
        self._trainer, self._folder = trainer, folder

    def __call__(
        self, op: str, tensors: dict[str, Any], gradients: list[str] | None = None, **attributes: Any
    ) -> dict[str, np.ndarray]:
        values = {f"c.{name}": np.array(value, dtype="f4") for name, value in tensors.items()}
        save_file(values, self._folder / "in.safetensors")
        inputs = [name for name in tensors if name != "incoming"]
        case = {
            "case": "c",
            "op": op,
            "attributes": attributes,
            "inputs": inputs,
            "gradients": gradients or [],
        }
        output = self._folder / "out.safetensors"
        event, done = self._trainer.ask(
            "operators", cases=[case], file=str(self._folder / "in.safetensors"), output=str(output)
        )
        assert event == {"id": event["id"], "event": "case", "case": "c", "ok": True, "message": ""}
        assert done["cases"] == 1
        results = load_file(output)
        assert all(value.dtype == np.float32 for value in results.values())
        return {name.removeprefix("c."): value for name, value in results.items()}


@pytest.fixture
def run(trainer: Trainer, tmp_path: Path) -> Bench:
    return Bench(trainer, tmp_path)


def close(actual: np.ndarray, expected: Any, tolerance: float = TOLERANCE) -> None:
    np.testing.assert_allclose(actual, np.array(expected), rtol=tolerance, atol=0)


def test_e4_clip_once_and_report_before(run: Bench) -> None:
    results = run("clip", {"a": [3.0, 0.0], "b": [0.0, 4.0]}, clip_norm=1.0)
    close(results["output.norm"], [5.0])
    close(results["output.a"], [0.6, 0.0])
    close(results["output.b"], [0.0, 0.8])
    close(run("gradient_norm", {"a": [3.0, 4.0]})["output"], [5.0])
    untouched = run("clip", {"a": [0.6, 0.8]}, clip_norm=1.5)
    assert (untouched["output.a"] == np.array([0.6, 0.8], dtype="f4")).all()


def test_e5_resume(run: Bench) -> None:
    settings = {"learning_rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.0}
    p, m, v = [0.0], [0.0], [0.0]
    for step, gradient in enumerate([1.0, 1.0, 1.0, 1.0, 0.1], start=1):
        results = run("adamw", {"p": p, "g": [gradient], "m": m, "v": v}, step=step, **settings)
        p, m, v = (results[f"output.{name}"] for name in "pmv")
        if step == 4:
            close(p, [-0.0399999996])
            close(m, [0.3439])
            close(v, [0.003994003999])
    close(p, [-0.048714452128])


def test_adamw_decays_before_it_moves(run: Bench) -> None:
    settings = {"learning_rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.1}
    results = run("adamw", {"p": [1.0], "g": [0.0], "m": [0.0], "v": [0.0]}, step=1, **settings)
    close(results["output.p"], [0.999])


def test_f1_gradient_of_a_shared_matrix_is_the_sum_over_its_uses(run: Bench) -> None:
    embedding = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    base = run("linear", {"x": [[1.0, 1.0]], "w": embedding})["output"]
    close(base, [[1, 1, 2]])
    # Delta [[0,0],[0,0],[1,0]] = B A with rank 1.
    adapted = run(
        "lora_linear",
        {"x": [[1.0, 1.0]], "w": embedding, "a": [[1.0, 0.0]], "b": [[0.0], [0.0], [1.0]]},
        scale=1.0,
    )
    close(adapted["output"], [[1, 1, 3]])
    close(run("embedding", {"table": embedding}, ids=[2])["output"], [[1, 1]])


def test_f2_scale(run: Bench) -> None:
    tensors = {
        "x": [[1.0, 2.0]],
        "w": np.eye(2),
        "a": [[1.0, 1.0], [0.0, 1.0]],
        "b": [[1.0, 0.0], [2.0, 1.0]],
    }
    assert (run("lora_linear", tensors, scale=3.0)["output"] == [[10, 26]]).all()


def test_f3_evaluation_values(run: Bench) -> None:
    for logits, expected in (([1.3, 2.8], 1.7014133), ([1.0, 2.0], 1.3132617)):
        tensors = {"h": [logits], "w": np.eye(2)}
        close(run("linear_cross_entropy", tensors, rows=[0], targets=[0])["output"], [expected])


def test_f4_zero_b_gives_the_base_result_and_a_no_gradient(run: Bench) -> None:
    random = np.random.default_rng(0)
    x, w, a = random.normal(size=(5, 4)), random.normal(size=(3, 4)), random.normal(size=(2, 4))
    tensors = {"x": x, "w": w, "a": a, "b": np.zeros((3, 2)), "incoming": random.normal(size=(5, 3))}
    results = run("lora_linear", tensors, ["a", "b", "x", "w"], scale=2.0)
    assert (results["output"] == run("linear", {"x": x, "w": w})["output"]).all()
    assert (results["gradient.a"] == 0).all()
    assert (results["gradient.b"] != 0).any()


def test_g1_strided_operands(run: Bench) -> None:
    tensors = {
        "a": np.arange(1, 7).reshape(3, 2),
        "b": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
        "incoming": [[1.0, 2.0], [3.0, 4.0]],
    }
    attributes = {"strides": {"a": [1, 2]}, "offset": {"a": 0}, "view": {"a": [2, 3]}}
    results = run("matmul", tensors, ["a", "b"], **attributes)
    assert (results["output"] == [[6, 8], [8, 10]]).all()
    assert (results["gradient.b"] == [[7, 10], [15, 22], [23, 34]]).all()
    assert (results["gradient.a"] == [[1, 3], [2, 4], [3, 7]]).all()
    broadcast = {
        name: {**value, "incoming": other}
        for (name, value), other in zip(attributes.items(), ([0, 0], 0, [2, 2]), strict=True)
    }
    results = run("matmul", {**tensors, "incoming": [1.0]}, ["b"], **broadcast)
    assert (results["gradient.b"] == [[3, 3], [7, 7], [11, 11]]).all()


def test_g2_fully_masked_row(run: Bench) -> None:
    scores = [[0.0, np.log(3.0)], [-np.inf, -np.inf]]
    weights = run("softmax", {"x": scores})["output"]
    close(weights, [[0.25, 0.75], [0, 0]])
    values = {"a": weights, "b": [[1.0], [5.0]], "incoming": [[1.0], [1.0]]}
    product = run("matmul", values, ["a", "b"])
    close(product["output"], [[4], [0]])
    close(product["gradient.b"], [[0.25], [0.75]])
    results = run("softmax", {"x": scores, "incoming": product["gradient.a"]}, ["x"])
    close(results["gradient.x"], [[-0.75, 0.75], [0, 0]])


@pytest.mark.parametrize(
    ("logits", "target", "expected"),
    [
        ([88.8, 0.0], 0, 0.0),
        ([88.8, 0.0], 1, 88.8),
        ([1000.0, 1000.0], 0, 0.6931472),
        ([-1000.0, -1000.0], 0, 0.6931472),
        ([1e8, 1e8], 0, 0.6931472),
        ([-200.0, -200.0, -200.0], 0, 1.0986123),
    ],
)
def test_g3_cross_entropy_at_the_edges(run: Bench, logits: list[float], target: int, expected: float) -> None:
    tensors = {"h": [logits], "w": np.eye(len(logits)), "incoming": [1.0]}
    results = run("linear_cross_entropy", tensors, ["h", "w"], rows=[0], targets=[target])
    close(results["output"], [expected])
    assert np.isfinite(results["gradient.h"]).all()


def test_g4_rotary_embedding(run: Bench) -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0]).reshape(1, 1, 4)
    big = run("rope", {"x": x}, positions=[1], theta=1e6)["output"]
    close(big.reshape(-1), [-1.9841106, 1.9959990, 2.4623779, 4.0019980])
    small = run("rope", {"x": x}, positions=[1], theta=1e4)["output"]
    close(small.reshape(-1), [-1.9841106, 1.9599007, 2.4623779, 4.0197997])
    assert (run("rope", {"x": x}, positions=[0], theta=1e6)["output"] == x).all()
    for positions in ([3, 1], [2, 0]):
        pair = np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]]).reshape(2, 1, 4)
        rotated = run("rope", {"x": pair}, positions=positions, theta=1e6)["output"].reshape(2, 4)
        close(rotated[0].astype("f8") @ rotated[1].astype("f8"), -3.2744626, 2e-6)


def test_g5_rms_norm(run: Bench) -> None:
    tensors = {"x": [[1e-3, 2e-3, 3e-3, 4e-3]], "gain": np.ones(4), "incoming": [[1.0, 0.0, 0.0, 0.0]]}
    results = run("rms_norm", tensors, ["x", "gain"], epsilon=1e-6)
    close(results["output"][0], [0.3429972, 0.6859943, 1.0289915, 1.3719887])
    close(results["gradient.x"][0], [332.909018, -20.176304, -30.264456, -40.352608])


def test_j5_order_of_an_embedding_row_and_full_precision_products(run: Bench) -> None:
    tensors = {"table": np.zeros((3, 1)), "incoming": [[1e8], [1.0], [-1e8], [1.0]]}
    values = [run("embedding", tensors, ["table"], ids=[1, 1, 1, 1])["gradient.table"] for _ in range(20)]
    assert all((value == values[0]).all() for value in values)
    assert values[0][1] in (0.0, 1.0, 2.0)
    assert run("matmul", {"a": [[1024.5]], "b": [[1.0]]})["output"] == 1024.5


@pytest.mark.parametrize("causal", [True, False])
def test_attention_keeps_records_apart(run: Bench, causal: bool) -> None:
    """Against float64 by definition; rows behind the last record give exact zeros."""
    random = np.random.default_rng(0)
    q, k, v, incoming = (random.normal(size=(7, heads, 4)).astype("f4") for heads in (4, 2, 2, 4))
    expected = np.zeros((7, 4, 4))
    for first, behind in ((0, 2), (2, 5)):
        for head in range(4):
            for row in range(first, behind):
                last = row + 1 if causal else behind
                scores = k[first:last, head // 2].astype("f8") @ q[row, head] / 2
                weights = np.exp(scores - scores.max())
                expected[row, head] = weights / weights.sum() @ v[first:last, head // 2]
    attributes = {"starts": [0, 2, 5], "heads": 4, "kv_heads": 2, "causal": causal}
    tensors = {"q": q, "k": k, "v": v, "incoming": incoming}
    results = run("attention", tensors, ["q", "k", "v"], **attributes)
    np.testing.assert_allclose(results["output"], expected, rtol=1e-5, atol=1e-6)
    for name in ("output", "gradient.q", "gradient.k", "gradient.v"):
        assert (results[name][5:] == 0).all()
        assert (results[name][:5] != 0).any()


@pytest.mark.parametrize(
    ("op", "tensors", "attributes", "expected"),
    [
        ("swiglu", {"g": [1.0], "u": [2.0]}, {}, [1.4621172]),
        ("add", {"a": [1.0], "b": [2.0]}, {}, [3.0]),
        ("scale", {"x": [1.5]}, {"scale": 2.0}, [3.0]),
        ("transpose", {"x": [[1.0, 2.0, 3.0]]}, {}, [[1.0], [2.0], [3.0]]),
        ("reshape", {"x": [[1.0, 2.0], [3.0, 4.0]]}, {"shape": [4]}, [1.0, 2.0, 3.0, 4.0]),
        ("reduce_sum", {"x": [[1.0, 2.0], [3.0, 4.0]]}, {"axis": 0}, [4.0, 6.0]),
        ("reduce_sum", {"x": [1.0, 2.0]}, {"axis": 0}, [3.0]),
    ],
)
def test_small_operators(
    run: Bench, op: str, tensors: dict[str, Any], attributes: dict[str, Any], expected: Any
) -> None:
    output = run(op, tensors, **attributes)["output"]
    assert output.shape == np.array(expected).shape
    close(output, expected)


def test_a_case_that_cannot_run_is_named_and_the_others_run(trainer: Trainer, tmp_path: Path) -> None:
    save_file({"b.x": np.ones(2, dtype="f4")}, tmp_path / "in.safetensors")
    rest = {"attributes": {"scale": 2.0}, "inputs": ["x"], "gradients": []}
    cases = [{"case": "a", "op": "scale", **rest}, {"case": "b", "op": "scale", **rest}]
    first, second, done = trainer.ask(
        "operators", cases=cases, file=str(tmp_path / "in.safetensors"), output=str(tmp_path / "out")
    )
    assert (first["ok"], second["ok"], done["cases"]) == (False, True, 2)
    assert "a.x" in first["message"]
    assert list(load_file(tmp_path / "out")) == ["b.output"]
