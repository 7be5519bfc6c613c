package sys

// The constants of the public headers. They are numbers without a type, as in C.

// What calls answer, and the ABI that this package was written for.
const (
	ABIVersion      = 1
	OK              = 0
	InvalidArgument = 1
	OutOfMemory     = 2
	StaleHandle     = 3
	WrongKind       = 4
	WrongThread     = 5
	Busy            = 6
	Device          = 7
	NoGradient      = 8
	IO              = 9
	Format          = 10
	NotFound        = 11
	Unsupported     = 12
	Internal        = 13
)

// Flags of a context.
const (
	ThreadsOwner = 1
	Spill        = 2
)

// Element types as stored, and the largest rank.
const (
	DtypeF32  = 1
	DtypeF16  = 2
	DtypeBF16 = 3
	RankMax   = 8
)

// The ledger file, and the operations as it numbers them.
const (
	LedgerVersion               = 1
	LedgerHeaderBytes           = 4096
	LedgerRecordBytes           = 64
	LedgerCapacity              = 1048576
	OperationContextCreate      = 1
	OperationContextRetain      = 2
	OperationContextRelease     = 3
	OperationContextMark        = 4
	OperationContextSynchronize = 5
	OperationContextFail        = 6
	OperationPressure           = 7
	OperationSpill              = 8
	OperationTensorCreate       = 16
	OperationTensorRetain       = 17
	OperationTensorRelease      = 18
	OperationTensorWrite        = 19
	OperationTensorRead         = 20
	OperationTensorFill         = 21
	OperationTensorAddInPlace   = 22
	OperationTensorDigest       = 23
	OperationTensorContext      = 24
	OperationTapeCreate         = 32
	OperationTapeRetain         = 33
	OperationTapeRelease        = 34
	OperationTapeWatch          = 35
	OperationTapeGradient       = 36
	OperationTapeBackward       = 37
	OperationTapeReset          = 38
	OperationEmbedding          = 48
	OperationRmsNorm            = 49
	OperationLinear             = 50
	OperationLoraLinear         = 51
	OperationRope               = 52
	OperationAttention          = 53
	OperationSwiglu             = 54
	OperationAdd                = 55
	OperationScale              = 56
	OperationLinearCrossEntropy = 57
	OperationMatmul             = 58
	OperationSoftmax            = 59
	OperationReduceSum          = 60
	OperationTranspose          = 61
	OperationReshape            = 62
	OperationAsStrided          = 63
	OperationGradientNorm       = 80
	OperationGradientClip       = 81
	OperationAdamwStep          = 82
	OperationCheckpointRead     = 96
	OperationCheckpointWrite    = 97
)
