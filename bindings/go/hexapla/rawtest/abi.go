package rawtest

// The ABI as Go lays it out: package sys's own structs, measured by reflection, never asked of C.

import (
	"reflect"
	"strings"
	"unicode"

	"hexapla-go/sys"
)

// Layout is a type's size and alignment in bytes; of a struct, each field's offset and size too.
type Layout struct {
	Size, Align int
	Fields      map[string][2]int
}

// ABIVersion is the version that package sys was written for.
const ABIVersion = sys.ABIVersion

// Layouts lists every struct and handle alias of the headers under its C name.
func Layouts() map[string]Layout {
	layouts := map[string]Layout{}
	for name, value := range map[string]any{
		"hxp_context":          sys.Context(0),
		"hxp_tensor":           sys.Tensor(0),
		"hxp_tape":             sys.Tape(0),
		"hxp_checkpoint":       sys.Checkpoint(0),
		"hxp_tokenizer":        sys.Tokenizer(0),
		"hxp_gate":             sys.Gate(0),
		"hxp_status":           sys.Status(0),
		"hxp_pressure_hook":    sys.PressureHook(0),
		"hxp_error":            sys.Error{},
		"hxp_context_options":  sys.ContextOptions{},
		"hxp_memory":           sys.Memory{},
		"hxp_tensor_info":      sys.TensorInfo{},
		"hxp_checkpoint_entry": sys.CheckpointEntry{},
		"hxp_added_token":      sys.AddedToken{},
		"hxp_adamw_options":    sys.AdamwOptions{},
		"hxp_ledger_header":    sys.LedgerHeader{},
		"hxp_ledger_record":    sys.LedgerRecord{},
	} {
		layouts[name] = layoutOf(reflect.TypeOf(value))
	}
	return layouts
}

func layoutOf(t reflect.Type) Layout {
	layout := Layout{int(t.Size()), t.Align(), map[string][2]int{}}
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			field := t.Field(i)
			layout.Fields[snake(field.Name)] = [2]int{int(field.Offset), int(field.Type.Size())}
		}
	}
	return layout
}

