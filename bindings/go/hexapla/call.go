package hexapla

// The frame of one call: what core writes to while it runs. Frames are pooled, because an error's text takes a kilobyte and the memory
// that C sees must lie on the heap (a callback may move the goroutine's stack).

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"hexapla-go/sys"
)

type frame struct {
	failure sys.Error
	id      uint64  // a handle or a count
	real    float64 // a norm
	flag    int32
}

var frames = sync.Pool{New: func() any {
	f := new(frame)
	f.failure.StructSize = uint32(unsafe.Sizeof(f.failure))
	return f
}}

func (f *frame) context() *sys.Context       { return (*sys.Context)(unsafe.Pointer(&f.id)) }
func (f *frame) tensor() *sys.Tensor         { return (*sys.Tensor)(unsafe.Pointer(&f.id)) }
func (f *frame) tape() *sys.Tape             { return (*sys.Tape)(unsafe.Pointer(&f.id)) }
func (f *frame) checkpoint() *sys.Checkpoint { return (*sys.Checkpoint)(unsafe.Pointer(&f.id)) }
func (f *frame) tokenizer() *sys.Tokenizer   { return (*sys.Tokenizer)(unsafe.Pointer(&f.id)) }
func (f *frame) gate() *sys.Gate             { return (*sys.Gate)(unsafe.Pointer(&f.id)) }

// call runs one call that returns nothing but its status.
func call(f func(*frame) sys.Status) error {
	fr := frames.Get().(*frame)
	defer frames.Put(fr)
	return check(f(fr), &fr.failure)
}

// made runs one call that hands out an id or a count.
func made(f func(*frame) sys.Status) (uint64, error) {
	fr := frames.Get().(*frame)
	defer frames.Put(fr)
	fr.id = 0
	err := check(f(fr), &fr.failure)
	return fr.id, err
}

// asked runs one call that fills a text of at most `capacity` bytes, its zero byte included.
func asked(capacity int, f func(out *byte, outBytes uint64, failure *sys.Error) sys.Status) (string, error) {
	buffer := make([]byte, capacity)
	err := call(func(fr *frame) sys.Status { return f(&buffer[0], uint64(capacity), &fr.failure) })
	if err != nil {
		return "", err
	}
	return cut(buffer), nil
}

// terminated is s with a zero byte behind it. A zero byte inside is refused: C would read a shorter text.
func terminated(s string) (*byte, error) {
	bytes, err := syscall.BytePtrFromString(s)
	if err != nil {
		return nil, &Error{Status: InvalidArgument, Message: "a path or name holds a zero byte"}
	}
	return bytes, nil
}

// terminatedAll is an array of C strings, pinned until the pinner lets go: C may read Go memory that points to Go memory only then.
func terminatedAll(pinner *runtime.Pinner, texts []string) ([]*byte, error) {
	array := make([]*byte, len(texts))
	for i, s := range texts {
		bytes, err := terminated(s)
		if err != nil {
			return nil, err
		}
		pinner.Pin(bytes)
		array[i] = bytes
	}
	return array, nil
}

// text copies a C string that outlives this call; nil is "".
func text(view *byte) string {
	if view == nil {
		return ""
	}
	length := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(view), length)) != 0 {
		length++
	}
	return string(unsafe.Slice(view, length))
}
