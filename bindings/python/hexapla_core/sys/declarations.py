"""The C declarations of the core, held by hand, one text a header.

Separate because this is all that Python is told about the C side: structs, constants and functions as
cffi reads them, without comments, macros and attributes. `tests/test_sys.py` holds them to the headers
and to the library. It must not hold logic.
"""

STATUS = """
#define HXP_ABI_VERSION 1
typedef int32_t hxp_status;
enum {
  HXP_OK = 0,
  HXP_INVALID_ARGUMENT = 1,
  HXP_OUT_OF_MEMORY = 2,
  HXP_STALE_HANDLE = 3,
  HXP_WRONG_KIND = 4,
  HXP_WRONG_THREAD = 5,
  HXP_BUSY = 6,
  HXP_DEVICE = 7,
  HXP_NO_GRADIENT = 8,
  HXP_IO = 9,
  HXP_FORMAT = 10,
  HXP_NOT_FOUND = 11,
  HXP_UNSUPPORTED = 12,
  HXP_INTERNAL = 13
};
typedef struct hxp_error {
  uint32_t struct_size;
  hxp_status status;
  char message[1016];
} hxp_error;
void hxp_error_init(hxp_error *error);
const char *hxp_status_name(hxp_status status);
uint32_t hxp_abi_version(void);
const char *hxp_build_info(void);
const char *hxp_build_faults(void);
"""

CONTEXT = """
typedef uint64_t hxp_context;
enum {
  HXP_THREADS_OWNER = 1,
  HXP_SPILL = 2
};
typedef int32_t (*hxp_pressure_hook)(void *payload, uint64_t need_bytes, uint64_t live_bytes,
    uint64_t limit_bytes);
typedef struct hxp_context_options {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t threads;
  uint32_t pressure_retries;
  uint64_t memory_limit;
  const char *ledger_path;
  hxp_pressure_hook pressure_hook;
  void *pressure_payload;
} hxp_context_options;
typedef struct hxp_memory {
  uint32_t struct_size;
  uint32_t threads;
  int64_t live_bytes;
  int64_t peak_bytes;
  int64_t limit_bytes;
  int64_t live_handles;
  int64_t spilled_bytes;
  int64_t allocations;
  int64_t pressure_calls;
  int64_t pressure_rescues;
  int64_t stale_calls;
  int64_t foreign_calls;
  int64_t injected_failures;
} hxp_memory;
void hxp_context_options_init(hxp_context_options *options);
void hxp_memory_init(hxp_memory *memory);
hxp_status hxp_context_create(const char *device, const hxp_context_options *options,
    hxp_context *out, hxp_error *error);
hxp_status hxp_context_retain(hxp_context context, hxp_context *out, hxp_error *error);
hxp_status hxp_context_release(hxp_context context, hxp_error *error);
hxp_status hxp_context_device(hxp_context context, char *out, uint64_t out_bytes, hxp_error *error);
hxp_status hxp_context_memory(hxp_context context, hxp_memory *out, hxp_error *error);
hxp_status hxp_process_memory(hxp_memory *out, hxp_error *error);
hxp_status hxp_context_reset_peak(hxp_context context, hxp_error *error);
hxp_status hxp_context_mark(hxp_context context, uint64_t update, hxp_error *error);
hxp_status hxp_context_synchronize(hxp_context context, hxp_error *error);
hxp_status hxp_context_fail_allocation(hxp_context context, uint64_t nth, int32_t persistent,
    hxp_error *error);
hxp_status hxp_context_fail_next(hxp_context context, hxp_status status, hxp_error *error);
"""

