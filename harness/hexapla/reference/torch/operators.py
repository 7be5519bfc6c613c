"""The `operators` request: each operator alone, forward and backward, in f32 under autograd.

Separate because an operator must be judged outside the model. Where transformers, PEFT or this
trainer's own stages hold the operator, exactly that code runs here, so that a fault in it shows. It
must not correct what the library computes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from peft import LoraConfig
from peft.tuners.lora import Linear as LoraLinear
from torch.func import functional_call
from torch.nn import functional
from transformers import Qwen3Config
from transformers.models.qwen3 import modeling_qwen3

from .config import CASE_KEYS, check_keys
from .failure import Failure
from .optimizer import AdamW, clip, gradient_norm
from .weights import read_tensors, write_tensors

Tensors = list[torch.Tensor]
Attributes = dict[str, Any]


def run_cases(cases: list[Any], file: str, output: str, emit: Callable[..., None]) -> None:
    """Run every case on the tensors of `file`, emit its `case` event, and write the results to `output`."""
    for index, case in enumerate(cases):
        check_keys(case, CASE_KEYS, "request", "a case", f"cases[{index}].")
    stored = read_tensors(Path(file), "io", ("F32",))
    results: dict[str, torch.Tensor] = {}
    for case in cases:
        try:
            values = _run_case(case, stored)
        except Exception as error:  # one case that cannot run must not hide the others
            message = f"{type(error).__name__}: {' '.join(str(error).split())}"
            emit("case", case=case["case"], ok=False, message=message)
        else:
            results |= {name: value.detach().contiguous().clone() for name, value in values.items()}
            emit("case", case=case["case"], ok=True, message="")
    partial = Path(output + ".partial")
    try:
        write_tensors(results, partial, {})
        partial.replace(output)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise Failure("io", f"cannot write the results: {error.strerror or error}", output) from None


def _run_case(case: dict[str, Any], stored: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return `<case>.output…` and `<case>.gradient.<input>` → tensor."""
    name, attributes, inputs = case["case"], case["attributes"], case["inputs"]
    wanted = case["gradients"]
    buffers = {key: _stored(stored, f"{name}.{key}").clone().requires_grad_(key in wanted) for key in inputs}
    operands = [_view(buffers[key], key, attributes) for key in inputs]
    if case["op"] in _OPTIMIZER_OPERATORS:
        outputs = _OPTIMIZER_OPERATORS[case["op"]](operands, inputs, attributes)
        return {f"{name}.output{suffix}": value for suffix, value in outputs.items()}
    if case["op"] not in _OPERATORS:
        raise ValueError(f"the operator {case['op']} is not known")
    output = _OPERATORS[case["op"]](operands, attributes)
    results = {f"{name}.output": output}
    if wanted:
        incoming = _view(_stored(stored, f"{name}.incoming"), "incoming", attributes)
        sources = [buffers[key] for key in wanted]
        gradients = torch.autograd.grad(output, sources, incoming, materialize_grads=True)
        results |= {f"{name}.gradient.{key}": value for key, value in zip(wanted, gradients, strict=True)}
    return results


def _stored(stored: dict[str, torch.Tensor], name: str) -> torch.Tensor:
    if name not in stored:
        raise ValueError(f"the file has no tensor {name}")
    return stored[name]


def _view(buffer: torch.Tensor, name: str, attributes: Attributes) -> torch.Tensor:
    """The named input, or the strided view of it that the attributes ask for (strides in elements)."""
    strides = attributes.get("strides", {})
    if name not in strides:
        return buffer
    offset = attributes.get("offset", {}).get(name, 0)
    return buffer.reshape(-1).as_strided(attributes["view"][name], strides[name], offset)


def _rms_norm(operands: Tensors, attributes: Attributes) -> torch.Tensor:
    x, gain = operands
    module = modeling_qwen3.Qwen3RMSNorm(gain.shape[0], eps=attributes["epsilon"])
    return _called(module, {"weight": gain}, x)


def _lora_linear(operands: Tensors, attributes: Attributes) -> torch.Tensor:
    """xWᵀ + scale·(xAᵀ)Bᵀ by PEFT's own layer: x (rows, in), w (out, in), a (rank, in), b (out, rank)."""
    x, w, a, b = operands
    base = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
    config = LoraConfig(r=a.shape[0], lora_dropout=0.0, init_lora_weights=False)
    alpha = attributes["scale"] * a.shape[0]
    module = LoraLinear(base, "default", config, r=a.shape[0], lora_alpha=alpha)
    weights = {"base_layer.weight": w, "lora_A.default.weight": a, "lora_B.default.weight": b}
    return _called(module, weights, x)


def _rope(operands: Tensors, attributes: Attributes) -> torch.Tensor:
    """x (rows, heads, head_dim), one position a row."""
    x = operands[0]
    config = Qwen3Config(
        head_dim=x.shape[-1],
        rope_parameters={"rope_type": "default", "rope_theta": attributes["theta"]},
    )
    positions = torch.tensor([attributes["positions"]])
    cos, sin = modeling_qwen3.Qwen3RotaryEmbedding(config)(x, positions)  # (1, rows, head_dim)
    rotate: Any = modeling_qwen3.apply_rotary_pos_emb
    rotated: torch.Tensor = rotate(x[None], x[None], cos, sin, unsqueeze_dim=2)[0]
    return rotated[0]


