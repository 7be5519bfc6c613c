// The C ABI as JavaScript sees it: structs, aliases, constants and functions of core/include, and nothing added.
//
// Separate because `abi` holds exactly this to the headers. Ids are uint64_t: BigInt in, BigInt out of a
// BigUint64Array, since a Number holds 53 bits and an id's kind lies in the highest byte. Pointers are
// `void *`: koffi passes the memory of a typed array or Buffer as it is, so that core writes into it.

import { createRequire } from "node:module";
import path from "node:path";

const { HEXAPLA_LIBRARY, HEXAPLA_MODULES } = process.env;

/** Why koffi cannot be loaded, "" when it can: without it this trainer can do nothing. */
export let missing = "";
let koffi;
try {
  koffi = createRequire(path.join(HEXAPLA_MODULES ?? ".", "package.json"))("koffi");
} catch (error) {
  missing = `npm package koffi is not installed: ${error.message.split("\n")[0]}`;
}

/** Constants by C name. */
export const constants = {
  HXP_ABI_VERSION: 1,
  ...numbered(0, `OK INVALID_ARGUMENT OUT_OF_MEMORY STALE_HANDLE WRONG_KIND WRONG_THREAD BUSY DEVICE NO_GRADIENT IO FORMAT
    NOT_FOUND UNSUPPORTED INTERNAL`),
  ...numbered(1, "THREADS_OWNER SPILL"),
  ...numbered(1, "DTYPE_F32 DTYPE_F16 DTYPE_BF16"),
  HXP_RANK_MAX: 8,
  HXP_LEDGER_VERSION: 1,
  HXP_LEDGER_HEADER_BYTES: 4096,
  HXP_LEDGER_RECORD_BYTES: 64,
  HXP_LEDGER_CAPACITY: 1048576,
  ...numbered(1, `OPERATION_CONTEXT_CREATE OPERATION_CONTEXT_RETAIN OPERATION_CONTEXT_RELEASE OPERATION_CONTEXT_MARK
    OPERATION_CONTEXT_SYNCHRONIZE OPERATION_CONTEXT_FAIL OPERATION_PRESSURE OPERATION_SPILL`),
  ...numbered(16, `OPERATION_TENSOR_CREATE OPERATION_TENSOR_RETAIN OPERATION_TENSOR_RELEASE OPERATION_TENSOR_WRITE
    OPERATION_TENSOR_READ OPERATION_TENSOR_FILL OPERATION_TENSOR_ADD_IN_PLACE OPERATION_TENSOR_DIGEST OPERATION_TENSOR_CONTEXT`),
  ...numbered(32, `OPERATION_TAPE_CREATE OPERATION_TAPE_RETAIN OPERATION_TAPE_RELEASE OPERATION_TAPE_WATCH
    OPERATION_TAPE_GRADIENT OPERATION_TAPE_BACKWARD OPERATION_TAPE_RESET`),
  ...numbered(48, `OPERATION_EMBEDDING OPERATION_RMS_NORM OPERATION_LINEAR OPERATION_LORA_LINEAR OPERATION_ROPE
    OPERATION_ATTENTION OPERATION_SWIGLU OPERATION_ADD OPERATION_SCALE OPERATION_LINEAR_CROSS_ENTROPY OPERATION_MATMUL
    OPERATION_SOFTMAX OPERATION_REDUCE_SUM OPERATION_TRANSPOSE OPERATION_RESHAPE OPERATION_AS_STRIDED`),
  ...numbered(80, "OPERATION_GRADIENT_NORM OPERATION_GRADIENT_CLIP OPERATION_ADAMW_STEP"),
  ...numbered(96, "OPERATION_CHECKPOINT_READ OPERATION_CHECKPOINT_WRITE"),
};

function numbered(first, names) {
  return Object.fromEntries(names.split(/\s+/).map((name, index) => [`HXP_${name}`, first + index]));
}

/** Structs by C name: fields in order, [name, type] or [name, type, count] for an array. */
const STRUCTS = {
  hxp_error: [["struct_size", "uint32_t"], ["status", "int32_t"], ["message", "char", 1016]],
  hxp_context_options: [
    ["struct_size", "uint32_t"], ["flags", "uint32_t"], ["threads", "uint32_t"], ["pressure_retries", "uint32_t"],
    ["memory_limit", "uint64_t"], ["ledger_path", "void *"], ["pressure_hook", "void *"], ["pressure_payload", "void *"],
  ],
  hxp_memory: [
    ["struct_size", "uint32_t"], ["threads", "uint32_t"],
    ...`live_bytes peak_bytes limit_bytes live_handles spilled_bytes allocations pressure_calls pressure_rescues stale_calls
      foreign_calls injected_failures`.split(/\s+/).map((name) => [name, "int64_t"]),
  ],
  hxp_tensor_info: [
    ["struct_size", "uint32_t"], ["dtype", "int32_t"], ["rank", "uint32_t"], ["contiguous", "uint32_t"],
    ["shape", "int64_t", 8], ["strides", "int64_t", 8], ["offset", "int64_t"], ["elements", "uint64_t"], ["bytes", "uint64_t"],
  ],
  hxp_adamw_options: [
    ["struct_size", "uint32_t"], ["reserved", "uint32_t"], ["step", "uint64_t"],
    ...["learning_rate", "beta1", "beta2", "epsilon", "weight_decay"].map((name) => [name, "double"]),
  ],
  hxp_checkpoint_entry: [
    ["struct_size", "uint32_t"], ["rank", "uint32_t"], ["shape", "int64_t", 8], ["elements", "uint64_t"], ["bytes", "uint64_t"],
    ["dtype", "char", 16], ["name", "void *"],
  ],
  hxp_added_token: [
    ["struct_size", "uint32_t"], ["id", "int32_t"], ["special", "uint32_t"], ["text_bytes", "uint32_t"], ["text", "void *"],
  ],
  hxp_ledger_header: [
    ["magic", "char", 4], ["version", "uint32_t"], ["record_bytes", "uint32_t"], ["capacity", "uint32_t"], ["written", "uint64_t"],
    ...["live_bytes", "peak_bytes", "limit_bytes", "live_handles"].map((name) => [name, "int64_t"]),
  ],
  hxp_ledger_record: [
    ["time_ns", "uint64_t"], ["handle", "uint64_t"], ["bytes", "int64_t"], ["live_bytes", "int64_t"], ["update", "uint64_t"],
    ["context", "uint64_t"], ["thread", "uint32_t"], ["operation", "uint16_t"], ["status", "uint16_t"], ["sequence", "uint64_t"],
  ],
};

