"""Tensors: shapes, reads and writes, in-place work, digests."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from core_calls import Core, CoreError

SHAPES = [(1,), (7,), (2, 3), (0,), (3, 0, 2), (1, 1, 1), (2, 3, 4, 5), (2, 1, 2, 1, 2, 1, 2, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_write_then_read_gives_the_same_bytes(core: Core, context: int, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    tensor = core.tensor(context, values)
    info = core.info(tensor)
    assert core.shape(tensor) == shape
    assert (info.elements, info.bytes, info.contiguous, info.offset) == (values.size, values.nbytes, 1, 0)
    dense = np.empty([max(size, 1) for size in shape], np.float32)
    assert [4 * info.strides[axis] for axis in range(info.rank)] == list(dense.strides)
    assert core.read(tensor).tobytes() == values.tobytes()
    core.release("tensor", tensor)


BAD_SHAPES = [(0, [], "rank 0"), (9, [1] * 9, "rank 9"), (2, [3, -7], "size -7 of axis 1")]


@pytest.mark.parametrize(("rank", "shape", "text"), BAD_SHAPES)
def test_shapes_are_checked(core: Core, context: int, rank: int, shape: list[int], text: str) -> None:
    with pytest.raises(CoreError, match=f"HXP_INVALID_ARGUMENT: {text}"):
        core.make("tensor_create", context, core.lib.HXP_DTYPE_F32, rank, shape)


def test_other_dtypes_are_not_computed_with(core: Core, context: int) -> None:
    for dtype, name in ((core.lib.HXP_DTYPE_F16, "F16"), (core.lib.HXP_DTYPE_BF16, "BF16")):
        with pytest.raises(CoreError, match=f"HXP_UNSUPPORTED: dtype {name}"):
            core.make("tensor_create", context, dtype, 1, [1])
    with pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: dtype 9"):
        core.make("tensor_create", context, 9, 1, [1])


def test_sizes_of_host_buffers_are_checked(core: Core, context: int) -> None:
    tensor = core.tensor(context, [1, 2, 3])
    buffer = core.ffi.new("float[4]")
    with pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: out holds 8 bytes, the tensor 12"):
        core.call("tensor_read", tensor, buffer, 8)
    with pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: data holds 16 bytes, the tensor 12"):
        core.call("tensor_write", tensor, buffer, 16)
    core.call("tensor_read", tensor, buffer, 16)
    assert list(buffer) == [1, 2, 3, 0]  # the byte behind is not touched
    core.release("tensor", tensor)


def test_host_buffers_need_no_alignment(core: Core, context: int) -> None:
    tensor = core.empty(context, 3)
    raw = core.ffi.new("char[13]")
    core.ffi.memmove(raw + 1, np.array([1, 2, 3], np.float32).tobytes(), 12)
    core.call("tensor_write", tensor, raw + 1, 12)
    assert core.read(tensor).tolist() == [1, 2, 3]
    core.release("tensor", tensor)


def test_failed_calls_leave_outputs_alone(core: Core, context: int) -> None:
    out = core.ffi.new("uint64_t *", 77)
    with pytest.raises(CoreError):
        core.call("tensor_create", context, core.lib.HXP_DTYPE_F32, 1, [-1], out)
    assert out[0] == 77


def test_fill_and_add_round_to_f32(core: Core, context: int) -> None:
    tensor = core.empty(context, 5)
    core.call("tensor_fill", tensor, 0.1)
    assert (core.read(tensor) == np.float32(0.1)).all()
    core.call("tensor_add_in_place", tensor, 0.2)
    assert (core.read(tensor) == np.float32(0.1) + np.float32(0.2)).all()
    core.release("tensor", tensor)


def test_digest_is_sha256_of_the_values(core: Core, context: int) -> None:
    generator = np.random.default_rng(2)
    for sizes in ([1], [13, 14, 15, 16, 17], [0, 3], [100_003], list(range(1, 40))):
        arrays = [generator.standard_normal(size).astype(np.float32) for size in sizes]
        tensors = [core.tensor(context, array) for array in arrays]
        data = b"".join(array.tobytes() for array in arrays)
        assert core.digest(*tensors) == hashlib.sha256(data).hexdigest()
        core.release("tensor", *tensors)


def test_digest_refuses_what_it_cannot_do(core: Core, context: int) -> None:
    other = core.context()
    here, there = core.empty(context, 1), core.empty(other, 1)
    with pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: tensor lives in another context"):
        core.digest(here, there)
    with pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: tensors must name at least one"):
        core.digest()
    with pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: out holds 64 bytes"):
        core.call("tensor_digest", [here], 1, core.ffi.new("char[64]"), 64)
    core.release("tensor", here, there)
    core.release("context", other)


def view(core: Core, tensor: int, shape: list[int], strides: list[int], offset: int) -> int:
    return core.make("as_strided", 0, tensor, len(shape), shape, strides, offset)


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ([3, 2], [1, 3], 0),
        ([2, 2], [6, 2], 5),
        ([2, 1, 3], [12, 5, 1], 4),
        ([4], [3], 1),
        ([0, 2], [1, 1], 0),
    ],
)
def test_views_read_write_and_digest_row_major(
    core: Core, context: int, shape: list[int], strides: list[int], offset: int
) -> None:
    values = np.arange(24, dtype=np.float32)
    tensor = core.tensor(context, values)
    window = view(core, tensor, shape, strides, offset)
    expected = values.copy()
    seen: Any = np.lib.stride_tricks.as_strided(expected[offset:], shape, [4 * stride for stride in strides])
    assert core.read(window).tolist() == seen.tolist()
    assert core.digest(window) == hashlib.sha256(seen.tobytes()).hexdigest()
    seen += 100
    core.call("tensor_add_in_place", window, 100.0)
    assert core.read(tensor).tolist() == expected.tolist()
    seen[...] = -np.arange(seen.size, dtype=np.float32).reshape(shape)
    core.write(window, seen)
    assert core.read(tensor).tolist() == expected.tolist()
    core.release("tensor", tensor, window)


def test_a_view_that_repeats_elements_is_read_but_not_written(core: Core, context: int) -> None:
    tensor = core.tensor(context, [1, 2, 3])
    window = view(core, tensor, [2, 3], [0, 1], 0)
    assert core.read(window).tolist() == [[1, 2, 3], [1, 2, 3]]
    with pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: a view that repeats elements"):
        core.write(window, np.zeros((2, 3)))
    with pytest.raises(CoreError, match="HXP_INVALID_ARGUMENT: a view that repeats elements"):
        core.call("tensor_add_in_place", window, 1.0)
    core.release("tensor", tensor, window)
