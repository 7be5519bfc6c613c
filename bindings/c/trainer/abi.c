/* The request `abi`: sizes, offsets and constants of the public headers as this compiler sees them. The tables are written out by hand,
 * as in every binding: what is compared are languages, not one list with itself. */
#include "abi.h"

#include <stddef.h>

typedef struct field {
  const char *name;
  size_t offset, size;
} field;

#define FIELD(type, name) {#name, offsetof(type, name), sizeof(((type *)0)->name)}
#define END {NULL, 0, 0}

static const field error_fields[] = {
    FIELD(hxp_error, struct_size), FIELD(hxp_error, status), FIELD(hxp_error, message), END,
};

static const field context_options_fields[] = {
    FIELD(hxp_context_options, struct_size), FIELD(hxp_context_options, flags), FIELD(hxp_context_options, threads),
    FIELD(hxp_context_options, pressure_retries), FIELD(hxp_context_options, memory_limit),
    FIELD(hxp_context_options, ledger_path), FIELD(hxp_context_options, pressure_hook),
    FIELD(hxp_context_options, pressure_payload), END,
};

static const field memory_fields[] = {
    FIELD(hxp_memory, struct_size), FIELD(hxp_memory, threads), FIELD(hxp_memory, live_bytes), FIELD(hxp_memory, peak_bytes),
    FIELD(hxp_memory, limit_bytes), FIELD(hxp_memory, live_handles), FIELD(hxp_memory, spilled_bytes),
    FIELD(hxp_memory, allocations), FIELD(hxp_memory, pressure_calls), FIELD(hxp_memory, pressure_rescues),
    FIELD(hxp_memory, stale_calls), FIELD(hxp_memory, foreign_calls), FIELD(hxp_memory, injected_failures), END,
};

static const field tensor_info_fields[] = {
    FIELD(hxp_tensor_info, struct_size), FIELD(hxp_tensor_info, dtype), FIELD(hxp_tensor_info, rank),
    FIELD(hxp_tensor_info, contiguous), FIELD(hxp_tensor_info, shape), FIELD(hxp_tensor_info, strides),
    FIELD(hxp_tensor_info, offset), FIELD(hxp_tensor_info, elements), FIELD(hxp_tensor_info, bytes), END,
};

static const field adamw_options_fields[] = {
    FIELD(hxp_adamw_options, struct_size), FIELD(hxp_adamw_options, reserved), FIELD(hxp_adamw_options, step),
    FIELD(hxp_adamw_options, learning_rate), FIELD(hxp_adamw_options, beta1), FIELD(hxp_adamw_options, beta2),
    FIELD(hxp_adamw_options, epsilon), FIELD(hxp_adamw_options, weight_decay), END,
};

static const field checkpoint_entry_fields[] = {
    FIELD(hxp_checkpoint_entry, struct_size), FIELD(hxp_checkpoint_entry, rank), FIELD(hxp_checkpoint_entry, shape),
    FIELD(hxp_checkpoint_entry, elements), FIELD(hxp_checkpoint_entry, bytes), FIELD(hxp_checkpoint_entry, dtype),
    FIELD(hxp_checkpoint_entry, name), END,
};

static const field added_token_fields[] = {
    FIELD(hxp_added_token, struct_size), FIELD(hxp_added_token, id), FIELD(hxp_added_token, special),
    FIELD(hxp_added_token, text_bytes), FIELD(hxp_added_token, text), END,
};

static const field ledger_header_fields[] = {
    FIELD(hxp_ledger_header, magic), FIELD(hxp_ledger_header, version), FIELD(hxp_ledger_header, record_bytes),
    FIELD(hxp_ledger_header, capacity), FIELD(hxp_ledger_header, written), FIELD(hxp_ledger_header, live_bytes),
    FIELD(hxp_ledger_header, peak_bytes), FIELD(hxp_ledger_header, limit_bytes), FIELD(hxp_ledger_header, live_handles), END,
};

