package main

// Probes of threads: many goroutines, contexts and errors at the same time (CASES.md, A).

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"hexapla-go/hexapla"
)

// blockedTasks keeps goroutines, and so OS threads, in a gate until the returned function is called.
func blockedTasks(count int) (func(), error) {
	gate, err := hexapla.NewGate()
	if err != nil {
		return nil, err
	}
	var waiting sync.WaitGroup
	for range count {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			gate.Wait()
		}()
	}
	return func() {
		gate.Open()
		waiting.Wait()
		gate.Close()
	}, nil
}

// inWorkers runs a function in so many goroutines and waits for all.
func inWorkers(workers int, work func(worker int)) {
	var running sync.WaitGroup
	for w := range workers {
		running.Add(1)
		go func() {
			defer running.Done()
			work(w)
		}()
	}
	running.Wait()
}

func deviceOfContext(s scene) func() (pairs, error) {
	workers, rounds, blocked := s.count("workers"), s.count("rounds"), s.count("blocked")
	return func() (pairs, error) {
		open, err := blockedTasks(blocked)
		if err != nil {
			return nil, err
		}
		defer open()
		var right, wrong, failed atomic.Int64
		inWorkers(workers, func(w int) {
			wanted := fmt.Sprintf("cpu:%d", w%2)
			for range rounds {
				device, err := deviceRound(wanted, s.context)
				switch {
				case err != nil:
					failed.Add(1)
				case device == wanted:
					right.Add(1)
				default:
					wrong.Add(1)
				}
			}
		})
		return pairs{{"right", right.Load()}, {"wrong", wrong.Load()}, {"errors", failed.Load()}}, nil
	}
}

// deviceRound makes a context and a tensor in it, and asks the tensor where it lies.
func deviceRound(device string, c contextRequest) (string, error) {
	c.device = device
	context, err := newContext(c)
	if err != nil {
		return "", err
	}
	defer context.Close()
	runtime.Gosched()
	tensor, err := context.Zeros(16)
	if err != nil {
		return "", err
	}
	runtime.Gosched()
	found, err := tensor.Device()
	if closing := tensor.Close(); err == nil {
		err = closing
	}
	if closing := context.Close(); err == nil {
		err = closing
	}
	return found, err
}

func errorText(s scene) func() (pairs, error) {
	workers, calls := s.count("workers"), s.count("calls")
	return func() (pairs, error) {
		var own, foreign, empty atomic.Int64
		err := s.inContext(func(context *hexapla.Context) error {
			inWorkers(workers, func(g int) {
				for i := range calls {
					size := int64(1000*g + i + 1)
					tensor, err := context.Zeros(-size)
					if err == nil {
						tensor.Close()
					}
					runtime.Gosched()
					switch text := messageOf(err); {
					case text == "":
						empty.Add(1)
					case holdsNumber(text, fmt.Sprint(size)):
						own.Add(1)
					default:
						foreign.Add(1)
					}
				}
			})
			return nil
		})
		return pairs{{"own", own.Load()}, {"foreign", foreign.Load()}, {"empty", empty.Load()}}, err
	}
}

// holdsNumber says whether a text holds a number, not as a part of a longer one.
func holdsNumber(text, number string) bool {
	digit := func(at int) bool { return at >= 0 && at < len(text) && text[at] >= '0' && text[at] <= '9' }
	for from := 0; ; {
		found := strings.Index(text[from:], number)
		if found < 0 {
			return false
		}
		first := from + found
		if !digit(first-1) && !digit(first+len(number)) {
			return true
		}
		from = first + 1
	}
}

func twoContexts(s scene) func() (pairs, error) {
	request, updates := s.train(), s.count("updates")
	return func() (pairs, error) {
		alone, err := s.fingerprint(request, updates)
		if err != nil {
			return nil, err
		}
		var together [2]string
		var failed [2]error
		inWorkers(len(together), func(w int) { together[w], failed[w] = s.fingerprint(request, updates) })
		for _, err := range failed {
			if err != nil {
				return nil, err
			}
		}
		return pairs{{"equal", flagOf(together[0] == alone && together[1] == alone)}}, nil
	}
}

// fingerprint is the bits of the first updates' losses and norms, and the adapter's digest after them.
func (s scene) fingerprint(request trainRequest, updates int) (string, error) {
	var text strings.Builder
	err := s.loaded(request, func(r *run) error {
		for k := int64(1); k <= int64(updates); k++ {
			_, records := r.orders.take(k)
			o, err := r.update(k, records)
			if err != nil {
				return err
			}
			fmt.Fprintln(&text, bits(o.loss), bits(o.norm))
		}
		digest, err := hexapla.Digest(r.adapter.tensors...)
		fmt.Fprintln(&text, digest)
		return err
	})
	return text.String(), err
}
