"""Values in and out, a way back through a tape, an optimizer step, files; against numbers known by hand."""

from __future__ import annotations

import hashlib
import struct
from array import array
from pathlib import Path

import pytest
from hexapla_core import (
    Checkpoint,
    Context,
    NotFound,
    Tape,
    Tensor,
    commit_checkpoint,
    digest,
    ops,
    optimizer,
    write_checkpoint,
)


def test_values_travel_through_the_buffer_protocol(context: Context) -> None:
    with Tensor(context, (2, 2)) as tensor:
        assert tensor.read().tolist() == [[0, 0], [0, 0]]
        for values in (
            array("f", [1, 2, 3, 4]),
            memoryview(array("f", [1, 2, 3, 4])),
            struct.pack("4f", 1, 2, 3, 4),
        ):
            tensor.fill(0.0)
            tensor.write(values)
            assert tensor.read().tolist() == [[1, 2], [3, 4]]
        info = tensor.info()
        assert (info.shape, info.strides, info.bytes, info.contiguous) == ((2, 2), (2, 1), 16, True)


def test_an_empty_tensor_reads_empty(context: Context) -> None:
    with Tensor(context, (0, 3)) as tensor:
        assert tensor.read().tolist() == []


def test_digest_is_sha256_over_the_values(context: Context) -> None:
    with Tensor.of(context, [1, 2]) as a, Tensor.of(context, [3]) as b:
        assert digest([a, b]) == hashlib.sha256(struct.pack("<3f", 1, 2, 3)).hexdigest()


def test_strided_matmul_and_its_gradients(context: Context) -> None:
    """Case G1."""
    with (
        Tensor.of(context, [1, 2, 3, 4, 5, 6], (3, 2)) as buffer,
        Tensor.of(context, [1, 0, 0, 1, 1, 1], (3, 2)) as b,
        Tensor.of(context, [1, 2, 3, 4], (2, 2)) as incoming,
        Tape(context) as tape,
    ):
        tape.watch(buffer)
        tape.watch(b)
        with ops.transpose(tape, buffer) as a, ops.matmul(tape, a, b) as c:
            assert c.read().tolist() == [[6, 8], [8, 10]]
            tape.backward(c, incoming)
        with tape.gradient(b) as gradient:
            assert gradient.read().tolist() == [[7, 10], [15, 22], [23, 34]]
        with tape.gradient(buffer) as gradient:
            assert gradient.read().tolist() == [[1, 3], [2, 4], [3, 7]]


def test_norm_clip_and_adamw(context: Context) -> None:
    """Cases E4 and E5: the first update moves by the learning rate."""
    with Tensor.of(context, [3, 4]) as g:
        norm = optimizer.gradient_norm([g])
        assert norm == 5.0
        assert optimizer.clip([g], norm, 1.0)
        assert g.read().tolist() == pytest.approx([0.6, 0.8], rel=1e-6)
    with (
        Tensor(context, (1,)) as p,
        Tensor.of(context, [1]) as g,
        Tensor(context, (1,)) as m,
        Tensor(context, (1,)) as v,
    ):
        optimizer.adamw_step(optimizer.AdamW(1, 0.01, 0.9, 0.999, 1e-8, 0.0), [p], [g], [m], [v])
        assert p.read()[0] == pytest.approx(-0.01, rel=1e-6)
        with pytest.raises(ValueError, match="lengths must be equal"):
            optimizer.adamw_step(optimizer.AdamW(1, 0.01, 0.9, 0.999, 1e-8, 0.0), [p], [], [m], [v])


def test_a_checkpoint_comes_back(context: Context, tmp_path: Path) -> None:
    partial, final = tmp_path / "x.partial", tmp_path / "x"
    partial.mkdir()
    with Tensor.of(context, [1, 2], (1, 2)) as b, Tensor.of(context, [3]) as a:
        write_checkpoint(partial / "model.safetensors", {"b": b, "ä": a}, {"update": "7", "long": "x" * 1000})
    commit_checkpoint(partial, final)
    with Checkpoint(final) as checkpoint:
        assert [(entry.name, entry.shape, entry.dtype) for entry in checkpoint.entries()] == [
            ("b", (1, 2), "F32"),
            ("ä", (1,), "F32"),
        ]
        assert (checkpoint.metadata("update"), checkpoint.metadata("long")) == ("7", "x" * 1000)
        with checkpoint.read(checkpoint.find("b"), context) as tensor:
            assert tensor.read().tolist() == [[1, 2]]
        with pytest.raises(NotFound):
            checkpoint.find("absent")
