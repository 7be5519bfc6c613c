from hexapla_core import Context, Tape, Tensor, ops
from hexapla_core.safe.optimizer import AdamW, adamw_step

with Context("cpu:0", memory_limit=1 << 20) as context, Tape(context) as tape:
    x = Tensor.of(context, [1, 0, 0, 1, 1, 1], (3, 2))  # three points of the plane 2a − b
    minus_y = Tensor.of(context, [-2, 1, -1], (3, 1))
    w, gradient = Tensor(context, (1, 2)), Tensor(context, (1, 2))
    m, v = Tensor(context, (1, 2)), Tensor(context, (1, 2))
    with x, minus_y, w, gradient, m, v:
        tape.watch(w, gradient)
        for step in range(1, 1001):
            gradient.fill(0.0)
            with ops.linear(tape, x, w) as y, ops.add(tape, y, minus_y) as error:
                tape.backward(y, error)  # the derivative of half the squared error is the error
            adamw_step(AdamW(step, 0.1, 0.9, 0.999, 1e-8, 0.0), [w], [gradient], [m], [v])
        print([[round(value, 3) for value in row] for row in w.read().tolist()])