TENSOR = """
typedef uint64_t hxp_tensor;
enum {
  HXP_DTYPE_F32 = 1,
  HXP_DTYPE_F16 = 2,
  HXP_DTYPE_BF16 = 3
};
enum { HXP_RANK_MAX = 8 };
typedef struct hxp_tensor_info {
  uint32_t struct_size;
  int32_t dtype;
  uint32_t rank;
  uint32_t contiguous;
  int64_t shape[8];
  int64_t strides[8];
  int64_t offset;
  uint64_t elements;
  uint64_t bytes;
} hxp_tensor_info;
void hxp_tensor_info_init(hxp_tensor_info *info);
hxp_status hxp_tensor_create(hxp_context context, int32_t dtype, uint32_t rank,
    const int64_t *shape, hxp_tensor *out, hxp_error *error);
hxp_status hxp_tensor_retain(hxp_tensor tensor, hxp_tensor *out, hxp_error *error);
hxp_status hxp_tensor_release(hxp_tensor tensor, hxp_error *error);
hxp_status hxp_tensor_describe(hxp_tensor tensor, hxp_tensor_info *out, hxp_error *error);
hxp_status hxp_tensor_context(hxp_tensor tensor, hxp_context *out, hxp_error *error);
hxp_status hxp_tensor_device(hxp_tensor tensor, char *out, uint64_t out_bytes, hxp_error *error);
hxp_status hxp_tensor_write(hxp_tensor tensor, const void *data, uint64_t data_bytes, hxp_error *error);
hxp_status hxp_tensor_read(hxp_tensor tensor, void *out, uint64_t out_bytes, hxp_error *error);
hxp_status hxp_tensor_fill(hxp_tensor tensor, double value, hxp_error *error);
hxp_status hxp_tensor_add_in_place(hxp_tensor tensor, double value, hxp_error *error);
hxp_status hxp_tensor_digest(const hxp_tensor *tensors, uint64_t count, char *out,
    uint64_t out_bytes, hxp_error *error);
"""

TAPE = """
typedef uint64_t hxp_tape;
hxp_status hxp_tape_create(hxp_context context, hxp_tape *out, hxp_error *error);
hxp_status hxp_tape_retain(hxp_tape tape, hxp_tape *out, hxp_error *error);
hxp_status hxp_tape_release(hxp_tape tape, hxp_error *error);
hxp_status hxp_tape_watch(hxp_tape tape, hxp_tensor tensor, hxp_tensor gradient, hxp_error *error);
hxp_status hxp_tape_gradient(hxp_tape tape, hxp_tensor tensor, hxp_tensor *out, hxp_error *error);
hxp_status hxp_tape_backward(hxp_tape tape, hxp_tensor output, hxp_tensor incoming, hxp_error *error);
hxp_status hxp_tape_reset(hxp_tape tape, hxp_error *error);
"""

OPS = """
hxp_status hxp_embedding(hxp_tape tape, hxp_tensor table, const int32_t *ids, uint64_t count,
    hxp_tensor *out, hxp_error *error);
hxp_status hxp_rms_norm(hxp_tape tape, hxp_tensor x, hxp_tensor gain, double epsilon,
    hxp_tensor *out, hxp_error *error);
hxp_status hxp_linear(hxp_tape tape, hxp_tensor x, hxp_tensor w, hxp_tensor *out, hxp_error *error);
hxp_status hxp_lora_linear(hxp_tape tape, hxp_tensor x, hxp_tensor w, hxp_tensor a, hxp_tensor b,
    double scale, hxp_tensor *out, hxp_error *error);
hxp_status hxp_rope(hxp_tape tape, hxp_tensor x, const int32_t *positions, uint64_t count,
    double theta, hxp_tensor *out, hxp_error *error);
hxp_status hxp_attention(hxp_tape tape, hxp_tensor q, hxp_tensor k, hxp_tensor v,
    const int32_t *starts, uint64_t starts_count, int32_t causal, hxp_tensor *out,
    hxp_error *error);
hxp_status hxp_swiglu(hxp_tape tape, hxp_tensor gate, hxp_tensor up, hxp_tensor *out, hxp_error *error);
hxp_status hxp_add(hxp_tape tape, hxp_tensor a, hxp_tensor b, hxp_tensor *out, hxp_error *error);
hxp_status hxp_scale(hxp_tape tape, hxp_tensor x, double factor, hxp_tensor *out, hxp_error *error);
hxp_status hxp_linear_cross_entropy(hxp_tape tape, hxp_tensor h, hxp_tensor w, const int32_t *rows,
    const int32_t *targets, uint64_t count, hxp_tensor *out, hxp_error *error);
hxp_status hxp_matmul(hxp_tape tape, hxp_tensor a, hxp_tensor b, hxp_tensor *out, hxp_error *error);
hxp_status hxp_softmax(hxp_tape tape, hxp_tensor x, hxp_tensor *out, hxp_error *error);
hxp_status hxp_reduce_sum(hxp_tape tape, hxp_tensor x, uint32_t axis, hxp_tensor *out,
    hxp_error *error);
hxp_status hxp_transpose(hxp_tape tape, hxp_tensor x, hxp_tensor *out, hxp_error *error);
hxp_status hxp_reshape(hxp_tape tape, hxp_tensor x, uint32_t rank, const int64_t *shape,
    hxp_tensor *out, hxp_error *error);
hxp_status hxp_as_strided(hxp_tape tape, hxp_tensor x, uint32_t rank, const int64_t *shape,
    const int64_t *strides, int64_t offset, hxp_tensor *out, hxp_error *error);
"""

