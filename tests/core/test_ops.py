"""Every operation, forward and backward, against float64: small odd shapes and shapes past every block
size, any subset of gradients, strided operands; and the exact values of CASES.md, F1, F2, G1 to G5 and
J5.

The bound here is relative to the largest value, 32 · 2^-24, or 2K · 2^-24 for sums of K products (the worst
that the textbook bound K · 2^-24 allows, doubled for products of sums): it finds wrong formulas. How near
the core is to float64, compared with torch, is the business of the level `operators`.
"""

from __future__ import annotations

from typing import Any

import float64
import numpy as np
import pytest
from recorded import apply, run

Case = tuple[str, list[Any], dict[str, Any]]


def normal(*shape: int, seed: int = 1, size: float = 1.0) -> Any:
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * size).astype(np.float32)


def positions(rows: int, largest: int) -> Any:
    return np.random.default_rng(rows).integers(0, largest + 1, rows)


def label_rows(count: int, rows: int, vocabulary: int) -> dict[str, Any]:
    generator = np.random.default_rng([count, rows, vocabulary])
    return {"rows": generator.integers(0, rows, count), "targets": generator.integers(0, vocabulary, count)}


def attention_inputs(rows: int, heads: int, kv_heads: int, width: int) -> list[Any]:
    return [
        normal(rows, heads, width),
        normal(rows, kv_heads, width, seed=2),
        normal(rows, kv_heads, width, seed=3),
    ]


# (name, inputs, attributes): shapes under 200 elements an input are also held to finite differences.
CASES: list[Case] = [
    ("embedding", [normal(7, 5)], {"ids": [3, 0, 3, 6, 3]}),
    ("embedding", [normal(300, 128)], {"ids": np.arange(700) * 7 % 300}),
    ("rms_norm", [normal(3, 5), normal(5, seed=2)], {"epsilon": 1e-6}),
    ("rms_norm", [normal(2, 3, 17), normal(17, seed=2)], {"epsilon": 1e-5}),
    ("rms_norm", [normal(9), normal(9, seed=2)], {"epsilon": 0.0}),
    ("rms_norm", [normal(601, 4, 32), normal(32, seed=2)], {"epsilon": 1e-6}),
    ("linear", [normal(3, 5), normal(4, 5)], {}),
    ("linear", [normal(601, 129), normal(130, 129)], {}),
    ("linear", [normal(17, 33), normal(1100, 33)], {}),
    ("lora_linear", [normal(3, 5), normal(4, 5), normal(2, 5), normal(4, 2)], {"scale": 1.5}),
    ("lora_linear", [normal(599, 96), normal(127, 96), normal(8, 96), normal(127, 8)], {"scale": 2.0}),
    ("lora_linear", [normal(33, 640), normal(700, 640), normal(16, 640), normal(700, 16)], {"scale": 0.5}),
    ("rope", [normal(3, 2, 6)], {"positions": [0, 5, 2], "theta": 1e6}),
    ("rope", [normal(300, 2, 32)], {"positions": positions(300, 255), "theta": 1e6}),
    ("rope", [normal(5, 1, 1030)], {"positions": [0, 1, 70000, 2**31 - 1, 3], "theta": 1e4}),
    ("attention", attention_inputs(5, 2, 1, 3), {"starts": [0, 2, 2, 4], "causal": 1}),
    ("attention", attention_inputs(5, 2, 2, 3), {"starts": [0, 5], "causal": 0}),
    ("attention", attention_inputs(700, 4, 2, 32), {"starts": [0, 31, 64, 65, 400, 690], "causal": 1}),
    ("attention", attention_inputs(620, 2, 1, 16), {"starts": [0, 600], "causal": 0}),
    ("attention", attention_inputs(4, 1, 1, 2), {"starts": [0], "causal": 1}),
    ("swiglu", [normal(3, 7), normal(3, 7, seed=2)], {}),
    ("swiglu", [normal(301, 129, size=20), normal(301, 129, seed=2)], {}),
    ("add", [normal(3, 7), normal(3, 7, seed=2)], {}),
    ("scale", [normal(41)], {"factor": -0.3}),
    ("linear_cross_entropy", [normal(5, 3), normal(6, 3)], {"rows": [0, 4, 4, 2], "targets": [5, 0, 1, 1]}),
    ("linear_cross_entropy", [normal(300, 64), normal(601, 64, size=0.3)], label_rows(333, 300, 601)),
    ("linear_cross_entropy", [normal(20, 8), normal(9001, 8)], label_rows(19, 20, 9001)),
    ("matmul", [normal(3, 5), normal(5, 4)], {}),
    ("matmul", [normal(150, 400), normal(400, 130)], {}),
    ("softmax", [normal(3, 4, 5)], {}),
    ("softmax", [normal(40, 1003, size=5)], {}),
    ("reduce_sum", [normal(3, 4, 5)], {"axis": 1}),
    ("reduce_sum", [normal(9)], {"axis": 0}),
    ("reduce_sum", [normal(70, 300)], {"axis": 1}),
    ("reduce_sum", [normal(300, 70)], {"axis": 0}),
]
IDENTITIES = [
    f"{name}-{'x'.join(map(str, inputs[0].shape))}-{number}" for number, (name, inputs, _) in enumerate(CASES)
]


