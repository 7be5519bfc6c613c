package main

// A run: all that a `train` request needs, loaded in order and released together. The loop over updates is in train.go; the probes load
// runs too.

import (
	"os"
	"path/filepath"

	"hexapla-go/hexapla"
)

type run struct {
	request       trainRequest
	spec          spec
	start         int64 // the last update already made
	adapterConfig []byte
	heldout       []rendered
	orders        orders
	count         tally
	context       *hexapla.Context // borrowed
	*learner
}

// newRun checks what can be checked without a device: the spec, where the run starts and stops.
func newRun(request trainRequest) (*run, error) {
	s, err := readSpec(request.spec)
	if err != nil {
		return nil, err
	}
	r := &run{request: request, spec: s, count: tally{rejected: map[string]int64{}}}
	if request.resumeFrom != "" {
		if r.start, err = savedUpdate(request.resumeFrom, request.specDigest); err != nil {
			return nil, err
		}
		if r.start >= s.updates {
			return nil, fail(badRequest, "resume_from", "the checkpoint is of update %d, the run has %d", r.start, s.updates)
		}
	}
	if request.stops && (request.stopAfter <= r.start || request.stopAfter > s.updates) {
		return nil, fail(badRequest, "stop_after", "key stop_after is %d, must be above the starting update, %d, and at most %d",
			request.stopAfter, r.start, s.updates)
	}
	if err := checkAdapterConfig(request.adapter, s); err != nil {
		return nil, err
	}
	path := filepath.Join(request.adapter, adapterConfigFile)
	if r.adapterConfig, err = os.ReadFile(path); err != nil {
		return nil, fail(badCheckpoint, path, "%v", err)
	}
	return r, nil
}

// renderAll renders both record files.
func (r *run) renderAll() error {
	renderer, err := newRenderer(r.request.tokenizer, r.spec.template, r.spec.length)
	if err != nil {
		return err
	}
	defer renderer.close()
	train, err := renderer.accepted(r.request.train, &r.count)
	if err != nil {
		return err
	}
	r.orders = orders{spec: r.spec, ids: train}
	r.heldout, err = renderer.accepted(r.request.heldout, &r.count)
	return err
}

// loadDevice loads model, adapter and optimizer into a context, and makes the tape. The run must then be closed.
func (r *run) loadDevice(context *hexapla.Context) error {
	m, err := loadModel(r.request.model, context)
	if err != nil {
		return err
	}
	a, o, err := r.loadTrained(m, context)
	if err != nil {
		m.close()
		return err
	}
	l, err := newLearner(r.spec, context, m, a, o)
	if err != nil {
		o.close()
		a.close()
		m.close()
		return at("tape", err)
	}
	l.collector = r.request.collector
	r.context, r.learner = context, l
	return nil
}

// loadTrained loads the adapter and makes or loads the optimizer.
func (r *run) loadTrained(m *model, context *hexapla.Context) (*adapter, *optimizer, error) {
	folder := r.request.adapter
	if r.request.resumeFrom != "" {
		folder = r.request.resumeFrom
	}
	a, err := loadAdapter(folder, m.config, r.spec, context)
	if err != nil {
		return nil, nil, err
	}
	var o *optimizer
	if r.request.resumeFrom != "" {
		o, err = loadOptimizer(folder, a, context)
	} else {
		o, err = newOptimizer(a, context)
	}
	if err != nil {
		a.close()
		return nil, nil, err
	}
	return a, o, nil
}

// close releases all that loadDevice made; it may be called twice.
func (r *run) close() error {
	if r.learner == nil {
		return nil
	}
	l := r.learner
	r.learner = nil
	var first error
	for _, close := range []func() error{l.tape.Close, l.optimizer.close, l.adapter.close, l.model.close} {
		if err := close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
