package main

// The `operators` request: single operations on tensors of a file, forward and back.

import (
	"fmt"
	"math"
	"strings"

	"hexapla-go/hexapla"
)

type operatorsRequest struct {
	context      contextRequest
	cases        []opCase
	file, output string
}

// opCase is one operation: its inputs in the op's order, and those whose gradients are wanted.
type opCase struct {
	name, op          string
	attributes        *object
	inputs, gradients []string
}

func (f *fields) operatorsKeys() operatorsRequest {
	r := operatorsRequest{context: f.context(), file: f.path("file"), output: f.path("output")}
	for i, value := range f.list("cases") {
		where := fmt.Sprintf("cases[%d].", i)
		o, ok := value.(*object)
		if !ok {
			f.fail(where, "a case must be an object")
			break
		}
		g := fieldsOf(o, badRequest, where)
		r.cases = append(r.cases, opCase{g.text("case"), g.text("op"), g.child("attributes"), g.texts("inputs"), g.texts("gradients")})
		if err := g.end(); err != nil && f.err == nil {
			f.err = err
		}
	}
	return r
}

func (f *fields) texts(key string) []string {
	var texts []string
	for _, value := range f.list(key) {
		text, ok := value.(string)
		if !ok {
			f.fail(key, "key %s must be a list of strings", key)
		}
		texts = append(texts, text)
	}
	return texts
}

func (f *fields) integers(key string) []int64 {
	var list []int64
	for _, value := range f.list(key) {
		number, ok := value.(float64)
		if !ok || number != math.Trunc(number) || math.Abs(number) >= exactMax {
			f.fail(key, "key %s must be a list of whole numbers", key)
			return nil
		}
		list = append(list, int64(number))
	}
	return list
}

func (f *fields) ids(key string) []int32 {
	var list []int32
	for _, value := range f.integers(key) {
		if value != int64(int32(value)) {
			f.fail(key, "key %s holds %d, which no 32 bits hold", key, value)
		}
		list = append(list, int32(value))
	}
	return list
}

// operators answers the request of that name. A case that fails says so, and the others go on.
func operators(request operatorsRequest, e *events) (pairs, error) {
	context, err := newContext(request.context)
	if err != nil {
		return nil, err
	}
	defer context.Close()
	file, err := hexapla.OpenCheckpoint(request.file)
	if err != nil {
		return nil, at(request.file, err)
	}
	defer file.Close()
	var outputs []hexapla.NamedTensor
	var scope hexapla.Scope // of the outputs, until they are written
	defer scope.Close()
	for _, one := range request.cases {
		made, err := playCase(one, file, context, &scope)
		message := ""
		if err != nil {
			_, message, _ = describe(err)
		} else {
			outputs = append(outputs, made...)
		}
		e.send("case", pair{"case", one.name}, pair{"ok", err == nil}, pair{"message", message})
	}
	if err := hexapla.WriteCheckpoint(request.output, outputs, nil); err != nil {
		return nil, at(request.output, err)
	}
	return pairs{{"cases", len(request.cases)}}, nil
}

// stage is what one case works with.
type stage struct {
	opCase
	*fields   // its attributes
	context   *hexapla.Context
	file      *hexapla.Checkpoint
	tape      *hexapla.Tape  // nil if no gradient is wanted
	scope     *hexapla.Scope // of what the case needs itself
	kept      *hexapla.Scope // of what is written
	stored    map[string]*hexapla.Tensor
	operands  []*hexapla.Tensor
	attribute map[string]*fields // strides, view, offset
}

