package main

// The `train` request: the loop over updates, and the events of each.

import (
	"context"

	"hexapla-go/hexapla"
)

// train runs until update T, stop_after, or the end of ctx, which it looks at between updates.
func train(ctx context.Context, request trainRequest, e *events) (pairs, error) {
	before, err := hexapla.ProcessMemory()
	if err != nil {
		return nil, err
	}
	r, err := newRun(request)
	if err != nil {
		return nil, err
	}
	if err := prepareOutput(request.output, r.spec, r.start, request.stopAfter); err != nil {
		return nil, err
	}
	if err := r.renderAll(); err != nil {
		return nil, err
	}
	e.send("data", pair{"train", len(r.orders.ids)}, pair{"heldout", len(r.heldout)}, pair{"rejected", r.count.rejected},
		pair{"markers", r.count.markers})
	if request.collector {
		defer hexapla.OnLeak(hexapla.OnLeak(nil)) // owners are lost on purpose; hexapla.Leaks still counts them
	}
	last, peak, err := r.onDevice(ctx, e)
	handles, settling := settle(before.LiveHandles, request.collector)
	if err == nil {
		err = settling
	}
	return pairs{{"step", last}, {"stopped", last < r.spec.updates}, {"device_bytes_peak", peak}, {"handles_live", handles}}, err
}

// settle counts the live handles of the process; where owners were lost on purpose it lets their cleanups run first.
func settle(handles int64, lost bool) (int64, error) {
	if lost {
		return hexapla.Settle(handles, settleLimit)
	}
	memory, err := hexapla.ProcessMemory()
	return memory.LiveHandles, err
}

// onDevice is the part of a run that has a context, which is gone when it returns: the last update made, and the peak in bytes.
func (r *run) onDevice(ctx context.Context, e *events) (last, peak int64, err error) {
	c, err := newContext(r.request.context)
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		if closing := c.Close(); err == nil {
			err = closing
		}
	}()
	if err := r.loadDevice(c); err != nil {
		return 0, 0, err
	}
	defer func() {
		if closing := r.close(); err == nil {
			err = closing
		}
	}()
	if last, err = r.updates(ctx, e); err != nil {
		return last, 0, err
	}
	memory, err := c.Memory()
	return last, memory.PeakBytes, err
}

// updates makes the updates after r.start, each in a task of its own, and returns the last one made.
func (r *run) updates(ctx context.Context, e *events) (int64, error) {
	tasks := newTasks(r.request.migrating)
	defer tasks.end()
	if r.start == 0 {
		if err := r.evaluate(e, 0); err != nil {
			return 0, err
		}
	}
	last := r.spec.updates
	if r.request.stops {
		last = r.request.stopAfter
	}
	for k := r.start + 1; k <= last; k++ {
		if ctx.Err() != nil || e.err != nil {
			return k - 1, e.err
		}
		if err := tasks.do(func() error { return r.one(k, e, tasks.here) }); err != nil {
			return k - 1, err
		}
	}
	return last, nil
}

// one is update k and what follows it. It says so when it has left core for the first time: sending an event may move the goroutine.
func (r *run) one(k int64, e *events, here func()) error {
	epoch, records := r.orders.take(k)
	o, err := r.update(k, records)
	here()
	if err != nil {
		return err
	}
	tokens, labels := countLabels(records)
	body := []pair{{"step", k}, {"epoch", epoch}, {"records", len(records)}, {"tokens", tokens}, {"labels", labels}}
	body = append(body, number("loss", o.loss)...)
	body = append(body, number("gradient_norm", o.norm)...)
	body = append(body, pair{"clipped", o.clipped})
	body = append(body, number("learning_rate", o.rate)...)
	e.send("step", append(body, pair{"batch_digest", batchDigest(records)}, pair{"milliseconds", o.milliseconds})...)
	if r.spec.evaluates(k) {
		if err := r.evaluate(e, k); err != nil {
			return err
		}
	}
	if r.spec.saves(k, r.request.stopAfter) {
		s, err := r.save(r.request.output, k)
		if err != nil {
			return err
		}
		e.send("checkpoint", pair{"step", k}, pair{"path", s.path}, pair{"adapter_digest", s.adapterDigest},
			pair{"optimizer_digest", s.optimizerDigest})
	}
	return nil
}

func (r *run) evaluate(e *events, k int64) error {
	result, err := evaluate(r.model, r.adapter, r.heldout, r.spec.microBatch, r.scope)
	if err != nil {
		return at("evaluation", err)
	}
	return result.send(e, k, r.adapter)
}
