package main

// The two schedules. Pinned: updates run one after the other in the caller's goroutine. Migrating: each update runs in a goroutine of its
// own that then blocks in native code until the eighth update after it has begun, so that no other update can run on its OS thread.

import (
	"slices"
	"sync"
	"syscall"

	"hexapla-go/hexapla"
)

const blockedUpdates = 8

type tasks struct {
	migrating bool
	blocked   []blocked // the latest updates, oldest first
	running   sync.WaitGroup
}

// blocked is an update that has begun: the gate that its goroutine waits at, and the OS threads on which it was seen. A goroutine may move
// between its last call of core and the gate, so that the gate alone would not keep all of them busy.
type blocked struct {
	gate    *hexapla.Gate
	threads []int
}

func newTasks(migrating bool) *tasks { return &tasks{migrating: migrating} }

// do runs one update and waits for its result.
func (t *tasks) do(update func() error) error {
	if !t.migrating {
		return update()
	}
	gate, err := hexapla.NewGate()
	if err != nil {
		return err
	}
	t.blocked = append(t.blocked, blocked{gate: gate})
	result := make(chan error, 1)
	t.launch(gate, func() { result <- update() })
	return <-result
}

// launch starts a goroutine that works, then waits at the gate. If it finds itself on a thread of the latest updates it only waits, which
// takes that thread, and launches another.
func (t *tasks) launch(gate *hexapla.Gate, work func()) {
	t.running.Add(1)
	go func() {
		defer t.running.Done()
		if t.seen(syscall.Gettid()) {
			t.launch(gate, work)
		} else {
			t.here()
			if len(t.blocked) > blockedUpdates {
				t.free(t.blocked[0].gate)
				t.blocked = t.blocked[1:]
			}
			work()
		}
		gate.Wait()
	}()
}

// seen says whether one of the latest updates was on this thread.
func (t *tasks) seen(thread int) bool {
	return slices.ContainsFunc(t.blocked, func(b blocked) bool { return slices.Contains(b.threads, thread) })
}

// here notes the thread that the running update is on.
func (t *tasks) here() {
	if t.migrating {
		last := &t.blocked[len(t.blocked)-1]
		last.threads = append(last.threads, syscall.Gettid())
	}
}

// free opens a gate, and closes it: those who wait hold shares of their own.
func (t *tasks) free(gate *hexapla.Gate) {
	gate.Open()
	gate.Close()
}

// end lets all tasks go, and waits for them.
func (t *tasks) end() {
	for _, b := range t.blocked {
		b.gate.Open()
	}
	t.running.Wait()
	for _, b := range t.blocked {
		b.gate.Close()
	}
	t.blocked = nil
}
