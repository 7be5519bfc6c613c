package sys

// A gate: a place where a caller blocks in native code, holding no lock. The contract of each call stands in hexapla/gate.h.

// #include <hexapla/gate.h>
import "C"

import "unsafe"

// GateCreate is hxp_gate_create. Make a closed gate.
func GateCreate(out *Gate, failure *Error) Status {
	return Status(C.hxp_gate_create((*C.hxp_gate)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// GateRetain is hxp_gate_retain. Take another share: a new id for the same gate.
func GateRetain(gate Gate, out *Gate, failure *Error) Status {
	return Status(C.hxp_gate_retain(C.hxp_gate(gate), (*C.hxp_gate)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// GateRelease is hxp_gate_release. Give one share back.
func GateRelease(gate Gate, failure *Error) Status {
	return Status(C.hxp_gate_release(C.hxp_gate(gate), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// GateWait is hxp_gate_wait. Block until the gate is open; returns at once when it is.
func GateWait(gate Gate, failure *Error) Status {
	return Status(C.hxp_gate_wait(C.hxp_gate(gate), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// GateOpen is hxp_gate_open. Open the gate for good and wake every waiter.
func GateOpen(gate Gate, failure *Error) Status {
	return Status(C.hxp_gate_open(C.hxp_gate(gate), (*C.hxp_error)(unsafe.Pointer(failure))))
}
