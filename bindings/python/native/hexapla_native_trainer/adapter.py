"""The adapter and its moments: names in adapter order, tensors, gradients, digests. Separate from
checkpoints, which write them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hexapla_native import Checkpoint, Error, Tape, Tensor, digest

from hexapla_native_trainer.devices import Place
from hexapla_native_trainer.fields import Fields
from hexapla_native_trainer.model import Config, Shapes, read_object, require_names
from hexapla_native_trainer.refusal import At, Refusal
from hexapla_native_trainer.spec import ATTENTION, TARGETS, Spec

WEIGHTS_FILE = "adapter_model.safetensors"
CONFIG_FILE = "adapter_config.json"
OPTIMIZER_FILE = "optimizer.safetensors"
MOMENTS = ("exp_avg", "exp_avg_sq")


def adapter_shapes(config: Config, spec: Spec) -> Shapes:
    """Names and shapes in adapter order."""
    shapes: Shapes = {}
    for layer in range(config.layers):
        for target in TARGETS:
            if target not in spec.targets:
                continue
            block = "self_attn" if target in ATTENTION else "mlp"
            name = f"base_model.model.model.layers.{layer}.{block}.{target}"
            rows, columns = config.projection(target)
            shapes[f"{name}.lora_A.weight"] = (spec.rank, columns)
            shapes[f"{name}.lora_B.weight"] = (rows, spec.rank)
    return shapes


@dataclass(frozen=True)
class Adapter:
    """A and B of every target; lists are in adapter order."""

    names: list[str]
    tensors: list[Tensor]
    scale: float

    def pairs(self) -> dict[str, tuple[Tensor, Tensor]]:
        """A and B by the name of the base weight that they stand beside."""
        pairs = zip(self.names[::2], self.tensors[::2], self.tensors[1::2], strict=True)
        return {_base_name(name): (a, b) for name, a, b in pairs}

    def digest(self) -> str:
        return digest(self.tensors)


@dataclass(frozen=True)
class Moments:
    """AdamW's state, in adapter order."""

    exp_avgs: list[Tensor]
    exp_avg_sqs: list[Tensor]

    def interleaved(self) -> list[Tensor]:
        """exp_avg, then exp_avg_sq, of each."""
        return [moment for pair in zip(self.exp_avgs, self.exp_avg_sqs, strict=True) for moment in pair]

    def digest(self) -> str:
        return digest(self.interleaved())


def read_adapter_config(folder: str, spec: Spec) -> bytes:
    """adapter_config.json as it is; its rank and alpha must be the specification's."""
    path = Path(folder) / CONFIG_FILE
    fields = Fields(read_object(path), "checkpoint", str(path))
    for key, wanted in (("r", float(spec.rank)), ("lora_alpha", spec.alpha)):
        given = fields.number(key)
        if given != wanted:
            raise Refusal(
                "checkpoint", f"{path}: {key} is {given:g}, the specification says {wanted:g}", str(path)
            )
    with At(str(path)):
        return path.read_bytes()


def load_adapter(folder: str, config: Config, spec: Spec, place: Place) -> Adapter:
    """Raises Refusal `checkpoint` for another set of names or shapes."""
    path = str(Path(folder) / WEIGHTS_FILE)
    shapes = adapter_shapes(config, spec)
    tensors = _read_all(path, shapes, place)
    return Adapter(list(shapes), tensors, spec.lora_scale)


def new_moments(adapter: Adapter, place: Place) -> Moments:
    def zeros_of_all() -> list[Tensor]:
        return [place.zeros(tensor.shape) for tensor in adapter.tensors]

    return Moments(zeros_of_all(), zeros_of_all())


def load_moments(
    folder: str, config: Config, spec: Spec, spec_digest: str, place: Place
) -> tuple[Moments, int]:
    """The moments of a checkpoint and the update they stand at. Another spec_digest is refused."""
    path = str(Path(folder) / OPTIMIZER_FILE)
    shapes: Shapes = {
        f"{moment}.{name}": shape
        for name, shape in adapter_shapes(config, spec).items()
        for moment in MOMENTS
    }
    with At(path), Checkpoint(path) as checkpoint:
        said = _metadata(checkpoint, "spec_digest", path)
        update = _metadata(checkpoint, "update", path)
    if said != spec_digest:
        message = f"{path}: spec_digest is {said:.80}, the request says {spec_digest:.80}"
        raise Refusal("checkpoint", message, path)
    if not (update.isascii() and update.isdigit() and len(update) <= 15):
        raise Refusal("checkpoint", f"{path}: update is {update!r:.80}, must be a decimal number", path)
    tensors = _read_all(path, shapes, place)
    return Moments(tensors[0::2], tensors[1::2]), int(update)


def watch_all(adapter: Adapter, tape: Tape, place: Place) -> list[Tensor]:
    """A gradient of its own for every tensor, bound to the tape for good."""
    gradients = []
    for parameter in adapter.tensors:
        gradient = place.zeros(parameter.shape)
        tape.watch(parameter, gradient)
        gradients.append(gradient)
    return gradients


def _base_name(name: str) -> str:
    return name.removeprefix("base_model.model.").replace(".lora_A.", ".")


def _read_all(path: str, shapes: Shapes, place: Place) -> list[Tensor]:
    with At(path), Checkpoint(path) as checkpoint:
        require_names({name: shape for name, _, shape in checkpoint.entries()}, shapes, path)
        return [place.read(checkpoint, name) for name in shapes]


def _metadata(checkpoint: Checkpoint, key: str, path: str) -> str:
    try:
        return checkpoint.metadata(key)
    except Error as error:
        if error.status != "HXP_NOT_FOUND":
            raise
        raise Refusal("checkpoint", f"{path}: metadata {key} is missing", path) from None
