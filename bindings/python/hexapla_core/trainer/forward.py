"""The forward pass: exactly the calls of docs/spec.md, "Forward", in its order.

Separate because the order is the contract: gradients add in reverse order of recording.
"""

from __future__ import annotations

from collections.abc import Callable

from hexapla_core.safe import Tape, Tensor, ops
from hexapla_core.trainer.adapter import Adapter
from hexapla_core.trainer.batch import MicroBatch
from hexapla_core.trainer.model import BLOCK_OF_TARGET, Model

Keep = Callable[[Tensor], Tensor]


def forward(
    model: Model, adapter: Adapter | None, batch: MicroBatch, tape: Tape | None, keep: Keep
) -> Tensor:
    """The NLL of each label, (labels). adapter None: off. tape None: nothing recorded. Every tensor made is
    given to `keep`."""
    x = keep(ops.embedding(tape, model.embedding, batch.ids))  # (tokens, width)
    for index in range(model.config.layers):
        x = _Layer(model, adapter, batch, tape, keep, index).run(x)
    h = keep(ops.rms_norm(tape, x, model.norm, model.config.epsilon))
    return keep(ops.linear_cross_entropy(tape, h, model.head, batch.rows, batch.targets))


class _Layer:
    """One layer's calls; holds what they have in common."""

    def __init__(  # noqa: PLR0913, PLR0917 (what forward has, and the layer's number)
        self,
        model: Model,
        adapter: Adapter | None,
        batch: MicroBatch,
        tape: Tape | None,
        keep: Keep,
        index: int,
    ) -> None:
        self._model, self._adapter, self._batch = model, adapter, batch
        self._tape, self._keep, self._index = tape, keep, index

    def run(self, x: Tensor) -> Tensor:
        """x (tokens, width) → the same."""
        tape, keep = self._tape, self._keep
        h = self._norm(x, "input_layernorm")
        o = self._attention(h)
        x = keep(ops.add(tape, x, o))
        h = self._norm(x, "post_attention_layernorm")
        gate = self._project(h, "gate_proj")
        up = self._project(h, "up_proj")
        m = keep(ops.swiglu(tape, gate, up))
        d = self._project(m, "down_proj")
        return keep(ops.add(tape, x, d))

    def _attention(self, h: Tensor) -> Tensor:
        tape, keep, config, batch = self._tape, self._keep, self._model.config, self._batch
        q = self._project(h, "q_proj")
        k = self._project(h, "k_proj")
        v = self._split(self._project(h, "v_proj"), config.kv_heads)
        q = self._split(q, config.heads)
        k = self._split(k, config.kv_heads)
        if config.head_norms:
            q = self._norm(q, "self_attn.q_norm")
            k = self._norm(k, "self_attn.k_norm")
        q = keep(ops.rope(tape, q, batch.positions, config.theta))
        k = keep(ops.rope(tape, k, batch.positions, config.theta))
        a = keep(ops.attention(tape, q, k, v, batch.starts))  # (tokens, heads, head_dim)
        flat = keep(ops.reshape(tape, a, (len(batch.ids), config.heads * config.head_dim)))
        return self._project(flat, "o_proj")

    def _norm(self, x: Tensor, name: str) -> Tensor:
        gain = self._model.weight(self._index, name)
        return self._keep(ops.rms_norm(self._tape, x, gain, self._model.config.epsilon))

    def _split(self, x: Tensor, heads: int) -> Tensor:
        shape = (len(self._batch.ids), heads, self._model.config.head_dim)
        return self._keep(ops.reshape(self._tape, x, shape))

    def _project(self, x: Tensor, target: str) -> Tensor:
        w = self._model.weight(self._index, f"{BLOCK_OF_TARGET[target]}.{target}")
        pair = None if self._adapter is None else self._adapter.pair(self._index, target)
        if pair is None or self._adapter is None:
            return self._keep(ops.linear(self._tape, x, w))
        return self._keep(ops.lora_linear(self._tape, x, w, *pair, self._adapter.scale))
