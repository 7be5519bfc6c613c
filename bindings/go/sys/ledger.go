package sys

// The names of the operations in a ledger. The contract of each call stands in hexapla/ledger.h.

// #include <hexapla/ledger.h>
import "C"

import "unsafe"

// OperationName is hxp_operation_name. The name of an operation ("rms_norm", "tensor_release", …).
func OperationName(operation uint16) *byte {
	return (*byte)(unsafe.Pointer(C.hxp_operation_name(C.uint16_t(operation))))
}
