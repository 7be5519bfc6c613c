package main

// The adapter: A and B of every target, their gradients and moments, in adapter order. Names and shapes are PEFT's.

import (
	"fmt"
	"path/filepath"

	"hexapla-go/hexapla"
)

const (
	adapterFile       = "adapter_model.safetensors"
	adapterConfigFile = "adapter_config.json"
	optimizerFile     = "optimizer.safetensors"
)

// parts names the tensors of an adapter, and says where each projection's A is (B is the next).
type parts struct {
	names  []string
	shapes map[string][]int64
	index  map[string]int // of a layer's projection, by key
}

func partsOf(c config, s spec) parts {
	p := parts{shapes: map[string][]int64{}, index: map[string]int{}}
	for number := range c.layers {
		for _, projection := range projections {
			if !contains(s.targets, projection.name) {
				continue
			}
			out, in := c.projectionShape(projection.name)
			stem := fmt.Sprintf("base_model.model.model.layers.%d.%s.%s", number, projection.block, projection.name)
			p.index[placeOf(number, projection.name)] = len(p.names)
			p.add(stem+".lora_A.weight", s.rank, in)
			p.add(stem+".lora_B.weight", out, s.rank)
		}
	}
	return p
}

func (p *parts) add(name string, shape ...int64) {
	p.names = append(p.names, name)
	p.shapes[name] = shape
}

func placeOf(layer int64, projection string) string { return fmt.Sprintf("%d.%s", layer, projection) }

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// adapter is the trained tensors; scope owns them.
type adapter struct {
	parts
	scale   float64
	tensors []*hexapla.Tensor
	scope   hexapla.Scope
}

func (a *adapter) close() error { return a.scope.Close() }

// pair is A and B of a layer's projection; nil, nil if it is no target.
func (a *adapter) pair(layer int64, projection string) (*hexapla.Tensor, *hexapla.Tensor) {
	if a == nil {
		return nil, nil
	}
	i, ok := a.index[placeOf(layer, projection)]
	if !ok {
		return nil, nil
	}
	return a.tensors[i], a.tensors[i+1]
}

// checkAdapterConfig refuses an adapter_config.json whose rank or alpha is not the spec's.
func checkAdapterConfig(folder string, s spec) error {
	path := filepath.Join(folder, adapterConfigFile)
	o, err := readObject(path)
	if err != nil {
		return err
	}
	f := fieldsOf(o, badCheckpoint, path+": ")
	if rank := f.number("r"); f.err == nil && rank != float64(s.rank) {
		f.fail("r", "key r is %v, the spec's rank is %d", rank, s.rank)
	}
	if alpha := f.number("lora_alpha"); f.err == nil && alpha != s.alpha {
		f.fail("lora_alpha", "key lora_alpha is %v, the spec's alpha is %v", alpha, s.alpha)
	}
	return f.err
}

// loadAdapter reads the adapter's tensors from a folder. The adapter must be closed.
func loadAdapter(folder string, c config, s spec, context *hexapla.Context) (*adapter, error) {
	path := filepath.Join(folder, adapterFile)
	checkpoint, err := hexapla.OpenCheckpoint(path)
	if err != nil {
		return nil, at(path, err)
	}
	defer checkpoint.Close()
	a := &adapter{parts: partsOf(c, s), scale: s.alpha / float64(s.rank)}
	entries, err := checkpoint.Entries()
	if err == nil {
		err = expect(path, entries, a.shapes)
	}
	if err == nil {
		a.tensors, err = readAll(checkpoint, a.names, context, &a.scope)
	}
	if err != nil {
		a.close()
		return nil, at(path, err)
	}
	return a, nil
}

// optimizer is the state of AdamW: moments and gradients, one each for every adapter tensor.
type optimizer struct {
	gradients, expAvgs, expAvgSqs []*hexapla.Tensor
	scope                         hexapla.Scope
}

func (o *optimizer) close() error { return o.scope.Close() }

// moments lists exp_avg, then exp_avg_sq, of each tensor.
func (o *optimizer) moments() []*hexapla.Tensor {
	all := make([]*hexapla.Tensor, 0, 2*len(o.expAvgs))
	for i := range o.expAvgs {
		all = append(all, o.expAvgs[i], o.expAvgSqs[i])
	}
	return all
}

// newOptimizer makes gradients and moments of zeros. The optimizer must be closed.
func newOptimizer(a *adapter, context *hexapla.Context) (*optimizer, error) {
	o := &optimizer{}
	err := o.makeGradients(a, context)
	if err == nil {
		for _, list := range []*[]*hexapla.Tensor{&o.expAvgs, &o.expAvgSqs} {
			if *list, err = zerosLike(a, context, &o.scope); err != nil {
				break
			}
		}
	}
	if err != nil {
		o.close()
		return nil, at("optimizer", err)
	}
	return o, nil
}

func (o *optimizer) makeGradients(a *adapter, context *hexapla.Context) (err error) {
	o.gradients, err = zerosLike(a, context, &o.scope)
	return err
}

func zerosLike(a *adapter, context *hexapla.Context, scope *hexapla.Scope) ([]*hexapla.Tensor, error) {
	list := make([]*hexapla.Tensor, len(a.names))
	for i, name := range a.names {
		tensor, err := context.Zeros(a.shapes[name]...)
		if err != nil {
			return nil, err
		}
		list[i] = hexapla.Keep(scope, tensor)
	}
	return list, nil
}