def _attention(operands: Tensors, attributes: Attributes) -> torch.Tensor:
    """q (rows, heads, head_dim), k and v (rows, kv_heads, head_dim); each record by itself."""
    q, k, v = operands
    heads, kv_heads, starts = attributes["heads"], attributes["kv_heads"], attributes["starts"]
    if heads % kv_heads or (q.shape[1], k.shape[1], v.shape[1]) != (heads, kv_heads, kv_heads):
        raise ValueError(f"heads {heads} and kv_heads {kv_heads} do not fit the tensors")
    if starts[:1] != [0] or starts != sorted(starts) or starts[-1] > q.shape[0]:
        raise ValueError(f"starts {starts} do not fit {q.shape[0]} rows")
    stub: Any = SimpleNamespace(num_key_value_groups=heads // kv_heads, training=False)
    pieces = []
    for first, behind in itertools.pairwise(starts):
        if first == behind:
            continue
        mask = None
        if attributes["causal"]:
            lowest = torch.finfo(torch.float32).min
            mask = torch.full((behind - first, behind - first), lowest).triu(1)[None, None]
        # (1, heads, rows of the record, head_dim)
        q_part, k_part, v_part = (part[first:behind].transpose(0, 1)[None] for part in (q, k, v))
        part, _ = modeling_qwen3.eager_attention_forward(
            stub, q_part, k_part, v_part, mask, scaling=q.shape[-1] ** -0.5
        )
        pieces.append(part[0])
    # Rows behind the last record: zero output, and no path for a gradient.
    pieces.append(torch.zeros(q.shape[0] - starts[-1], *q.shape[1:]))
    return torch.cat(pieces)


def _linear_cross_entropy(operands: Tensors, attributes: Attributes) -> torch.Tensor:
    """h (rows, hidden), w (vocab, hidden) → nll (targets)."""
    h, w = operands
    logits = functional.linear(h.index_select(0, torch.tensor(attributes["rows"], dtype=torch.long)), w)
    targets = torch.tensor(attributes["targets"], dtype=torch.long)
    return functional.cross_entropy(logits, targets, reduction="none")


def _softmax(operands: Tensors, attributes: Attributes) -> torch.Tensor:
    """Over the last axis; torch alone gives NaN for a row of −inf, the specification zero."""
    x = operands[0]
    masked = (x == -torch.inf).all(-1, keepdim=True)
    return torch.softmax(x.masked_fill(masked, 0.0), -1).masked_fill(masked, 0.0)


def _reduce_sum(operands: Tensors, attributes: Attributes) -> torch.Tensor:
    x = operands[0]
    return x.sum(attributes["axis"], keepdim=x.dim() == 1)


def _called(module: torch.nn.Module, weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = functional_call(module, weights, (x,))
    return result


def _norm(operands: Tensors, inputs: list[str], attributes: Attributes) -> dict[str, torch.Tensor]:
    return {"": torch.tensor([gradient_norm(operands)], dtype=torch.float32)}


def _clip(operands: Tensors, inputs: list[str], attributes: Attributes) -> dict[str, torch.Tensor]:
    norm = gradient_norm(operands)
    clip(operands, norm, attributes["clip_norm"])
    outputs = {f".{name}": operand for name, operand in zip(inputs, operands, strict=True)}
    return {".norm": torch.tensor([norm], dtype=torch.float32), **outputs}


def _adamw(operands: Tensors, inputs: list[str], attributes: Attributes) -> dict[str, torch.Tensor]:
    """Update `step` of one parameter whose moments are those after update `step` − 1."""
    p, g, m, v = operands
    parameter = torch.nn.Parameter(p.clone())
    parameter.grad = g.clone()
    keys = ("beta1", "beta2", "epsilon", "weight_decay")
    optimizer = AdamW({"p": parameter}, **{key: attributes[key] for key in keys})
    optimizer.set_state("p", attributes["step"] - 1, m, v)
    optimizer.step(attributes["learning_rate"])
    moment, square = optimizer.moments("p")
    return {".p": parameter, ".m": moment, ".v": square}


_OPERATORS: dict[str, Callable[[Tensors, Attributes], torch.Tensor]] = {
    "embedding": lambda x, at: functional.embedding(torch.tensor(at["ids"], dtype=torch.long), x[0]),
    "rms_norm": _rms_norm,
    "linear": lambda x, at: functional.linear(x[0], x[1]),
    "lora_linear": _lora_linear,
    "rope": _rope,
    "attention": _attention,
    "swiglu": lambda x, at: functional.silu(x[0]) * x[1],
    "add": lambda x, at: x[0] + x[1],
    "scale": lambda x, at: x[0] * at["scale"],
    "linear_cross_entropy": _linear_cross_entropy,
    "matmul": lambda x, at: x[0] @ x[1],
    "softmax": _softmax,
    "transpose": lambda x, at: x[0].transpose(0, 1),
    "reshape": lambda x, at: x[0].reshape(at["shape"]),
    "reduce_sum": _reduce_sum,
}
_OPTIMIZER_OPERATORS: dict[str, Callable[[Tensors, list[str], Attributes], dict[str, torch.Tensor]]] = {
    "gradient_norm": _norm,
    "clip": _clip,
    "adamw": _adamw,
}
