"""The LoRA adapter: PEFT's layers on the base model, and its tensors in the specification's order.

Separate because names, shapes and order are a contract with every other implementation. PEFT draws
initial values of its own; they are overwritten, every one of them, before the adapter is returned.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model

from .config import TARGETS, Spec, shown
from .failure import Failure
from .model import read_object
from .weights import FLOAT_DTYPES, check_shapes, read_tensors

CONFIG_FILE = "adapter_config.json"
TENSOR_FILE = "adapter_model.safetensors"
# PEFT puts the adapter's name inside the parameter's name and takes it out in files.
_PEFT_NAME = "default"


class Adapter:
    """A model with its adapter: `model` computes, `parameters` are name → A or B in adapter order."""

    def __init__(self, model: Any, parameters: dict[str, torch.nn.Parameter]) -> None:
        self.model = model
        self.parameters = parameters


def attach_adapter(base: Any, spec: Spec, folder: str) -> Adapter:
    """Put the adapter of `folder` on the model (in place) and return it; raise `Failure` (`checkpoint`)."""
    lora = LoraConfig(
        r=spec.rank,
        lora_alpha=spec.alpha,  # type: ignore[arg-type]  # PEFT only divides it by r; the study may use a fraction
        target_modules=list(spec.targets),
        lora_dropout=0.0,
        bias="none",
        use_rslora=False,
        task_type="CAUSAL_LM",
    )
    layers = base.config.num_hidden_layers
    peft_model = get_peft_model(base, lora)
    peft_model.eval()
    named = dict(peft_model.named_parameters())
    parameters: dict[str, torch.nn.Parameter] = {}
    for name in adapter_names(layers, spec.targets):
        parameters[name] = named[name.removesuffix("weight") + f"{_PEFT_NAME}.weight"]
    trained = sum(value.requires_grad for value in named.values())
    if trained != len(parameters):
        raise Failure("internal", f"PEFT trains {trained} tensors, expected {len(parameters)}", "adapter")
    path = Path(folder) / TENSOR_FILE
    stored = read_tensors(path, "checkpoint", FLOAT_DTYPES)
    check_shapes(shapes(parameters), shapes(stored), "the adapter", str(path))
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(stored[name])
    return Adapter(peft_model, parameters)


def adapter_names(layers: int, targets: tuple[str, ...]) -> list[str]:
    """PEFT's names as its files hold them: layer by layer, q k v o gate up down, A then B."""
    names = []
    for layer in range(layers):
        for target in TARGETS:
            if target in targets:
                block = "mlp" if target in TARGETS[4:] else "self_attn"
                stem = f"base_model.model.model.layers.{layer}.{block}.{target}"
                names += [f"{stem}.lora_A.weight", f"{stem}.lora_B.weight"]
    return names


def check_adapter_config(folder: str, spec: Spec) -> None:
    """The adapter's own `r` and `lora_alpha` must be there and equal the specification's."""
    path = Path(folder) / CONFIG_FILE
    content = read_object(path)
    for key, expected in (("r", spec.rank), ("lora_alpha", spec.alpha)):
        if key not in content:
            message = f"{key} is absent, the specification has {shown(expected)}"
            raise Failure("checkpoint", message, f"{path}: {key}")
        if isinstance(content[key], bool) or content[key] != expected:
            message = f"{key} is {shown(content[key])}, the specification has {shown(expected)}"
            raise Failure("checkpoint", message, f"{path}: {key}")


def shapes(tensors: Any) -> dict[str, tuple[int, ...]]:
    """name → shape."""
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}
