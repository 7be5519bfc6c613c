package sys

// What happens to gradients after backward: global norm, clip, AdamW. The contract of each call stands in hexapla/optimizer.h.

// #include <hexapla/optimizer.h>
import "C"

import "unsafe"

// AdamwOptionsInit is hxp_adamw_options_init. Set the options' size and zero the rest: no value has a default.
func AdamwOptionsInit(options *AdamwOptions) {
	C.hxp_adamw_options_init((*C.hxp_adamw_options)(unsafe.Pointer(options)))
}

// GradientNorm is hxp_gradient_norm. Square root of the f64 sum of squares over all gradients, in the order given.
func GradientNorm(gradients *Tensor, count uint64, out *float64, failure *Error) Status {
	return Status(C.hxp_gradient_norm((*C.hxp_tensor)(unsafe.Pointer(gradients)), C.uint64_t(count), (*C.double)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// GradientClip is hxp_gradient_clip. If norm > clip_norm, multiply every gradient by f32(clip_norm / norm), in place; else leave
// them alone.
func GradientClip(gradients *Tensor, count uint64, norm, clipNorm float64, clippedOut *int32, failure *Error) Status {
	return Status(C.hxp_gradient_clip((*C.hxp_tensor)(unsafe.Pointer(gradients)), C.uint64_t(count), C.double(norm), C.double(clipNorm), (*C.int32_t)(unsafe.Pointer(clippedOut)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// AdamwStep is hxp_adamw_step. One AdamW step, in place on parameters and both moments (Loshchilov and Hutter 2019; SPEC "AdamW").
func AdamwStep(options *AdamwOptions, parameters, gradients, expAvgs, expAvgSqs *Tensor, count uint64, failure *Error) Status {
	return Status(C.hxp_adamw_step((*C.hxp_adamw_options)(unsafe.Pointer(options)), (*C.hxp_tensor)(unsafe.Pointer(parameters)), (*C.hxp_tensor)(unsafe.Pointer(gradients)), (*C.hxp_tensor)(unsafe.Pointer(expAvgs)), (*C.hxp_tensor)(unsafe.Pointer(expAvgSqs)), C.uint64_t(count), (*C.hxp_error)(unsafe.Pointer(failure))))
}
