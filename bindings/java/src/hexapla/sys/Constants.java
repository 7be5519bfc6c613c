// The constants of the public headers under their C names.
//
// Separate because `abi` lists this class as it stands: whatever is added here is held against C.

package hexapla.sys;

/** All constants of the headers. */
public final class Constants {
    /** The ABI that these declarations describe; compared with the library's when it is opened. */
    public static final int HXP_ABI_VERSION = 1;

    /** {@code HXP_OK}. */
    public static final int HXP_OK = 0;

    /** {@code HXP_INVALID_ARGUMENT}. */
    public static final int HXP_INVALID_ARGUMENT = 1;

    /** {@code HXP_OUT_OF_MEMORY}. */
    public static final int HXP_OUT_OF_MEMORY = 2;

    /** {@code HXP_STALE_HANDLE}. */
    public static final int HXP_STALE_HANDLE = 3;

    /** {@code HXP_WRONG_KIND}. */
    public static final int HXP_WRONG_KIND = 4;

    /** {@code HXP_WRONG_THREAD}. */
    public static final int HXP_WRONG_THREAD = 5;

    /** {@code HXP_BUSY}. */
    public static final int HXP_BUSY = 6;

    /** {@code HXP_DEVICE}. */
    public static final int HXP_DEVICE = 7;

    /** {@code HXP_NO_GRADIENT}. */
    public static final int HXP_NO_GRADIENT = 8;

    /** {@code HXP_IO}. */
    public static final int HXP_IO = 9;

    /** {@code HXP_FORMAT}. */
    public static final int HXP_FORMAT = 10;

    /** {@code HXP_NOT_FOUND}. */
    public static final int HXP_NOT_FOUND = 11;

    /** {@code HXP_UNSUPPORTED}. */
    public static final int HXP_UNSUPPORTED = 12;

    /** {@code HXP_INTERNAL}. */
    public static final int HXP_INTERNAL = 13;

    /** {@code HXP_THREADS_OWNER}. */
    public static final int HXP_THREADS_OWNER = 1;

    /** {@code HXP_SPILL}. */
    public static final int HXP_SPILL = 2;

    /** {@code HXP_DTYPE_F32}. */
    public static final int HXP_DTYPE_F32 = 1;

    /** {@code HXP_DTYPE_F16}. */
    public static final int HXP_DTYPE_F16 = 2;

    /** {@code HXP_DTYPE_BF16}. */
    public static final int HXP_DTYPE_BF16 = 3;

    /** {@code HXP_RANK_MAX}. */
    public static final int HXP_RANK_MAX = 8;

    /** {@code HXP_LEDGER_VERSION}. */
    public static final int HXP_LEDGER_VERSION = 1;

    /** {@code HXP_LEDGER_HEADER_BYTES}. */
    public static final int HXP_LEDGER_HEADER_BYTES = 4096;

    /** {@code HXP_LEDGER_RECORD_BYTES}. */
    public static final int HXP_LEDGER_RECORD_BYTES = 64;

    /** {@code HXP_LEDGER_CAPACITY}. */
    public static final int HXP_LEDGER_CAPACITY = 1048576;

    /** {@code HXP_OPERATION_CONTEXT_CREATE}. */
    public static final int HXP_OPERATION_CONTEXT_CREATE = 1;

    /** {@code HXP_OPERATION_CONTEXT_RETAIN}. */
    public static final int HXP_OPERATION_CONTEXT_RETAIN = 2;

    /** {@code HXP_OPERATION_CONTEXT_RELEASE}. */
    public static final int HXP_OPERATION_CONTEXT_RELEASE = 3;

    /** {@code HXP_OPERATION_CONTEXT_MARK}. */
    public static final int HXP_OPERATION_CONTEXT_MARK = 4;

    /** {@code HXP_OPERATION_CONTEXT_SYNCHRONIZE}. */
    public static final int HXP_OPERATION_CONTEXT_SYNCHRONIZE = 5;

    /** {@code HXP_OPERATION_CONTEXT_FAIL}. */
    public static final int HXP_OPERATION_CONTEXT_FAIL = 6;

    /** {@code HXP_OPERATION_PRESSURE}. */
    public static final int HXP_OPERATION_PRESSURE = 7;

    /** {@code HXP_OPERATION_SPILL}. */
    public static final int HXP_OPERATION_SPILL = 8;

    /** {@code HXP_OPERATION_TENSOR_CREATE}. */
    public static final int HXP_OPERATION_TENSOR_CREATE = 16;

    /** {@code HXP_OPERATION_TENSOR_RETAIN}. */
    public static final int HXP_OPERATION_TENSOR_RETAIN = 17;

    /** {@code HXP_OPERATION_TENSOR_RELEASE}. */
    public static final int HXP_OPERATION_TENSOR_RELEASE = 18;

    /** {@code HXP_OPERATION_TENSOR_WRITE}. */
    public static final int HXP_OPERATION_TENSOR_WRITE = 19;

