"""The forward pass, call by call in SPEC's order. Separate because this order decides the bits: gradients
add in reverse order of recording.
"""

from __future__ import annotations

import hexapla_native as hxp
from hexapla_native import Scope, Tape, Tensor

from hexapla_native_trainer.adapter import Adapter
from hexapla_native_trainer.batch import MicroBatch
from hexapla_native_trainer.model import EMBEDDING, Model


class Forward:
    """One model with or without an adapter."""

    def __init__(self, model: Model, adapter: Adapter | None) -> None:
        self._model = model
        self._weights = model.weights
        self._pairs = adapter.pairs() if adapter else {}
        self._scale = adapter.scale if adapter else 0.0

    def nll(self, batch: MicroBatch, tape: Tape | None, scope: Scope) -> Tensor:
        """(labels): each label's negative log-likelihood. `scope` gets every temporary, the result too."""
        config, weights = self._model.config, self._weights
        x = scope.keep(hxp.embedding(tape, weights[EMBEDDING], batch.ids))  # (rows, hidden)
        for layer in range(config.layers):
            at = f"model.layers.{layer}"
            gain = weights[f"{at}.input_layernorm.weight"]
            h = scope.keep(hxp.rms_norm(tape, x, gain, config.epsilon))
            a = self._attention(f"{at}.self_attn", h, batch, tape, scope)
            o = self._linear(f"{at}.self_attn.o_proj.weight", a, tape, scope)
            x = scope.keep(hxp.add(tape, x, o))
            gain = weights[f"{at}.post_attention_layernorm.weight"]
            h = scope.keep(hxp.rms_norm(tape, x, gain, config.epsilon))
            g = self._linear(f"{at}.mlp.gate_proj.weight", h, tape, scope)
            u = self._linear(f"{at}.mlp.up_proj.weight", h, tape, scope)
            m = scope.keep(hxp.swiglu(tape, g, u))
            d = self._linear(f"{at}.mlp.down_proj.weight", m, tape, scope)
            x = scope.keep(hxp.add(tape, x, d))
        h = scope.keep(hxp.rms_norm(tape, x, weights["model.norm.weight"], config.epsilon))
        return scope.keep(hxp.linear_cross_entropy(tape, h, self._model.head, batch.rows, batch.targets))

    def _attention(self, at: str, h: Tensor, batch: MicroBatch, tape: Tape | None, scope: Scope) -> Tensor:
        """(rows, heads · head_dim)."""
        config, weights = self._model.config, self._weights
        rows = len(batch.ids)
        query_shape = (rows, config.heads, config.head_dim)
        key_shape = (rows, config.kv_heads, config.head_dim)
        q = self._linear(f"{at}.q_proj.weight", h, tape, scope)
        k = self._linear(f"{at}.k_proj.weight", h, tape, scope)
        v = self._linear(f"{at}.v_proj.weight", h, tape, scope)
        q = scope.keep(hxp.reshape(tape, q, query_shape))
        k = scope.keep(hxp.reshape(tape, k, key_shape))
        v = scope.keep(hxp.reshape(tape, v, key_shape))
        if config.qk_norm:
            q = scope.keep(hxp.rms_norm(tape, q, weights[f"{at}.q_norm.weight"], config.epsilon))
            k = scope.keep(hxp.rms_norm(tape, k, weights[f"{at}.k_norm.weight"], config.epsilon))
        q = scope.keep(hxp.rope(tape, q, batch.positions, config.theta))
        k = scope.keep(hxp.rope(tape, k, batch.positions, config.theta))
        a = scope.keep(hxp.attention(tape, q, k, v, batch.starts))
        return scope.keep(hxp.reshape(tape, a, (rows, config.heads * config.head_dim)))

    def _linear(self, name: str, x: Tensor, tape: Tape | None, scope: Scope) -> Tensor:
        """(rows, out): with A and B where the adapter has them."""
        pair = self._pairs.get(name)
        if pair is None:
            return scope.keep(hxp.linear(tape, x, self._weights[name]))
        return scope.keep(hxp.lora_linear(tape, x, self._weights[name], *pair, self._scale))
