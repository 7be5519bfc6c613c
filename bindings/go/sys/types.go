// Package sys declares the C ABI of the Hexapla core for Go: types, constants and one function per C function, with no logic of its own.
//
// The types and constants are written out here by hand rather than taken from the header by cgo: the trainer's `abi` request
// reports them, and the harness compares that report with the C compiler's view. Function prototypes do come from the header, so that
// a changed signature fails the build. Programs use package hexapla instead; this one may change with the ABI.
package sys

// Handles are 64-bit ids, tagged by kind and never used twice; 0 is no handle.
type (
	Context    uint64
	Tensor     uint64
	Tape       uint64
	Checkpoint uint64
	Tokenizer  uint64
	Gate       uint64
)

// Status is what a call answers.
type Status int32

// PressureHook is the address of a C function of type hxp_pressure_hook.
type PressureHook uintptr

// Error is the struct that a failing call fills.
type Error struct {
	StructSize uint32
	Status     Status
	Message    [1016]byte
}

// ContextOptions is hxp_context_options. LedgerPath must be pinned memory or C memory during the call.
type ContextOptions struct {
	StructSize      uint32
	Flags           uint32
	Threads         uint32
	PressureRetries uint32
	MemoryLimit     uint64
	LedgerPath      *byte
	PressureHook    PressureHook
	PressurePayload uintptr
}

// Memory is a memory account.
type Memory struct {
	StructSize       uint32
	Threads          uint32
	LiveBytes        int64
	PeakBytes        int64
	LimitBytes       int64
	LiveHandles      int64
	SpilledBytes     int64
	Allocations      int64
	PressureCalls    int64
	PressureRescues  int64
	StaleCalls       int64
	ForeignCalls     int64
	InjectedFailures int64
}

// TensorInfo is hxp_tensor_info; strides and offset count elements.
type TensorInfo struct {
	StructSize uint32
	Dtype      int32
	Rank       uint32
	Contiguous uint32
	Shape      [8]int64
	Strides    [8]int64
	Offset     int64
	Elements   uint64
	Bytes      uint64
}

// CheckpointEntry is hxp_checkpoint_entry; Name is a view that dies with the checkpoint.
type CheckpointEntry struct {
	StructSize uint32
	Rank       uint32
	Shape      [8]int64
	Elements   uint64
	Bytes      uint64
	Dtype      [16]byte
	Name       *byte
}

// AddedToken is hxp_added_token; Text is a view that dies with the tokenizer.
type AddedToken struct {
	StructSize uint32
	Id         int32
	Special    uint32
	TextBytes  uint32
	Text       *byte
}

// AdamwOptions is hxp_adamw_options.
type AdamwOptions struct {
	StructSize   uint32
	Reserved     uint32
	Step         uint64
	LearningRate float64
	Beta1        float64
	Beta2        float64
	Epsilon      float64
	WeightDecay  float64
}

// LedgerHeader is the start of a ledger file.
type LedgerHeader struct {
	Magic       [4]byte
	Version     uint32
	RecordBytes uint32
	Capacity    uint32
	Written     uint64
	LiveBytes   int64
	PeakBytes   int64
	LimitBytes  int64
	LiveHandles int64
}

// LedgerRecord is one call in a ledger file.
type LedgerRecord struct {
	TimeNs    uint64
	Handle    uint64
	Bytes     int64
	LiveBytes int64
	Update    uint64
	Context   uint64
	Thread    uint32
	Operation uint16
	Status    uint16
	Sequence  uint64
}
