"""Gradient norm, clip and AdamW: the exact values of CASES.md E4 and E5, float64 for random lists, what is
refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def norm_of(core: Any, gradients: list[int]) -> float:
    out = core.ffi.new("double *")
    core.call("gradient_norm", gradients, len(gradients), out)
    return float(out[0])


def clip(core: Any, gradients: list[int], norm: float, clip_norm: float) -> int:
    out = core.ffi.new("int32_t *")
    core.call("gradient_clip", gradients, len(gradients), norm, clip_norm, out)
    return int(out[0])


def options(core: Any, step: int, **values: float) -> Any:
    struct = core.ffi.new("hxp_adamw_options *")
    core.lib.hxp_adamw_options_init(struct)
    struct.step = step
    defaults = {"learning_rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.0}
    for key, value in (defaults | values).items():
        setattr(struct, key, value)
    return struct


def rounded(values: Any) -> Any:
    return values.astype(np.float32).astype(np.float64)


def test_e4_clip_once_and_report_before(core: Any, context: int) -> None:
    gradient = core.tensor(context, [3, 4])
    assert norm_of(core, [gradient]) == 5.0
    assert clip(core, [gradient], 5.0, 1.0) == 1
    assert core.read(gradient).tolist() == (np.array([3, 4], np.float32) * np.float32(0.2)).tolist()
    assert clip(core, [gradient], 1.0, 1.0) == 0  # equal is not above
    core.release("tensor", gradient)


@pytest.mark.parametrize("stop_after", [None, 4])
def test_e5_resume(core: Any, context: int, stop_after: int | None) -> None:
    """CASES E5: gradients 1, 1, 1, 1, 0.1, with and without saving and reading back after the fourth."""
    tensors = [core.tensor(context, [0.0]) for _ in range(4)]
    p, g, m, v = tensors
    for step, value in enumerate([1, 1, 1, 1, 0.1], start=1):
        core.call("tensor_fill", g, value)
        core.call("adamw_step", options(core, step), [p], [g], [m], [v], 1)
        if step == stop_after:
            saved = [core.read(tensor) for tensor in tensors]
            assert saved[0][0] == pytest.approx(-0.0399999996, rel=1e-6)
            assert saved[2][0] == pytest.approx(0.3439, rel=1e-6)
            assert saved[3][0] == pytest.approx(0.003994003999, rel=1e-6)
            core.release("tensor", *tensors)
            tensors = [core.tensor(context, values) for values in saved]
            p, g, m, v = tensors
    assert core.read(p)[0] == pytest.approx(-0.048714452128, rel=1e-6)
    core.release("tensor", *tensors)


def test_lists_against_float64(core: Any, context: int) -> None:
    """Three steps over tensors of many sizes, an empty one and one of several chunks included: each step is
    computed in f64 from the f32 values before it and rounded once, so that one ulp is all that may part
    them."""
    generator = np.random.default_rng(5)
    shapes = [(3,), (0,), (17, 5), (20001,), (8, 128)]
    m, v = ([np.zeros(shape) for shape in shapes] for _ in range(2))
    p = [generator.standard_normal(shape).astype(np.float32).astype(np.float64) for shape in shapes]
    tensors = [[core.tensor(context, values) for values in group] for group in (p, p, m, v)]
    for step in (1, 2, 3):
        gradients = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
        for tensor, values in zip(tensors[1], gradients, strict=True):
            core.write(tensor, values)
        norm = norm_of(core, tensors[1])
        truth = np.sqrt(sum((values.astype(np.float64) ** 2).sum() for values in gradients))
        assert norm == pytest.approx(truth, rel=1e-13)
        assert clip(core, tensors[1], norm, 1.0) == 1
        factor = np.float32(1.0 / norm)
        for number, values in enumerate(gradients):
            g = (values * factor).astype(np.float64)
            assert core.read(tensors[1][number]).tolist() == g.tolist()
            m_now, v_now = 0.9 * m[number] + 0.1 * g, 0.999 * v[number] + 0.001 * g * g
            change = 1e-3 * (m_now / (1 - 0.9**step)) / (np.sqrt(v_now / (1 - 0.999**step)) + 1e-8)
            p[number] = rounded(p[number] * (1 - 1e-3 * 0.1) - change)
            m[number], v[number] = rounded(m_now), rounded(v_now)
        core.call(
            "adamw_step", options(core, step, learning_rate=1e-3, weight_decay=0.1), *tensors, len(shapes)
        )
        for group, truths in ((0, p), (2, m), (3, v)):
            for number, tensor in enumerate(tensors[group]):
                got = core.read(tensor)
                assert np.allclose(got, truths[number], rtol=1.2e-7, atol=0)
                truths[number] = got.astype(np.float64)
    for group in tensors:
        core.release("tensor", *group)


def test_not_finite_gradients_reach_the_caller(core: Any, context: int) -> None:
    for value in (np.inf, np.nan):
        gradient = core.tensor(context, [1, value])
        assert not np.isfinite(norm_of(core, [gradient]))
        core.release("tensor", gradient)


def test_the_norm_of_many_is_the_same_for_any_number_of_workers(core: Any) -> None:
    values = np.random.default_rng(3).standard_normal(100_001).astype(np.float32)
    norms = set()
    for threads in (1, 2, 4):
        context = core.context(threads=threads)
        gradients = [core.tensor(context, values), core.tensor(context, values[:77])]
        norms.add(norm_of(core, gradients))
        core.release("tensor", *gradients)
        core.release("context", context)
    assert len(norms) == 1


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"step": 0}, "step is 0"),
        ({"beta1": 1.0}, "beta1 is 1"),
        ({"beta2": -0.1}, "beta2 is -0.1"),
        ({"epsilon": 0.0}, "epsilon is 0"),
        ({"weight_decay": -1.0}, "weight_decay is -1"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"struct_size": 8}, "struct_size 8"),
    ],
)
def test_refused_options(core: Any, context: int, changed: dict[str, Any], text: str) -> None:
    tensors = [core.tensor(context, [1.0]) for _ in range(4)]
    struct = options(core, 1)
    for key, value in changed.items():
        setattr(struct, key, value)
    with pytest.raises(Exception, match=f"HXP_INVALID_ARGUMENT: .*{text}"):
        core.call("adamw_step", struct, *[[tensor] for tensor in tensors], 1)
    assert [core.read(tensor)[0] for tensor in tensors] == [1.0] * 4
    core.release("tensor", *tensors)


def test_refused_lists(core: Any, context: int) -> None:
    x = core.tensor(context, np.ones((2, 3)))
    other = core.tensor(context, np.ones(5))
    turned = core.make("transpose", 0, x)
    out = core.ffi.new("double *")
    with pytest.raises(Exception, match="HXP_INVALID_ARGUMENT: gradients must hold at least one"):
        core.call("gradient_norm", core.ffi.NULL, 0, out)
    with pytest.raises(Exception, match=r"HXP_INVALID_ARGUMENT: gradients\[0\] is not contiguous"):
        core.call("gradient_norm", [turned], 1, out)
    with pytest.raises(
        Exception, match=r"HXP_INVALID_ARGUMENT: exp_avgs\[0\] has shape \(5\), parameters\[0\] \(2, 3\)"
    ):
        core.call("adamw_step", options(core, 1), [x], [x], [other], [x], 1)
    with pytest.raises(Exception, match="HXP_INVALID_ARGUMENT: clip_norm is 0"):
        core.call("gradient_clip", [x], 1, 2.0, 0.0, core.ffi.NULL)
    core.release("tensor", x, other, turned)
