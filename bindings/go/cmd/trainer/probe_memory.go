package main

// Probes of device memory: owners lost in a loop, in cycles, and what is left behind (CASES.md, B).

import (
	"runtime"
	"runtime/metrics"

	"hexapla-go/hexapla"
)

const (
	cyclesMetric  = "/gc/cycles/total:gc-cycles"
	secondsMetric = "/cpu/classes/gc/total:cpu-seconds"
)

// collector is the runtime's own count of collections, and the CPU time they took.
func collectorFigures() (cycles int64, ms float64) {
	samples := []metrics.Sample{{Name: cyclesMetric}, {Name: secondsMetric}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()), samples[1].Value.Float64() * 1000
}

// managedHeap is what Go's own heap holds once everything dead is collected, in bytes.
func managedHeap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

const elementBytes = 4

func dropInLoop(s scene) func() (pairs, error) {
	bytes, turns, closes := s.integer("bytes", 4, exactMax-1), s.count("turns"), s.integer("close", 0, 1) == 1
	return func() (pairs, error) {
		var seen pairs
		err := s.inContext(func(context *hexapla.Context) error {
			heap := managedHeap()
			cycles, ms := collectorFigures()
			done, failed := dropTurns(context, turns, bytes, closes)
			cyclesAfter, msAfter := collectorFigures()
			memory, err := context.Memory()
			seen = pairs{
				{"turns", done}, {"failed_turn", failed}, {"pressure_calls", memory.PressureCalls},
				{"collections", cyclesAfter - cycles}, {"collector_ms", msAfter - ms},
				{"managed_heap_growth_bytes", managedHeap() - heap},
			}
			return err
		})
		return seen, err
	}
}

// dropTurns makes a tensor a turn, and closes or loses it: turns done, and the turn that failed (0 = none).
func dropTurns(context *hexapla.Context, turns int, bytes int64, closes bool) (done, failed int) {
	for turn := 1; turn <= turns; turn++ {
		tensor, err := context.Zeros(bytes / elementBytes)
		if err == nil && closes {
			err = tensor.Close()
		}
		if err != nil {
			return turn - 1, turn
		}
	}
	return turns, 0
}

// knot refers to itself, and to a tensor.
type knot struct {
	self   *knot
	tensor *hexapla.Tensor
}

func cycles(s scene) func() (pairs, error) {
	bytes, turns := s.integer("bytes", 4, exactMax-1), s.count("turns")
	return func() (pairs, error) {
		var seen pairs
		err := s.inContext(func(context *hexapla.Context) error {
			before, err := hexapla.ProcessMemory()
			if err != nil {
				return err
			}
			done, failed := knotTurns(context, turns, bytes)
			if _, err := hexapla.Settle(before.LiveHandles, settleLimit); err != nil {
				return err
			}
			after, err := hexapla.ProcessMemory()
			seen = pairs{{"turns", done}, {"failed_turn", failed}, {"difference_bytes", after.LiveBytes - before.LiveBytes}}
			return err
		})
		return seen, err
	}
}

func knotTurns(context *hexapla.Context, turns int, bytes int64) (done, failed int) {
	for turn := 1; turn <= turns; turn++ {
		tensor, err := context.Zeros(bytes / elementBytes)
		if err != nil {
			return turn - 1, turn
		}
		tied := &knot{tensor: tensor}
		tied.self = tied
		runtime.KeepAlive(tied)
	}
	return turns, 0
}

// difference runs one turn, and keeps the largest difference, by amount, that a turn left in live bytes.
func difference(largest *int64, turn func() error) error {
	before, err := hexapla.ProcessMemory()
	if err != nil {
		return err
	}
	if err := turn(); err != nil {
		return err
	}
	after, err := hexapla.ProcessMemory()
	if change := after.LiveBytes - before.LiveBytes; max(change, -change) > max(*largest, -*largest) {
		*largest = change
	}
	return err
}

func caughtErrors(s scene) func() (pairs, error) {
	request, turns := s.train(), s.count("turns")
	return func() (pairs, error) {
		var largest int64
		failed := 0
		err := s.loaded(request, func(r *run) error {
			_, records := r.orders.take(1)
			first := microBatches(records, r.spec.microBatch)[0]
			for turn := 1; turn <= turns; turn++ {
				err := difference(&largest, func() error {
					caught, err := r.failingBackward(first)
					if caught == nil && failed == 0 {
						failed = turn
					}
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		return pairs{{"turns", turns}, {"failed_turn", failed}, {"difference_bytes", largest}}, err
	}
}

// failingBackward goes forward, then back with the next allocation failing. `caught` is what backward said.
func (l *learner) failingBackward(b batch) (caught, err error) {
	p := &pass{tape: l.tape, scope: &hexapla.Scope{}}
	defer p.scope.Close()
	nll, err := p.forward(l.model, l.adapter, b)
	if err != nil {
		return nil, err
	}
	incoming := p.keep(l.context.Full(1, int64(len(b.targets))))
	if p.err != nil {
		return nil, p.err
	}
	if err := l.context.FailAllocation(1, false); err != nil {
		return nil, err
	}
	caught = l.tape.Backward(nll, incoming)
	if err := l.context.FailAllocation(0, false); err != nil {
		return caught, err
	}
	return caught, l.tape.Reset()
}

func shortestScope(s scene) func() (pairs, error) {
	request, turns := s.train(), s.count("turns")
	return func() (pairs, error) {
		var largest int64
		r, err := newRun(request)
		if err != nil {
			return nil, err
		}
		if err := r.renderAll(); err != nil {
			return nil, err
		}
		done := 0
		err = s.inContext(func(context *hexapla.Context) error {
			m, err := loadModel(request.model, context)
			if err != nil {
				return err
			}
			defer m.close()
			for ; done < turns; done++ {
				if err := difference(&largest, func() error { return r.shortest(m, context) }); err != nil {
					return err
				}
			}
			return nil
		})
		return pairs{{"turns", done}, {"failed_turn", 0}, {"difference_bytes", largest}}, err
	}
}

// shortest makes a trainer around a model, one update, and releases the trainer.
func (r *run) shortest(m *model, context *hexapla.Context) error {
	a, o, err := r.loadTrained(m, context)
	if err != nil {
		return err
	}
	defer a.close()
	defer o.close()
	l, err := newLearner(r.spec, context, m, a, o)
	if err != nil {
		return err
	}
	defer l.tape.Close()
	_, records := r.orders.take(1)
	_, err = l.update(1, records)
	return err
}
