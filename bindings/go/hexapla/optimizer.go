package hexapla

// What happens to gradients after backward: global norm, clip, AdamW. All tensors are contiguous and of one context.

import (
	"fmt"
	"runtime"
	"unsafe"

	"hexapla-go/sys"
)

// AdamW are the numbers of one step; none has a default.
type AdamW struct {
	Step         int64 // from 1
	LearningRate float64
	Beta1, Beta2 float64
	Epsilon      float64
	WeightDecay  float64
}

// GradientNorm is the square root of the f64 sum of squares over all gradients, in the order given. It is not finite if a gradient is not.
func GradientNorm(gradients []*Tensor) (float64, error) {
	defer runtime.KeepAlive(gradients)
	list := ids(gradients)
	f := frames.Get().(*frame)
	defer frames.Put(f)
	err := check(sys.GradientNorm(unsafe.SliceData(list), uint64(len(list)), &f.real, &f.failure), &f.failure)
	return f.real, explainBy(gradients, err)
}

// GradientClip multiplies every gradient by f32(clipNorm / norm), in place, if norm > clipNorm, and says whether it did.
func GradientClip(gradients []*Tensor, norm, clipNorm float64) (bool, error) {
	defer runtime.KeepAlive(gradients)
	list := ids(gradients)
	f := frames.Get().(*frame)
	defer frames.Put(f)
	err := check(sys.GradientClip(unsafe.SliceData(list), uint64(len(list)), norm, clipNorm, &f.flag, &f.failure), &f.failure)
	return err == nil && f.flag == 1, explainBy(gradients, err)
}

// Apply makes one step, in place on the parameters and both moments; the i-th of each list belong together.
func (o AdamW) Apply(parameters, gradients, expAvgs, expAvgSqs []*Tensor) error {
	defer runtime.KeepAlive([...][]*Tensor{parameters, gradients, expAvgs, expAvgSqs})
	count := len(parameters)
	if len(gradients) != count || len(expAvgs) != count || len(expAvgSqs) != count {
		return &Error{Status: InvalidArgument, Message: fmt.Sprintf("there are %d parameters, %d gradients, %d and %d moments",
			count, len(gradients), len(expAvgs), len(expAvgSqs))}
	}
	raw := new(sys.AdamwOptions)
	sys.AdamwOptionsInit(raw)
	raw.Step, raw.LearningRate, raw.Beta1, raw.Beta2 = uint64(o.Step), o.LearningRate, o.Beta1, o.Beta2
	raw.Epsilon, raw.WeightDecay = o.Epsilon, o.WeightDecay
	p, g, m, v := ids(parameters), ids(gradients), ids(expAvgs), ids(expAvgSqs)
	return explainBy(parameters, call(func(f *frame) sys.Status {
		return sys.AdamwStep(raw, unsafe.SliceData(p), unsafe.SliceData(g), unsafe.SliceData(m), unsafe.SliceData(v),
			uint64(count), &f.failure)
	}))
}

func explainBy(tensors []*Tensor, err error) error {
	if len(tensors) == 0 {
		return err
	}
	return tensors[0].domain.explain(err)
}
