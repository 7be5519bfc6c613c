package hexapla

// Contexts: one device, its memory account, its workers and its ledger.

import (
	"fmt"
	"runtime"

	"hexapla-go/sys"
)

// Options of a context. The zero value is one worker, no limit, no ledger, and Collect as the pressure hook.
type Options struct {
	Threads         int          // worker threads, 1 … 256; 0 = 1; never changes a result
	MemoryLimit     int64        // device bytes; 0 = none
	Spill           bool         // past the limit, buffers go to host memory instead of failing
	OwnerThread     bool         // answer WrongThread to every OS thread but the maker's (wants runtime.LockOSThread)
	LedgerPath      string       // file to write the ledger to; "" = none
	Pressure        PressureHook // nil = Collect
	NoPressure      bool         // no hook at all: OutOfMemory at once
	PressureRetries int          // times the hook is called for one allocation; 0 = core's default
}

// Context is an owner of a context.
type Context struct {
	owner
	domain *domain
}

// NewContext makes a context on a device, "cpu:N" or "cuda:N". It fails with InvalidArgument, Device, IO (the ledger) or OutOfMemory.
func NewContext(device string, options Options) (*Context, error) {
	if version := sys.LibraryABIVersion(); version != sys.ABIVersion {
		return nil, fmt.Errorf("hexapla: libhexapla speaks ABI %d, this package %d: rebuild it against the library's headers",
			version, sys.ABIVersion)
	}
	name, err := terminated(device)
	if err != nil {
		return nil, err
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	raw := new(sys.ContextOptions)
	d, err := options.fill(raw, &pinner)
	if err != nil {
		return nil, err
	}
	id, err := made(func(f *frame) sys.Status {
		return sys.ContextCreate(name, raw, f.context(), &f.failure)
	})
	if err != nil {
		return nil, err
	}
	d.context.Store(id)
	return adoptContext(id, d), nil
}

// fill writes the options in C's form and makes the domain that the hook finds.
func (o Options) fill(raw *sys.ContextOptions, pinner *runtime.Pinner) (*domain, error) {
	sys.ContextOptionsInit(raw)
	if o.Threads != 0 {
		raw.Threads = uint32(o.Threads)
	}
	if o.PressureRetries != 0 {
		raw.PressureRetries = uint32(o.PressureRetries)
	}
	if o.MemoryLimit < 0 {
		return nil, &Error{Status: InvalidArgument, Message: fmt.Sprintf("memory limit is %d, must not be negative", o.MemoryLimit)}
	}
	raw.MemoryLimit = uint64(o.MemoryLimit)
	if o.Spill {
		raw.Flags |= sys.Spill
	}
	if o.OwnerThread {
		raw.Flags |= sys.ThreadsOwner
	}
	if o.LedgerPath != "" {
		path, err := terminated(o.LedgerPath)
		if err != nil {
			return nil, err
		}
		pinner.Pin(path)
		raw.LedgerPath = path
	}
	hook := o.Pressure
	if hook == nil {
		hook = Collect
	}
	d, number := newDomain(hook)
	if !o.NoPressure {
		raw.PressureHook, raw.PressurePayload = sys.PressureAddress(), number
	}
	return d, nil
}

func adoptContext(id uint64, d *domain) *Context {
	c := &Context{domain: d}
	return adopt(c, &c.owner, id, "context", func(id uint64, failure *sys.Error) sys.Status {
		return sys.ContextRelease(sys.Context(id), failure)
	})
}

// Close gives this share back. The context ends when its last owner, its tensors and tapes included, has ended.
func (c *Context) Close() error {
	defer runtime.KeepAlive(c)
	return c.close()
}

// Retain makes a second owner of the same context.
func (c *Context) Retain() (*Context, error) {
	defer runtime.KeepAlive(c)
	id, err := made(func(f *frame) sys.Status {
		return sys.ContextRetain(sys.Context(c.id), f.context(), &f.failure)
	})
	if err != nil {
		return nil, err
	}
	return adoptContext(id, c.domain), nil
}

// Device is the device's name, as given to NewContext.
func (c *Context) Device() (string, error) {
	defer runtime.KeepAlive(c)
	return asked(64, func(out *byte, outBytes uint64, failure *sys.Error) sys.Status {
		return sys.ContextDevice(sys.Context(c.id), out, outBytes, failure)
	})
}

// Memory is the context's account. It never waits for a running call.
func (c *Context) Memory() (Memory, error) {
	defer runtime.KeepAlive(c)
	return contextMemory(c.id)
}

// ResetPeak lets Memory.PeakBytes start again from LiveBytes.
func (c *Context) ResetPeak() error {
	defer runtime.KeepAlive(c)
	return call(func(f *frame) sys.Status { return sys.ContextResetPeak(sys.Context(c.id), &f.failure) })
}

// Mark stamps the ledger: the records that follow belong to this update.
func (c *Context) Mark(update int64) error {
	defer runtime.KeepAlive(c)
	return call(func(f *frame) sys.Status { return sys.ContextMark(sys.Context(c.id), uint64(update), &f.failure) })
}

// Synchronize waits until everything queued on the device is done.
func (c *Context) Synchronize() error {
	defer runtime.KeepAlive(c)
	return call(func(f *frame) sys.Status { return sys.ContextSynchronize(sys.Context(c.id), &f.failure) })
}

// FailAllocation is for tests: the nth allocation from now (1 = the next; 0 = none) fails with OutOfMemory, and if persistent all after it.
func (c *Context) FailAllocation(nth uint64, persistent bool) error {
	defer runtime.KeepAlive(c)
	var forGood int32
	if persistent {
		forGood = 1
	}
	return call(func(f *frame) sys.Status {
		return sys.ContextFailAllocation(sys.Context(c.id), nth, forGood, &f.failure)
	})
}

// FailNext is for tests: the next call on this context (closing and queries apart) fails with the status and does nothing else.
func (c *Context) FailNext(status Status) error {
	defer runtime.KeepAlive(c)
	return call(func(f *frame) sys.Status {
		return sys.ContextFailNext(sys.Context(c.id), sys.Status(status), &f.failure)
	})
}
