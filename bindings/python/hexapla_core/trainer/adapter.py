"""The adapter: A and B of each target in adapter order, and the moments that belong to them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from hexapla_core.safe import Checkpoint, Context, Tensor, digest
from hexapla_core.trainer.failure import Failure, located
from hexapla_core.trainer.model import BLOCK_OF_TARGET, Config, check_shapes, read_json_file
from hexapla_core.trainer.spec import TARGETS, Spec

ADAPTER_FILE, CONFIG_FILE, OPTIMIZER_FILE = (
    "adapter_model.safetensors",
    "adapter_config.json",
    "optimizer.safetensors",
)
EXP_AVG, EXP_AVG_SQ = "exp_avg.", "exp_avg_sq."


def adapter_shapes(config: Config, spec: Spec) -> dict[str, tuple[int, int]]:
    """Names and shapes in adapter order: A [rank, in], B [out, rank]."""
    shapes = {}
    for layer in range(config.layers):
        for target in TARGETS:
            if target in spec.targets:
                rows, columns = config.target_shape(target)
                shapes[_name(layer, target, "A")] = (spec.rank, columns)
                shapes[_name(layer, target, "B")] = (rows, spec.rank)
    return shapes


def _name(layer: int, target: str, part: str) -> str:
    return f"base_model.model.model.layers.{layer}.{BLOCK_OF_TARGET[target]}.{target}.lora_{part}.weight"


class Adapter:
    """The trained tensors by name, in adapter order, and the factor of their product."""

    def __init__(self, tensors: dict[str, Tensor], scale: float) -> None:
        self.tensors, self.scale = tensors, scale

    def pair(self, layer: int, target: str) -> tuple[Tensor, Tensor] | None:
        """A and B of a projection; None when it is no target."""
        a = self.tensors.get(_name(layer, target, "A"))
        return None if a is None else (a, self.tensors[_name(layer, target, "B")])

    def digest(self) -> str:
        """SHA-256 over all tensors in adapter order."""
        return digest(list(self.tensors.values()))

    def close(self) -> None:
        """Close every tensor."""
        close_all(self.tensors)

    def __enter__(self) -> Adapter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Moments:
    """exp_avg and exp_avg_sq of every adapter tensor, by its name, in adapter order."""

    def __init__(self, exp_avg: dict[str, Tensor], exp_avg_sq: dict[str, Tensor]) -> None:
        self.exp_avg, self.exp_avg_sq = exp_avg, exp_avg_sq

    def digest(self) -> str:
        """SHA-256 over exp_avg, then exp_avg_sq, of each tensor."""
        return digest(list(self.named().values()))

    def named(self) -> dict[str, Tensor]:
        """All of them by the names in optimizer.safetensors, in its order."""
        named = {}
        for name, exp_avg in self.exp_avg.items():
            named[EXP_AVG + name] = exp_avg
            named[EXP_AVG_SQ + name] = self.exp_avg_sq[name]
        return named

    def close(self) -> None:
        """Close every tensor."""
        close_all(self.exp_avg)
        close_all(self.exp_avg_sq)

    def __enter__(self) -> Moments:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def close_all(tensors: Mapping[str, Tensor]) -> None:
    """Close every tensor of a mapping."""
    for tensor in tensors.values():
        tensor.close()


def check_adapter_config(folder: str, spec: Spec) -> bytes:
    """adapter_config.json byte for byte; its r and lora_alpha must be the spec's. Raises Failure."""
    path = Path(folder) / CONFIG_FILE
    values = read_json_file(path, "checkpoint")
    for key, wanted in (("r", spec.rank), ("lora_alpha", spec.alpha)):
        value = values.get(key)
        if isinstance(value, bool) or value != wanted:
            raise Failure("checkpoint", f"{key} is {value!r}, the spec says {wanted}", str(path))
    with located(str(path)):
        return path.read_bytes()


def load_adapter(context: Context, folder: str, config: Config, spec: Spec) -> Adapter:
    """Read adapter_model.safetensors of a folder. Raises Failure."""
    path = str(Path(folder) / ADAPTER_FILE)
    with located(path), Checkpoint(path) as checkpoint:
        return Adapter(read_tensors(context, checkpoint, adapter_shapes(config, spec), path), spec.scale)


def read_tensors(
    context: Context, checkpoint: Checkpoint, shapes: Mapping[str, tuple[int, ...]], where: str
) -> dict[str, Tensor]:
    """Exactly these tensors, in this order; nothing stays when one cannot be read. Raises Failure."""
    entries = {entry.name: entry for entry in checkpoint.entries()}
    check_shapes(shapes, {name: entry.shape for name, entry in entries.items()}, where)
    with ExitStack() as on_failure:
        tensors = {}
        for name in shapes:
            tensors[name] = on_failure.enter_context(checkpoint.read(entries[name].index, context))
        on_failure.pop_all()
    return tensors


def zeros_like(context: Context, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """A tensor of zeros for each name; nothing stays when one cannot be made."""
    with ExitStack() as on_failure:
        tensors = {name: on_failure.enter_context(Tensor(context, shape)) for name, shape in shapes.items()}
        on_failure.pop_all()
    return tensors


def make_moments(context: Context, shapes: Mapping[str, tuple[int, ...]]) -> Moments:
    """Moments of zeros."""
    exp_avg = zeros_like(context, shapes)
    try:
        return Moments(exp_avg, zeros_like(context, shapes))
    except BaseException:
        close_all(exp_avg)
        raise