def largest_sum(inputs: list[Any]) -> int:
    return max(max(values.shape) for values in inputs)


def assert_near(got: Any, truth: Any, terms: int, what: str) -> None:
    assert got.shape == truth.shape, what
    bound = max(32, 2 * terms) * 2.0**-24 * np.abs(truth).max(initial=1e-30)
    error = np.abs(got.astype(np.float64) - truth).max(initial=0)
    assert error <= bound, f"{what}: error {error:.3g}, bound {bound:.3g}"


@pytest.mark.parametrize("case", CASES, ids=IDENTITIES)
def test_forward_and_backward_against_float64(core: Any, context: int, case: Case) -> None:
    """All gradients at once, then each input's alone: the same bits, and nothing for the others."""
    name, inputs, attributes = case
    wide = [values.astype(np.float64) for values in inputs]
    operation = float64.OPERATIONS[name]
    truth = operation.forward(wide, **attributes)
    incoming = normal(*truth.shape, seed=9)
    gradients = operation.backward(wide, incoming.astype(np.float64), **attributes)
    terms = largest_sum(inputs)
    out, got = run(core, context, name, inputs, incoming, **attributes)
    assert_near(out, truth, terms, f"{name} output")
    for number, gradient in enumerate(gradients):
        assert_near(got[number], gradient, terms, f"{name} gradient {number}")
        alone_out, alone = run(core, context, name, inputs, incoming, watched=[number], **attributes)
        assert alone_out.tobytes() == out.tobytes()
        assert alone[number].tobytes() == got[number].tobytes(), f"gradient {number} alone differs"


@pytest.mark.parametrize("case", CASES, ids=IDENTITIES)
def test_float64_backward_against_finite_differences(case: Case) -> None:
    """The measure itself is measured: 1e-6 of the largest value, by central differences."""
    name, inputs, attributes = case
    if max(values.size for values in inputs) > 200:
        pytest.skip("finite differences are for the small shapes")
    wide = [values.astype(np.float64) for values in inputs]
    operation = float64.OPERATIONS[name]
    incoming = normal(*operation.forward(wide, **attributes).shape, seed=9).astype(np.float64)
    for number, gradient in enumerate(operation.backward(wide, incoming, **attributes)):
        measured = float64.differences(operation, wide, incoming, attributes, number)
        assert np.abs(gradient - measured).max() <= 1e-6 * max(np.abs(gradient).max(), 1)


def strided(core: Any, tape: int, base: int, axes: list[tuple[int, int]], offset: int = 0) -> int:
    """A view with (size, stride) for each axis."""
    sizes, strides = [size for size, _ in axes], [stride for _, stride in axes]
    return core.make("as_strided", tape, base, len(axes), sizes, strides, offset)