const ALIASES = {
  hxp_status: "int32_t",
  ...Object.fromEntries(
    ["context", "tensor", "tape", "checkpoint", "tokenizer", "gate"].map((kind) => [`hxp_${kind}`, "uint64_t"]),
  ),
  hxp_pressure_hook: "void *",
};

/** Layout by C name as `abi` wants it; made by koffi from the declarations above. */
export const layout = missing ? {} : laidOut();

function laidOut() {
  const found = {};
  for (const [name, type] of Object.entries(ALIASES)) {
    found[name] = { size: koffi.sizeof(type), align: koffi.alignof(type), fields: {} };
  }
  for (const [name, fields] of Object.entries(STRUCTS)) {
    const types = fields.map(([field, type, count]) => [field, count ? koffi.array(type, count) : type]);
    const struct = koffi.struct(name, Object.fromEntries(types));
    const places = types.map(([field, type]) => [field, [koffi.offsetof(struct, field), koffi.sizeof(type)]]);
    found[name] = { size: koffi.sizeof(struct), align: koffi.alignof(struct), fields: Object.fromEntries(places) };
  }
  return found;
}

// Arguments by letter: i uint64_t (ids, sizes), n int32_t, u uint32_t, l int64_t, d double, s text, t texts, p memory.
const LETTERS = { i: "uint64_t", n: "int32_t", u: "uint32_t", l: "int64_t", d: "double", s: "str", t: "const char **", p: "void *" };

// Calls that return a status and end in an hxp_error; the letters leave that last argument out.
const CALLS = {
  context_create: "spp", context_release: "i", context_memory: "ip", process_memory: "p", context_mark: "ii",
  tensor_create: "inupp", tensor_release: "i", tensor_describe: "ip", tensor_write: "ipi", tensor_read: "ipi", tensor_fill: "id",
  tensor_digest: "pipi", tape_create: "ip", tape_release: "i", tape_watch: "iii", tape_gradient: "iip", tape_backward: "iii",
  embedding: "iipip", rms_norm: "iiidp", linear: "iiip", lora_linear: "iiiiidp", rope: "iipidp", attention: "iiiipinp",
  swiglu: "iiip", add: "iiip", scale: "iidp", linear_cross_entropy: "iiippip", matmul: "iiip", softmax: "iip",
  reduce_sum: "iiup", transpose: "iip", reshape: "iiupp", as_strided: "iiupplp",
  gradient_norm: "pip", gradient_clip: "piddp", adamw_step: "pppppi",
  checkpoint_open: "sp", checkpoint_release: "i", checkpoint_count: "ip", checkpoint_describe: "iip", checkpoint_find: "isp",
  checkpoint_read: "iiip", checkpoint_metadata: "ispi", checkpoint_write: "stpitti", checkpoint_commit: "ss",
  tokenizer_open: "sp", tokenizer_release: "i", tokenizer_encode: "ipipip", tokenizer_id: "isp", tokenizer_added_count: "ip",
  tokenizer_added: "iip",
};

const library = missing ? null : koffi.load(HEXAPLA_LIBRARY);

function declared(name, result, letters) {
  return library.func(`hxp_${name}`, result, [...letters].map((letter) => LETTERS[letter]));
}

/** The calls of CALLS by their name without hxp_. */
export const calls = {};
/** _init functions by the struct's name without hxp_. */
export const inits = {};
export let abiVersion, buildInfo, buildFaults, statusName;
if (library) {
  for (const [name, letters] of Object.entries(CALLS)) calls[name] = declared(name, "int32_t", `${letters}p`);
  for (const name of ["error", "context_options", "memory", "tensor_info", "adamw_options", "checkpoint_entry", "added_token"]) {
    inits[name] = declared(`${name}_init`, "void", "p");
  }
  abiVersion = declared("abi_version", "uint32_t", "");
  buildInfo = declared("build_info", "str", "");
  buildFaults = declared("build_faults", "str", "");
  statusName = declared("status_name", "str", "n");
}

/** The text behind a `view` pointer, copied at once since it dies with its object; bytes: its length, else up to a zero byte. */
export function viewed(address, bytes = undefined) {
  return bytes === undefined ? koffi.decode.string(address) : koffi.decode.string(address, bytes);
}

/** The address of a Buffer's memory, for a struct that holds a borrowed pointer; the caller keeps the Buffer alive. */
export function addressOf(buffer) {
  return koffi.address(buffer);
}
