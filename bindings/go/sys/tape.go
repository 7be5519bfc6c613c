package sys

// A tape: an explicit record of operations, and the way back through it. The contract of each call stands in hexapla/tape.h.

// #include <hexapla/tape.h>
import "C"

import "unsafe"

// TapeCreate is hxp_tape_create. Make an empty tape.
func TapeCreate(context Context, out *Tape, failure *Error) Status {
	return Status(C.hxp_tape_create(C.hxp_context(context), (*C.hxp_tape)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TapeRetain is hxp_tape_retain. Take another share: a new id for the same tape.
func TapeRetain(tape Tape, out *Tape, failure *Error) Status {
	return Status(C.hxp_tape_retain(C.hxp_tape(tape), (*C.hxp_tape)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TapeRelease is hxp_tape_release. Give one share back.
func TapeRelease(tape Tape, failure *Error) Status {
	return Status(C.hxp_tape_release(C.hxp_tape(tape), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TapeWatch is hxp_tape_watch. Ask for the gradient of a tensor: ops recorded later that use it let backward add into `gradient`.
func TapeWatch(tape Tape, tensor, gradient Tensor, failure *Error) Status {
	return Status(C.hxp_tape_watch(C.hxp_tape(tape), C.hxp_tensor(tensor), C.hxp_tensor(gradient), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TapeGradient is hxp_tape_gradient. The gradient of a watched tensor.
func TapeGradient(tape Tape, tensor Tensor, out *Tensor, failure *Error) Status {
	return Status(C.hxp_tape_gradient(C.hxp_tape(tape), C.hxp_tensor(tensor), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TapeBackward is hxp_tape_backward. Go back from `output` through the records, newest first, adding into the watched tensors'
// gradients.
func TapeBackward(tape Tape, output, incoming Tensor, failure *Error) Status {
	return Status(C.hxp_tape_backward(C.hxp_tape(tape), C.hxp_tensor(output), C.hxp_tensor(incoming), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TapeReset is hxp_tape_reset. Drop the records and what they keep alive, without going back.
func TapeReset(tape Tape, failure *Error) Status {
	return Status(C.hxp_tape_reset(C.hxp_tape(tape), (*C.hxp_error)(unsafe.Pointer(failure))))
}