    /** {@code HXP_OPERATION_TENSOR_READ}. */
    public static final int HXP_OPERATION_TENSOR_READ = 20;

    /** {@code HXP_OPERATION_TENSOR_FILL}. */
    public static final int HXP_OPERATION_TENSOR_FILL = 21;

    /** {@code HXP_OPERATION_TENSOR_ADD_IN_PLACE}. */
    public static final int HXP_OPERATION_TENSOR_ADD_IN_PLACE = 22;

    /** {@code HXP_OPERATION_TENSOR_DIGEST}. */
    public static final int HXP_OPERATION_TENSOR_DIGEST = 23;

    /** {@code HXP_OPERATION_TENSOR_CONTEXT}. */
    public static final int HXP_OPERATION_TENSOR_CONTEXT = 24;

    /** {@code HXP_OPERATION_TAPE_CREATE}. */
    public static final int HXP_OPERATION_TAPE_CREATE = 32;

    /** {@code HXP_OPERATION_TAPE_RETAIN}. */
    public static final int HXP_OPERATION_TAPE_RETAIN = 33;

    /** {@code HXP_OPERATION_TAPE_RELEASE}. */
    public static final int HXP_OPERATION_TAPE_RELEASE = 34;

    /** {@code HXP_OPERATION_TAPE_WATCH}. */
    public static final int HXP_OPERATION_TAPE_WATCH = 35;

    /** {@code HXP_OPERATION_TAPE_GRADIENT}. */
    public static final int HXP_OPERATION_TAPE_GRADIENT = 36;

    /** {@code HXP_OPERATION_TAPE_BACKWARD}. */
    public static final int HXP_OPERATION_TAPE_BACKWARD = 37;

    /** {@code HXP_OPERATION_TAPE_RESET}. */
    public static final int HXP_OPERATION_TAPE_RESET = 38;

    /** {@code HXP_OPERATION_EMBEDDING}. */
    public static final int HXP_OPERATION_EMBEDDING = 48;

    /** {@code HXP_OPERATION_RMS_NORM}. */
    public static final int HXP_OPERATION_RMS_NORM = 49;

    /** {@code HXP_OPERATION_LINEAR}. */
    public static final int HXP_OPERATION_LINEAR = 50;

    /** {@code HXP_OPERATION_LORA_LINEAR}. */
    public static final int HXP_OPERATION_LORA_LINEAR = 51;

    /** {@code HXP_OPERATION_ROPE}. */
    public static final int HXP_OPERATION_ROPE = 52;

    /** {@code HXP_OPERATION_ATTENTION}. */
    public static final int HXP_OPERATION_ATTENTION = 53;

    /** {@code HXP_OPERATION_SWIGLU}. */
    public static final int HXP_OPERATION_SWIGLU = 54;

    /** {@code HXP_OPERATION_ADD}. */
    public static final int HXP_OPERATION_ADD = 55;

    /** {@code HXP_OPERATION_SCALE}. */
    public static final int HXP_OPERATION_SCALE = 56;

    /** {@code HXP_OPERATION_LINEAR_CROSS_ENTROPY}. */
    public static final int HXP_OPERATION_LINEAR_CROSS_ENTROPY = 57;

    /** {@code HXP_OPERATION_MATMUL}. */
    public static final int HXP_OPERATION_MATMUL = 58;

    /** {@code HXP_OPERATION_SOFTMAX}. */
    public static final int HXP_OPERATION_SOFTMAX = 59;

    /** {@code HXP_OPERATION_REDUCE_SUM}. */
    public static final int HXP_OPERATION_REDUCE_SUM = 60;

    /** {@code HXP_OPERATION_TRANSPOSE}. */
    public static final int HXP_OPERATION_TRANSPOSE = 61;

    /** {@code HXP_OPERATION_RESHAPE}. */
    public static final int HXP_OPERATION_RESHAPE = 62;

    /** {@code HXP_OPERATION_AS_STRIDED}. */
    public static final int HXP_OPERATION_AS_STRIDED = 63;

    /** {@code HXP_OPERATION_GRADIENT_NORM}. */
    public static final int HXP_OPERATION_GRADIENT_NORM = 80;

    /** {@code HXP_OPERATION_GRADIENT_CLIP}. */
    public static final int HXP_OPERATION_GRADIENT_CLIP = 81;

    /** {@code HXP_OPERATION_ADAMW_STEP}. */
    public static final int HXP_OPERATION_ADAMW_STEP = 82;

    /** {@code HXP_OPERATION_CHECKPOINT_READ}. */
    public static final int HXP_OPERATION_CHECKPOINT_READ = 96;

    /** {@code HXP_OPERATION_CHECKPOINT_WRITE}. */
    public static final int HXP_OPERATION_CHECKPOINT_WRITE = 97;

    private Constants() {}
}
