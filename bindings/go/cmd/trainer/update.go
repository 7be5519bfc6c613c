package main

// One update: forward and backward of its micro-batches, norm, clip, AdamW. It sends no event and saves nothing.

import (
	"fmt"
	"math"
	"time"

	"hexapla-go/hexapla"
)

// learner is everything that an update works on.
type learner struct {
	spec      spec
	context   *hexapla.Context
	model     *model
	adapter   *adapter
	optimizer *optimizer
	tape      *hexapla.Tape
	collector bool // temporaries are lost, not closed
}

// newLearner makes the tape, which watches every adapter tensor with a gradient of its own. It owns the tape only.
func newLearner(s spec, context *hexapla.Context, m *model, a *adapter, o *optimizer) (*learner, error) {
	tape, err := context.NewTape()
	if err != nil {
		return nil, err
	}
	for i, tensor := range a.tensors {
		if err := tape.Watch(tensor, o.gradients[i]); err != nil {
			tape.Close()
			return nil, err
		}
	}
	return &learner{spec: s, context: context, model: m, adapter: a, optimizer: o, tape: tape}, nil
}

// scope is where temporaries go: nil, which keeps nothing, if they are to be lost.
func (l *learner) scope() *hexapla.Scope {
	if l.collector {
		return nil
	}
	return &hexapla.Scope{}
}

// outcome is what an update says of itself.
type outcome struct {
	loss, norm, rate float64
	clipped          bool
	milliseconds     float64
}

// update makes update k on its records. A loss or norm that is not finite leaves the parameters as they were.
func (l *learner) update(k int64, records []rendered) (outcome, error) {
	start := time.Now()
	where := fmt.Sprintf("update %d", k)
	if err := l.context.Mark(k); err != nil {
		return outcome{}, at(where, err)
	}
	var o outcome
	err := l.accumulate(&o, records)
	if err == nil {
		o.norm, err = hexapla.GradientNorm(l.optimizer.gradients)
	}
	if err != nil {
		return o, at(where, err)
	}
	if !finite(o.loss) || !finite(o.norm) {
		return o, fail(notFinite, where, "loss is %v, gradient norm is %v", o.loss, o.norm)
	}
	if o.clipped, err = hexapla.GradientClip(l.optimizer.gradients, o.norm, l.spec.clipNorm); err != nil {
		return o, at(where, err)
	}
	o.rate = l.spec.rate(k)
	step := hexapla.AdamW{
		Step: k, LearningRate: o.rate, Beta1: l.spec.beta1, Beta2: l.spec.beta2, Epsilon: l.spec.epsilon, WeightDecay: l.spec.weightDecay,
	}
	err = step.Apply(l.adapter.tensors, l.optimizer.gradients, l.optimizer.expAvgs, l.optimizer.expAvgSqs)
	o.milliseconds = float64(time.Since(start).Nanoseconds()) / 1e6
	return o, at(where, err)
}

// accumulate runs the micro-batches: gradients add up from zero, the loss is divided once.
func (l *learner) accumulate(o *outcome, records []rendered) error {
	for _, gradient := range l.optimizer.gradients {
		if err := gradient.Fill(0); err != nil {
			return err
		}
	}
	_, labels := countLabels(records)
	var total float64
	for _, b := range microBatches(records, l.spec.microBatch) {
		sums, err := l.microBatch(b, float64(float32(1/float64(labels))))
		if err != nil {
			return err
		}
		for _, sum := range sums {
			total += sum
		}
	}
	o.loss = total / float64(labels)
	return nil
}

// microBatch goes forward and back, with the same weight for every label, and closes all it made.
func (l *learner) microBatch(b batch, weight float64) (sums []float64, err error) {
	p := &pass{tape: l.tape, scope: l.scope()}
	defer func() {
		if closing := p.scope.Close(); err == nil {
			err = closing
		}
		if err != nil {
			l.tape.Reset() // a failed pass leaves records that hold its tensors
		}
	}()
	nll, err := p.forward(l.model, l.adapter, b)
	if err != nil {
		return nil, err
	}
	if sums, err = nlls(nll, b); err != nil {
		return nil, err
	}
	incoming := p.keep(l.context.Full(weight, int64(len(b.targets)))) // (labels)
	if p.err != nil {
		return nil, p.err
	}
	return sums, l.tape.Backward(nll, incoming)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
