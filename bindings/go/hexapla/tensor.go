package hexapla

// Tensors: device memory with a shape. A tensor is a view of a storage; views and second owners share that storage.

import (
	"fmt"
	"runtime"
	"unsafe"

	"hexapla-go/sys"
)

// Tensor is an owner of a tensor of f32 elements.
type Tensor struct {
	owner
	domain *domain
}

// Info is what a tensor looks like.
type Info struct {
	Shape, Strides []int64 // strides in elements
	Offset         int64   // of the first element in its storage, in elements
	Elements       int64
	Bytes          int64
	Contiguous     bool // row-major without gaps
}

// Dtype is an element type as stored. Tensors are F32; the others are widened when a checkpoint is read.
type Dtype int32

// The element types.
const (
	F32  Dtype = sys.DtypeF32
	F16  Dtype = sys.DtypeF16
	BF16 Dtype = sys.DtypeBF16
)

// tensor runs a call that makes a tensor in the domain.
func (d *domain) tensor(f func(*frame) sys.Status) (*Tensor, error) {
	id, err := made(f)
	if err != nil {
		return nil, d.explain(err)
	}
	t := &Tensor{domain: d}
	return adopt(t, &t.owner, id, "tensor", releaseTensor), nil
}

func releaseTensor(id uint64, failure *sys.Error) sys.Status {
	return sys.TensorRelease(sys.Tensor(id), failure)
}

// Zeros makes a tensor of zeros. A negative size fails with InvalidArgument, too little memory with OutOfMemory.
func (c *Context) Zeros(shape ...int64) (*Tensor, error) { return c.ZerosOf(F32, shape...) }

// ZerosOf is Zeros with an element type; all but F32 fail with Unsupported.
func (c *Context) ZerosOf(dtype Dtype, shape ...int64) (*Tensor, error) {
	defer runtime.KeepAlive(c)
	return c.domain.tensor(func(f *frame) sys.Status {
		return sys.TensorCreate(sys.Context(c.id), int32(dtype), uint32(len(shape)), unsafe.SliceData(shape), f.tensor(), &f.failure)
	})
}

// Full makes a tensor with every element set to a value.
func (c *Context) Full(value float64, shape ...int64) (*Tensor, error) {
	t, err := c.Zeros(shape...)
	if err != nil {
		return nil, err
	}
	if err := t.Fill(value); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// From makes a tensor of the given values, row-major.
func (c *Context) From(values []float32, shape ...int64) (*Tensor, error) {
	t, err := c.Zeros(shape...)
	if err != nil {
		return nil, err
	}
	if err := t.Write(values); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Close gives this share back. It never waits for a call, and may be called from any goroutine, more than once.
func (t *Tensor) Close() error {
	defer runtime.KeepAlive(t)
	return t.close()
}

// Retain makes a second owner of the same tensor; the values are shared, not copied.
func (t *Tensor) Retain() (*Tensor, error) {
	defer runtime.KeepAlive(t)
	return t.domain.tensor(func(f *frame) sys.Status {
		return sys.TensorRetain(sys.Tensor(t.id), f.tensor(), &f.failure)
	})
}

// Describe is the tensor's shape, strides and sizes.
func (t *Tensor) Describe() (Info, error) {
	defer runtime.KeepAlive(t)
	raw := new(sys.TensorInfo)
	raw.StructSize = uint32(unsafe.Sizeof(*raw))
	err := call(func(f *frame) sys.Status { return sys.TensorDescribe(sys.Tensor(t.id), raw, &f.failure) })
	if err != nil {
		return Info{}, err
	}
	return Info{
		raw.Shape[:raw.Rank:raw.Rank], raw.Strides[:raw.Rank:raw.Rank], raw.Offset, int64(raw.Elements), int64(raw.Bytes),
		raw.Contiguous == 1,
	}, nil
}

// Context makes an owner of the context that the tensor lives in.
func (t *Tensor) Context() (*Context, error) {
	defer runtime.KeepAlive(t)
	id, err := made(func(f *frame) sys.Status {
		return sys.TensorContext(sys.Tensor(t.id), f.context(), &f.failure)
	})
	if err != nil {
		return nil, err
	}
	return adoptContext(id, t.domain), nil
}

// Device is the name of the device that the tensor's buffer really lies on.
func (t *Tensor) Device() (string, error) {
	defer runtime.KeepAlive(t)
	return asked(64, func(out *byte, outBytes uint64, failure *sys.Error) sys.Status {
		return sys.TensorDevice(sys.Tensor(t.id), out, outBytes, failure)
	})
}

// Write copies values into the tensor, row-major; there must be as many as it has elements.
func (t *Tensor) Write(values []float32) error {
	defer runtime.KeepAlive(t)
	return t.domain.explain(call(func(f *frame) sys.Status {
		return sys.TensorWrite(sys.Tensor(t.id), unsafe.Pointer(unsafe.SliceData(values)), uint64(len(values))*4, &f.failure)
	}))
}

// Read copies the tensor to host memory, row-major; out must have room for its elements. It blocks until the copy is done.
func (t *Tensor) Read(out []float32) error {
	defer runtime.KeepAlive(t)
	return t.domain.explain(call(func(f *frame) sys.Status {
		return sys.TensorRead(sys.Tensor(t.id), unsafe.Pointer(unsafe.SliceData(out)), uint64(len(out))*4, &f.failure)
	}))
}

// Values is the tensor's elements, row-major, in a new slice.
func (t *Tensor) Values() ([]float32, error) {
	info, err := t.Describe()
	if err != nil {
		return nil, err
	}
	values := make([]float32, info.Elements)
	return values, t.Read(values)
}

// Fill sets every element, in place.
func (t *Tensor) Fill(value float64) error {
	defer runtime.KeepAlive(t)
	return t.domain.explain(call(func(f *frame) sys.Status { return sys.TensorFill(sys.Tensor(t.id), value, &f.failure) }))
}

// AddInPlace adds a number to every element; every owner and view sees it.
func (t *Tensor) AddInPlace(value float64) error {
	defer runtime.KeepAlive(t)
	return t.domain.explain(call(func(f *frame) sys.Status {
		return sys.TensorAddInPlace(sys.Tensor(t.id), value, &f.failure)
	}))
}

// Digest is the SHA-256, in hex, over the f32 little-endian values of the tensors, one after the other. There must be at least one, all of
// one context.
func Digest(tensors ...*Tensor) (string, error) {
	defer runtime.KeepAlive(tensors)
	list := ids(tensors)
	digest, err := asked(72, func(out *byte, outBytes uint64, failure *sys.Error) sys.Status {
		return sys.TensorDigest(unsafe.SliceData(list), uint64(len(list)), out, outBytes, failure)
	})
	if len(tensors) > 0 {
		err = tensors[0].domain.explain(err)
	}
	return digest, err
}

// ids lists the ids of tensors. The tensors must be kept alive until the call that uses the list is over.
func ids(tensors []*Tensor) []sys.Tensor {
	list := make([]sys.Tensor, len(tensors))
	for i, t := range tensors {
		list[i] = sys.Tensor(t.id)
	}
	return list
}

// String names the tensor by its id, for messages.
func (t *Tensor) String() string { return fmt.Sprintf("tensor %#x", t.id) }