func playCase(one opCase, file *hexapla.Checkpoint, context *hexapla.Context, kept *hexapla.Scope) ([]hexapla.NamedTensor, error) {
	var scope hexapla.Scope
	defer scope.Close()
	s := &stage{
		opCase: one, fields: fieldsOf(one.attributes, badRequest, "attributes."), context: context, file: file, scope: &scope, kept: kept,
		stored: map[string]*hexapla.Tensor{}, attribute: map[string]*fields{},
	}
	for _, key := range []string{"strides", "view", "offset"} {
		if s.has(key) {
			s.attribute[key] = fieldsOf(s.child(key), badRequest, "attributes."+key+".")
		}
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if inPlace, known := inPlaceOps[one.op]; known {
		return inPlace(s)
	}
	op, known := ops[one.op]
	if !known {
		return nil, fail(badRequest, one.name, "unknown op %q", one.op)
	}
	if len(s.operands) != op.inputs {
		return nil, fail(badRequest, one.name, "op %s takes %d inputs, the case names %d", one.op, op.inputs, len(s.operands))
	}
	output, err := op.run(s, s.operands)
	if err != nil {
		return nil, err
	}
	hexapla.Keep(kept, output)
	named := []hexapla.NamedTensor{{Name: one.name + ".output", Tensor: output}}
	if s.tape == nil {
		return named, nil
	}
	gradients, err := s.backward(output)
	return append(named, gradients...), err
}

// prepare loads the inputs, makes the views of those that are strided, and watches those whose gradients are wanted.
func (s *stage) prepare() error {
	if len(s.gradients) > 0 {
		tape, err := s.context.NewTape()
		if err != nil {
			return err
		}
		s.tape = hexapla.Keep(s.scope, tape)
	}
	for _, name := range s.inputs {
		tensor, err := s.load(name)
		if err != nil {
			return err
		}
		if contains(s.gradients, name) {
			if err := s.tape.Watch(tensor, nil); err != nil {
				return err
			}
		}
	}
	for _, name := range s.inputs {
		operand, err := s.view(s.tape, name)
		if err != nil {
			return err
		}
		s.operands = append(s.operands, operand)
	}
	return nil
}

func (s *stage) load(name string) (*hexapla.Tensor, error) {
	if tensor, again := s.stored[name]; again {
		return tensor, nil
	}
	tensors, err := readAll(s.file, []string{s.name + "." + name}, s.context, s.scope)
	if err != nil {
		return nil, err
	}
	s.stored[name] = tensors[0]
	return tensors[0], nil
}

// view is the stored tensor, or the strided view into it that the attributes ask for.
func (s *stage) view(tape *hexapla.Tape, name string) (*hexapla.Tensor, error) {
	strides, view := s.attribute["strides"], s.attribute["view"]
	if strides == nil || !strides.has(name) {
		return s.stored[name], nil
	}
	if view == nil {
		return nil, fail(badRequest, s.name, "strides of %s come without a view", name)
	}
	var offset int64
	if offsets := s.attribute["offset"]; offsets != nil && offsets.has(name) {
		offset = offsets.integer(name, 0, exactMax-1)
		if offsets.err != nil {
			return nil, offsets.err
		}
	}
	shape, steps := view.integers(name), strides.integers(name)
	if view.err != nil {
		return nil, view.err
	}
	if strides.err != nil {
		return nil, strides.err
	}
	tensor, err := hexapla.AsStrided(tape, s.stored[name], shape, steps, offset)
	if err != nil {
		return nil, err
	}
	return hexapla.Keep(s.scope, tensor), nil
}

// backward goes back from the output with the case's incoming gradient, and collects the gradients.
func (s *stage) backward(output *hexapla.Tensor) ([]hexapla.NamedTensor, error) {
	if _, err := s.load("incoming"); err != nil {
		return nil, err
	}
	incoming, err := s.view(nil, "incoming")
	if err != nil {
		return nil, err
	}
	if err := s.tape.Backward(output, incoming); err != nil {
		return nil, err
	}
	var named []hexapla.NamedTensor
	for _, name := range s.gradients {
		tensor, known := s.stored[name]
		if !known {
			return nil, fail(badRequest, s.name, "the gradient of %q is wanted, which is no input", name)
		}
		gradient, err := s.tape.Gradient(tensor)
		if err != nil {
			return nil, err
		}
		hexapla.Keep(s.kept, gradient)
		named = append(named, hexapla.NamedTensor{Name: strings.Join([]string{s.name, "gradient", name}, "."), Tensor: gradient})
	}
	return named, nil
}
