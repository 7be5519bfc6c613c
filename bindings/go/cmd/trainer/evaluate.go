package main

// Evaluation: the held-out records' NLL, adapter on or off, nothing recorded, nothing changed.

import (
	"fmt"

	"hexapla-go/hexapla"
)

// evaluation is what an `evaluation` event says.
type evaluation struct {
	loss, total float64
	labels      int64
	nll         []float64 // of each record
}

// evaluate runs all records in order; a nil adapter is off. scope makes the place for each micro-batch's temporaries.
func evaluate(m *model, a *adapter, records []rendered, microBatch int64, scope func() *hexapla.Scope) (evaluation, error) {
	var result evaluation
	for _, b := range microBatches(records, microBatch) {
		sums, err := evaluateBatch(m, a, b, scope())
		if err != nil {
			return evaluation{}, err
		}
		result.nll = append(result.nll, sums...)
	}
	_, result.labels = countLabels(records)
	for _, nll := range result.nll {
		result.total += nll
	}
	result.loss = result.total / float64(result.labels)
	return result, nil
}

func evaluateBatch(m *model, a *adapter, b batch, scope *hexapla.Scope) (sums []float64, err error) {
	p := &pass{scope: scope}
	defer func() {
		if closing := scope.Close(); err == nil {
			err = closing
		}
	}()
	nll, err := p.forward(m, a, b)
	if err != nil {
		return nil, err
	}
	return nlls(nll, b)
}

// send sends the event of an evaluation. A loss that is not finite is sent, then ends the run.
func (v evaluation) send(e *events, step int64, a *adapter) error {
	var digest any
	if a != nil {
		text, err := hexapla.Digest(a.tensors...)
		if err != nil {
			return err
		}
		digest = text
	}
	body := []pair{{"step", step}, {"adapter", a != nil}}
	body = append(append(body, number("loss", v.loss)...), number("total", v.total)...)
	e.send("evaluation", append(body, pair{"labels", v.labels}, pair{"record_nll", v.nll}, pair{"adapter_digest", digest})...)
	if !finite(v.loss) {
		return fail(notFinite, fmt.Sprintf("update %d", step), "the held-out loss is %v", v.loss)
	}
	return nil
}

// evaluateOnly answers the `evaluate` request.
func evaluateOnly(request evaluateRequest, e *events) (pairs, error) {
	s, err := readSpec(request.spec)
	if err != nil {
		return nil, err
	}
	context, err := newContext(request.context)
	if err != nil {
		return nil, err
	}
	defer context.Close()
	records, err := heldoutOnly(request, s)
	if err != nil {
		return nil, err
	}
	m, err := loadModel(request.model, context)
	if err != nil {
		return nil, err
	}
	defer m.close()
	var a *adapter
	if request.adapter != "" {
		if err := checkAdapterConfig(request.adapter, s); err != nil {
			return nil, err
		}
		if a, err = loadAdapter(request.adapter, m.config, s, context); err != nil {
			return nil, err
		}
		defer a.close()
	}
	result, err := evaluate(m, a, records, s.microBatch, func() *hexapla.Scope { return &hexapla.Scope{} })
	if err != nil {
		return nil, at("evaluation", err)
	}
	return nil, result.send(e, 0, a)
}

func heldoutOnly(request evaluateRequest, s spec) ([]rendered, error) {
	r, err := newRenderer(request.tokenizer, s.template, s.length)
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.accepted(request.heldout, &tally{rejected: map[string]int64{}})
}
