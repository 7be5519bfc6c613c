"""One decoder layer with everything that a training step uses, built from raw calls: the subject of the
tests that look at whole backward passes (bits for any number of workers, memory given back after any
failure). Sizes are odd on purpose and reach past one tile."""

from __future__ import annotations

from typing import Any

import numpy as np

ROWS, WORDS, WIDTH, INNER, RANK = 301, 331, 64, 160, 4
HEADS, KV_HEADS, HEAD = 4, 2, 16
STARTS = [0, 120, 121, 290]
THETA, EPSILON = 1e6, 1e-6


def values(*shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * 0.1).astype(np.float32)


class SmallModel:
    """Parameters and a tape on one context. step() goes forward and back once; close() releases all."""

    def __init__(self, core: Any, context: int) -> None:
        self.core = core
        self.kept: list[int] = []
        self.table = self.keep(core.tensor(context, values(WORDS, WIDTH)))
        self.gain = self.keep(core.tensor(context, np.ones(WIDTH)))
        self.head_gain = self.keep(core.tensor(context, np.ones(HEAD)))
        shapes = {
            "q": (HEADS * HEAD, WIDTH),
            "k": (KV_HEADS * HEAD, WIDTH),
            "v": (KV_HEADS * HEAD, WIDTH),
            "o": (WIDTH, HEADS * HEAD),
            "gate": (INNER, WIDTH),
            "up": (INNER, WIDTH),
            "down": (WIDTH, INNER),
        }
        self.layers: dict[str, tuple[int, int, int]] = {}
        for seed, (name, (rows, columns)) in enumerate(shapes.items()):
            shape = ((rows, columns), (RANK, columns), (rows, RANK))
            w, a, b = (self.keep(core.tensor(context, values(*size, seed=seed))) for size in shape)
            self.layers[name] = (w, a, b)
        self.parameters = [part for _, a, b in self.layers.values() for part in (a, b)]
        self.tape = core.make("tape_create", context)
        self.gradients = []
        for parameter in self.parameters:
            gradient = self.keep(core.empty(context, *core.shape(parameter)))
            core.call("tape_watch", self.tape, parameter, gradient)
            self.gradients.append(gradient)

    def keep(self, tensor: int) -> int:
        self.kept.append(tensor)
        return tensor

    def lora(self, x: int, name: str, live: list[int]) -> int:
        live.append(self.core.make("lora_linear", self.tape, x, *self.layers[name], 2.0))
        return live[-1]

    def forward(self, live: list[int]) -> int:
        """The losses of the labels; every tensor made on the way is added to `live`."""
        core, tape = self.core, self.tape

        def op(name: str, *arguments: Any) -> int:
            live.append(core.make(name, tape, *arguments))
            return live[-1]

        ids = (np.arange(ROWS) * 17 % WORDS).tolist()
        positions = [row - max(start for start in STARTS if start <= row) for row in range(ROWS)]
        x = op("embedding", self.table, ids, ROWS)
        h = op("rms_norm", x, self.gain, EPSILON)
        q, k, v = (self.lora(h, name, live) for name in "qkv")
        q = op("rms_norm", op("reshape", q, 3, [ROWS, HEADS, HEAD]), self.head_gain, EPSILON)
        k = op("rms_norm", op("reshape", k, 3, [ROWS, KV_HEADS, HEAD]), self.head_gain, EPSILON)
        v = op("reshape", v, 3, [ROWS, KV_HEADS, HEAD])
        q = op("rope", q, positions, ROWS, THETA)
        k = op("rope", k, positions, ROWS, THETA)
        a = op("attention", q, k, v, STARTS, len(STARTS), 1)
        x = op("add", x, self.lora(op("reshape", a, 2, [ROWS, HEADS * HEAD]), "o", live))
        h = op("rms_norm", x, self.gain, EPSILON)
        inner = op("swiglu", self.lora(h, "gate", live), self.lora(h, "up", live))
        x = op("add", x, self.lora(inner, "down", live))
        h = op("rms_norm", x, self.gain, EPSILON)
        rows = list(range(3, 280))
        return op("linear_cross_entropy", h, self.table, rows, [ids[row + 1] for row in rows], len(rows))

    def step(self) -> Any:
        """The losses as bytes; gradients are added to what they hold."""
        live: list[int] = []
        try:
            losses = self.forward(live)
            self.core.call("tape_backward", self.tape, losses, 0)
            return self.core.read(losses).tobytes()
        finally:
            self.core.release("tensor", *live)

    def gradient_bytes(self) -> bytes:
        return b"".join(self.core.read(gradient).tobytes() for gradient in self.gradients)

    def close(self) -> None:
        self.core.release("tensor", *self.kept)
        self.core.release("tape", self.tape)
