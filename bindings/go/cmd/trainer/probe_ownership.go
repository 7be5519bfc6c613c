package main

// Probes of ownership: owners, copies, orders of release, releases at the wrong time or place (CASES.md, C).

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"hexapla-go/hexapla"
	"hexapla-go/hexapla/rawtest"
)

var oneToFour = []float32{1, 2, 3, 4}

// parent owns a tensor; get hands out owners of their own.
type parent struct{ tensor *hexapla.Tensor }

func (p parent) get() (*hexapla.Tensor, error) { return p.tensor.Retain() }

// releases closes owners and remembers the statuses.
type releases struct{ statuses }

func (r *releases) close(owner interface{ Close() error }) { r.add(owner.Close()) }

func accessors(s scene) func() (pairs, error) {
	repeats := s.count("repeats")
	return func() (pairs, error) {
		value, closed := plain(oneToFour), &releases{}
		err := s.inContext(func(context *hexapla.Context) error {
			for range repeats {
				read, err := accessorsOnce(context, closed)
				if err != nil {
					return err
				}
				if value == plain(oneToFour) {
					value = read
				}
			}
			return nil
		})
		return pairs{{"value", value}, {"statuses", closed.String()}}, err
	}
}

// accessorsOnce is the first read that differs from 1 2 3 4, else the last.
func accessorsOnce(context *hexapla.Context, closed *releases) (string, error) {
	tensor, err := context.From(oneToFour, 4)
	if err != nil {
		return "", err
	}
	p := parent{tensor}
	a, err := p.get()
	if err != nil {
		return "", err
	}
	b, err := p.get()
	if err != nil {
		return "", err
	}
	closed.close(a)
	closed.close(b)
	first, err := p.tensor.Values()
	if err != nil {
		return "", err
	}
	view, err := hexapla.Reshape(nil, p.tensor, 2, 2)
	if err != nil {
		return "", err
	}
	closed.close(view)
	last, err := p.tensor.Values()
	if err != nil {
		return "", err
	}
	closed.close(p.tensor)
	if read := plain(first); read != plain(oneToFour) {
		return read, nil
	}
	return plain(last), nil
}

func copies(s scene) func() (pairs, error) {
	repeats := s.count("repeats")
	return func() (pairs, error) {
		value, closed := "", &releases{}
		err := s.inContext(func(context *hexapla.Context) (err error) {
			for range repeats {
				if value, err = copiesOnce(context, closed); err != nil {
					return err
				}
			}
			return nil
		})
		return pairs{{"value", value}, {"statuses", closed.String()}}, err
	}
}

func copiesOnce(context *hexapla.Context, closed *releases) (string, error) {
	a, err := context.From(oneToFour, 4)
	if err != nil {
		return "", err
	}
	c, err := a.Retain()
	if err != nil {
		return "", err
	}
	defer closed.close(c)
	b, err := a.Retain()
	if err != nil {
		return "", err
	}
	defer closed.close(b)
	closed.close(a)
	values, err := b.Values()
	if err != nil {
		return "", err
	}
	var sum float32
	for _, value := range values {
		sum += value
	}
	if sum != 10 {
		return fmt.Sprintf("sum %v", sum), nil
	}
	if err := b.AddInPlace(1); err != nil {
		return "", err
	}
	read, err := c.Values()
	return plain(read), err
}

func dropOrders(s scene) func() (pairs, error) {
	seed, orders := s.integer("seed", 0, 1<<31-1), s.count("orders")
	return func() (pairs, error) {
		failed := 0
		for i := range orders {
			before, err := hexapla.ProcessMemory()
			if err != nil {
				return nil, err
			}
			family, err := makeFamily(s.context)
			if err != nil {
				return nil, err
			}
			wrong := false
			for _, index := range shuffled(len(family), seed, int64(i)) {
				wrong = family[index].Close() != nil || wrong
			}
			after, err := hexapla.ProcessMemory()
			if err != nil {
				return nil, err
			}
			if wrong || after.LiveHandles != before.LiveHandles || after.LiveBytes != before.LiveBytes {
				failed++
			}
		}
		return pairs{{"orders", orders}, {"failed", failed}}, nil
	}
}

// makeFamily makes a context, a tensor, a second owner of it, a tape that watches it, and a view recorded there.
func makeFamily(c contextRequest) ([]interface{ Close() error }, error) {
	context, err := newContext(c)
	if err != nil {
		return nil, err
	}
	tensor, err := context.From(oneToFour, 4)
	if err != nil {
		return nil, err
	}
	second, err := tensor.Retain()
	if err != nil {
		return nil, err
	}
	tape, err := context.NewTape()
	if err != nil {
		return nil, err
	}
	if err := tape.Watch(tensor, nil); err != nil {
		return nil, err
	}
	view, err := hexapla.Reshape(tape, tensor, 2, 2)
	return []interface{ Close() error }{context, tensor, second, tape, view}, err
}

