"""Operations: each makes one new tensor and is recorded on the tape it is given (None: not recorded).

Separate by the header it mirrors, `hexapla/ops.h`; formulas stand in docs/spec.md, "Forward". Shapes are
written (rows, columns); lists of numbers are arrays of 32-bit integers (`array("i", …)`), passed as they are.
All raise InvalidArgument when a shape, size or index does not fit, and OutOfMemory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hexapla_core.safe.errors import make
from hexapla_core.safe.handle import id_of
from hexapla_core.safe.tape import Tape
from hexapla_core.safe.tensor import Tensor
from hexapla_core.sys import ffi, lib

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on


def _made(function: Any, tape: Tape | None, *arguments: Any) -> Tensor:
    return Tensor._adopt(make(function, id_of(tape), *arguments))


def _numbers(values: Buffer) -> tuple[Any, int]:
    numbers = ffi.from_buffer("int32_t[]", values)
    return numbers, len(numbers)


def embedding(tape: Tape | None, table: Tensor, ids: Buffer) -> Tensor:
    """Rows of a table (vocabulary, width) → (ids, width)."""
    return _made(lib.hxp_embedding, tape, table._id, *_numbers(ids))


def rms_norm(tape: Tape | None, x: Tensor, gain: Tensor, epsilon: float) -> Tensor:
    """Root mean square norm over the last axis; gain (width)."""
    return _made(lib.hxp_rms_norm, tape, x._id, gain._id, epsilon)


def linear(tape: Tape | None, x: Tensor, w: Tensor) -> Tensor:
    """x wᵀ: x (rows, in), w (out, in) → (rows, out)."""
    return _made(lib.hxp_linear, tape, x._id, w._id)


def lora_linear(  # noqa: PLR0913, PLR0917 (the op's own operands)
    tape: Tape | None, x: Tensor, w: Tensor, a: Tensor, b: Tensor, scale: float
) -> Tensor:
    """x wᵀ + scale · (x aᵀ) bᵀ: a (rank, in), b (out, rank) → (rows, out)."""
    return _made(lib.hxp_lora_linear, tape, x._id, w._id, a._id, b._id, scale)


def rope(tape: Tape | None, x: Tensor, positions: Buffer, theta: float) -> Tensor:
    """Rotary position embedding, half-split pairs; x (rows, heads, width), one position a row."""
    return _made(lib.hxp_rope, tape, x._id, *_numbers(positions), theta)


def attention(  # noqa: PLR0913 (the op's own operands)
    tape: Tape | None, q: Tensor, k: Tensor, v: Tensor, starts: Buffer, *, causal: bool = True
) -> Tensor:
    """Grouped-query attention inside records laid end to end.

    q (rows, heads, width), k and v (rows, kv_heads, width).
    starts: each record's first row, then the row behind the last record. Result as q.
    """
    return _made(lib.hxp_attention, tape, q._id, k._id, v._id, *_numbers(starts), int(causal))


def swiglu(tape: Tape | None, gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) · up."""
    return _made(lib.hxp_swiglu, tape, gate._id, up._id)


def add(tape: Tape | None, a: Tensor, b: Tensor) -> Tensor:
    """a + b, of one shape."""
    return _made(lib.hxp_add, tape, a._id, b._id)


def scale(tape: Tape | None, x: Tensor, factor: float) -> Tensor:
    """x · factor."""
    return _made(lib.hxp_scale, tape, x._id, factor)


def linear_cross_entropy(tape: Tape | None, h: Tensor, w: Tensor, rows: Buffer, targets: Buffer) -> Tensor:
    """Cross-entropy of a head w (vocabulary, width) at chosen rows of h (rows, width) → (targets)."""
    (places, count), (labels, labels_count) = _numbers(rows), _numbers(targets)
    if count != labels_count:
        raise ValueError(f"{count} rows and {labels_count} targets: one target a row")
    return _made(lib.hxp_linear_cross_entropy, tape, h._id, w._id, places, labels, count)


def matmul(tape: Tape | None, a: Tensor, b: Tensor) -> Tensor:
    """a b: (m, k), (k, n) → (m, n), any strides."""
    return _made(lib.hxp_matmul, tape, a._id, b._id)


def softmax(tape: Tape | None, x: Tensor) -> Tensor:
    """Softmax over the last axis; a row of −infinity alone gives zeros."""
    return _made(lib.hxp_softmax, tape, x._id)


def reduce_sum(tape: Tape | None, x: Tensor, axis: int) -> Tensor:
    """Sum over one axis, which is removed."""
    return _made(lib.hxp_reduce_sum, tape, x._id, axis)


def transpose(tape: Tape | None, x: Tensor) -> Tensor:
    """A view with the last two axes swapped."""
    return _made(lib.hxp_transpose, tape, x._id)


def reshape(tape: Tape | None, x: Tensor, shape: Sequence[int]) -> Tensor:
    """A view of a contiguous x in another shape of as many elements."""
    return _made(lib.hxp_reshape, tape, x._id, len(shape), ffi.new("int64_t[]", shape))


def as_strided(
    tape: Tape | None, x: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int = 0
) -> Tensor:
    """A strided view into the elements of a contiguous x; strides and offset in elements, 0 repeats."""
    if len(shape) != len(strides):
        raise ValueError(f"{len(shape)} sizes and {len(strides)} strides: one stride an axis")
    sizes, steps = ffi.new("int64_t[]", shape), ffi.new("int64_t[]", strides)
    return _made(lib.hxp_as_strided, tape, x._id, len(shape), sizes, steps, offset)
