package main

// What each op of the `operators` request calls, by name.

import (
	"hexapla-go/hexapla"
)

type op struct {
	inputs int
	run    func(*stage, []*hexapla.Tensor) (*hexapla.Tensor, error)
}

type operand = *hexapla.Tensor

// result runs a call whose attributes must all have been read well.
func (s *stage) result(call func() (operand, error)) (operand, error) {
	if s.err != nil {
		return nil, s.err
	}
	return call()
}

var ops = map[string]op{
	"embedding": {1, func(s *stage, in []operand) (operand, error) {
		ids := s.ids("ids")
		return s.result(func() (operand, error) { return hexapla.Embedding(s.tape, in[0], ids) })
	}},
	"rms_norm": {2, func(s *stage, in []operand) (operand, error) {
		epsilon := s.number("epsilon")
		return s.result(func() (operand, error) { return hexapla.RMSNorm(s.tape, in[0], in[1], epsilon) })
	}},
	"linear": {2, func(s *stage, in []operand) (operand, error) { return hexapla.Linear(s.tape, in[0], in[1]) }},
	"lora_linear": {4, func(s *stage, in []operand) (operand, error) {
		scale := s.number("scale")
		return s.result(func() (operand, error) { return hexapla.LoraLinear(s.tape, in[0], in[1], in[2], in[3], scale) })
	}},
	"rope": {1, func(s *stage, in []operand) (operand, error) {
		positions, theta := s.ids("positions"), s.number("theta")
		return s.result(func() (operand, error) { return hexapla.Rope(s.tape, in[0], positions, theta) })
	}},
	"attention": {3, attention},
	"swiglu":    {2, func(s *stage, in []operand) (operand, error) { return hexapla.Swiglu(s.tape, in[0], in[1]) }},
	"add":       {2, func(s *stage, in []operand) (operand, error) { return hexapla.Add(s.tape, in[0], in[1]) }},
	"scale": {1, func(s *stage, in []operand) (operand, error) {
		scale := s.number("scale")
		return s.result(func() (operand, error) { return hexapla.Scale(s.tape, in[0], scale) })
	}},
	"linear_cross_entropy": {2, func(s *stage, in []operand) (operand, error) {
		rows, targets := s.ids("rows"), s.ids("targets")
		return s.result(func() (operand, error) { return hexapla.LinearCrossEntropy(s.tape, in[0], in[1], rows, targets) })
	}},
	"matmul":    {2, func(s *stage, in []operand) (operand, error) { return hexapla.Matmul(s.tape, in[0], in[1]) }},
	"softmax":   {1, func(s *stage, in []operand) (operand, error) { return hexapla.Softmax(s.tape, in[0]) }},
	"transpose": {1, func(s *stage, in []operand) (operand, error) { return hexapla.Transpose(s.tape, in[0]) }},
	"reshape": {1, func(s *stage, in []operand) (operand, error) {
		shape := s.integers("shape")
		return s.result(func() (operand, error) { return hexapla.Reshape(s.tape, in[0], shape...) })
	}},
	"reduce_sum": {1, func(s *stage, in []operand) (operand, error) {
		axis := s.integer("axis", 0, 7)
		return s.result(func() (operand, error) { return hexapla.ReduceSum(s.tape, in[0], int(axis)) })
	}},
}

// attention checks the case's head counts against its tensors.
func attention(s *stage, in []operand) (operand, error) {
	starts, causal := s.ids("starts"), s.flag("causal")
	for i, key := range []string{"heads", "kv_heads"} {
		wanted := s.integer(key, 1, 1<<16)
		info, err := in[i].Describe()
		if err != nil {
			return nil, err
		}
		if s.err == nil && (len(info.Shape) != 3 || info.Shape[1] != wanted) {
			s.fail(key, "key %s is %d, the tensor's shape %v", key, wanted, info.Shape)
		}
	}
	return s.result(func() (operand, error) { return hexapla.Attention(s.tape, in[0], in[1], in[2], starts, causal) })
}

// inPlaceOps work on their inputs themselves, and answer with several tensors.
var inPlaceOps = map[string]func(*stage) ([]hexapla.NamedTensor, error){
	"gradient_norm": func(s *stage) ([]hexapla.NamedTensor, error) {
		norm, err := s.norm(".output")
		return []hexapla.NamedTensor{norm}, err
	},
	"clip":  clip,
	"adamw": adamw,
}

// norm is the gradient norm of all inputs, as a tensor of one element.
func (s *stage) norm(suffix string) (hexapla.NamedTensor, error) {
	value, err := hexapla.GradientNorm(s.operands)
	if err != nil {
		return hexapla.NamedTensor{}, err
	}
	tensor, err := s.context.From([]float32{float32(value)}, 1)
	if err != nil {
		return hexapla.NamedTensor{}, err
	}
	return hexapla.NamedTensor{Name: s.name + suffix, Tensor: hexapla.Keep(s.kept, tensor)}, nil
}

func clip(s *stage) ([]hexapla.NamedTensor, error) {
	clipNorm := s.number("clip_norm")
	if s.err != nil {
		return nil, s.err
	}
	norm, err := s.norm(".output.norm")
	if err != nil {
		return nil, err
	}
	value, err := hexapla.GradientNorm(s.operands)
	if err != nil {
		return nil, err
	}
	if _, err := hexapla.GradientClip(s.operands, value, clipNorm); err != nil {
		return nil, err
	}
	named := []hexapla.NamedTensor{norm}
	for _, name := range s.inputs {
		named, err = s.written(named, name, name)
		if err != nil {
			return nil, err
		}
	}
	return named, nil
}

// written adds an input, as it now is, to the outputs.
func (s *stage) written(named []hexapla.NamedTensor, input, output string) ([]hexapla.NamedTensor, error) {
	tensor, err := s.stored[input].Retain()
	if err != nil {
		return nil, err
	}
	hexapla.Keep(s.kept, tensor)
	return append(named, hexapla.NamedTensor{Name: s.name + ".output." + output, Tensor: tensor}), nil
}

func adamw(s *stage) ([]hexapla.NamedTensor, error) {
	step := hexapla.AdamW{
		Step: s.integer("step", 1, exactMax-1), LearningRate: s.number("learning_rate"), Beta1: s.number("beta1"),
		Beta2: s.number("beta2"), Epsilon: s.number("epsilon"), WeightDecay: s.number("weight_decay"),
	}
	if s.err != nil {
		return nil, s.err
	}
	if len(s.operands) != 4 {
		return nil, fail(badRequest, s.name, "op adamw takes 4 inputs, the case names %d", len(s.operands))
	}
	p, g, m, v := s.operands[0:1], s.operands[1:2], s.operands[2:3], s.operands[3:4]
	if err := step.Apply(p, g, m, v); err != nil {
		return nil, err
	}
	var named []hexapla.NamedTensor
	var err error
	for _, i := range []int{0, 2, 3} {
		if named, err = s.written(named, s.inputs[i], []string{"p", "g", "m", "v"}[i]); err != nil {
			return nil, err
		}
	}
	return named, nil
}
