package hexapla

// Memory accounts, of a context and of the process, and what the loaded library says of itself.

import (
	"runtime"
	"strings"
	"time"

	"hexapla-go/sys"
)

// Memory is an account of device memory, in bytes, and of handles.
type Memory struct {
	Threads                          int // worker threads
	LiveBytes, PeakBytes, LimitBytes int64
	LiveHandles                      int64
	SpilledBytes                     int64 // of the live bytes, those now in host memory
	Allocations                      int64
	PressureCalls, PressureRescues   int64
	StaleCalls, ForeignCalls         int64
	InjectedFailures                 int64
}

func fromMemory(m *sys.Memory) Memory {
	return Memory{
		int(m.Threads), m.LiveBytes, m.PeakBytes, m.LimitBytes, m.LiveHandles, m.SpilledBytes, m.Allocations,
		m.PressureCalls, m.PressureRescues, m.StaleCalls, m.ForeignCalls, m.InjectedFailures,
	}
}

func contextMemory(id uint64) (Memory, error) {
	raw := new(sys.Memory)
	sys.MemoryInit(raw)
	err := call(func(f *frame) sys.Status { return sys.ContextMemory(sys.Context(id), raw, &f.failure) })
	return fromMemory(raw), err
}

// ProcessMemory is the account of the whole process: every context, and every live handle of every kind.
func ProcessMemory() (Memory, error) {
	raw := new(sys.Memory)
	sys.MemoryInit(raw)
	err := call(func(f *frame) sys.Status { return sys.ProcessMemory(raw, &f.failure) })
	return fromMemory(raw), err
}

// Settle collects until the process has no more than `handles` live handles, or the time is over, and returns how many there are. It is
// for programs that lose owners on purpose and for tests; others close them.
func Settle(handles int64, limit time.Duration) (int64, error) {
	deadline := time.Now().Add(limit)
	for {
		memory, err := ProcessMemory()
		if err != nil || memory.LiveHandles <= handles || time.Now().After(deadline) {
			return memory.LiveHandles, err
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// BuildInfo is one line that names the library's version, commit, compiler, CPU, BLAS and backends.
func BuildInfo() string { return text(sys.BuildInfo()) }

// BuildFaults names the fault switches compiled into the library; a normal build has none.
func BuildFaults() []string {
	if all := text(sys.BuildFaults()); all != "" {
		return strings.Split(all, ",")
	}
	return []string{}
}