def test_g1_strided_operands(core: Any, context: int) -> None:
    """CASES G1: a transposed view as operand; its gradient arrives at the buffer; an incoming gradient of
    strides 0."""
    for incoming, d_b, d_buffer in (
        ([[1, 2], [3, 4]], [[7, 10], [15, 22], [23, 34]], [[1, 3], [2, 4], [3, 7]]),
        (None, [[3, 3], [7, 7], [11, 11]], [[1, 1], [1, 1], [2, 2]]),
    ):
        buffer = core.tensor(context, [[1, 2], [3, 4], [5, 6]])
        b = core.tensor(context, [[1, 0], [0, 1], [1, 1]])
        tape = core.make("tape_create", context)
        core.call("tape_watch", tape, buffer, 0)
        core.call("tape_watch", tape, b, 0)
        a = core.make("transpose", tape, buffer)
        c = core.make("matmul", tape, a, b)
        assert core.read(c).tolist() == [[6, 8], [8, 10]]
        one = core.tensor(context, [1.0])
        broadcast = strided(core, 0, one, [(2, 0), (2, 0)])
        given = broadcast if incoming is None else core.tensor(context, incoming)
        core.call("tape_backward", tape, c, given)
        for tensor, expected in ((b, d_b), (buffer, d_buffer)):
            gradient = core.make("tape_gradient", tape, tensor)
            assert core.read(gradient).tolist() == expected
            core.release("tensor", gradient)
        core.release("tensor", buffer, b, a, c, one, broadcast)
        if incoming is not None:
            core.release("tensor", given)
        core.release("tape", tape)


