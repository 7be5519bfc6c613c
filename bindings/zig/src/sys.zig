//! The C ABI of the Hexapla core, declared by hand: every struct, handle alias, constant and function of
//! the public headers under its C name. Separate because it is the one place that repeats the headers; the
//! `abi` request sends what is written here to the harness, which holds it to them. No logic, and nothing
//! outside `safe/` may import it.

/// The ABI version of the headers that these declarations repeat.
pub const HXP_ABI_VERSION = 1;

// status.h
pub const hxp_status = i32;
pub const HXP_OK = 0;
pub const HXP_INVALID_ARGUMENT = 1;
pub const HXP_OUT_OF_MEMORY = 2;
pub const HXP_STALE_HANDLE = 3;
pub const HXP_WRONG_KIND = 4;
pub const HXP_WRONG_THREAD = 5;
pub const HXP_BUSY = 6;
pub const HXP_DEVICE = 7;
pub const HXP_NO_GRADIENT = 8;
pub const HXP_IO = 9;
pub const HXP_FORMAT = 10;
pub const HXP_NOT_FOUND = 11;
pub const HXP_UNSUPPORTED = 12;
pub const HXP_INTERNAL = 13;

pub const hxp_error = extern struct {
    struct_size: u32,
    status: hxp_status,
    message: [1016]u8,
};

pub extern fn hxp_error_init(err: ?*hxp_error) void;
pub extern fn hxp_status_name(status: hxp_status) ?[*:0]const u8;
pub extern fn hxp_abi_version() u32;
pub extern fn hxp_build_info() [*:0]const u8;
pub extern fn hxp_build_faults() [*:0]const u8;

// context.h
pub const hxp_context = u64;
pub const HXP_THREADS_OWNER = 1;
pub const HXP_SPILL = 2;

pub const hxp_pressure_hook = *const fn (
    payload: ?*anyopaque,
    need_bytes: u64,
    live_bytes: u64,
    limit_bytes: u64,
) callconv(.c) i32;

pub const hxp_context_options = extern struct {
    struct_size: u32,
    flags: u32,
    threads: u32,
    pressure_retries: u32,
    memory_limit: u64,
    ledger_path: ?[*:0]const u8,
    pressure_hook: ?hxp_pressure_hook,
    pressure_payload: ?*anyopaque,
};

pub const hxp_memory = extern struct {
    struct_size: u32,
    threads: u32,
    live_bytes: i64,
    peak_bytes: i64,
    limit_bytes: i64,
    live_handles: i64,
    spilled_bytes: i64,
    allocations: i64,
    pressure_calls: i64,
    pressure_rescues: i64,
    stale_calls: i64,
    foreign_calls: i64,
    injected_failures: i64,
};

