package hexapla

// Gates: a place to block in native code, so that the goroutine's OS thread stays occupied. Tests of schedulers need it.

import (
	"runtime"

	"hexapla-go/sys"
)

// Gate is an owner of a gate. It belongs to no context.
type Gate struct{ owner }

// NewGate makes a closed gate.
func NewGate() (*Gate, error) {
	return gate(func(f *frame) sys.Status { return sys.GateCreate(f.gate(), &f.failure) })
}

func gate(f func(*frame) sys.Status) (*Gate, error) {
	id, err := made(f)
	if err != nil {
		return nil, err
	}
	g := &Gate{}
	return adopt(g, &g.owner, id, "gate", func(id uint64, failure *sys.Error) sys.Status {
		return sys.GateRelease(sys.Gate(id), failure)
	}), nil
}

// Close gives this share back; the gate opens by itself with its last owner. To let waiters go at a known time, Open it.
func (g *Gate) Close() error {
	defer runtime.KeepAlive(g)
	return g.close()
}

// Retain makes a second owner of the same gate.
func (g *Gate) Retain() (*Gate, error) {
	defer runtime.KeepAlive(g)
	return gate(func(f *frame) sys.Status { return sys.GateRetain(sys.Gate(g.id), f.gate(), &f.failure) })
}

// Wait blocks, in C and without a lock, until the gate is open.
func (g *Gate) Wait() error {
	defer runtime.KeepAlive(g)
	return call(func(f *frame) sys.Status { return sys.GateWait(sys.Gate(g.id), &f.failure) })
}

// Open opens the gate for good.
func (g *Gate) Open() error {
	defer runtime.KeepAlive(g)
	return call(func(f *frame) sys.Status { return sys.GateOpen(sys.Gate(g.id), &f.failure) })
}
