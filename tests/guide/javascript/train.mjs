// The request `train`: updates in order, evaluations and checkpoints where they are due (docs/spec.md, "Loss" to "Checkpoint").
//
// Separate because it is the only request with state between events. Everything it makes is in one scope, closed
// before `done`. Between updates it lets the event loop turn, which is how the end of stdin becomes known.

import fs from "node:fs";
import path from "node:path";

import { evaluate, forward, labelsOf, pack, recordSums, runsOf } from "./forward.mjs";
import { number, send, withBits } from "./lines.mjs";
import { adapterConfig, adapterShapes, loadAdapter, loadModel, loadTensors } from "./model.mjs";
import { batchDigest, corpus, shuffled } from "./records.mjs";
import { checkSpec, RequestError } from "./requests.mjs";
import { adamwStep, Checkpoint, Context, digest, gradientClip, gradientNorm, processMemory, Scope, Tape, Tensor } from "./safe.mjs";

/** The context that a request asks for, owned by `scope`. */
export function contextOf(scope, { device, threads, memory_limit: memoryLimit, spill, ledger }) {
  return scope.own(new Context(device, { threads, memoryLimit, spill, ledger }));
}

/** η(k) in f64, then f32. */
export function learningRate(spec, k) {
  const [warmup, floor] = [spec.warmup_updates, spec.decay_floor];
  if (k <= warmup) return Math.fround((spec.learning_rate * k) / warmup);
  const part = (k - warmup) / (spec.updates - warmup);
  const shape = spec.decay === "linear" ? (spec.updates - k) / (spec.updates - warmup) : (1 + Math.cos(Math.PI * part)) / 2;
  return Math.fround(spec.learning_rate * (floor + (1 - floor) * shape));
}

/** Update k's records and epoch: `batch` of its epoch's order, at the end those that are left. */
function batchOf(records, spec, k) {
  const perEpoch = Math.ceil(records.length / spec.batch);
  const epoch = Math.floor((k - 1) / perEpoch);
  const start = ((k - 1) % perEpoch) * spec.batch;
  const order = shuffled(records.length, spec.seed, epoch).slice(start, start + spec.batch);
  return { epoch, batch: order.map((index) => records[index]) };
}

/** The events of an evaluation of update k; adapter null: the base model. */
export function sendEvaluation(id, k, model, adapter, spec, heldout) {
  const { recordNll, total, labels, loss } = evaluate(model, adapter, spec, heldout);
  send(id, "evaluation", {
    step: k,
    adapter: adapter !== null,
    ...withBits("loss", loss),
    ...withBits("total", total),
    labels,
    record_nll: recordNll.map(number),
    adapter_digest: adapter ? digest([...adapter.values()]) : null,
  });
  if (!Number.isFinite(total)) throw new RequestError("non_finite", `held-out loss is ${total}`, `update ${k}`);
}

/** What a run trains: adapter, gradients, both moments, in adapter order. */
class State {
  constructor(scope, context, adapter, moments) {
    const zeros = () => new Map([...adapter].map(([name, tensor]) => [name, scope.own(Tensor.zeros(context, tensor.shape))]));
    this.adapter = adapter;
    this.gradients = zeros();
    this.expAvg = moments?.expAvg ?? zeros();
    this.expAvgSq = moments?.expAvgSq ?? zeros();
  }
}

/** One update; its step event's values. */
function update(context, model, state, spec, k, records) {
  const { epoch, batch } = batchOf(records, spec, k);
  const labels = batch.reduce((sum, record) => sum + labelsOf(record), 0); // of the whole update, before its first micro-batch
  const [parameters, gradients, expAvg, expAvgSq] = [state.adapter, state.gradients, state.expAvg, state.expAvgSq].map((each) => [
    ...each.values(),
  ]);
  const started = process.hrtime.bigint();
  context.mark(k);
  gradients.forEach((gradient) => gradient.fill(0));
  let sum = 0;
  for (const part of runsOf(batch, spec.micro_batch)) {
    Scope.run((scope) => {
      const tape = scope.own(new Tape(context));
      parameters.forEach((parameter, index) => tape.watch(parameter, gradients[index]));
      const nll = forward(scope, tape, model, state.adapter, spec, pack(part));
      const values = nll.read();
      for (const each of recordSums(part, values)) sum += each;
      const weights = new Float32Array(values.length).fill(1 / labels); // f32(1/N)
      tape.backward(nll, scope.own(Tensor.of(context, [values.length], weights)));
    });
  }
  const loss = sum / labels;
  const norm = gradientNorm(gradients);
  if (!Number.isFinite(loss)) throw new RequestError("non_finite", `loss is ${loss}`, `update ${k}`);
  if (!Number.isFinite(norm)) throw new RequestError("non_finite", `gradient norm is ${norm}`, `update ${k}`);
  const clipped = gradientClip(gradients, norm, spec.clip_norm);
  const rate = learningRate(spec, k);
  adamwStep({ ...spec, step: k, learning_rate: rate }, parameters, gradients, expAvg, expAvgSq);
  return {
    step: k,
    epoch,
    records: batch.length,
    tokens: batch.reduce((count, record) => count + record.ids.length, 0),
    labels,
    ...withBits("loss", loss),
    ...withBits("gradient_norm", norm),
    clipped,
    ...withBits("learning_rate", rate),
    batch_digest: batchDigest(batch),
    milliseconds: Number(process.hrtime.bigint() - started) / 1e6,
  };
}

const folderOf = (output, k) => path.join(output, `checkpoint-${String(k).padStart(6, "0")}`);

function inputOutput(body) {
  try {
    return body();
  } catch (error) {
    if (error.syscall) throw new RequestError("io", error.message, error.path ?? "");
    throw error;
  }
}

