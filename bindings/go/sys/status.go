package sys

// Status codes, the error struct, and who this library is. The contract of each call stands in hexapla/status.h.

// #include <hexapla/status.h>
import "C"

import "unsafe"

// ErrorInit is hxp_error_init. Set an error's size and empty its text.
func ErrorInit(failure *Error) {
	C.hxp_error_init((*C.hxp_error)(unsafe.Pointer(failure)))
}

// StatusName is hxp_status_name. The name of a status ("HXP_OK", …).
func StatusName(status Status) *byte {
	return (*byte)(unsafe.Pointer(C.hxp_status_name(C.hxp_status(status))))
}

// LibraryABIVersion is hxp_abi_version. The ABI version that the loaded library was built for.
func LibraryABIVersion() uint32 {
	return uint32(C.hxp_abi_version())
}

// BuildInfo is hxp_build_info. One line that names version, commit, compiler, CPU, BLAS and its kernel, backends and compiled-in
// faults.
func BuildInfo() *byte {
	return (*byte)(unsafe.Pointer(C.hxp_build_info()))
}

// BuildFaults is hxp_build_faults. The fault switches compiled into this build, comma-separated; "" in a normal build.
func BuildFaults() *byte {
	return (*byte)(unsafe.Pointer(C.hxp_build_faults()))
}
