package sys

// Tensors: device memory with a shape. The contract of each call stands in hexapla/tensor.h.

// #include <hexapla/tensor.h>
import "C"

import "unsafe"

// TensorInfoInit is hxp_tensor_info_init. Set an info's size and zero the rest.
func TensorInfoInit(info *TensorInfo) {
	C.hxp_tensor_info_init((*C.hxp_tensor_info)(unsafe.Pointer(info)))
}

// TensorCreate is hxp_tensor_create. Make a tensor of zeros.
func TensorCreate(context Context, dtype int32, rank uint32, shape *int64, out *Tensor, failure *Error) Status {
	return Status(C.hxp_tensor_create(C.hxp_context(context), C.int32_t(dtype), C.uint32_t(rank), (*C.int64_t)(unsafe.Pointer(shape)), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TensorRetain is hxp_tensor_retain. Take another share: a new id for the same tensor (not a copy of its values).
func TensorRetain(tensor Tensor, out *Tensor, failure *Error) Status {
	return Status(C.hxp_tensor_retain(C.hxp_tensor(tensor), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TensorRelease is hxp_tensor_release. Give one share back.
func TensorRelease(tensor Tensor, failure *Error) Status {
	return Status(C.hxp_tensor_release(C.hxp_tensor(tensor), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TensorDescribe is hxp_tensor_describe. Shape, strides and sizes.
func TensorDescribe(tensor Tensor, out *TensorInfo, failure *Error) Status {
	return Status(C.hxp_tensor_describe(C.hxp_tensor(tensor), (*C.hxp_tensor_info)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TensorContext is hxp_tensor_context. The context that the tensor lives in.
func TensorContext(tensor Tensor, out *Context, failure *Error) Status {
	return Status(C.hxp_tensor_context(C.hxp_tensor(tensor), (*C.hxp_context)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TensorDevice is hxp_tensor_device. The name of the device that the tensor's buffer really lies on.
func TensorDevice(tensor Tensor, out *byte, outBytes uint64, failure *Error) Status {
	return Status(C.hxp_tensor_device(C.hxp_tensor(tensor), (*C.char)(unsafe.Pointer(out)), C.uint64_t(outBytes), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TensorWrite is hxp_tensor_write. Copy host memory into a tensor, row-major; the tensor may be a non-contiguous view.
func TensorWrite(tensor Tensor, data unsafe.Pointer, dataBytes uint64, failure *Error) Status {
	return Status(C.hxp_tensor_write(C.hxp_tensor(tensor), data, C.uint64_t(dataBytes), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TensorRead is hxp_tensor_read. Copy a tensor to host memory, row-major; the tensor may be a non-contiguous view.
func TensorRead(tensor Tensor, out unsafe.Pointer, outBytes uint64, failure *Error) Status {
	return Status(C.hxp_tensor_read(C.hxp_tensor(tensor), out, C.uint64_t(outBytes), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TensorFill is hxp_tensor_fill. Set every element, in place.
func TensorFill(tensor Tensor, value float64, failure *Error) Status {
	return Status(C.hxp_tensor_fill(C.hxp_tensor(tensor), C.double(value), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TensorAddInPlace is hxp_tensor_add_in_place. Add a number to every element, in place; every owner and view sees it.
func TensorAddInPlace(tensor Tensor, value float64, failure *Error) Status {
	return Status(C.hxp_tensor_add_in_place(C.hxp_tensor(tensor), C.double(value), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// TensorDigest is hxp_tensor_digest. SHA-256 over the f32 little-endian values of the tensors, row-major, one after the other.
func TensorDigest(tensors *Tensor, count uint64, out *byte, outBytes uint64, failure *Error) Status {
	return Status(C.hxp_tensor_digest((*C.hxp_tensor)(unsafe.Pointer(tensors)), C.uint64_t(count), (*C.char)(unsafe.Pointer(out)), C.uint64_t(outBytes), (*C.hxp_error)(unsafe.Pointer(failure))))
}
