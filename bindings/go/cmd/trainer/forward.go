package main

// The forward pass: exactly the operations of docs/spec.md, "Forward", in its order.

import (
	"hexapla-go/hexapla"
)

// pass makes one forward pass's tensors. The first error stays, and makes the operations behind it do nothing.
type pass struct {
	tape  *hexapla.Tape  // nil: nothing is recorded
	scope *hexapla.Scope // closes what the pass makes; nil: nobody does
	err   error
}

// keep takes an operation's result.
func (p *pass) keep(t *hexapla.Tensor, err error) *hexapla.Tensor {
	if err != nil {
		p.err = err
		return nil
	}
	return hexapla.Keep(p.scope, t)
}

func (p *pass) norm(x, gain *hexapla.Tensor, epsilon float64) *hexapla.Tensor {
	if p.err != nil {
		return nil
	}
	return p.keep(hexapla.RMSNorm(p.tape, x, gain, epsilon))
}

func (p *pass) rope(x *hexapla.Tensor, positions []int32, theta float64) *hexapla.Tensor {
	if p.err != nil {
		return nil
	}
	return p.keep(hexapla.Rope(p.tape, x, positions, theta))
}

func (p *pass) add(x, y *hexapla.Tensor) *hexapla.Tensor {
	if p.err != nil {
		return nil
	}
	return p.keep(hexapla.Add(p.tape, x, y))
}

func (p *pass) reshape(x *hexapla.Tensor, shape ...int64) *hexapla.Tensor {
	if p.err != nil {
		return nil
	}
	return p.keep(hexapla.Reshape(p.tape, x, shape...))
}

// project is lora_linear where the adapter has the projection, else linear.
func (p *pass) project(x *hexapla.Tensor, m *model, a *adapter, layer int64, name string) *hexapla.Tensor {
	if p.err != nil {
		return nil
	}
	w := m.layers[layer].weights[name]
	if loraA, loraB := a.pair(layer, name); loraA != nil {
		return p.keep(hexapla.LoraLinear(p.tape, x, w, loraA, loraB, a.scale))
	}
	return p.keep(hexapla.Linear(p.tape, x, w))
}

// forward is the NLL of each label (labels), in packed order. adapter nil: the base model alone.
func (p *pass) forward(m *model, a *adapter, b batch) (*hexapla.Tensor, error) {
	x := p.keep(hexapla.Embedding(p.tape, m.embedding, b.ids)) // (rows, hidden)
	for number := range m.config.layers {
		x = p.attend(m, a, number, x, b)
		x = p.transform(m, a, number, x)
	}
	h := p.norm(x, m.norm, m.epsilon) // (rows, hidden)
	if p.err != nil {
		return nil, p.err
	}
	nll := p.keep(hexapla.LinearCrossEntropy(p.tape, h, m.head, b.rows, b.targets)) // (labels)
	return nll, p.err
}

// attend is a layer's first half: x + attention(norm x).
func (p *pass) attend(m *model, a *adapter, number int64, x *hexapla.Tensor, b batch) *hexapla.Tensor {
	l, rows := m.layers[number], int64(len(b.ids))
	h := p.norm(x, l.inputNorm, m.epsilon)       // (rows, hidden)
	q := p.project(h, m, a, number, "q_proj")    // (rows, heads · head_dim)
	k := p.project(h, m, a, number, "k_proj")    // (rows, kv_heads · head_dim)
	v := p.project(h, m, a, number, "v_proj")    // (rows, kv_heads · head_dim)
	q = p.reshape(q, rows, m.heads, m.headDim)   // (rows, heads, head_dim)
	k = p.reshape(k, rows, m.kvHeads, m.headDim) // (rows, kv_heads, head_dim)
	v = p.reshape(v, rows, m.kvHeads, m.headDim) // (rows, kv_heads, head_dim)
	if m.qkNorm {
		q = p.norm(q, l.qNorm, m.epsilon)
		k = p.norm(k, l.kNorm, m.epsilon)
	}
	q = p.rope(q, b.positions, m.theta)
	k = p.rope(k, b.positions, m.theta)
	if p.err != nil {
		return nil
	}
	o := p.keep(hexapla.Attention(p.tape, q, k, v, b.starts, true)) // (rows, heads, head_dim)
	o = p.reshape(o, rows, m.heads*m.headDim)                       // (rows, heads · head_dim)
	o = p.project(o, m, a, number, "o_proj")                        // (rows, hidden)
	return p.add(x, o)
}

// transform is a layer's second half: x + mlp(norm x).
func (p *pass) transform(m *model, a *adapter, number int64, x *hexapla.Tensor) *hexapla.Tensor {
	h := p.norm(x, m.layers[number].postNorm, m.epsilon) // (rows, hidden)
	g := p.project(h, m, a, number, "gate_proj")         // (rows, intermediate)
	u := p.project(h, m, a, number, "up_proj")           // (rows, intermediate)
	if p.err != nil {
		return nil
	}
	s := p.keep(hexapla.Swiglu(p.tape, g, u))    // (rows, intermediate)
	d := p.project(s, m, a, number, "down_proj") // (rows, hidden)
	return p.add(x, d)
}

// nlls reads an NLL tensor and sums it by record.
func nlls(nll *hexapla.Tensor, b batch) ([]float64, error) {
	values := make([]float32, len(b.targets))
	if err := nll.Read(values); err != nil {
		return nil, err
	}
	return b.sums(values), nil
}
