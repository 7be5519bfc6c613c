package sys

// The one callback of the ABI: core calls C code, which calls Go. It is separate because a file with an exported function may hold no C
// definitions; those are in pressure.c.

// #include <stdint.h>
// int32_t hexapla_go_pressure(void *payload, uint64_t need_bytes, uint64_t live_bytes, uint64_t limit_bytes);
import "C"

import "unsafe"

// Pressure receives the calls of every hook made by PressureAddress, on the thread of the call that ran short of memory. It must
// neither panic nor end its goroutine: both would unwind through C. The token is the payload of the context's options.
var Pressure func(token uintptr, needBytes, liveBytes, limitBytes uint64) int32

// PressureAddress is the C function to put into ContextOptions.PressureHook.
func PressureAddress() PressureHook {
	return PressureHook(uintptr(unsafe.Pointer(C.hexapla_go_pressure)))
}

//export hexaplaGoPressure
func hexaplaGoPressure(token C.uintptr_t, needBytes, liveBytes, limitBytes C.uint64_t) (answer C.int32_t) {
	defer func() {
		if recover() != nil {
			answer = 0
		}
	}()
	return C.int32_t(Pressure(uintptr(token), uint64(needBytes), uint64(liveBytes), uint64(limitBytes)))
}
