// The safe layer: core's handles as objects that own one id each and are closed once; failures as exceptions.
//
// Separate from sys.mjs, which only declares. Closing is explicit (`Scope`); a FinalizationRegistry is a net for what
// was forgotten and says so on stderr. JavaScript runs on one thread here, so nothing closes an object under a call.

import { abiVersion, addressOf, calls, constants, inits, layout, statusName, viewed } from "./sys.mjs";

/** A call that did not answer HXP_OK. `status` is its name, `message` core's text byte for byte. */
export class HexaplaError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Refuse a library of another ABI before anything else is asked of it. */
export function checkVersion() {
  const version = abiVersion();
  if (version !== constants.HXP_ABI_VERSION) {
    throw new Error(`the library speaks ABI ${version}, this binding ${constants.HXP_ABI_VERSION}`);
  }
}

function struct(name) {
  const buffer = Buffer.alloc(layout[`hxp_${name}`].size);
  inits[name](buffer);
  return buffer;
}

const at = (name, field) => layout[`hxp_${name}`].fields[field][0];

let errorBuffer;

/** Make one call; throws HexaplaError. */
function call(name, ...values) {
  errorBuffer ??= struct("error");
  const status = calls[name](...values, errorBuffer);
  if (status === 0) return;
  const start = at("error", "message");
  const text = errorBuffer.toString("utf8", start, errorBuffer.indexOf(0, start));
  throw new HexaplaError(statusName(status) ?? `status ${status}`, text);
}

/** A call whose last argument is the id it hands out. */
function made(name, ...values) {
  const out = new BigUint64Array(1);
  call(name, ...values, out);
  return out[0];
}

const forgotten = new FinalizationRegistry(({ kind, id }) => {
  process.stderr.write(`a ${kind} was never closed\n`);
  call(`${kind}_release`, id);
});

