package main

// Probes that train: what they share with a run, a failing allocation, a failing write.

import (
	"os/signal"
	"syscall"

	"hexapla-go/hexapla"
)

// train reads the parameter of that name: the keys of a `train` request without context.
func (s scene) train() trainRequest {
	f := fieldsOf(s.child("train"), badRequest, "parameters.train.")
	request := f.trainKeys()
	if err := f.end(); err != nil && s.err == nil {
		s.err = err
	}
	request.context = s.context
	return request
}

// loaded runs `play` with a run that has everything on the device, and releases it all.
func (s scene) loaded(request trainRequest, play func(*run) error) error {
	r, err := newRun(request)
	if err != nil {
		return err
	}
	if err := r.renderAll(); err != nil {
		return err
	}
	return s.inContext(func(context *hexapla.Context) error {
		if err := r.loadDevice(context); err != nil {
			return err
		}
		err := play(r)
		if closing := r.close(); err == nil {
			err = closing
		}
		return err
	})
}

func failAllocation(s scene) func() (pairs, error) {
	request, nth, persistent := s.train(), s.integer("nth", 0, exactMax-1), s.integer("persistent", 0, 1) == 1
	return func() (pairs, error) {
		var seen pairs
		err := s.loaded(request, func(r *run) error {
			before, err := r.context.Memory()
			if err != nil {
				return err
			}
			if err := r.context.FailAllocation(uint64(nth), persistent); err != nil {
				return err
			}
			_, records := r.orders.take(r.start + 1)
			_, failed := r.update(r.start+1, records)
			if err := r.context.FailAllocation(0, false); err != nil {
				return err
			}
			after, err := r.context.Memory()
			seen = pairs{
				{"fired", after.InjectedFailures - before.InjectedFailures}, {"status", statusName(failed)},
				{"live_difference", after.LiveBytes - before.LiveBytes},
			}
			return err
		})
		return seen, err
	}
}

func writeFails(s scene) func() (pairs, error) {
	request, limit := s.train(), s.integer("limit_bytes", 0, exactMax-1)
	return func() (pairs, error) {
		var seen pairs
		err := s.loaded(request, func(r *run) error {
			first := r.start + 1
			if err := prepareOutput(request.output, r.spec, r.start, 0); err != nil {
				return err
			}
			whole, err := r.updateAndSave(first)
			if err != nil {
				return err
			}
			var failed error
			err = limitedFiles(uint64(limit), func() { _, failed = r.updateAndSave(first + 1) })
			seen = pairs{{"status", statusName(failed)}, {"previous_loads", flagOf(r.loads(whole.path, first))}}
			return err
		})
		return seen, err
	}
}

func (r *run) updateAndSave(k int64) (saved, error) {
	_, records := r.orders.take(k)
	if _, err := r.update(k, records); err != nil {
		return saved{}, err
	}
	return r.save(r.request.output, k)
}

// limitedFiles runs `work` while no file of this process may grow past a limit.
func limitedFiles(limit uint64, work func()) error {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: before.Max}); err != nil {
		return err
	}
	work()
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before)
}

// loads says whether a checkpoint is whole: names, shapes and metadata.
func (r *run) loads(folder string, k int64) bool {
	update, err := savedUpdate(folder, r.request.specDigest)
	if err != nil || update != k {
		return false
	}
	if err := checkAdapterConfig(folder, r.spec); err != nil {
		return false
	}
	a, err := loadAdapter(folder, r.model.config, r.spec, r.context)
	if err != nil {
		return false
	}
	defer a.close()
	o, err := loadOptimizer(folder, a, r.context)
	if err != nil {
		return false
	}
	return o.close() == nil
}
