// The request `operators`: one op a case, forward and backward, tensors from a file and into one.
//
// Separate because it needs nothing of a model. Core reads and writes the safetensors files.

import { send } from "./lines.mjs";
import { RequestError } from "./requests.mjs";
import { adamwStep, Checkpoint, gradientClip, gradientNorm, HexaplaError, ops, Scope, Tape, Tensor } from "./safe.mjs";
import { contextOf } from "./train.mjs";

const integers = (values) => Int32Array.from(values);

/** Ops with one output, called with a tape, the inputs in the op's order and the attributes. */
const OPS = {
  embedding: (tape, [table], { ids }) => ops.embedding(tape, table, integers(ids)),
  rms_norm: (tape, [x, gain], { epsilon }) => ops.rmsNorm(tape, x, gain, epsilon),
  linear: (tape, [x, w]) => ops.linear(tape, x, w),
  lora_linear: (tape, [x, w, a, b], { scale }) => ops.loraLinear(tape, x, w, a, b, scale),
  rope: (tape, [x], { positions, theta }) => ops.rope(tape, x, integers(positions), theta),
  attention: (tape, [q, k, v], { starts, causal }) => ops.attention(tape, q, k, v, integers(starts), causal),
  swiglu: (tape, [g, u]) => ops.swiglu(tape, g, u),
  add: (tape, [a, b]) => ops.add(tape, a, b),
  scale: (tape, [x], { scale }) => ops.scale(tape, x, scale),
  linear_cross_entropy: (tape, [h, w], { rows, targets }) => ops.linearCrossEntropy(tape, h, w, integers(rows), integers(targets)),
  matmul: (tape, [a, b]) => ops.matmul(tape, a, b),
  softmax: (tape, [x]) => ops.softmax(tape, x),
  transpose: (tape, [x]) => ops.transpose(tape, x),
  reshape: (tape, [x], { shape }) => ops.reshape(tape, x, shape),
  reduce_sum: (tape, [x], { axis }) => ops.reduceSum(tape, x, axis),
};

/** Ops in place or with a number as output; they answer {result: tensor}. */
const OPTIMIZER = {
  gradient_norm: (context, inputs) => ({ output: Tensor.of(context, [1], Float32Array.of(gradientNorm(inputs))) }),
  clip: (context, inputs, { clip_norm: limit }, names) => {
    const norm = gradientNorm(inputs);
    gradientClip(inputs, norm, limit);
    const outputs = names.map((name, index) => [`output.${name}`, inputs[index]]);
    return { "output.norm": Tensor.of(context, [1], Float32Array.of(norm)), ...Object.fromEntries(outputs) };
  },
  adamw: (context, [p, g, m, v], attributes) => {
    adamwStep(attributes, [p], [g], [m], [v]);
    return { "output.p": p, "output.m": m, "output.v": v };
  },
};

/** Answer an operators request. */
export function operators(request) {
  Scope.run((scope) => {
    const context = contextOf(scope, request.context);
    const file = scope.own(new Checkpoint(request.file));
    const results = [];
    for (const each of request.cases) {
      let message = "";
      try {
        results.push(...Object.entries(compute(scope, context, file, each)).map(([name, tensor]) => [`${each.case}.${name}`, tensor]));
      } catch (error) {
        if (!(error instanceof HexaplaError) && !(error instanceof RequestError)) throw error;
        message = error.message;
      }
      send(request.id, "case", { case: each.case, ok: message === "", message });
    }
    Checkpoint.write(request.output, results, {});
  });
  send(request.id, "done", { cases: request.cases.length });
}

/** The results of one case by name. */
function compute(scope, context, file, { case: name, op, attributes, inputs, gradients }) {
  const own = (tensor) => scope.own(tensor);
  const buffer = (key) => own(file.read(file.find(`${name}.${key}`), context));
  const { strides = {}, offset = {}, view = {} } = attributes;
  // A strided input is a view of the file's tensor, recorded so that the gradient arrives at the whole of it.
  const seen = (tape, tensor, key) => (key in strides ? own(ops.asStrided(tape, tensor, view[key], strides[key], offset[key] ?? 0)) : tensor);
  const buffers = inputs.map(buffer);
  if (op in OPTIMIZER) {
    const found = OPTIMIZER[op](context, buffers, attributes, inputs);
    Object.values(found).filter((tensor) => !buffers.includes(tensor)).forEach(own);
    return found;
  }
  if (!(op in OPS)) throw new RequestError("request", `unknown op ${op}`, "cases");
  const tape = own(new Tape(context));
  inputs.forEach((key, index) => gradients.includes(key) && tape.watch(buffers[index]));
  const views = inputs.map((key, index) => seen(tape, buffers[index], key));
  const output = own(OPS[op](tape, views, attributes));
  const found = { output };
  if (gradients.length) {
    tape.backward(output, seen(null, buffer("incoming"), "incoming"));
    for (const key of gradients) found[`gradient.${key}`] = own(tape.gradient(buffers[inputs.indexOf(key)]));
  }
  return found;
}