@pytest.mark.parametrize("case", CASES, ids=IDENTITIES)
def test_strided_inputs_give_the_same_bits(core: Any, context: int, case: Case) -> None:
    """Each input lies inside a larger buffer of guard values, its last axis two elements apart, its
    incoming gradient likewise. Results are those of dense inputs bit for bit, gradients land at the
    elements read, and the guard values survive."""
    name, inputs, attributes = case
    incoming = normal(*run(core, context, name, inputs, **attributes)[0].shape, seed=9)
    dense_out, dense = run(core, context, name, inputs, incoming, **attributes)
    guard = np.float32(-12345.5)
    tape = core.make("tape_create", context)
    bases, views, buffers = [], [], []
    for values in [*inputs, incoming]:
        buffer = np.full(2 * values.size + 7, guard, np.float32)
        buffer[3 : 3 + 2 * values.size : 2] = values.reshape(-1)
        base = core.tensor(context, buffer)
        core.call("tape_watch", tape, base, 0)
        steps = [2 * step // 4 for step in np.empty(values.shape, np.float32).strides]
        views.append(strided(core, tape, base, list(zip(values.shape, steps, strict=True)), 3))
        bases.append(base)
        buffers.append(buffer)
    out = apply(core, tape, name, views[:-1], attributes)
    assert core.read(out).tobytes() == dense_out.tobytes()
    core.call("tape_backward", tape, out, views[-1])
    for base, buffer, gradient in zip(bases[:-1], buffers[:-1], dense, strict=True):
        handle = core.make("tape_gradient", tape, base)
        expected = np.zeros_like(buffer)
        expected[3 : 3 + 2 * gradient.size : 2] = gradient.reshape(-1)
        assert np.array_equal(core.read(handle), expected)
        assert core.read(base).tobytes() == buffer.tobytes(), "an input or its guard changed"
        core.release("tensor", handle)
    core.release("tensor", *bases, *views, out)
    core.release("tape", tape)


def test_overlapping_view_adds_every_reading(core: Any, context: int) -> None:
    base = core.tensor(context, [1, 2, 3, 4])
    tape = core.make("tape_create", context)
    core.call("tape_watch", tape, base, 0)
    windows = strided(core, tape, base, [(3, 1), (2, 1)])
    assert core.read(windows).tolist() == [[1, 2], [2, 3], [3, 4]]
    total = core.make("scale", tape, windows, 10.0)
    core.call("tape_backward", tape, total, 0)
    gradient = core.make("tape_gradient", tape, base)
    assert core.read(gradient).tolist() == [10, 20, 20, 10]
    core.release("tensor", base, windows, total, gradient)
    core.release("tape", tape)


def test_f1_adapter_on_a_shared_matrix(core: Any, context: int) -> None:
    """CASES F1: logits of the adapted head; the shared matrix's gradient is the sum over its uses."""
    shared = [[1, 0], [0, 1], [1, 1]]
    a, b = [[1, 0]], [[0], [0], [1]]
    out, _ = run(core, context, "lora_linear", [[[1, 1]], shared, a, b], scale=1.0)
    assert out.tolist() == [[1, 1, 3]]
    table = core.tensor(context, shared)
    tape = core.make("tape_create", context)
    core.call("tape_watch", tape, table, 0)
    row = core.make("embedding", tape, table, [2], 1)
    assert core.read(row).tolist() == [[1, 1]]
    logits = core.make("linear", tape, row, table)
    core.call("tape_backward", tape, logits, 0)
    gradient = core.make("tape_gradient", tape, table)
    assert core.read(gradient).tolist() == [
        [1, 1],
        [1, 1],
        [3, 3],
    ]  # each row 1·x from the head, [2, 2] more at row 2
    core.release("tensor", table, row, logits, gradient)
    core.release("tape", tape)


def test_f2_scale(core: Any, context: int) -> None:
    inputs = [[[1, 2]], [[1, 0], [0, 1]], [[1, 1], [0, 1]], [[1, 0], [2, 1]]]
    assert run(core, context, "lora_linear", inputs, scale=6 / 2)[0].tolist() == [[10, 26]]


def test_g2_fully_masked_row(core: Any, context: int) -> None:
    """CASES G2: softmax of a row of −infinity alone is zero, and so is its gradient."""
    scores = [[0, np.log(3)], [-np.inf, -np.inf]]
    weights, gradients = run(core, context, "softmax", [scores], [[1, 5], [1, 5]])
    assert np.allclose(weights @ [1, 5], [4, 0], rtol=1e-6)
    assert np.allclose(gradients[0], [[-0.75, 0.75], [0, 0]], rtol=1e-6)
    assert gradients[0][1].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("logits", "target", "expected"),
    [
        ([88.8, 0], 0, 0.0),
        ([88.8, 0], 1, 88.8),
        ([1000, 1000], 0, 0.6931472),
        ([-1000, -1000], 1, 0.6931472),
        ([1e8, 1e8], 0, 0.6931472),
        ([-200, -200, -200], 2, 1.0986123),
    ],
)
def test_g3_cross_entropy_at_the_edges(
    core: Any, context: int, logits: list[float], target: int, expected: float
) -> None:
    head = np.array(logits, np.float32)[:, None]
    nll, gradients = run(core, context, "linear_cross_entropy", [[[1.0]], head], rows=[0], targets=[target])
    assert nll[0] == pytest.approx(expected, rel=1e-7, abs=0)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


def test_g4_rotary_embedding(core: Any, context: int) -> None:
    x = [[[1, 2, 3, 4]]]
    million, _ = run(core, context, "rope", [x], positions=[1], theta=1e6)
    assert np.allclose(million, [-1.9841106, 1.9959990, 2.4623779, 4.0019980], rtol=1e-7)
    thousands, _ = run(core, context, "rope", [x], positions=[1], theta=1e4)
    assert np.allclose(thousands, [-1.9841106, 1.9599007, 2.4623779, 4.0197997], rtol=1e-7)
    for first, second in ((3, 1), (2, 0)):
        left, _ = run(core, context, "rope", [x], positions=[first], theta=1e6)
        right, _ = run(core, context, "rope", [[[[4, 3, 2, 1]]]], positions=[second], theta=1e6)
        assert float((left.astype(np.float64) * right).sum()) == pytest.approx(-3.2744626, rel=1e-6)
    still, _ = run(core, context, "rope", [x], positions=[0], theta=1e6)
    assert still.tolist() == x