/** Write a checkpoint whole: `.partial`, then core syncs and renames it. */
function save(id, k, state, request, config) {
  const final = folderOf(request.output, k);
  const partial = `${final}.partial`;
  inputOutput(() => {
    fs.mkdirSync(partial);
    fs.writeFileSync(path.join(partial, "adapter_config.json"), config);
  });
  const named = (prefix, tensors) => [...tensors].map(([name, tensor]) => [prefix + name, tensor]);
  Checkpoint.write(path.join(partial, "adapter_model.safetensors"), named("", state.adapter), { format: "pt" });
  const moments = [...named("exp_avg.", state.expAvg), ...named("exp_avg_sq.", state.expAvgSq)];
  const metadata = { update: String(k), spec_digest: request.spec_digest };
  Checkpoint.write(path.join(partial, "optimizer.safetensors"), moments, metadata);
  Checkpoint.commit(partial, final);
  const pairs = [...state.adapter.keys()].flatMap((name) => [state.expAvg.get(name), state.expAvgSq.get(name)]);
  send(id, "checkpoint", { step: k, path: final, adapter_digest: digest([...state.adapter.values()]), optimizer_digest: digest(pairs) });
}

/** Moments and update of a checkpoint; another spec_digest or a missing tensor is refused. */
function loadMoments(scope, context, folder, shapes, specDigest) {
  const file = path.join(folder, "optimizer.safetensors");
  const [stored, k] = Scope.run((files) => {
    const checkpoint = files.own(new Checkpoint(file));
    return [checkpoint.metadata("spec_digest"), Number(checkpoint.metadata("update"))];
  });
  if (stored !== specDigest) throw new RequestError("checkpoint", `spec_digest is ${stored}, the run's is ${specDigest}`, file);
  if (!Number.isSafeInteger(k) || k < 1) throw new RequestError("checkpoint", `update is ${k}`, file);
  const prefixed = (prefix) => Object.entries(shapes).map(([name, shape]) => [`${prefix}.${name}`, shape]);
  const all = loadTensors(scope, context, file, Object.fromEntries([...prefixed("exp_avg"), ...prefixed("exp_avg_sq")]));
  const one = (prefix) => new Map(Object.keys(shapes).map((name) => [name, all.get(`${prefix}.${name}`)]));
  return { k, moments: { expAvg: one("exp_avg"), expAvgSq: one("exp_avg_sq") } };
}

/** Where the run starts and what it starts from. */
function prepare(scope, context, request, model) {
  const { spec, adapter: initial, resume_from: resumed } = request;
  const config = adapterConfig(initial, spec);
  const adapter = loadAdapter(scope, context, resumed ?? initial, model.config, spec);
  const shapes = adapterShapes(model.config, spec);
  const { k: start, moments } = resumed ? loadMoments(scope, context, resumed, shapes, request.spec_digest) : { k: 0 };
  if (start >= spec.updates) throw new RequestError("request", `resume_from is at update ${start} of ${spec.updates}`, "resume_from");
  const stop = request.stop_after ?? spec.updates;
  if (stop <= start || stop > spec.updates) {
    throw new RequestError("request", `stop_after is ${stop}, must be above ${start} and at most ${spec.updates}`, "stop_after");
  }
  return { config, state: new State(scope, context, adapter, moments), start, stop };
}

/** A checkpoint that exists is refused before the first update, a left-over `.partial` removed. */
function clearOutput(output, updates) {
  inputOutput(() => {
    fs.mkdirSync(output, { recursive: true });
    for (const folder of updates.map((k) => folderOf(output, k))) {
      if (fs.existsSync(folder)) throw new RequestError("io", "exists already", folder);
      fs.rmSync(`${folder}.partial`, { recursive: true, force: true });
    }
  });
}

/** Answer a train request; ended() tells whether stdin has ended. */
export async function train(request, ended) {
  const { id, spec } = request;
  checkSpec(spec);
  const scope = new Scope();
  let step, stopped, peak;
  try {
    const [records, heldout] = [request.train, request.heldout].map((file) => corpus(request.tokenizer, file, spec));
    const context = contextOf(scope, request.context);
    const model = loadModel(scope, context, request.model);
    const { config, state, start, stop } = prepare(scope, context, request, model);
    const savedAt = (k) => k % spec.save_every === 0 || k === spec.updates || k === stop;
    const updates = Array.from({ length: stop - start }, (_, index) => start + 1 + index);
    clearOutput(request.output, updates.filter(savedAt));
    sendData(id, records, heldout);
    const evaluated = (k) => sendEvaluation(id, k, model, state.adapter, spec, heldout.accepted);
    if (start === 0) evaluated(0);
    step = start;
    for (const k of updates) {
      await new Promise(setImmediate);
      if (ended()) break;
      send(id, "step", update(context, model, state, spec, k, records.accepted));
      step = k;
      if (k % spec.evaluate_every === 0 || k === spec.updates) evaluated(k);
      if (savedAt(k)) save(id, k, state, request, config);
    }
    stopped = step < spec.updates;
    peak = context.memory().peakBytes;
  } finally {
    scope.close();
  }
  send(id, "done", { step, stopped, device_bytes_peak: peak, handles_live: processMemory().liveHandles });
}

function sendData(id, records, heldout) {
  const rejected = { ...records.rejected };
  for (const [reason, count] of Object.entries(heldout.rejected)) rejected[reason] = (rejected[reason] ?? 0) + count;
  send(id, "data", {
    train: records.accepted.length,
    heldout: heldout.accepted.length,
    rejected,
    markers: records.markers + heldout.markers,
  });
}
