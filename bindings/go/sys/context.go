package sys

// A context: one device, its memory account, its workers and its ledger. The contract of each call stands in hexapla/context.h.

// #include <hexapla/context.h>
import "C"

import "unsafe"

// ContextOptionsInit is hxp_context_options_init. Fill options with defaults and their size.
func ContextOptionsInit(options *ContextOptions) {
	C.hxp_context_options_init((*C.hxp_context_options)(unsafe.Pointer(options)))
}

// MemoryInit is hxp_memory_init. Set a memory account's size and zero the rest.
func MemoryInit(memory *Memory) {
	C.hxp_memory_init((*C.hxp_memory)(unsafe.Pointer(memory)))
}

// ContextCreate is hxp_context_create. Make a context on a device.
func ContextCreate(device *byte, options *ContextOptions, out *Context, failure *Error) Status {
	return Status(C.hxp_context_create((*C.char)(unsafe.Pointer(device)), (*C.hxp_context_options)(unsafe.Pointer(options)), (*C.hxp_context)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// ContextRetain is hxp_context_retain. Take another share: a new id for the same context.
func ContextRetain(context Context, out *Context, failure *Error) Status {
	return Status(C.hxp_context_retain(C.hxp_context(context), (*C.hxp_context)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// ContextRelease is hxp_context_release. Give one share back.
func ContextRelease(context Context, failure *Error) Status {
	return Status(C.hxp_context_release(C.hxp_context(context), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// ContextDevice is hxp_context_device. The device's name, as given to hxp_context_create.
func ContextDevice(context Context, out *byte, outBytes uint64, failure *Error) Status {
	return Status(C.hxp_context_device(C.hxp_context(context), (*C.char)(unsafe.Pointer(out)), C.uint64_t(outBytes), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// ContextMemory is hxp_context_memory. The context's memory account.
func ContextMemory(context Context, out *Memory, failure *Error) Status {
	return Status(C.hxp_context_memory(C.hxp_context(context), (*C.hxp_memory)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// ProcessMemory is hxp_process_memory. The account of the whole process: sums over all contexts, and every live handle of every kind
// (gates, tokenizers and checkpoints.
func ProcessMemory(out *Memory, failure *Error) Status {
	return Status(C.hxp_process_memory((*C.hxp_memory)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// ContextResetPeak is hxp_context_reset_peak. Let peak_bytes start again from live_bytes.
func ContextResetPeak(context Context, failure *Error) Status {
	return Status(C.hxp_context_reset_peak(C.hxp_context(context), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// ContextMark is hxp_context_mark. Stamp the ledger: the records that follow belong to this update.
func ContextMark(context Context, update uint64, failure *Error) Status {
	return Status(C.hxp_context_mark(C.hxp_context(context), C.uint64_t(update), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// ContextSynchronize is hxp_context_synchronize. Wait until everything queued on the device is done (on cpu nothing ever is queued).
func ContextSynchronize(context Context, failure *Error) Status {
	return Status(C.hxp_context_synchronize(C.hxp_context(context), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// ContextFailAllocation is hxp_context_fail_allocation. For tests: make the nth allocation from now (1 = the next) fail with
// HXP_OUT_OF_MEMORY, pressure hook and all.
func ContextFailAllocation(context Context, nth uint64, persistent int32, failure *Error) Status {
	return Status(C.hxp_context_fail_allocation(C.hxp_context(context), C.uint64_t(nth), C.int32_t(persistent), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// ContextFailNext is hxp_context_fail_next. For tests: let the next call on this context (releases, queries and this one apart)
// answer `status` with the text.
func ContextFailNext(context Context, status Status, failure *Error) Status {
	return Status(C.hxp_context_fail_next(C.hxp_context(context), C.hxp_status(status), (*C.hxp_error)(unsafe.Pointer(failure))))
}
