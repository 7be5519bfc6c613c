"""The decoder: its parameters, the forward pass, and the backward pass for the adapter alone.

Apart from training because evaluation runs the same forward pass and keeps nothing. Base weights are never
changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import ops
from .adapter import Adapter, adapter_name, projection_shape
from .config import PROJECTIONS, ModelConfig, read_json, read_model_config
from .failure import Failure, listing
from .ops import AttentionRecord, CrossEntropy, Indices
from .render import Rendered
from .tensors import Float64, Stored, TensorFile, read_tensors

EMBEDDING = "model.embed_tokens.weight"
HEAD = "lm_head.weight"
FINAL_NORM = "model.norm.weight"


@dataclass(frozen=True)
class Batch:
    """A micro-batch, packed end to end: R rows of all records, and one (row, target) per label in packed
    order."""

    ids: Indices  # [R]
    positions: Indices  # [R], restarting at 0
    starts: list[int]  # each record's first row, then R
    rows: Indices  # [labels], the row before each flagged id
    targets: Indices  # [labels]
    record_labels: list[int]

    @staticmethod
    def pack(records: Sequence[Rendered]) -> Batch:
        starts = [0]
        for record in records:
            starts.append(starts[-1] + len(record.ids))
        ids = np.concatenate([np.array(record.ids, dtype=np.int64) for record in records])
        positions = np.concatenate([np.arange(len(record.ids), dtype=np.int64) for record in records])
        flagged = np.flatnonzero(np.frombuffer(b"".join(record.flags for record in records), np.uint8))
        return Batch(ids, positions, starts, flagged - 1, ids[flagged], [record.labels for record in records])


@dataclass
class LayerTape:
    """What backward needs of one layer; `inputs` and `lows` hold each projection's x and xAᵀ."""

    inputs: dict[str, Float64] = field(default_factory=dict)
    lows: dict[str, Float64] = field(default_factory=dict)
    norms: dict[str, tuple[Float64, Float64]] = field(default_factory=dict)  # x and the reciprocal root
    attended: tuple[Float64, Float64, Float64] | None = None  # q, k, v after rope
    records: list[AttentionRecord] = field(default_factory=list)
    gated: tuple[Float64, Float64] | None = None  # g, u


@dataclass
class Tape:
    """What backward needs of one forward pass."""

    layers: list[LayerTape] = field(default_factory=list)
    norm: tuple[Float64, Float64] | None = None
    hidden: Float64 | None = None
    loss: CrossEntropy | None = None
    angles: tuple[Float64, Float64] | None = None


class Model:
    """A base model in float64; `parameters` holds every one but a tied head."""

    def __init__(self, config: ModelConfig, parameters: dict[str, Float64]) -> None:
        self.config = config
        self.parameters = parameters
        self.head = parameters[EMBEDDING if config.tie_word_embeddings else HEAD]

    def forward(self, batch: Batch, adapter: Adapter, scale: float, tape: Tape | None) -> Float64:
        """nll per label, [labels]. Fills `tape` when one is given."""
        config = self.config
        angles = ops.rope_angles(batch.positions, config.head_dim, config.rope_theta)
        x = ops.embedding(self.parameters[EMBEDDING], batch.ids)  # [R, hidden]
        for layer in range(config.num_hidden_layers):
            kept = LayerTape()
            x = _LayerPass(self, layer, adapter, scale, kept, angles).forward(x, batch.starts)
            if tape is not None:
                tape.layers.append(kept)
        hidden, inverse = ops.rms_norm(x, self.parameters[FINAL_NORM], config.rms_norm_eps)
        nll, loss = ops.linear_cross_entropy(ops.blas, hidden, self.head, batch.rows, batch.targets)
        if tape is not None:
            tape.norm, tape.hidden, tape.loss, tape.angles = (x, inverse), hidden, loss, angles
        return nll

    def backward(self, batch: Batch, adapter: Adapter, scale: float, tape: Tape, weight: float) -> Adapter:
        """The adapter's gradients of weight·Σ nll."""
        assert (
            tape.norm is not None
            and tape.hidden is not None
            and tape.loss is not None
            and tape.angles is not None
        )
        gradients: Adapter = {}
        incoming = np.full(len(batch.targets), weight)
        flow = ops.linear_cross_entropy_backward(
            ops.blas, tape.hidden, self.head, batch.rows, batch.targets, tape.loss, incoming
        )
        flow, _ = ops.rms_norm_backward(tape.norm[0], self.parameters[FINAL_NORM], tape.norm[1], flow)
        for layer in reversed(range(self.config.num_hidden_layers)):
            run = _LayerPass(self, layer, adapter, scale, tape.layers[layer], tape.angles)
            flow = run.backward(flow, gradients)
        return gradients