// snake is a Go field's name in C: StructSize is struct_size.
func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// Constants lists every constant of the headers under its C name.
func Constants() map[string]int64 {
	return map[string]int64{
		"HXP_ABI_VERSION":                    sys.ABIVersion,
		"HXP_OK":                             sys.OK,
		"HXP_INVALID_ARGUMENT":               sys.InvalidArgument,
		"HXP_OUT_OF_MEMORY":                  sys.OutOfMemory,
		"HXP_STALE_HANDLE":                   sys.StaleHandle,
		"HXP_WRONG_KIND":                     sys.WrongKind,
		"HXP_WRONG_THREAD":                   sys.WrongThread,
		"HXP_BUSY":                           sys.Busy,
		"HXP_DEVICE":                         sys.Device,
		"HXP_NO_GRADIENT":                    sys.NoGradient,
		"HXP_IO":                             sys.IO,
		"HXP_FORMAT":                         sys.Format,
		"HXP_NOT_FOUND":                      sys.NotFound,
		"HXP_UNSUPPORTED":                    sys.Unsupported,
		"HXP_INTERNAL":                       sys.Internal,
		"HXP_THREADS_OWNER":                  sys.ThreadsOwner,
		"HXP_SPILL":                          sys.Spill,
		"HXP_DTYPE_F32":                      sys.DtypeF32,
		"HXP_DTYPE_F16":                      sys.DtypeF16,
		"HXP_DTYPE_BF16":                     sys.DtypeBF16,
		"HXP_RANK_MAX":                       sys.RankMax,
		"HXP_LEDGER_VERSION":                 sys.LedgerVersion,
		"HXP_LEDGER_HEADER_BYTES":            sys.LedgerHeaderBytes,
		"HXP_LEDGER_RECORD_BYTES":            sys.LedgerRecordBytes,
		"HXP_LEDGER_CAPACITY":                sys.LedgerCapacity,
		"HXP_OPERATION_CONTEXT_CREATE":       sys.OperationContextCreate,
		"HXP_OPERATION_CONTEXT_RETAIN":       sys.OperationContextRetain,
		"HXP_OPERATION_CONTEXT_RELEASE":      sys.OperationContextRelease,
		"HXP_OPERATION_CONTEXT_MARK":         sys.OperationContextMark,
		"HXP_OPERATION_CONTEXT_SYNCHRONIZE":  sys.OperationContextSynchronize,
		"HXP_OPERATION_CONTEXT_FAIL":         sys.OperationContextFail,
		"HXP_OPERATION_PRESSURE":             sys.OperationPressure,
		"HXP_OPERATION_SPILL":                sys.OperationSpill,
		"HXP_OPERATION_TENSOR_CREATE":        sys.OperationTensorCreate,
		"HXP_OPERATION_TENSOR_RETAIN":        sys.OperationTensorRetain,
		"HXP_OPERATION_TENSOR_RELEASE":       sys.OperationTensorRelease,
		"HXP_OPERATION_TENSOR_WRITE":         sys.OperationTensorWrite,
		"HXP_OPERATION_TENSOR_READ":          sys.OperationTensorRead,
		"HXP_OPERATION_TENSOR_FILL":          sys.OperationTensorFill,
		"HXP_OPERATION_TENSOR_ADD_IN_PLACE":  sys.OperationTensorAddInPlace,
		"HXP_OPERATION_TENSOR_DIGEST":        sys.OperationTensorDigest,
		"HXP_OPERATION_TENSOR_CONTEXT":       sys.OperationTensorContext,
		"HXP_OPERATION_TAPE_CREATE":          sys.OperationTapeCreate,
		"HXP_OPERATION_TAPE_RETAIN":          sys.OperationTapeRetain,
		"HXP_OPERATION_TAPE_RELEASE":         sys.OperationTapeRelease,
		"HXP_OPERATION_TAPE_WATCH":           sys.OperationTapeWatch,
		"HXP_OPERATION_TAPE_GRADIENT":        sys.OperationTapeGradient,
		"HXP_OPERATION_TAPE_BACKWARD":        sys.OperationTapeBackward,
		"HXP_OPERATION_TAPE_RESET":           sys.OperationTapeReset,
		"HXP_OPERATION_EMBEDDING":            sys.OperationEmbedding,
		"HXP_OPERATION_RMS_NORM":             sys.OperationRmsNorm,
		"HXP_OPERATION_LINEAR":               sys.OperationLinear,
		"HXP_OPERATION_LORA_LINEAR":          sys.OperationLoraLinear,
		"HXP_OPERATION_ROPE":                 sys.OperationRope,
		"HXP_OPERATION_ATTENTION":            sys.OperationAttention,
		"HXP_OPERATION_SWIGLU":               sys.OperationSwiglu,
		"HXP_OPERATION_ADD":                  sys.OperationAdd,
		"HXP_OPERATION_SCALE":                sys.OperationScale,
		"HXP_OPERATION_LINEAR_CROSS_ENTROPY": sys.OperationLinearCrossEntropy,
		"HXP_OPERATION_MATMUL":               sys.OperationMatmul,
		"HXP_OPERATION_SOFTMAX":              sys.OperationSoftmax,
		"HXP_OPERATION_REDUCE_SUM":           sys.OperationReduceSum,
		"HXP_OPERATION_TRANSPOSE":            sys.OperationTranspose,
		"HXP_OPERATION_RESHAPE":              sys.OperationReshape,
		"HXP_OPERATION_AS_STRIDED":           sys.OperationAsStrided,
		"HXP_OPERATION_GRADIENT_NORM":        sys.OperationGradientNorm,
		"HXP_OPERATION_GRADIENT_CLIP":        sys.OperationGradientClip,
		"HXP_OPERATION_ADAMW_STEP":           sys.OperationAdamwStep,
		"HXP_OPERATION_CHECKPOINT_READ":      sys.OperationCheckpointRead,
		"HXP_OPERATION_CHECKPOINT_WRITE":     sys.OperationCheckpointWrite,
	}
}
