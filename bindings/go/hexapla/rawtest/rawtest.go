// Package rawtest is the testing part of the safe layer: calls on raw ids, for what the language otherwise forbids (releasing one id twice,
// an id of another kind), and the layouts of the ABI as Go sees them. Programs have no use for it.
package rawtest

import (
	"bytes"
	"unsafe"

	"hexapla-go/hexapla"
	"hexapla-go/sys"
)

// ReleaseTensor gives back the share of a tensor's id.
func ReleaseTensor(id uint64) error {
	return call(func(failure *sys.Error) sys.Status { return sys.TensorRelease(sys.Tensor(id), failure) })
}

// RetainTensor makes a new id for the same tensor, which nothing owns.
func RetainTensor(id uint64) (uint64, error) {
	out := new(sys.Tensor)
	err := call(func(failure *sys.Error) sys.Status { return sys.TensorRetain(sys.Tensor(id), out, failure) })
	return uint64(*out), err
}

// ReadTensor copies a tensor to host memory.
func ReadTensor(id uint64, out []float32) error {
	return call(func(failure *sys.Error) sys.Status {
		return sys.TensorRead(sys.Tensor(id), unsafe.Pointer(unsafe.SliceData(out)), uint64(len(out))*4, failure)
	})
}

// ContextDevice asks an id, of a context or not, for its device.
func ContextDevice(id uint64) error {
	buffer := make([]byte, 64)
	return call(func(failure *sys.Error) sys.Status {
		return sys.ContextDevice(sys.Context(id), &buffer[0], uint64(len(buffer)), failure)
	})
}

func call(f func(*sys.Error) sys.Status) error {
	failure := new(sys.Error)
	sys.ErrorInit(failure)
	status := f(failure)
	if status == sys.OK {
		return nil
	}
	message, _, _ := bytes.Cut(failure.Message[:], []byte{0})
	return &hexapla.Error{Status: hexapla.Status(status), Message: string(message)}
}