static const field ledger_record_fields[] = {
    FIELD(hxp_ledger_record, time_ns), FIELD(hxp_ledger_record, handle), FIELD(hxp_ledger_record, bytes),
    FIELD(hxp_ledger_record, live_bytes), FIELD(hxp_ledger_record, update), FIELD(hxp_ledger_record, context),
    FIELD(hxp_ledger_record, thread), FIELD(hxp_ledger_record, operation), FIELD(hxp_ledger_record, status),
    FIELD(hxp_ledger_record, sequence), END,
};

static const field no_fields[] = {END};

static const struct {
  const char *name;
  size_t size, align;
  const field *fields;
} types[] = {
    {"hxp_status", sizeof(hxp_status), _Alignof(hxp_status), no_fields},
    {"hxp_context", sizeof(hxp_context), _Alignof(hxp_context), no_fields},
    {"hxp_pressure_hook", sizeof(hxp_pressure_hook), _Alignof(hxp_pressure_hook), no_fields},
    {"hxp_gate", sizeof(hxp_gate), _Alignof(hxp_gate), no_fields},
    {"hxp_tensor", sizeof(hxp_tensor), _Alignof(hxp_tensor), no_fields},
    {"hxp_tape", sizeof(hxp_tape), _Alignof(hxp_tape), no_fields},
    {"hxp_checkpoint", sizeof(hxp_checkpoint), _Alignof(hxp_checkpoint), no_fields},
    {"hxp_tokenizer", sizeof(hxp_tokenizer), _Alignof(hxp_tokenizer), no_fields},
    {"hxp_error", sizeof(hxp_error), _Alignof(hxp_error), error_fields},
    {"hxp_context_options", sizeof(hxp_context_options), _Alignof(hxp_context_options), context_options_fields},
    {"hxp_memory", sizeof(hxp_memory), _Alignof(hxp_memory), memory_fields},
    {"hxp_tensor_info", sizeof(hxp_tensor_info), _Alignof(hxp_tensor_info), tensor_info_fields},
    {"hxp_adamw_options", sizeof(hxp_adamw_options), _Alignof(hxp_adamw_options), adamw_options_fields},
    {"hxp_checkpoint_entry", sizeof(hxp_checkpoint_entry), _Alignof(hxp_checkpoint_entry), checkpoint_entry_fields},
    {"hxp_added_token", sizeof(hxp_added_token), _Alignof(hxp_added_token), added_token_fields},
    {"hxp_ledger_header", sizeof(hxp_ledger_header), _Alignof(hxp_ledger_header), ledger_header_fields},
    {"hxp_ledger_record", sizeof(hxp_ledger_record), _Alignof(hxp_ledger_record), ledger_record_fields},
};

#define CONSTANT(name) {#name, name}