pub extern fn hxp_context_options_init(options: *hxp_context_options) void;
pub extern fn hxp_memory_init(memory: *hxp_memory) void;
pub extern fn hxp_context_create(device: [*:0]const u8, options: ?*const hxp_context_options, out: *hxp_context, err: ?*hxp_error) hxp_status;
pub extern fn hxp_context_retain(context: hxp_context, out: *hxp_context, err: ?*hxp_error) hxp_status;
pub extern fn hxp_context_release(context: hxp_context, err: ?*hxp_error) hxp_status;
pub extern fn hxp_context_device(context: hxp_context, out: [*]u8, out_bytes: u64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_context_memory(context: hxp_context, out: *hxp_memory, err: ?*hxp_error) hxp_status;
pub extern fn hxp_process_memory(out: *hxp_memory, err: ?*hxp_error) hxp_status;
pub extern fn hxp_context_reset_peak(context: hxp_context, err: ?*hxp_error) hxp_status;
pub extern fn hxp_context_mark(context: hxp_context, update: u64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_context_synchronize(context: hxp_context, err: ?*hxp_error) hxp_status;
pub extern fn hxp_context_fail_allocation(context: hxp_context, nth: u64, persistent: i32, err: ?*hxp_error) hxp_status;
pub extern fn hxp_context_fail_next(context: hxp_context, status: hxp_status, err: ?*hxp_error) hxp_status;

// tensor.h
pub const hxp_tensor = u64;
pub const HXP_DTYPE_F32 = 1;
pub const HXP_DTYPE_F16 = 2;
pub const HXP_DTYPE_BF16 = 3;
pub const HXP_RANK_MAX = 8;

pub const hxp_tensor_info = extern struct {
    struct_size: u32,
    dtype: i32,
    rank: u32,
    contiguous: u32,
    shape: [8]i64,
    strides: [8]i64,
    offset: i64,
    elements: u64,
    bytes: u64,
};

pub extern fn hxp_tensor_info_init(info: *hxp_tensor_info) void;
pub extern fn hxp_tensor_create(context: hxp_context, dtype: i32, rank: u32, shape: [*]const i64, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tensor_retain(tensor: hxp_tensor, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tensor_release(tensor: hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tensor_describe(tensor: hxp_tensor, out: *hxp_tensor_info, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tensor_context(tensor: hxp_tensor, out: *hxp_context, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tensor_device(tensor: hxp_tensor, out: [*]u8, out_bytes: u64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tensor_write(tensor: hxp_tensor, data: *const anyopaque, data_bytes: u64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tensor_read(tensor: hxp_tensor, out: *anyopaque, out_bytes: u64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tensor_fill(tensor: hxp_tensor, value: f64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tensor_add_in_place(tensor: hxp_tensor, value: f64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tensor_digest(tensors: [*]const hxp_tensor, count: u64, out: [*]u8, out_bytes: u64, err: ?*hxp_error) hxp_status;

// tape.h
pub const hxp_tape = u64;

pub extern fn hxp_tape_create(context: hxp_context, out: *hxp_tape, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tape_retain(tape: hxp_tape, out: *hxp_tape, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tape_release(tape: hxp_tape, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tape_watch(tape: hxp_tape, tensor: hxp_tensor, gradient: hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tape_gradient(tape: hxp_tape, tensor: hxp_tensor, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tape_backward(tape: hxp_tape, output: hxp_tensor, incoming: hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tape_reset(tape: hxp_tape, err: ?*hxp_error) hxp_status;

// ops.h
pub extern fn hxp_embedding(tape: hxp_tape, table: hxp_tensor, ids: [*]const i32, count: u64, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_rms_norm(tape: hxp_tape, x: hxp_tensor, gain: hxp_tensor, epsilon: f64, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_linear(tape: hxp_tape, x: hxp_tensor, w: hxp_tensor, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_lora_linear(tape: hxp_tape, x: hxp_tensor, w: hxp_tensor, a: hxp_tensor, b: hxp_tensor, scale: f64, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_rope(tape: hxp_tape, x: hxp_tensor, positions: [*]const i32, count: u64, theta: f64, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_attention(tape: hxp_tape, q: hxp_tensor, k: hxp_tensor, v: hxp_tensor, starts: [*]const i32, starts_count: u64, causal: i32, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_swiglu(tape: hxp_tape, gate: hxp_tensor, up: hxp_tensor, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_add(tape: hxp_tape, a: hxp_tensor, b: hxp_tensor, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_scale(tape: hxp_tape, x: hxp_tensor, factor: f64, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_linear_cross_entropy(tape: hxp_tape, h: hxp_tensor, w: hxp_tensor, rows: [*]const i32, targets: [*]const i32, count: u64, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_matmul(tape: hxp_tape, a: hxp_tensor, b: hxp_tensor, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_softmax(tape: hxp_tape, x: hxp_tensor, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_reduce_sum(tape: hxp_tape, x: hxp_tensor, axis: u32, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_transpose(tape: hxp_tape, x: hxp_tensor, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_reshape(tape: hxp_tape, x: hxp_tensor, rank: u32, shape: [*]const i64, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_as_strided(tape: hxp_tape, x: hxp_tensor, rank: u32, shape: [*]const i64, strides: [*]const i64, offset: i64, out: *hxp_tensor, err: ?*hxp_error) hxp_status;

// optimizer.h
pub const hxp_adamw_options = extern struct {
    struct_size: u32,
    reserved: u32,
    step: u64,
    learning_rate: f64,
    beta1: f64,
    beta2: f64,
    epsilon: f64,
    weight_decay: f64,
};

pub extern fn hxp_adamw_options_init(options: *hxp_adamw_options) void;
pub extern fn hxp_gradient_norm(gradients: [*]const hxp_tensor, count: u64, out: *f64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_gradient_clip(gradients: [*]const hxp_tensor, count: u64, norm: f64, clip_norm: f64, clipped_out: ?*i32, err: ?*hxp_error) hxp_status;
pub extern fn hxp_adamw_step(options: *const hxp_adamw_options, parameters: [*]const hxp_tensor, gradients: [*]const hxp_tensor, exp_avgs: [*]const hxp_tensor, exp_avg_sqs: [*]const hxp_tensor, count: u64, err: ?*hxp_error) hxp_status;

// checkpoint.h
pub const hxp_checkpoint = u64;

pub const hxp_checkpoint_entry = extern struct {
    struct_size: u32,
    rank: u32,
    shape: [8]i64,
    elements: u64,
    bytes: u64,
    dtype: [16]u8,
    name: ?[*:0]const u8,
};

pub extern fn hxp_checkpoint_entry_init(entry: *hxp_checkpoint_entry) void;
pub extern fn hxp_checkpoint_open(path: [*:0]const u8, out: *hxp_checkpoint, err: ?*hxp_error) hxp_status;
pub extern fn hxp_checkpoint_retain(checkpoint: hxp_checkpoint, out: *hxp_checkpoint, err: ?*hxp_error) hxp_status;
pub extern fn hxp_checkpoint_release(checkpoint: hxp_checkpoint, err: ?*hxp_error) hxp_status;
pub extern fn hxp_checkpoint_count(checkpoint: hxp_checkpoint, out: *u64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_checkpoint_describe(checkpoint: hxp_checkpoint, index: u64, out: *hxp_checkpoint_entry, err: ?*hxp_error) hxp_status;
pub extern fn hxp_checkpoint_find(checkpoint: hxp_checkpoint, name: [*:0]const u8, index_out: *u64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_checkpoint_read(checkpoint: hxp_checkpoint, index: u64, context: hxp_context, out: *hxp_tensor, err: ?*hxp_error) hxp_status;
pub extern fn hxp_checkpoint_metadata(checkpoint: hxp_checkpoint, key: [*:0]const u8, out: [*]u8, out_bytes: u64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_checkpoint_write(path: [*:0]const u8, names: [*]const [*:0]const u8, tensors: [*]const hxp_tensor, count: u64, metadata_keys: ?[*]const [*:0]const u8, metadata_values: ?[*]const [*:0]const u8, metadata_count: u64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_checkpoint_commit(partial: [*:0]const u8, final_path: [*:0]const u8, err: ?*hxp_error) hxp_status;

// tokenizer.h
pub const hxp_tokenizer = u64;

pub const hxp_added_token = extern struct {
    struct_size: u32,
    id: i32,
    special: u32,
    text_bytes: u32,
    text: ?[*:0]const u8,
};

pub extern fn hxp_added_token_init(token: *hxp_added_token) void;
pub extern fn hxp_tokenizer_open(folder: [*:0]const u8, out: *hxp_tokenizer, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tokenizer_retain(tokenizer: hxp_tokenizer, out: *hxp_tokenizer, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tokenizer_release(tokenizer: hxp_tokenizer, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tokenizer_encode(tokenizer: hxp_tokenizer, text: ?[*]const u8, text_bytes: u64, ids: ?[*]i32, capacity: u64, count_out: *u64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tokenizer_id(tokenizer: hxp_tokenizer, text: [*:0]const u8, id_out: *i32, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tokenizer_added_count(tokenizer: hxp_tokenizer, out: *u64, err: ?*hxp_error) hxp_status;
pub extern fn hxp_tokenizer_added(tokenizer: hxp_tokenizer, index: u64, out: *hxp_added_token, err: ?*hxp_error) hxp_status;

// gate.h
pub const hxp_gate = u64;

pub extern fn hxp_gate_create(out: *hxp_gate, err: ?*hxp_error) hxp_status;
pub extern fn hxp_gate_retain(gate: hxp_gate, out: *hxp_gate, err: ?*hxp_error) hxp_status;
pub extern fn hxp_gate_release(gate: hxp_gate, err: ?*hxp_error) hxp_status;
pub extern fn hxp_gate_wait(gate: hxp_gate, err: ?*hxp_error) hxp_status;
pub extern fn hxp_gate_open(gate: hxp_gate, err: ?*hxp_error) hxp_status;

// ledger.h
pub const HXP_LEDGER_VERSION = 1;
pub const HXP_LEDGER_HEADER_BYTES = 4096;
pub const HXP_LEDGER_RECORD_BYTES = 64;
pub const HXP_LEDGER_CAPACITY = 1048576;

pub const hxp_ledger_header = extern struct {
    magic: [4]u8,
    version: u32,
    record_bytes: u32,
    capacity: u32,
    written: u64,
    live_bytes: i64,
    peak_bytes: i64,
    limit_bytes: i64,
    live_handles: i64,
};

pub const hxp_ledger_record = extern struct {
    time_ns: u64,
    handle: u64,
    bytes: i64,
    live_bytes: i64,
    update: u64,
    context: u64,
    thread: u32,
    operation: u16,
    status: u16,
    sequence: u64,
};

pub const HXP_OPERATION_CONTEXT_CREATE = 1;
pub const HXP_OPERATION_CONTEXT_RETAIN = 2;
pub const HXP_OPERATION_CONTEXT_RELEASE = 3;
pub const HXP_OPERATION_CONTEXT_MARK = 4;
pub const HXP_OPERATION_CONTEXT_SYNCHRONIZE = 5;
pub const HXP_OPERATION_CONTEXT_FAIL = 6;
pub const HXP_OPERATION_PRESSURE = 7;
pub const HXP_OPERATION_SPILL = 8;
pub const HXP_OPERATION_TENSOR_CREATE = 16;
pub const HXP_OPERATION_TENSOR_RETAIN = 17;
pub const HXP_OPERATION_TENSOR_RELEASE = 18;
pub const HXP_OPERATION_TENSOR_WRITE = 19;
pub const HXP_OPERATION_TENSOR_READ = 20;
pub const HXP_OPERATION_TENSOR_FILL = 21;
pub const HXP_OPERATION_TENSOR_ADD_IN_PLACE = 22;
pub const HXP_OPERATION_TENSOR_DIGEST = 23;
pub const HXP_OPERATION_TENSOR_CONTEXT = 24;
pub const HXP_OPERATION_TAPE_CREATE = 32;
pub const HXP_OPERATION_TAPE_RETAIN = 33;
pub const HXP_OPERATION_TAPE_RELEASE = 34;
pub const HXP_OPERATION_TAPE_WATCH = 35;
pub const HXP_OPERATION_TAPE_GRADIENT = 36;
pub const HXP_OPERATION_TAPE_BACKWARD = 37;
pub const HXP_OPERATION_TAPE_RESET = 38;
pub const HXP_OPERATION_EMBEDDING = 48;
pub const HXP_OPERATION_RMS_NORM = 49;
pub const HXP_OPERATION_LINEAR = 50;
pub const HXP_OPERATION_LORA_LINEAR = 51;
pub const HXP_OPERATION_ROPE = 52;
pub const HXP_OPERATION_ATTENTION = 53;
pub const HXP_OPERATION_SWIGLU = 54;
pub const HXP_OPERATION_ADD = 55;
pub const HXP_OPERATION_SCALE = 56;
pub const HXP_OPERATION_LINEAR_CROSS_ENTROPY = 57;
pub const HXP_OPERATION_MATMUL = 58;
pub const HXP_OPERATION_SOFTMAX = 59;
pub const HXP_OPERATION_REDUCE_SUM = 60;
pub const HXP_OPERATION_TRANSPOSE = 61;
pub const HXP_OPERATION_RESHAPE = 62;
pub const HXP_OPERATION_AS_STRIDED = 63;
pub const HXP_OPERATION_GRADIENT_NORM = 80;
pub const HXP_OPERATION_GRADIENT_CLIP = 81;
pub const HXP_OPERATION_ADAMW_STEP = 82;
pub const HXP_OPERATION_CHECKPOINT_READ = 96;
pub const HXP_OPERATION_CHECKPOINT_WRITE = 97;

pub extern fn hxp_operation_name(operation: u16) ?[*:0]const u8;
