package hexapla

// The pressure hook: what happens before a context answers OutOfMemory. Collect is the ready-made hook that makes the cleanup net work.

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"hexapla-go/sys"
)

// Pressure tells a hook how things stand.
type Pressure struct {
	NeedBytes  uint64 // what the failing allocation asks for
	LiveBytes  uint64 // as they were when the hook was called
	LimitBytes uint64
	domain     *domain
}

// PressureHook is called, on the goroutine of the call that ran short, before a context answers OutOfMemory. It returns true if memory may
// have come free. Inside it closing and memory queries work; every other call on the context answers Busy. A panic in it is kept from C,
// gives up, and is the Cause of the call's Error. It must not call runtime.Goexit.
type PressureHook func(Pressure) bool

// HookPanic is a panic of a pressure hook, carried over the C frames between the hook and its caller.
type HookPanic struct {
	Value any
	Stack []byte
}

func (p *HookPanic) Error() string { return fmt.Sprintf("the pressure hook panicked: %v", p.Value) }

// Unwrap is the panic's value if that is an error.
func (p *HookPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Memory is the account of the context (of the process, if the context was closed and lives on by its tensors).
func (p Pressure) Memory() (Memory, error) { return p.domain.memory() }

const (
	collectLimit = 2 * time.Second       // the longest that Collect waits for cleanups
	collectQuiet = 40 * time.Millisecond // no byte came free for so long after the cleanups of the collection had begun: it is over
	collectPoll  = 200 * time.Microsecond
)

// Collect is the hook of every context that names none: it runs the collector, then waits until the cleanups of forgotten owners have
// made room, since runtime.GC returns before they have run.
func Collect(p Pressure) bool {
	begun := new(atomic.Bool)
	runtime.AddCleanup(new([16]byte), func(flag *atomic.Bool) { flag.Store(true) }, begun)
	runtime.GC()
	start := time.Now()
	live, changed := int64(p.LiveBytes), start
	for {
		memory, err := p.Memory()
		if err != nil {
			return false
		}
		now := time.Now()
		if memory.LiveBytes < live {
			live, changed = memory.LiveBytes, now
		}
		if uint64(max(live, 0))+p.NeedBytes <= p.LimitBytes {
			return true
		}
		quiet := begun.Load() && now.Sub(changed) > collectQuiet
		if quiet || now.Sub(start) > collectLimit {
			return live < int64(p.LiveBytes)
		}
		time.Sleep(collectPoll)
	}
}

// domain is what all owners of one context share in Go: its hook, and the panics that hooks left behind.
type domain struct {
	hook    PressureHook
	context atomic.Uint64 // the id of the context's maker; stale once that is closed
	mutex   sync.Mutex
	panics  []*HookPanic
}

// domains finds a domain by the number that core hands back. Numbers are never used twice, so a hook that comes late finds nothing; the
// pointers are weak, so that core's memory keeps no Go memory alive.
var (
	domains      sync.Map // uintptr → weak.Pointer[domain]
	domainNumber atomic.Uint64
)

func newDomain(hook PressureHook) (*domain, uintptr) {
	d, number := &domain{hook: hook}, uintptr(domainNumber.Add(1))
	domains.Store(number, weak.Make(d))
	runtime.AddCleanup(d, func(number uintptr) { domains.Delete(number) }, number)
	return d, number
}

func init() { sys.Pressure = pressed }

// pressed runs a hook. Nothing may unwind out of it: C frames lie above.
func pressed(token uintptr, needBytes, liveBytes, limitBytes uint64) (answer int32) {
	found, ok := domains.Load(token)
	if !ok {
		return 0
	}
	d := found.(weak.Pointer[domain]).Value()
	if d == nil {
		return 0
	}
	defer func() {
		if value := recover(); value != nil {
			d.mutex.Lock()
			d.panics = append(d.panics, &HookPanic{value, debug.Stack()})
			d.mutex.Unlock()
			answer = 0
		}
	}()
	if d.hook(Pressure{needBytes, liveBytes, limitBytes, d}) {
		return 1
	}
	return 0
}

func (d *domain) memory() (Memory, error) {
	memory, err := contextMemory(d.context.Load())
	if StatusOf(err) == StaleHandle {
		return ProcessMemory()
	}
	return memory, err
}

// explain gives an OutOfMemory its cause. A hook that panics gives up, so that each panic belongs to one failed call of the domain; calls
// of several goroutines that fail at the same moment may find each other's.
func (d *domain) explain(err error) error {
	failure, ok := err.(*Error)
	if !ok || failure.Status != OutOfMemory {
		return err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if len(d.panics) > 0 {
		failure.Cause = d.panics[0]
		d.panics = d.panics[1:]
	}
	return failure
}