OPTIMIZER = """
typedef struct hxp_adamw_options {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t step;
  double learning_rate;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
} hxp_adamw_options;
void hxp_adamw_options_init(hxp_adamw_options *options);
hxp_status hxp_gradient_norm(const hxp_tensor *gradients, uint64_t count, double *out,
    hxp_error *error);
hxp_status hxp_gradient_clip(const hxp_tensor *gradients, uint64_t count, double norm,
    double clip_norm, int32_t *clipped_out, hxp_error *error);
hxp_status hxp_adamw_step(const hxp_adamw_options *options, const hxp_tensor *parameters,
    const hxp_tensor *gradients, const hxp_tensor *exp_avgs, const hxp_tensor *exp_avg_sqs,
    uint64_t count, hxp_error *error);
"""

CHECKPOINT = """
typedef uint64_t hxp_checkpoint;
typedef struct hxp_checkpoint_entry {
  uint32_t struct_size;
  uint32_t rank;
  int64_t shape[8];
  uint64_t elements;
  uint64_t bytes;
  char dtype[16];
  const char *name;
} hxp_checkpoint_entry;
void hxp_checkpoint_entry_init(hxp_checkpoint_entry *entry);
hxp_status hxp_checkpoint_open(const char *path, hxp_checkpoint *out, hxp_error *error);
hxp_status hxp_checkpoint_retain(hxp_checkpoint checkpoint, hxp_checkpoint *out, hxp_error *error);
hxp_status hxp_checkpoint_release(hxp_checkpoint checkpoint, hxp_error *error);
hxp_status hxp_checkpoint_count(hxp_checkpoint checkpoint, uint64_t *out, hxp_error *error);
hxp_status hxp_checkpoint_describe(hxp_checkpoint checkpoint, uint64_t index,
    hxp_checkpoint_entry *out, hxp_error *error);
hxp_status hxp_checkpoint_find(hxp_checkpoint checkpoint, const char *name, uint64_t *index_out,
    hxp_error *error);
hxp_status hxp_checkpoint_read(hxp_checkpoint checkpoint, uint64_t index, hxp_context context,
    hxp_tensor *out, hxp_error *error);
hxp_status hxp_checkpoint_metadata(hxp_checkpoint checkpoint, const char *key, char *out,
    uint64_t out_bytes, hxp_error *error);
hxp_status hxp_checkpoint_write(const char *path, const char *const *names,
    const hxp_tensor *tensors, uint64_t count, const char *const *metadata_keys,
    const char *const *metadata_values, uint64_t metadata_count, hxp_error *error);
hxp_status hxp_checkpoint_commit(const char *partial, const char *final_path, hxp_error *error);
"""

TOKENIZER = """
typedef uint64_t hxp_tokenizer;
typedef struct hxp_added_token {
  uint32_t struct_size;
  int32_t id;
  uint32_t special;
  uint32_t text_bytes;
  const char *text;
} hxp_added_token;
void hxp_added_token_init(hxp_added_token *token);
hxp_status hxp_tokenizer_open(const char *folder, hxp_tokenizer *out, hxp_error *error);
hxp_status hxp_tokenizer_retain(hxp_tokenizer tokenizer, hxp_tokenizer *out, hxp_error *error);
hxp_status hxp_tokenizer_release(hxp_tokenizer tokenizer, hxp_error *error);
hxp_status hxp_tokenizer_encode(hxp_tokenizer tokenizer, const char *text, uint64_t text_bytes,
    int32_t *ids, uint64_t capacity, uint64_t *count_out, hxp_error *error);
hxp_status hxp_tokenizer_id(hxp_tokenizer tokenizer, const char *text, int32_t *id_out,
    hxp_error *error);
hxp_status hxp_tokenizer_added_count(hxp_tokenizer tokenizer, uint64_t *out, hxp_error *error);
hxp_status hxp_tokenizer_added(hxp_tokenizer tokenizer, uint64_t index, hxp_added_token *out,
    hxp_error *error);
"""