static const struct {
  const char *name;
  int64_t value;
} constants[] = {
    CONSTANT(HXP_ABI_VERSION), CONSTANT(HXP_OK), CONSTANT(HXP_INVALID_ARGUMENT), CONSTANT(HXP_OUT_OF_MEMORY),
    CONSTANT(HXP_STALE_HANDLE), CONSTANT(HXP_WRONG_KIND), CONSTANT(HXP_WRONG_THREAD), CONSTANT(HXP_BUSY),
    CONSTANT(HXP_DEVICE), CONSTANT(HXP_NO_GRADIENT), CONSTANT(HXP_IO), CONSTANT(HXP_FORMAT), CONSTANT(HXP_NOT_FOUND),
    CONSTANT(HXP_UNSUPPORTED), CONSTANT(HXP_INTERNAL), CONSTANT(HXP_THREADS_OWNER), CONSTANT(HXP_SPILL),
    CONSTANT(HXP_DTYPE_F32), CONSTANT(HXP_DTYPE_F16), CONSTANT(HXP_DTYPE_BF16), CONSTANT(HXP_RANK_MAX),
    CONSTANT(HXP_LEDGER_VERSION), CONSTANT(HXP_LEDGER_HEADER_BYTES), CONSTANT(HXP_LEDGER_RECORD_BYTES),
    CONSTANT(HXP_LEDGER_CAPACITY), CONSTANT(HXP_OPERATION_CONTEXT_CREATE), CONSTANT(HXP_OPERATION_CONTEXT_RETAIN),
    CONSTANT(HXP_OPERATION_CONTEXT_RELEASE), CONSTANT(HXP_OPERATION_CONTEXT_MARK),
    CONSTANT(HXP_OPERATION_CONTEXT_SYNCHRONIZE), CONSTANT(HXP_OPERATION_CONTEXT_FAIL), CONSTANT(HXP_OPERATION_PRESSURE),
    CONSTANT(HXP_OPERATION_SPILL), CONSTANT(HXP_OPERATION_TENSOR_CREATE), CONSTANT(HXP_OPERATION_TENSOR_RETAIN),
    CONSTANT(HXP_OPERATION_TENSOR_RELEASE), CONSTANT(HXP_OPERATION_TENSOR_WRITE), CONSTANT(HXP_OPERATION_TENSOR_READ),
    CONSTANT(HXP_OPERATION_TENSOR_FILL), CONSTANT(HXP_OPERATION_TENSOR_ADD_IN_PLACE), CONSTANT(HXP_OPERATION_TENSOR_DIGEST),
    CONSTANT(HXP_OPERATION_TENSOR_CONTEXT), CONSTANT(HXP_OPERATION_TAPE_CREATE), CONSTANT(HXP_OPERATION_TAPE_RETAIN),
    CONSTANT(HXP_OPERATION_TAPE_RELEASE), CONSTANT(HXP_OPERATION_TAPE_WATCH), CONSTANT(HXP_OPERATION_TAPE_GRADIENT),
    CONSTANT(HXP_OPERATION_TAPE_BACKWARD), CONSTANT(HXP_OPERATION_TAPE_RESET), CONSTANT(HXP_OPERATION_EMBEDDING),
    CONSTANT(HXP_OPERATION_RMS_NORM), CONSTANT(HXP_OPERATION_LINEAR), CONSTANT(HXP_OPERATION_LORA_LINEAR),
    CONSTANT(HXP_OPERATION_ROPE), CONSTANT(HXP_OPERATION_ATTENTION), CONSTANT(HXP_OPERATION_SWIGLU),
    CONSTANT(HXP_OPERATION_ADD), CONSTANT(HXP_OPERATION_SCALE), CONSTANT(HXP_OPERATION_LINEAR_CROSS_ENTROPY),
    CONSTANT(HXP_OPERATION_MATMUL), CONSTANT(HXP_OPERATION_SOFTMAX), CONSTANT(HXP_OPERATION_REDUCE_SUM),
    CONSTANT(HXP_OPERATION_TRANSPOSE), CONSTANT(HXP_OPERATION_RESHAPE), CONSTANT(HXP_OPERATION_AS_STRIDED),
    CONSTANT(HXP_OPERATION_GRADIENT_NORM), CONSTANT(HXP_OPERATION_GRADIENT_CLIP), CONSTANT(HXP_OPERATION_ADAMW_STEP),
    CONSTANT(HXP_OPERATION_CHECKPOINT_READ), CONSTANT(HXP_OPERATION_CHECKPOINT_WRITE),
};

bool handle_abi(const request *r, failure *f) {
  if (!request_keys(r->body, "request", "protocol:i id:s request:s", f)) return false;
  event e = event_begin(r->id, r->id_length, "abi");
  event_integer(&e, "abi_version", hxp_abi_version());
  event_key(&e, "types");
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    text_format(&e.line, "%s\"%s\":{\"size\":%zu,\"align\":%zu,\"fields\":{", i ? "," : "{", types[i].name, types[i].size, types[i].align);
    for (const field *one = types[i].fields; one->name != NULL; one++)
      text_format(&e.line, "%s\"%s\":[%zu,%zu]", one == types[i].fields ? "" : ",", one->name, one->offset, one->size);
    text_string(&e.line, "}}");
  }
  text_string(&e.line, "}");
  event_key(&e, "constants");
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
    text_format(&e.line, "%s\"%s\":%lld", i ? "," : "{", constants[i].name, (long long)constants[i].value);
  text_string(&e.line, "}");
  event_send(&e);
  event done = event_begin(r->id, r->id_length, "done");
  event_send(&done);
  return true;
}
