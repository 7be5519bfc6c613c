"""The oracle's derivatives, held to central differences (1e-6) and to torch's autograd in float64 (1e-12).

Here the oracle's functions are called directly: through the process, inputs are float32, too coarse for
differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hexapla.reference.oracle.adapter import adapter_shapes
from hexapla.reference.oracle.config import ModelConfig, Spec
from hexapla.reference.oracle.model import Batch, Model, Tape, parameter_shapes
from hexapla.reference.oracle.op_table import OPS
from hexapla.reference.oracle.render import Rendered
from oracle_support import CONFIG, SPEC

RANDOM = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape)


# name: (op, attributes, inputs); odd shapes, repeated ids and rows, a record of one row, rows outside records
CASES: dict[str, tuple[str, dict[str, Any], list[np.ndarray]]] = {
    "embedding": ("embedding", {"ids": [3, 0, 3, 3]}, [normal(5, 3)]),
    "rms_norm": ("rms_norm", {"epsilon": 1e-6}, [normal(3, 2, 5), normal(5)]),
    "linear": ("linear", {}, [normal(3, 5), normal(7, 5)]),
    "lora_linear": ("lora_linear", {"scale": 2.0}, [normal(3, 5), normal(7, 5), normal(2, 5), normal(7, 2)]),
    "rope": ("rope", {"positions": [0, 3, 1], "theta": 1e4}, [normal(3, 2, 6)]),
    "attention": (
        "attention",
        {"starts": [0, 3, 4, 6], "heads": 4, "kv_heads": 2, "causal": True},
        [normal(7, 4, 3), normal(7, 2, 3), normal(7, 2, 3)],
    ),
    "attention_open": (
        "attention",
        {"starts": [1, 4, 6], "heads": 3, "kv_heads": 3, "causal": False},
        [normal(6, 3, 2), normal(6, 3, 2), normal(6, 3, 2)],
    ),
    "swiglu": ("swiglu", {}, [normal(3, 4), normal(3, 4)]),
    "add": ("add", {}, [normal(3, 4), normal(3, 4)]),
    "scale": ("scale", {"scale": -1.5}, [normal(3, 4)]),
    "linear_cross_entropy": (
        "linear_cross_entropy",
        {"rows": [0, 2, 2, 4], "targets": [1, 0, 6, 1]},
        [normal(5, 3), normal(7, 3)],
    ),
    "matmul": ("matmul", {}, [normal(3, 5), normal(5, 2)]),
    "softmax": ("softmax", {}, [normal(3, 5)]),
    "transpose": ("transpose", {}, [normal(3, 5)]),
    "reshape": ("reshape", {"shape": [5, 3]}, [normal(3, 5)]),
    "reduce_sum": ("reduce_sum", {"axis": 1}, [normal(2, 3, 4)]),
    "reduce_sum_flat": ("reduce_sum", {"axis": 0}, [normal(5)]),
}


def differences(function: Callable[[], float], values: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences of `function` in each element of `values`, changed in place and restored."""
    made = np.zeros_like(values)
    for index in np.ndindex(values.shape):
        middle = values[index]
        values[index] = middle + step
        above = function()
        values[index] = middle - step
        made[index] = (above - function()) / (2 * step)
        values[index] = middle
    return made


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, relative to the largest expected value."""
    return float(np.max(np.abs(found - expected)) / max(np.max(np.abs(expected)), 1e-300))


def test_every_op_with_a_gradient_is_held() -> None:
    """No op of the table escapes: those without a gradient have exact cases elsewhere."""
    assert {op for op, _, _ in CASES.values()} == set(OPS) - {"gradient_norm", "clip", "adamw"}


@pytest.mark.parametrize("name", CASES)
def test_gradients_equal_finite_differences(name: str) -> None:
    op, attributes, inputs = CASES[name]
    inputs = [values.copy() for values in inputs]
    outputs, pull = OPS[op][0](*inputs, **attributes)
    incoming = np.random.default_rng(9).normal(size=outputs[""].shape)
    assert pull is not None
    gradients = pull(incoming)

    def objective() -> float:
        return float(np.sum(OPS[op][0](*inputs, **attributes)[0][""] * incoming))

    for values, gradient in zip(inputs, gradients, strict=True):
        assert gradient.shape == values.shape
        assert relative(gradient, differences(objective, values)) < 1e-6


def torch_op(op: str, a: dict[str, Any], x: list[Any]) -> Any:
    """The same op by torch, in torch's own words wherever it has some."""
    import torch  # noqa: PLC0415 -- absent torch skips these tests, it does not break the file
    import torch.nn.functional as F  # noqa: PLC0415

    if op == "attention":
        return torch_attention(x[0], x[1], x[2], a["starts"], a["causal"])
    if op == "linear_cross_entropy":
        return F.cross_entropy(x[0][a["rows"]] @ x[1].T, torch.tensor(a["targets"]), reduction="none")
    if op == "reduce_sum":
        return x[0].sum(a["axis"], keepdim=x[0].ndim == 1)
    simple: dict[str, Callable[[], Any]] = {
        "embedding": lambda: F.embedding(torch.tensor(a["ids"]), x[0]),
        "rms_norm": lambda: F.rms_norm(x[0], x[1].shape, x[1], a["epsilon"]),
        "linear": lambda: F.linear(x[0], x[1]),
        "lora_linear": lambda: F.linear(x[0], x[1] + a["scale"] * x[3] @ x[2]),
        "rope": lambda: torch_rope(x[0], torch.tensor(a["positions"]), a["theta"]),
        "swiglu": lambda: F.silu(x[0]) * x[1],
        "add": lambda: x[0] + x[1],
        "scale": lambda: a["scale"] * x[0],
        "matmul": lambda: x[0] @ x[1],
        "softmax": lambda: F.softmax(x[0], -1),
        "transpose": lambda: x[0].transpose(-1, -2),
        "reshape": lambda: x[0].reshape(a["shape"]),
    }
    return simple[op]()