/** One owner of one id. */
class Handle {
  #id;
  #kind;
  constructor(kind, id) {
    this.#id = id;
    this.#kind = kind;
    forgotten.register(this, { kind, id }, this);
  }
  get id() {
    if (this.#id === 0n) throw new HexaplaError("HXP_STALE_HANDLE", `this ${this.#kind} is closed`);
    return this.#id;
  }
  close() {
    const id = this.#id;
    this.#id = 0n;
    forgotten.unregister(this);
    call(`${this.#kind}_release`, id); // 0 does nothing
  }
}

/** Owns what is made in a block of code and closes it, newest first, also when the block throws. */
export class Scope {
  #owned = [];
  own(handle) {
    this.#owned.push(handle);
    return handle;
  }
  close() {
    while (this.#owned.length) this.#owned.pop().close();
  }
  static run(body) {
    const scope = new Scope();
    try {
      return body(scope);
    } finally {
      scope.close();
    }
  }
}

function memory(name, ...values) {
  const buffer = struct("memory");
  call(name, ...values, buffer);
  const read = (field) => Number(buffer.readBigInt64LE(at("memory", field)));
  return { liveBytes: read("live_bytes"), peakBytes: read("peak_bytes"), liveHandles: read("live_handles") };
}

/** The account of the whole process: bytes and handles. */
export const processMemory = () => memory("process_memory");

export class Context extends Handle {
  /** device: "cpu:N" or "cuda:N"; memoryLimit in bytes, 0 = none; ledger: a path or null. */
  constructor(device, { threads = 1, memoryLimit = 0, spill = false, ledger = null } = {}) {
    const options = struct("context_options");
    const path = Buffer.from(`${ledger ?? ""}\0`); // borrowed: lives until the call has returned
    options.writeUInt32LE(spill ? constants.HXP_SPILL : 0, at("context_options", "flags"));
    options.writeUInt32LE(threads, at("context_options", "threads"));
    options.writeBigUInt64LE(BigInt(memoryLimit), at("context_options", "memory_limit"));
    if (ledger !== null) options.writeBigUInt64LE(addressOf(path), at("context_options", "ledger_path"));
    super("context", made("context_create", device, options));
  }
  memory() {
    return memory("context_memory", this.id);
  }
  mark(update) {
    call("context_mark", this.id, update);
  }
}

const ids = (handles) => BigUint64Array.from(handles, (handle) => handle.id);
const sizes = (shape) => BigInt64Array.from(shape, BigInt);
const tapeId = (tape) => tape?.id ?? 0n;

export class Tensor extends Handle {
  constructor(id) {
    super("tensor", id);
  }
  /** Zeros. */
  static zeros(context, shape) {
    return new Tensor(made("tensor_create", context.id, constants.HXP_DTYPE_F32, shape.length, sizes(shape)));
  }
  /** values: a Float32Array, row-major. */
  static of(context, shape, values) {
    const tensor = Tensor.zeros(context, shape);
    call("tensor_write", tensor.id, values, values.byteLength);
    return tensor;
  }
  get shape() {
    const info = struct("tensor_info");
    call("tensor_describe", this.id, info);
    const rank = info.readUInt32LE(at("tensor_info", "rank"));
    return Array.from({ length: rank }, (_, axis) => Number(info.readBigInt64LE(at("tensor_info", "shape") + 8 * axis)));
  }
  read() {
    const values = new Float32Array(this.shape.reduce((product, size) => product * size, 1));
    call("tensor_read", this.id, values, values.byteLength);
    return values;
  }
  fill(value) {
    call("tensor_fill", this.id, value);
  }
}

/** SHA-256 over the values of tensors, one after the other; 64 hex digits. */
export function digest(tensors) {
  const out = Buffer.alloc(65);
  call("tensor_digest", ids(tensors), tensors.length, out, out.length);
  return out.toString("latin1", 0, 64);
}

export class Tape extends Handle {
  constructor(context) {
    super("tape", made("tape_create", context.id));
  }
  /** gradient: a tensor that backward adds into, or null for one of the tape's own. */
  watch(tensor, gradient = null) {
    call("tape_watch", this.id, tensor.id, gradient?.id ?? 0n);
  }
  gradient(tensor) {
    return new Tensor(made("tape_gradient", this.id, tensor.id));
  }
  backward(output, incoming = null) {
    call("tape_backward", this.id, output.id, incoming?.id ?? 0n);
  }
}

const op = (name, tape, ...values) => new Tensor(made(name, tapeId(tape), ...values));

/** The operations of ops.h; `tape` null records nothing. Host arrays are Int32Arrays. */
export const ops = {
  embedding: (tape, table, rows) => op("embedding", tape, table.id, rows, rows.length),
  rmsNorm: (tape, x, gain, epsilon) => op("rms_norm", tape, x.id, gain.id, epsilon),
  linear: (tape, x, w) => op("linear", tape, x.id, w.id),
  loraLinear: (tape, x, w, a, b, scale) => op("lora_linear", tape, x.id, w.id, a.id, b.id, scale),
  rope: (tape, x, positions, theta) => op("rope", tape, x.id, positions, positions.length, theta),
  attention: (tape, q, k, v, starts, causal) =>
    op("attention", tape, q.id, k.id, v.id, starts, starts.length, causal ? 1 : 0),
  swiglu: (tape, gate, up) => op("swiglu", tape, gate.id, up.id),
  add: (tape, a, b) => op("add", tape, a.id, b.id),
  scale: (tape, x, factor) => op("scale", tape, x.id, factor),
  linearCrossEntropy: (tape, h, w, rows, targets) =>
    op("linear_cross_entropy", tape, h.id, w.id, rows, targets, rows.length),
  matmul: (tape, a, b) => op("matmul", tape, a.id, b.id),
  softmax: (tape, x) => op("softmax", tape, x.id),
  reduceSum: (tape, x, axis) => op("reduce_sum", tape, x.id, axis),
  transpose: (tape, x) => op("transpose", tape, x.id),
  reshape: (tape, x, shape) => op("reshape", tape, x.id, shape.length, sizes(shape)),
  asStrided: (tape, x, shape, strides, offset) =>
    op("as_strided", tape, x.id, shape.length, sizes(shape), sizes(strides), offset),
};

/** The f64 norm over all gradients, in order. */
export function gradientNorm(gradients) {
  const out = new Float64Array(1);
  call("gradient_norm", ids(gradients), gradients.length, out);
  return out[0];
}

/** In place; whether they were multiplied. */
export function gradientClip(gradients, norm, clipNorm) {
  const clipped = new Int32Array(1);
  call("gradient_clip", ids(gradients), gradients.length, norm, clipNorm, clipped);
  return clipped[0] === 1;
}

/** One step in place. options: step, learning_rate, beta1, beta2, epsilon, weight_decay. */
export function adamwStep(options, parameters, gradients, expAvgs, expAvgSqs) {
  const buffer = struct("adamw_options");
  buffer.writeBigUInt64LE(BigInt(options.step), at("adamw_options", "step"));
  for (const name of ["learning_rate", "beta1", "beta2", "epsilon", "weight_decay"]) {
    buffer.writeDoubleLE(options[name], at("adamw_options", name));
  }
  const lists = [parameters, gradients, expAvgs, expAvgSqs].map(ids);
  call("adamw_step", buffer, ...lists, parameters.length);
}

export class Checkpoint extends Handle {
  /** path: a .safetensors file, or a folder that holds one or an index. */
  constructor(path) {
    super("checkpoint", made("checkpoint_open", path));
  }
  /** All entries, sorted by the bytes of their names. */
  entries() {
    const count = Number(made("checkpoint_count", this.id));
    return Array.from({ length: count }, (_, index) => this.#describe(index));
  }
  #describe(index) {
    const entry = struct("checkpoint_entry");
    call("checkpoint_describe", this.id, index, entry);
    const read = (field) => entry.readBigUInt64LE(at("checkpoint_entry", field));
    const rank = entry.readUInt32LE(at("checkpoint_entry", "rank"));
    const shape = at("checkpoint_entry", "shape");
    const dtype = at("checkpoint_entry", "dtype");
    return {
      index,
      name: viewed(read("name")),
      shape: Array.from({ length: rank }, (_, axis) => Number(entry.readBigInt64LE(shape + 8 * axis))),
      elements: Number(read("elements")),
      dtype: entry.toString("latin1", dtype, entry.indexOf(0, dtype)),
    };
  }
  find(name) {
    return made("checkpoint_find", this.id, name);
  }
  /** index: a number, or a bigint as `find` gives it. */
  read(index, context) {
    return new Tensor(made("checkpoint_read", this.id, index, context.id));
  }
  metadata(key) {
    const out = Buffer.alloc(4096);
    call("checkpoint_metadata", this.id, key, out, out.length);
    return out.toString("utf8", 0, out.indexOf(0));
  }
  /** tensors: [name, tensor] pairs, in the order to write; metadata: an object of texts. */
  static write(path, tensors, metadata) {
    const [names, handles] = [tensors.map(([name]) => name), tensors.map(([, tensor]) => tensor)];
    const [keys, values] = [Object.keys(metadata), Object.values(metadata)];
    call("checkpoint_write", path, names, ids(handles), names.length, keys, values, keys.length);
  }
  /** Make a folder of finished files final. */
  static commit(partial, final) {
    call("checkpoint_commit", partial, final);
  }
}

export class Tokenizer extends Handle {
  constructor(folder) {
    super("tokenizer", made("tokenizer_open", folder));
  }
  /** E(text) as a plain array. */
  encode(text) {
    const bytes = Buffer.from(text, "utf8");
    const count = new BigUint64Array(1);
    // Text that is not in NFC may have more ids than bytes: ask again with the room it needs.
    for (let room = bytes.length; ; room = Number(count[0])) {
      const found = new Int32Array(room);
      try {
        call("tokenizer_encode", this.id, bytes, bytes.length, found, room, count);
        return Array.from(found.subarray(0, Number(count[0])));
      } catch (error) {
        if (!(error instanceof HexaplaError) || Number(count[0]) <= room) throw error;
      }
    }
  }
  /** The id of an added token. */
  idOf(text) {
    const out = new Int32Array(1);
    call("tokenizer_id", this.id, text, out);
    return out[0];
  }
  /** The texts of all added tokens, in the file's order. */
  added() {
    const count = Number(made("tokenizer_added_count", this.id));
    return Array.from({ length: count }, (_, index) => {
      const token = struct("added_token");
      call("tokenizer_added", this.id, index, token);
      return viewed(token.readBigUInt64LE(at("added_token", "text")), token.readUInt32LE(at("added_token", "text_bytes")));
    });
  }
}