GATE = """
typedef uint64_t hxp_gate;
hxp_status hxp_gate_create(hxp_gate *out, hxp_error *error);
hxp_status hxp_gate_retain(hxp_gate gate, hxp_gate *out, hxp_error *error);
hxp_status hxp_gate_release(hxp_gate gate, hxp_error *error);
hxp_status hxp_gate_wait(hxp_gate gate, hxp_error *error);
hxp_status hxp_gate_open(hxp_gate gate, hxp_error *error);
"""

LEDGER = """
enum {
  HXP_LEDGER_VERSION = 1,
  HXP_LEDGER_HEADER_BYTES = 4096,
  HXP_LEDGER_RECORD_BYTES = 64,
  HXP_LEDGER_CAPACITY = 1048576
};
typedef struct hxp_ledger_header {
  char magic[4];
  uint32_t version;
  uint32_t record_bytes;
  uint32_t capacity;
  uint64_t written;
  int64_t live_bytes;
  int64_t peak_bytes;
  int64_t limit_bytes;
  int64_t live_handles;
} hxp_ledger_header;
typedef struct hxp_ledger_record {
  uint64_t time_ns;
  uint64_t handle;
  int64_t bytes;
  int64_t live_bytes;
  uint64_t update;
  uint64_t context;
  uint32_t thread;
  uint16_t operation;
  uint16_t status;
  uint64_t sequence;
} hxp_ledger_record;
enum {
  HXP_OPERATION_CONTEXT_CREATE = 1,
  HXP_OPERATION_CONTEXT_RETAIN = 2,
  HXP_OPERATION_CONTEXT_RELEASE = 3,
  HXP_OPERATION_CONTEXT_MARK = 4,
  HXP_OPERATION_CONTEXT_SYNCHRONIZE = 5,
  HXP_OPERATION_CONTEXT_FAIL = 6,
  HXP_OPERATION_PRESSURE = 7,
  HXP_OPERATION_SPILL = 8,
  HXP_OPERATION_TENSOR_CREATE = 16,
  HXP_OPERATION_TENSOR_RETAIN = 17,
  HXP_OPERATION_TENSOR_RELEASE = 18,
  HXP_OPERATION_TENSOR_WRITE = 19,
  HXP_OPERATION_TENSOR_READ = 20,
  HXP_OPERATION_TENSOR_FILL = 21,
  HXP_OPERATION_TENSOR_ADD_IN_PLACE = 22,
  HXP_OPERATION_TENSOR_DIGEST = 23,
  HXP_OPERATION_TENSOR_CONTEXT = 24,
  HXP_OPERATION_TAPE_CREATE = 32,
  HXP_OPERATION_TAPE_RETAIN = 33,
  HXP_OPERATION_TAPE_RELEASE = 34,
  HXP_OPERATION_TAPE_WATCH = 35,
  HXP_OPERATION_TAPE_GRADIENT = 36,
  HXP_OPERATION_TAPE_BACKWARD = 37,
  HXP_OPERATION_TAPE_RESET = 38,
  HXP_OPERATION_EMBEDDING = 48,
  HXP_OPERATION_RMS_NORM = 49,
  HXP_OPERATION_LINEAR = 50,
  HXP_OPERATION_LORA_LINEAR = 51,
  HXP_OPERATION_ROPE = 52,
  HXP_OPERATION_ATTENTION = 53,
  HXP_OPERATION_SWIGLU = 54,
  HXP_OPERATION_ADD = 55,
  HXP_OPERATION_SCALE = 56,
  HXP_OPERATION_LINEAR_CROSS_ENTROPY = 57,
  HXP_OPERATION_MATMUL = 58,
  HXP_OPERATION_SOFTMAX = 59,
  HXP_OPERATION_REDUCE_SUM = 60,
  HXP_OPERATION_TRANSPOSE = 61,
  HXP_OPERATION_RESHAPE = 62,
  HXP_OPERATION_AS_STRIDED = 63,
  HXP_OPERATION_GRADIENT_NORM = 80,
  HXP_OPERATION_GRADIENT_CLIP = 81,
  HXP_OPERATION_ADAMW_STEP = 82,
  HXP_OPERATION_CHECKPOINT_READ = 96,
  HXP_OPERATION_CHECKPOINT_WRITE = 97
};
const char *hxp_operation_name(uint16_t operation);
"""

ALL = STATUS + CONTEXT + TENSOR + TAPE + OPS + OPTIMIZER + CHECKPOINT + TOKENIZER + GATE + LEDGER