def torch_rope(x: Any, positions: Any, theta: float) -> Any:
    """As a product of complex numbers, unlike the oracle."""
    import torch  # noqa: PLC0415

    half = x.shape[-1] // 2
    frequencies = theta ** (-torch.arange(half, dtype=torch.float64) / half)
    turns = torch.polar(torch.ones((), dtype=torch.float64), positions[:, None, None] * frequencies)
    turned = torch.complex(x[..., :half], x[..., half:]) * turns
    return torch.cat([turned.real, turned.imag], -1)


def torch_attention(q: Any, k: Any, v: Any, starts: list[int], causal: bool) -> Any:
    """All records in one masked product, unlike the oracle."""
    import torch  # noqa: PLC0415

    rows = torch.arange(len(q))
    record = torch.bucketize(rows, torch.tensor(starts), right=True)
    inside = (rows >= starts[0]) & (rows < starts[-1])
    visible = (record[:, None] == record[None, :]) & inside[:, None] & inside[None, :]
    if causal:
        visible &= rows[:, None] >= rows[None, :]
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = torch.einsum("ihd,jhd->hij", q, k) / q.shape[-1] ** 0.5
    weights = torch.softmax(scores.masked_fill(~visible, -torch.inf), -1).nan_to_num(0.0)
    return torch.einsum("hij,jhd->ihd", torch.where(inside[None, :, None], weights, 0.0), v)


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_equal_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    op, attributes, inputs = CASES[name]
    outputs, pull = OPS[op][0](*inputs, **attributes)
    incoming = np.random.default_rng(9).normal(size=outputs[""].shape)
    assert pull is not None
    tensors = [torch.tensor(values, requires_grad=True) for values in inputs]
    made = torch_op(op, attributes, tensors)
    expected = torch.autograd.grad(made, tensors, torch.tensor(incoming))
    assert relative(outputs[""], made.detach().numpy()) < 1e-12
    for found, gradient in zip(pull(incoming), expected, strict=True):
        # Rows that a fully masked softmax reached are NaN in torch's gradient and zero here, by policy.
        assert relative(found, gradient.nan_to_num(0.0).numpy()) < 1e-12


def small_model(**changes: Any) -> tuple[Model, Spec, dict[str, np.ndarray], Batch]:
    """A random model, an adapter whose B is not zero, and a micro-batch of three records, one without
    context."""
    config = CONFIG | {"vocab_size": 11, "hidden_size": 6, "intermediate_size": 5, "head_dim": 4} | changes
    known = {key: value for key, value in config.items() if key in ModelConfig.__annotations__}
    model_config = ModelConfig(**known)
    random = np.random.default_rng(2)
    parameters = {
        name: 1 + 0.3 * random.normal(size=shape) if len(shape) == 1 else random.normal(0, 0.6, shape)
        for name, shape in parameter_shapes(model_config)
    }
    spec = Spec.read(SPEC)
    adapter = {
        name: random.normal(0, 0.4, shape) for name, shape in adapter_shapes(model_config, spec).items()
    }
    records = [
        Rendered("a", [1, 5, 2, 9, 3], bytes([0, 0, 1, 0, 1])),
        Rendered("b", [4, 4], bytes([0, 1])),
        Rendered("c", [7, 0, 10, 6], bytes([0, 1, 1, 1])),
    ]
    return Model(model_config, parameters), spec, adapter, Batch.pack(records)


