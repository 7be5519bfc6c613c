package hexapla

// Owners: one id, one owner, closed once. The cleanup is a net for owners that were forgotten: it releases the id and reports the leak.

import (
	"log"
	"runtime"
	"sync/atomic"

	"hexapla-go/sys"
)

// owner holds one id. The id stays after Close: core answers a later use of it with StaleHandle, in its own words, and ids are never used
// twice. So a close that races with a use is a failed call, not a fault.
type owner struct {
	id      uint64
	closed  atomic.Bool
	cleanup runtime.Cleanup
	release func(id uint64, failure *sys.Error) sys.Status
}

type forgotten struct {
	id      uint64
	kind    string
	release func(id uint64, failure *sys.Error) sys.Status
}

// adopt makes `holder`, which contains o, the owner of an id.
func adopt[T any](holder *T, o *owner, id uint64, kind string, release func(uint64, *sys.Error) sys.Status) *T {
	o.id, o.release = id, release
	o.cleanup = runtime.AddCleanup(holder, reclaim, forgotten{id, kind, release})
	return holder
}

// close releases the id the first time it is called; later calls do nothing.
func (o *owner) close() error {
	if !o.closed.CompareAndSwap(false, true) {
		return nil
	}
	o.cleanup.Stop()
	return call(func(f *frame) sys.Status { return o.release(o.id, &f.failure) })
}

// ID is the id as the ledger names it.
func (o *owner) ID() uint64 { return o.id }

func reclaim(f forgotten) {
	f.release(f.id, nil)
	leaks.Add(1)
	if report := onLeak.Load(); report != nil {
		(*report)(f.kind, f.id)
	}
}

var (
	leaks  atomic.Int64
	onLeak atomic.Pointer[func(kind string, id uint64)]
	warned atomic.Bool
)

func init() {
	OnLeak(func(kind string, id uint64) {
		if warned.CompareAndSwap(false, true) {
			log.Printf("hexapla: %s %#x was collected without Close; further ones are only counted (hexapla.Leaks)", kind, id)
		}
	})
}

// Leaks counts the owners that were collected without Close.
func Leaks() int64 { return leaks.Load() }

// OnLeak sets what is told of every owner collected without Close, and returns what was told before; nil tells nobody. The default logs
// the first one. It runs on a goroutine of the collector's and must not block.
func OnLeak(report func(kind string, id uint64)) (before func(kind string, id uint64)) {
	var next *func(kind string, id uint64)
	if report != nil {
		next = &report
	}
	if last := onLeak.Swap(next); last != nil {
		return *last
	}
	return nil
}

// Scope closes what was kept in it, newest first. The zero Scope is ready; a nil *Scope keeps nothing. It is for one goroutine.
type Scope struct {
	kept []interface{ Close() error }
}

// Keep puts an owner into a scope, and returns it.
func Keep[T interface{ Close() error }](s *Scope, owner T) T {
	if s != nil {
		s.kept = append(s.kept, owner)
	}
	return owner
}

// Close closes all that was kept, and makes the scope empty. It returns the first error.
func (s *Scope) Close() error {
	if s == nil {
		return nil
	}
	var first error
	for i := len(s.kept) - 1; i >= 0; i-- {
		if err := s.kept[i].Close(); err != nil && first == nil {
			first = err
		}
		s.kept[i] = nil
	}
	s.kept = s.kept[:0]
	return first
}