def test_g5_rms_norm(core: Any, context: int) -> None:
    x = np.array([[1, 2, 3, 4]], np.float32) * np.float32(1e-3)
    gain = np.ones(4)
    out, gradients = run(core, context, "rms_norm", [x, gain], [[1, 0, 0, 0]], epsilon=1e-6)
    assert np.allclose(out, [0.3429972, 0.6859943, 1.0289915, 1.3719887], rtol=1.5e-7)
    assert np.allclose(gradients[0], [332.909018, -20.176304, -30.264456, -40.352608], rtol=3e-7)
    other, _ = run(core, context, "rms_norm", [x, gain], epsilon=1e-5)
    assert other[0, 0] == pytest.approx(0.2390457, rel=2e-7)


def test_j5_order_of_a_repeated_row_and_exact_product(core: Any, context: int) -> None:
    seen = set()
    for _ in range(20):
        _, gradients = run(core, context, "embedding", [[[0.0]]], [[1e8], [1], [-1e8], [1]], ids=[0, 0, 0, 0])
        seen.add(float(gradients[0][0, 0]))
    assert seen == {1.0}  # ((1e8 + 1) − 1e8) + 1 in f32, in the order of the ids
    assert run(core, context, "matmul", [[[1024.5]], [[1.0]]])[0].tolist() == [[1024.5]]


def test_rows_behind_the_last_record_are_zero(core: Any, context: int) -> None:
    inputs = attention_inputs(6, 2, 1, 4)
    out, gradients = run(
        core, context, "attention", inputs, normal(6, 2, 4, seed=9), starts=[0, 3, 4], causal=1
    )
    assert not out[4:].any() and not any(gradient[4:].any() for gradient in gradients)
    changed = [np.concatenate([values[:4], values[4:] * np.float32(1e30)]) for values in inputs]
    again, _ = run(core, context, "attention", changed, starts=[0, 3, 4], causal=1)
    assert again.tobytes() == out.tobytes()


@pytest.mark.parametrize(
    "case",
    [
        ("embedding", [normal(3, 2)], {"ids": []}, (0, 2)),
        ("rms_norm", [normal(0, 4), normal(4)], {"epsilon": 1e-6}, (0, 4)),
        ("linear", [normal(0, 4), normal(3, 4)], {}, (0, 3)),
        ("linear", [normal(2, 0), normal(3, 0)], {}, (2, 3)),
        ("lora_linear", [normal(0, 4), normal(3, 4), normal(2, 4), normal(3, 2)], {"scale": 1.0}, (0, 3)),
        ("rope", [normal(0, 2, 4)], {"positions": [], "theta": 1e6}, (0, 2, 4)),
        ("attention", attention_inputs(0, 2, 1, 4), {"starts": [0, 0, 0], "causal": 1}, (0, 2, 4)),
        ("linear_cross_entropy", [normal(3, 4), normal(5, 4)], {"rows": [], "targets": []}, (0,)),
        ("softmax", [normal(2, 0)], {}, (2, 0)),
        ("reduce_sum", [normal(2, 0)], {"axis": 1}, (2,)),
    ],
)
def test_empty(core: Any, context: int, case: Any) -> None:
    """Sizes of 0 are sizes: outputs of the right shape, sums over nothing are 0, gradients are 0
    everywhere."""
    name, inputs, attributes, shape = case
    out, gradients = run(core, context, name, inputs, **attributes)
    assert out.shape == shape and not out.any()
    assert all(gradient.shape == np.shape(values) for gradient, values in zip(gradients, inputs, strict=True))
    assert not any(np.any(gradient) for gradient in gradients)


