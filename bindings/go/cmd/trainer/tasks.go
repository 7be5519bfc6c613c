package main

// The two schedules. Pinned: updates run one after the other in the caller's goroutine. Migrating: each update runs in a goroutine of its
// own that then blocks in native code until the eighth update after it has begun, so that no other update can run on its OS thread.

import (
	"sync"

	"hexapla-go/hexapla"
)

const blockedUpdates = 8

type tasks struct {
	migrating bool
	gates     []*hexapla.Gate // of the tasks that still block, oldest first
	running   sync.WaitGroup
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
	var oldest *hexapla.Gate
	if len(t.gates) == blockedUpdates {
		oldest, t.gates = t.gates[0], t.gates[1:]
	}
	t.gates = append(t.gates, gate)
	result := make(chan error, 1)
	t.running.Add(1)
	go func() {
		defer t.running.Done()
		if oldest != nil {
			release(oldest)
		}
		result <- update()
		gate.Wait()
	}()
	return <-result
}

// end lets all tasks go, and waits for them.
func (t *tasks) end() {
	for _, gate := range t.gates {
		gate.Open()
	}
	t.running.Wait()
	for _, gate := range t.gates {
		gate.Close()
	}
	t.gates = nil
}

// release opens a gate, and closes it once nobody waits: waiters hold shares of their own.
func release(gate *hexapla.Gate) {
	gate.Open()
	gate.Close()
}
