// From a micro-batch to the loss of each label: the calls of docs/spec.md, "Forward", in its order.
//
// Separate because training and evaluation share exactly this; the first passes a tape, the second null. It owns
// nothing that outlives the scope passed in.

import { ops, Scope } from "./safe.mjs";

/** Records end to end: ids, positions from 0 in each, starts with the row behind the last, and the labels' rows and targets. */
export function pack(records) {
  const [ids, positions, starts, rows, targets] = [[], [], [0], [], []];
  for (const record of records) {
    const first = ids.length;
    record.flags.forEach((flag, index) => {
      if (!flag) return;
      rows.push(first + index - 1);
      targets.push(record.ids[index]);
    });
    record.ids.forEach((id, index) => {
      ids.push(id);
      positions.push(index);
    });
    starts.push(ids.length);
  }
  const [packedIds, packedPositions, packedStarts, packedRows, packedTargets] = [ids, positions, starts, rows, targets].map((each) =>
    Int32Array.from(each),
  );
  return { ids: packedIds, positions: packedPositions, starts: packedStarts, rows: packedRows, targets: packedTargets };
}

/** The tensor of NLLs, one a label; adapter: tensors by name, null for the base model. */
export function forward(scope, tape, { config, weights, head }, adapter, spec, batch) {
  const own = (tensor) => scope.own(tensor);
  const rows = batch.ids.length;
  const { headDim, epsilon, theta } = config;
  const norm = (x, name) => own(ops.rmsNorm(tape, x, weights[`${name}.weight`], epsilon));
  const project = (x, name) => {
    const lora = `base_model.model.${name}`;
    const a = adapter?.get(`${lora}.lora_A.weight`);
    const w = weights[`${name}.weight`];
    if (!a) return own(ops.linear(tape, x, w)); // no adapter, or not one of its targets
    return own(ops.loraLinear(tape, x, w, a, adapter.get(`${lora}.lora_B.weight`), spec.alpha / spec.rank));
  };
  const heads = (x, count) => own(ops.reshape(tape, x, [rows, count, headDim]));

  let x = own(ops.embedding(tape, weights["model.embed_tokens.weight"], batch.ids));
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = `model.layers.${layer}`;
    const attention = `${prefix}.self_attn`;
    let h = norm(x, `${prefix}.input_layernorm`);
    const projected = ["q_proj", "k_proj", "v_proj"].map((name) => project(h, `${attention}.${name}`));
    let [q, k, v] = projected.map((each, index) => heads(each, index === 0 ? config.heads : config.kvHeads));
    if (config.headNorms) [q, k] = [norm(q, `${attention}.q_norm`), norm(k, `${attention}.k_norm`)];
    [q, k] = [q, k].map((each) => own(ops.rope(tape, each, batch.positions, theta)));
    const mixed = own(ops.attention(tape, q, k, v, batch.starts, true));
    const joined = own(ops.reshape(tape, mixed, [rows, config.heads * headDim]));
    x = own(ops.add(tape, x, project(joined, `${attention}.o_proj`)));
    h = norm(x, `${prefix}.post_attention_layernorm`);
    const gate = project(h, `${prefix}.mlp.gate_proj`);
    const up = project(h, `${prefix}.mlp.up_proj`);
    const down = project(own(ops.swiglu(tape, gate, up)), `${prefix}.mlp.down_proj`);
    x = own(ops.add(tape, x, down));
  }
  return own(ops.linearCrossEntropy(tape, norm(x, "model.norm"), head, batch.rows, batch.targets));
}

export const labelsOf = (record) => record.flags.reduce((sum, flag) => sum + flag, 0);

/** Each record's NLL: the f64 running sum of its labels, in order (a Number is an f64). */
export function recordSums(records, nll) {
  let at = 0;
  return records.map((record) => {
    let sum = 0;
    for (const end = at + labelsOf(record); at < end; at++) sum += nll[at];
    return sum;
  });
}

/** Successive runs of `size`. */
export function* runsOf(records, size) {
  for (let start = 0; start < records.length; start += size) yield records.slice(start, start + size);
}

/** Held-out NLLs in file order, their total and label count; nothing is recorded. */
export function evaluate(model, adapter, spec, records) {
  const recordNll = [];
  for (const part of runsOf(records, spec.micro_batch)) {
    const nll = Scope.run((scope) => forward(scope, null, model, adapter, spec, pack(part)).read());
    recordNll.push(...recordSums(part, nll));
  }
  const total = recordNll.reduce((sum, each) => sum + each, 0);
  const labels = records.reduce((sum, record) => sum + labelsOf(record), 0);
  return { recordNll, total, labels, loss: total / labels };
}