// withTensor runs `play` with a tensor of one element in a context of its own.
func (s scene) withTensor(play func(*hexapla.Tensor) error) error {
	return s.inContext(func(context *hexapla.Context) error {
		tensor, err := context.Zeros(1)
		if err != nil {
			return err
		}
		defer tensor.Close()
		return play(tensor)
	})
}

func doubleRelease(s scene) func() (pairs, error) {
	return func() (pairs, error) {
		status := ""
		err := s.withTensor(func(tensor *hexapla.Tensor) error {
			id, err := rawtest.RetainTensor(tensor.ID()) // an id that no owner closes: Close itself works once only
			if err == nil {
				err = rawtest.ReleaseTensor(id)
			}
			status = statusName(rawtest.ReleaseTensor(id))
			return err
		})
		return pairs{{"status", status}}, err
	}
}

func useAfterRelease(s scene) func() (pairs, error) {
	return func() (pairs, error) {
		status := ""
		err := s.withTensor(func(tensor *hexapla.Tensor) error {
			err := tensor.Close()
			status = statusName(tensor.Read(make([]float32, 1)))
			return err
		})
		return pairs{{"status", status}}, err
	}
}

const threadTries = 1000 // a goroutine usually finds another thread at the first

func releaseElsewhere(s scene) func() (pairs, error) {
	return func() (pairs, error) {
		status := ""
		err := s.inContext(func(context *hexapla.Context) error {
			for range threadTries {
				made := syscall.Gettid()
				tensor, err := context.Zeros(1)
				if err != nil {
					return err
				}
				madeToo := syscall.Gettid()
				first, second, err := closeElsewhere(tensor)
				if made == madeToo && first == second && first != made {
					status = statusName(err)
					return nil
				}
			}
			return fail(broken, "release_elsewhere", "no goroutine ran on another thread in %d tries", threadTries)
		})
		return pairs{{"status", status}}, err
	}
}

// closeElsewhere closes a tensor in another goroutine, while this one keeps its thread in native code; the threads before and after.
func closeElsewhere(tensor *hexapla.Tensor) (before, after int, err error) {
	gate, failed := hexapla.NewGate()
	if failed != nil {
		return 0, 0, failed
	}
	defer gate.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		before = syscall.Gettid()
		err = tensor.Close()
		after = syscall.Gettid()
		gate.Open()
	}()
	gate.Wait()
	<-done
	return before, after, err
}

func closeRace(s scene) func() (pairs, error) {
	rounds := s.count("rounds")
	return func() (pairs, error) {
		wrong, reads := 0, &statuses{}
		err := s.inContext(func(context *hexapla.Context) error {
			buffer := make([]float32, 1024)
			for range rounds {
				tensor, err := context.Full(1, int64(len(buffer)))
				if err != nil {
					return err
				}
				clear(buffer)
				read := readWhileClosing(tensor, buffer)
				reads.add(read)
				if status := hexapla.StatusOf(read); status != hexapla.StaleHandle && (read != nil || !all(buffer, 1)) {
					wrong++
				}
			}
			return nil
		})
		return pairs{{"rounds", rounds}, {"wrong", wrong}, {"statuses", reads.String()}}, err
	}
}

func readWhileClosing(tensor *hexapla.Tensor, buffer []float32) (read error) {
	var both sync.WaitGroup
	both.Add(2)
	start := make(chan struct{})
	go func() {
		defer both.Done()
		<-start
		read = tensor.Read(buffer)
	}()
	go func() {
		defer both.Done()
		<-start
		tensor.Close()
	}()
	close(start)
	both.Wait()
	return read
}

func all(values []float32, wanted float32) bool {
	for _, value := range values {
		if value != wanted {
			return false
		}
	}
	return true
}

const (
	raceElements = 65536
	warmUpCalls  = 20000
)

func finaliserRace(s scene) func() (pairs, error) {
	rounds := s.count("rounds")
	return func() (pairs, error) {
		wrong, reads := 0, &statuses{}
		err := s.inContext(func(context *hexapla.Context) error {
			for range warmUpCalls {
				if _, err := context.Memory(); err != nil {
					return err
				}
			}
			var stop atomic.Bool
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				for !stop.Load() {
					runtime.GC()
				}
			}()
			defer func() { stop.Store(true); <-stopped }()
			buffer := make([]float32, raceElements)
			for round := range rounds {
				tensor, err := context.Full(float64(round), raceElements)
				if err != nil {
					return err
				}
				read := tensor.Read(buffer) // the last use: the collector may take the owner while C still reads
				reads.add(read)
				if read != nil || !all(buffer, float32(round)) {
					wrong++
				}
			}
			return nil
		})
		return pairs{{"rounds", rounds}, {"wrong", wrong}, {"statuses", reads.String()}}, err
	}
}
