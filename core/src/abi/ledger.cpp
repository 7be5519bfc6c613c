// Names of the ledger's operations.
#include "hexapla/ledger.h"

extern "C" const char* hxp_operation_name(uint16_t operation) {
  switch (operation) {
    case HXP_OPERATION_CONTEXT_CREATE: return "context_create";
    case HXP_OPERATION_CONTEXT_RETAIN: return "context_retain";
    case HXP_OPERATION_CONTEXT_RELEASE: return "context_release";
    case HXP_OPERATION_CONTEXT_MARK: return "context_mark";
    case HXP_OPERATION_CONTEXT_SYNCHRONIZE: return "context_synchronize";
    case HXP_OPERATION_CONTEXT_FAIL: return "context_fail";
    case HXP_OPERATION_PRESSURE: return "pressure";
    case HXP_OPERATION_SPILL: return "spill";
    case HXP_OPERATION_TENSOR_CREATE: return "tensor_create";
    case HXP_OPERATION_TENSOR_RETAIN: return "tensor_retain";
    case HXP_OPERATION_TENSOR_RELEASE: return "tensor_release";
    case HXP_OPERATION_TENSOR_WRITE: return "tensor_write";
    case HXP_OPERATION_TENSOR_READ: return "tensor_read";
    case HXP_OPERATION_TENSOR_FILL: return "tensor_fill";
    case HXP_OPERATION_TENSOR_ADD_IN_PLACE: return "tensor_add_in_place";
    case HXP_OPERATION_TENSOR_DIGEST: return "tensor_digest";
    case HXP_OPERATION_TENSOR_CONTEXT: return "tensor_context";
    case HXP_OPERATION_TAPE_CREATE: return "tape_create";
    case HXP_OPERATION_TAPE_RETAIN: return "tape_retain";
    case HXP_OPERATION_TAPE_RELEASE: return "tape_release";
    case HXP_OPERATION_TAPE_WATCH: return "tape_watch";
    case HXP_OPERATION_TAPE_GRADIENT: return "tape_gradient";
    case HXP_OPERATION_TAPE_BACKWARD: return "tape_backward";
    case HXP_OPERATION_TAPE_RESET: return "tape_reset";
    case HXP_OPERATION_EMBEDDING: return "embedding";
    case HXP_OPERATION_RMS_NORM: return "rms_norm";
    case HXP_OPERATION_LINEAR: return "linear";
    case HXP_OPERATION_LORA_LINEAR: return "lora_linear";
    case HXP_OPERATION_ROPE: return "rope";
    case HXP_OPERATION_ATTENTION: return "attention";
    case HXP_OPERATION_SWIGLU: return "swiglu";
    case HXP_OPERATION_ADD: return "add";
    case HXP_OPERATION_SCALE: return "scale";
    case HXP_OPERATION_LINEAR_CROSS_ENTROPY: return "linear_cross_entropy";
    case HXP_OPERATION_MATMUL: return "matmul";
    case HXP_OPERATION_SOFTMAX: return "softmax";
    case HXP_OPERATION_REDUCE_SUM: return "reduce_sum";
    case HXP_OPERATION_TRANSPOSE: return "transpose";
    case HXP_OPERATION_RESHAPE: return "reshape";
    case HXP_OPERATION_AS_STRIDED: return "as_strided";
    case HXP_OPERATION_GRADIENT_NORM: return "gradient_norm";
    case HXP_OPERATION_GRADIENT_CLIP: return "gradient_clip";
    case HXP_OPERATION_ADAMW_STEP: return "adamw_step";
    case HXP_OPERATION_CHECKPOINT_READ: return "checkpoint_read";
    case HXP_OPERATION_CHECKPOINT_WRITE: return "checkpoint_write";
    default: return nullptr;
  }
}