MODELS = [{}, {"tie_word_embeddings": False}, {"model_type": "llama", "num_key_value_heads": 4}]


@pytest.mark.parametrize("changes", MODELS, ids=["tied", "untied", "llama"])
def test_the_whole_models_gradient_equals_finite_differences(changes: dict[str, Any]) -> None:
    model, spec, adapter, batch = small_model(**changes)
    tape = Tape()
    model.forward(batch, adapter, spec.scale, tape)
    gradients = model.backward(batch, adapter, spec.scale, tape, 0.5)
    assert set(gradients) == set(adapter)

    def objective() -> float:
        return 0.5 * float(np.sum(model.forward(batch, adapter, spec.scale, None)))

    largest = max(float(np.max(np.abs(gradient))) for gradient in gradients.values())
    for name, values in adapter.items():
        assert np.max(np.abs(gradients[name] - differences(objective, values))) < 1e-6 * largest, name


@pytest.mark.parametrize("changes", MODELS, ids=["tied", "untied", "llama"])
def test_the_whole_model_equals_torch(changes: dict[str, Any]) -> None:
    """Loss and every adapter gradient, against a forward pass of merged weights that autograd takes back."""
    torch = pytest.importorskip("torch")
    model, spec, adapter, batch = small_model(**changes)
    tape = Tape()
    nll = model.forward(batch, adapter, spec.scale, tape)
    gradients = model.backward(batch, adapter, spec.scale, tape, 0.5)
    tensors = {name: torch.tensor(values, requires_grad=True) for name, values in adapter.items()}
    made = torch_model(model, spec, tensors, batch)
    expected = torch.autograd.grad(0.5 * made.sum(), list(tensors.values()))
    assert relative(nll, made.detach().numpy()) < 1e-12
    for name, gradient in zip(tensors, expected, strict=True):
        assert relative(gradients[name], gradient.numpy()) < 1e-12, name


def torch_model(model: Model, spec: Spec, adapter: dict[str, Any], batch: Batch) -> Any:
    import torch  # noqa: PLC0415
    import torch.nn.functional as F  # noqa: PLC0415

    config, positions = model.config, torch.tensor(batch.positions)
    weights = {name: torch.tensor(values) for name, values in model.parameters.items()}
    for name in [name for name in adapter if name.endswith("lora_A.weight")]:
        base = name.removeprefix("base_model.model.").replace(".lora_A", "")
        weights[base] = weights[base] + spec.scale * adapter[name.replace("lora_A", "lora_B")] @ adapter[name]
    x = F.embedding(torch.tensor(batch.ids), weights["model.embed_tokens.weight"])
    for layer in range(config.num_hidden_layers):
        w = {
            name.split(f"layers.{layer}.")[1].removesuffix(".weight"): values
            for name, values in weights.items()
            if f"layers.{layer}." in name
        }

        def norm(x: Any, gain: Any) -> Any:
            return F.rms_norm(x, gain.shape, gain, config.rms_norm_eps)

        h = norm(x, w["input_layernorm"])
        q, k, v = (
            F.linear(h, w[f"self_attn.{part}_proj"]).unflatten(-1, (-1, config.head_dim)) for part in "qkv"
        )
        if config.query_norms:
            q, k = norm(q, w["self_attn.q_norm"]), norm(k, w["self_attn.k_norm"])
        q, k = (torch_rope(part, positions, config.rope_theta) for part in (q, k))
        x = x + F.linear(torch_attention(q, k, v, batch.starts, True).flatten(1), w["self_attn.o_proj"])
        h = norm(x, w["post_attention_layernorm"])
        m = F.silu(F.linear(h, w["mlp.gate_proj"])) * F.linear(h, w["mlp.up_proj"])
        x = x + F.linear(m, w["mlp.down_proj"])
    h = norm(x, weights["model.norm.weight"])
    logits = F.linear(h, torch.tensor(model.head))[torch.tensor(batch.rows)]
    return F.cross_entropy(logits, torch.tensor(batch.targets), reduction="none")