@pytest.mark.parametrize(
    "case",
    [
        ("embedding", [normal(3, 2)], {"ids": [0, 3]}, r"ids\[1\] is 3, the table has 3 rows"),
        ("embedding", [normal(3, 2)], {"ids": [-1]}, r"ids\[0\] is -1"),
        ("rms_norm", [normal(3, 2), normal(3)], {"epsilon": 1e-6}, "gain has 3 values, the last axis of x 2"),
        ("rms_norm", [normal(3, 2), normal(2)], {"epsilon": -1.0}, "epsilon is -1"),
        ("linear", [normal(3, 2), normal(2, 3)], {}, "x has 2 columns, w 3"),
        ("linear", [normal(3), normal(2, 3)], {}, r"x has shape \(3\), needed are 2 axes"),
        (
            "lora_linear",
            [normal(3, 2), normal(4, 2), normal(2, 2), normal(4, 3)],
            {"scale": 1.0},
            "a has 2 rows, b 3 columns",
        ),
        ("rope", [normal(2, 1, 3)], {"positions": [0, 1], "theta": 1e6}, "width 3, which is odd"),
        ("rope", [normal(2, 1, 4)], {"positions": [0], "theta": 1e6}, "1 positions for 2 rows"),
        ("rope", [normal(1, 1, 4)], {"positions": [-2], "theta": 1e6}, r"positions\[0\] is -2"),
        (
            "attention",
            attention_inputs(3, 3, 2, 4),
            {"starts": [0, 3], "causal": 1},
            "3 heads, no multiple of k's 2",
        ),
        ("attention", attention_inputs(3, 2, 1, 4), {"starts": [1, 3], "causal": 1}, r"starts\[0\] is 1"),
        (
            "attention",
            attention_inputs(3, 2, 1, 4),
            {"starts": [0, 2, 1], "causal": 1},
            r"starts\[2\] is 1, below the 2",
        ),
        (
            "attention",
            attention_inputs(3, 2, 1, 4),
            {"starts": [0, 4], "causal": 1},
            "ends at row 4, q has 3 rows",
        ),
        ("swiglu", [normal(3, 2), normal(2, 3)], {}, r"gate has shape \(3, 2\), up \(2, 3\)"),
        ("add", [normal(3), normal(2)], {}, r"a has shape \(3\), b \(2\)"),
        (
            "linear_cross_entropy",
            [normal(3, 2), normal(5, 2)],
            {"rows": [3], "targets": [0]},
            r"rows\[0\] is 3, h has 3 rows",
        ),
        (
            "linear_cross_entropy",
            [normal(3, 2), normal(5, 2)],
            {"rows": [0], "targets": [5]},
            r"targets\[0\] is 5",
        ),
        ("matmul", [normal(3, 2), normal(3, 2)], {}, "a has 2 columns, b 3 rows"),
        ("reduce_sum", [normal(3, 2)], {"axis": 2}, "axis is 2, x has 2 axes"),
    ],
)
def test_refused(core: Any, context: int, case: Any) -> None:
    name, inputs, attributes, text = case
    tensors = [core.tensor(context, values) for values in inputs]
    with pytest.raises(Exception, match=f"HXP_INVALID_ARGUMENT: .*{text}"):
        apply(core, 0, name, tensors, attributes)
    core.release("tensor", *tensors)


def test_views_are_refused_outside_their_tensor(core: Any, context: int) -> None:
    x = core.tensor(context, np.arange(6).reshape(2, 3))
    turned = core.make("transpose", 0, x)
    for name, arguments, text in (
        ("reshape", (x, 1, [5]), r"shape \(5\) has 5 elements, x 6"),
        ("reshape", (turned, 1, [6]), "x is not contiguous"),
        ("as_strided", (turned, 1, [6], [1], 0), "x is not contiguous"),
        ("as_strided", (x, 1, [4], [2], 0), "reaches element 6, x has 6"),
        ("as_strided", (x, 2, [2**31, 2**31], [0, 2**62], 0), ""),
        ("as_strided", (x, 1, [2], [-1], 3), r"strides\[0\] is -1"),
        ("as_strided", (x, 1, [2], [1], -1), "offset is -1"),
    ):
        with pytest.raises(Exception, match=f"HXP_INVALID_ARGUMENT: .*{text}"):
            core.make(name, 0, *arguments)
    core.release("tensor", x, turned)
