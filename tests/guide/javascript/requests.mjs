// What a request and a specification must hold, and the errors that say so.
//
// Separate because every request is checked whole before anything is opened: unknown and missing keys are named.

/** A request that ends in `error`: status is core's or one of PROTOCOL's words. */
export class RequestError extends Error {
  constructor(status, message, where) {
    super(message);
    this.status = status;
    this.where = where;
  }
}

const text = (value) => typeof value === "string";
const whole = (value) => Number.isSafeInteger(value);
const flag = (value) => typeof value === "boolean";
const list = (value) => Array.isArray(value);
const object = (value) => typeof value === "object" && value !== null && !list(value);
const orNull = (check) => (value) => value === null || check(value);

const CONTEXT = { device: text, threads: (n) => whole(n) && n >= 1, memory_limit: (n) => whole(n) && n >= 0, spill: flag, ledger: orNull(text) };
const CASE = { case: text, op: text, attributes: object, inputs: (value) => list(value) && value.every(text), gradients: list };

/** The keys of each request beside protocol, id and request. */
const REQUESTS = {
  hello: {},
  abi: {},
  bye: {},
  operators: { context: object, cases: list, file: text, output: text },
  load: { context: object, model: text },
  render: { tokenizer: text, records: text, template: text, length: whole },
  evaluate: { context: object, spec: object, model: text, tokenizer: text, heldout: text, adapter: orNull(text) },
  train: {
    context: object, spec: object, spec_digest: text, model: text, tokenizer: text, train: text, heldout: text, adapter: text,
    output: text, resume_from: orNull(text), stop_after: orNull(whole), schedule: text, release: text,
  },
  probe: { context: object, scenario: text, parameters: object },
};

/** Throws RequestError (`request`) unless it is one of protocol 1, whole; false for a request that is not known. */
export function checkRequest(message) {
  if (!object(message) || !text(message.id) || !text(message.request)) {
    throw new RequestError("request", "not an object with a string id and a string request", "request");
  }
  if (message.protocol !== 1) throw new RequestError("request", `protocol is ${JSON.stringify(message.protocol)}, not 1`, "protocol");
  if (!Object.hasOwn(REQUESTS, message.request)) return false;
  checkKeys(message, { protocol: whole, id: text, request: text, ...REQUESTS[message.request] }, "");
  if (message.context) checkKeys(message.context, CONTEXT, "context.");
  for (const each of message.cases ?? []) {
    if (!object(each)) throw new RequestError("request", "a case is no object", "cases");
    checkKeys(each, CASE, "cases.");
  }
  return true;
}

function checkKeys(values, known, prefix, status = "request") {
  for (const key of Object.keys(values)) {
    if (!Object.hasOwn(known, key)) throw new RequestError(status, `unknown key ${key}`, `${prefix}${key}`);
  }
  for (const [key, check] of Object.entries(known)) {
    if (!Object.hasOwn(values, key)) throw new RequestError(status, `key ${key} is missing`, `${prefix}${key}`);
    if (!check(values[key])) {
      throw new RequestError(status, `${key} is ${JSON.stringify(values[key])}, out of range or of a wrong type`, `${prefix}${key}`);
    }
  }
}

const atLeast = (least) => (value) => whole(value) && value >= least;
const real = (check) => (value) => typeof value === "number" && check(value);
const TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

/** The keys of a specification and their ranges (docs/spec.md). */
const SPEC = {
  seed: (value) => whole(value) && value >= 0 && value < 2 ** 31,
  updates: atLeast(1),
  batch: atLeast(1),
  micro_batch: atLeast(1),
  length: atLeast(2),
  learning_rate: real((value) => value > 0),
  warmup_updates: atLeast(0),
  decay: (value) => value === "cosine" || value === "linear",
  decay_floor: real((value) => value >= 0 && value <= 1),
  beta1: real((value) => value >= 0 && value < 1),
  beta2: real((value) => value >= 0 && value < 1),
  epsilon: real((value) => value > 0),
  weight_decay: real((value) => value >= 0),
  clip_norm: real((value) => value > 0),
  rank: atLeast(1),
  alpha: real((value) => value > 0),
  targets: (value) =>
    list(value) && value.length > 0 && new Set(value).size === value.length && value.every((name) => TARGETS.includes(name)),
  evaluate_every: atLeast(1),
  save_every: atLeast(1),
  template: (value) => value === "qwen3" || value === "chatml",
  precision: (value) => value === "f32",
};

/** Throws RequestError (`spec`). */
export function checkSpec(spec) {
  checkKeys(spec, SPEC, "spec.", "spec");
  if (spec.micro_batch > spec.batch) {
    throw new RequestError("spec", `micro_batch is ${spec.micro_batch}, more than batch ${spec.batch}`, "spec.micro_batch");
  }
  if (spec.warmup_updates > spec.updates) {
    throw new RequestError("spec", `warmup_updates is ${spec.warmup_updates}, more than updates ${spec.updates}`, "spec.warmup_updates");
  }
}
