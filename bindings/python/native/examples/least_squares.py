"""Fit w in y = x wᵀ by gradient descent: a tape, a backward, an optimizer step."""

import hexapla_native as hxp
import numpy as np

random = np.random.default_rng(1)
x_host = random.standard_normal((64, 3), dtype=np.float32)
y_host = x_host @ np.array([[1.0], [-2.0], [0.5]], np.float32)

with hxp.Context("cpu:0", pressure_hook=hxp.collect) as context, hxp.Scope() as kept:
    x, y = kept.keep(hxp.tensor(context, x_host)), kept.keep(hxp.tensor(context, -y_host))
    w, gradient, m, v = (kept.keep(hxp.zeros(context, [1, 3])) for _ in range(4))
    tape = kept.keep(hxp.Tape(context))
    tape.watch(w, gradient)
    for step in range(1, 301):
        gradient.fill(0.0)
        with hxp.Scope() as scope:
            residual = scope.keep(hxp.add(tape, scope.keep(hxp.linear(tape, x, w)), y))
            tape.backward(residual, residual)  # the gradient of half the squared error
        options = {"learning_rate": 0.05, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.0}
        hxp.adamw_step([w], [gradient], [m], [v], step=step, **options)
    print(np.round(w.view(), 2).tolist())