@dataclass
class _LayerPass:
    """One layer of one pass: the model's weights, the adapter's, and the layer's tape."""

    model: Model
    layer: int
    adapter: Adapter
    scale: float
    tape: LayerTape
    angles: tuple[Float64, Float64]

    def forward(self, x: Float64, starts: list[int]) -> Float64:
        config = self.model.config
        cosine, sine = self.angles
        h = self._norm("input_layernorm", x)
        q = self._heads(self._project("q_proj", h), config.num_attention_heads)
        k = self._heads(self._project("k_proj", h), config.num_key_value_heads)
        v = self._heads(self._project("v_proj", h), config.num_key_value_heads)
        if config.query_norms:
            q = self._norm("self_attn.q_norm", q)
            k = self._norm("self_attn.k_norm", k)
        q, k = ops.rope(q, cosine, sine), ops.rope(k, cosine, sine)
        attended, self.tape.records = ops.attention(ops.blas, q, k, v, starts, causal=True)
        self.tape.attended = (q, k, v)
        x = x + self._project("o_proj", attended.reshape(len(x), -1))
        h = self._norm("post_attention_layernorm", x)
        g, u = self._project("gate_proj", h), self._project("up_proj", h)
        self.tape.gated = (g, u)
        return x + self._project("down_proj", ops.swiglu(g, u))

    def backward(self, flow: Float64, gradients: Adapter) -> Float64:
        """From the gradient of the layer's output to that of its input; fills in the adapter's."""
        assert self.tape.attended is not None and self.tape.gated is not None
        config, rows = self.model.config, len(flow)
        cosine, sine = self.angles
        m = self._project_backward("down_proj", flow, gradients)
        g, u = ops.swiglu_backward(*self.tape.gated, m)
        h = self._project_backward("up_proj", u, gradients) + self._project_backward(
            "gate_proj", g, gradients
        )
        flow = flow + self._norm_backward("post_attention_layernorm", h)
        a = self._heads(self._project_backward("o_proj", flow, gradients), config.num_attention_heads)
        q, k, v = ops.attention_backward(ops.blas, *self.tape.attended, self.tape.records, a)
        q, k = ops.rope(q, cosine, -sine), ops.rope(k, cosine, -sine)
        if config.query_norms:
            q = self._norm_backward("self_attn.q_norm", q)
            k = self._norm_backward("self_attn.k_norm", k)
        h = self._project_backward("v_proj", v.reshape(rows, -1), gradients)
        h = h + self._project_backward("k_proj", k.reshape(rows, -1), gradients)
        h = h + self._project_backward("q_proj", q.reshape(rows, -1), gradients)
        return flow + self._norm_backward("input_layernorm", h)

    def _heads(self, x: Float64, heads: int) -> Float64:
        return x.reshape(len(x), heads, self.model.config.head_dim)

    def _weight(self, name: str) -> Float64:
        return self.model.parameters[f"model.layers.{self.layer}.{name}.weight"]

    def _norm(self, name: str, x: Float64) -> Float64:
        y, inverse = ops.rms_norm(x, self._weight(name), self.model.config.rms_norm_eps)
        self.tape.norms[name] = (x, inverse)
        return y

    def _norm_backward(self, name: str, flow: Float64) -> Float64:
        x, inverse = self.tape.norms[name]
        return ops.rms_norm_backward(x, self._weight(name), inverse, flow)[0]

    def _low_rank(self, projection: str) -> tuple[Float64, Float64] | None:
        a = self.adapter.get(adapter_name(self.layer, projection, "A"))
        b = self.adapter.get(adapter_name(self.layer, projection, "B"))
        return None if a is None or b is None else (a, b)

    def _project(self, projection: str, x: Float64) -> Float64:
        w, pair = self._weight(f"{PROJECTIONS[projection]}.{projection}"), self._low_rank(projection)
        if pair is None:
            return ops.linear(ops.blas, x, w)
        self.tape.inputs[projection] = x
        y, self.tape.lows[projection] = ops.lora_linear(ops.blas, x, w, *pair, self.scale)
        return y

    def _project_backward(self, projection: str, flow: Float64, gradients: Adapter) -> Float64:
        w, pair = self._weight(f"{PROJECTIONS[projection]}.{projection}"), self._low_rank(projection)
        if pair is None:
            return ops.blas(flow, w)
        x, low = self.tape.inputs[projection], self.tape.lows[projection]
        x_gradient, a_gradient, b_gradient = ops.lora_linear_backward(
            ops.blas, x, w, *pair, self.scale, low, flow
        )
        gradients[adapter_name(self.layer, projection, "A")] = a_gradient
        gradients[adapter_name(self.layer, projection, "B")] = b_gradient
        return x_gradient


