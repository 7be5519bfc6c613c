package hexapla

// Tapes: an explicit record of operations, and the way back through it. There is no gradient mode.

import (
	"runtime"

	"hexapla-go/sys"
)

// Tape is an owner of a tape. A nil *Tape given to an operation means: do not record it.
type Tape struct {
	owner
	domain *domain
}

// NewTape makes an empty tape.
func (c *Context) NewTape() (*Tape, error) {
	defer runtime.KeepAlive(c)
	return c.domain.tape(func(f *frame) sys.Status {
		return sys.TapeCreate(sys.Context(c.id), f.tape(), &f.failure)
	})
}

func (d *domain) tape(f func(*frame) sys.Status) (*Tape, error) {
	id, err := made(f)
	if err != nil {
		return nil, d.explain(err)
	}
	t := &Tape{domain: d}
	return adopt(t, &t.owner, id, "tape", func(id uint64, failure *sys.Error) sys.Status {
		return sys.TapeRelease(sys.Tape(id), failure)
	}), nil
}

// handle is the tape's id, or 0 of a nil tape.
func (t *Tape) handle() sys.Tape {
	if t == nil {
		return 0
	}
	return sys.Tape(t.id)
}

// Close gives this share back; the last one drops the records and what they keep alive.
func (t *Tape) Close() error {
	defer runtime.KeepAlive(t)
	return t.close()
}

// Retain makes a second owner of the same tape.
func (t *Tape) Retain() (*Tape, error) {
	defer runtime.KeepAlive(t)
	return t.domain.tape(func(f *frame) sys.Status { return sys.TapeRetain(sys.Tape(t.id), f.tape(), &f.failure) })
}

// Watch asks for the gradient of a tensor: operations recorded later let Backward add into gradient, a contiguous tensor of its shape.
// With a nil gradient the tape makes one, of zeros.
func (t *Tape) Watch(tensor, gradient *Tensor) error {
	defer runtime.KeepAlive(t)
	defer runtime.KeepAlive(tensor)
	defer runtime.KeepAlive(gradient)
	return t.domain.explain(call(func(f *frame) sys.Status {
		return sys.TapeWatch(sys.Tape(t.id), sys.Tensor(tensor.id), gradient.handle(), &f.failure)
	}))
}

// handle is the tensor's id, or 0 of a nil tensor.
func (t *Tensor) handle() sys.Tensor {
	if t == nil {
		return 0
	}
	return sys.Tensor(t.id)
}

// Gradient makes an owner of the gradient of a watched tensor; NoGradient if it is not watched.
func (t *Tape) Gradient(tensor *Tensor) (*Tensor, error) {
	defer runtime.KeepAlive(t)
	defer runtime.KeepAlive(tensor)
	return t.domain.tensor(func(f *frame) sys.Status {
		return sys.TapeGradient(sys.Tape(t.id), sys.Tensor(tensor.id), f.tensor(), &f.failure)
	})
}

// Backward goes back from output through the records, newest first, and adds into the watched tensors' gradients. incoming is the
// gradient at output; nil means ones. The records are gone afterwards, also after a failure.
func (t *Tape) Backward(output, incoming *Tensor) error {
	defer runtime.KeepAlive(t)
	defer runtime.KeepAlive(output)
	defer runtime.KeepAlive(incoming)
	return t.domain.explain(call(func(f *frame) sys.Status {
		return sys.TapeBackward(sys.Tape(t.id), sys.Tensor(output.id), incoming.handle(), &f.failure)
	}))
}

// Reset drops the records without going back. Watched tensors stay watched.
func (t *Tape) Reset() error {
	defer runtime.KeepAlive(t)
	return call(func(f *frame) sys.Status { return sys.TapeReset(sys.Tape(t.id), &f.failure) })
}