def parameter_shapes(config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and shape of every parameter; a tied head is none."""
    hidden = config.hidden_size
    yield EMBEDDING, (config.vocab_size, hidden)
    for layer in range(config.num_hidden_layers):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", (hidden,)
        for projection, block in PROJECTIONS.items():
            yield f"{prefix}{block}.{projection}.weight", projection_shape(config, projection)
        if config.query_norms:
            yield prefix + "self_attn.q_norm.weight", (config.head_dim,)
            yield prefix + "self_attn.k_norm.weight", (config.head_dim,)
        yield prefix + "post_attention_layernorm.weight", (hidden,)
    yield FINAL_NORM, (hidden,)
    if not config.tie_word_embeddings:
        yield HEAD, (config.vocab_size, hidden)


def read_model(folder: Path) -> tuple[Model, dict[str, str]]:
    """Load a model folder; also each parameter's stored dtype. Raises Failure (`checkpoint`, `io`).

    Every parameter must be there once, in its shape, and nothing else, except that a head stored beside a
    tied embedding is taken for what it is, provided that both hold the same values.
    """
    config = read_model_config(folder)
    stored = _stored(folder)
    shapes = dict(parameter_shapes(config))
    tied_head = stored.pop(HEAD, None) if config.tie_word_embeddings else None
    missing = [name for name in shapes if name not in stored]
    unexpected = [name for name in stored if name not in shapes]
    if missing or unexpected:
        message = f"{folder}: missing {listing(missing)}, unexpected {listing(unexpected)}"
        raise Failure("checkpoint", message, (missing + unexpected)[0])
    for name, shape in shapes.items():
        if stored[name].shape != shape:
            found = list(stored[name].shape)
            raise Failure("checkpoint", f"{folder}: {name} is {found}, expected {list(shape)}", name)
    parameters = {name: stored[name].widen().astype(np.float64) for name in shapes}
    if tied_head is not None and not np.array_equal(tied_head.widen(), parameters[EMBEDDING], equal_nan=True):
        raise Failure(
            "checkpoint", f"{folder}: {HEAD} differs from {EMBEDDING}, though the config ties them", HEAD
        )
    return Model(config, parameters), {name: stored[name].dtype for name in shapes}


def _stored(folder: Path) -> dict[str, Stored]:
    """All tensors of `model.safetensors`, or of the shards that its index names."""
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.exists() or not index.exists():
        return read_tensors(single).tensors
    shard_of = read_json(index, "checkpoint").get("weight_map")
    if not isinstance(shard_of, dict) or not shard_of:
        raise Failure("checkpoint", f"{index}: weight_map must be an object with entries", "weight_map")
    shards: dict[str, TensorFile] = {}
    for name, shard in shard_of.items():
        if not isinstance(shard, str) or shard in ("", ".", "..") or "/" in shard:
            raise Failure("checkpoint", f"{index}: {name} lies in {shard!r}, expected a file name", name)
        if shard not in shards:
            shards[shard] = read_tensors(folder / shard)
        if name not in shards[shard].tensors:
            raise Failure(
                "checkpoint", f"{folder / shard}: {name} is missing, the index says it is here", name
            )
    for shard, file in shards.items():
        for name in file.tensors:
            if shard_of.get(name) != shard:
                raise Failure("checkpoint", f"{file.path}: {name} is not in the index for this file", name)
    return {name: shards[str(shard)].tensors[name] for name, shard in shard_of.items()}
