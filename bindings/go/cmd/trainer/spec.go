package main

// The training specification: every key of docs/spec.md with its range, and what follows from it alone: how many updates an epoch has, the
// learning rate of an update. Nothing has a default.

import (
	"math"
	"slices"
)

type spec struct {
	seed, updates, batch, microBatch, length int64
	learningRate                             float64
	warmupUpdates                            int64
	decay                                    string
	decayFloor                               float64
	beta1, beta2, epsilon, weightDecay       float64
	clipNorm                                 float64
	rank                                     int64
	alpha                                    float64
	targets                                  []string // full names, in adapter order
	evaluateEvery, saveEvery                 int64
	template                                 string
}

// projections are the possible targets in adapter order, with their place in a layer.
var projections = []struct{ name, block string }{
	{"q_proj", "self_attn"}, {"k_proj", "self_attn"}, {"v_proj", "self_attn"}, {"o_proj", "self_attn"},
	{"gate_proj", "mlp"}, {"up_proj", "mlp"}, {"down_proj", "mlp"},
}

const countMax = exactMax - 1

func readSpec(o *object) (spec, error) {
	f := fieldsOf(o, badSpec, "")
	s := spec{
		seed: f.integer("seed", 0, math.MaxInt32), updates: f.integer("updates", 1, countMax),
		batch: f.integer("batch", 1, countMax), microBatch: f.integer("micro_batch", 1, countMax),
		length: f.integer("length", 2, countMax), learningRate: f.above("learning_rate", 0),
		warmupUpdates: f.integer("warmup_updates", 0, countMax), decay: f.choice("decay", "cosine", "linear"),
		decayFloor: f.between("decay_floor", 0, 1, true), beta1: f.between("beta1", 0, 1, false),
		beta2: f.between("beta2", 0, 1, false), epsilon: f.above("epsilon", 0),
		weightDecay: f.between("weight_decay", 0, math.MaxFloat64, true), clipNorm: f.above("clip_norm", 0),
		rank: f.integer("rank", 1, countMax), alpha: f.above("alpha", 0), targets: f.targets("targets"),
		evaluateEvery: f.integer("evaluate_every", 1, countMax), saveEvery: f.integer("save_every", 1, countMax),
		template: f.choice("template", "qwen3", "chatml"),
	}
	f.choice("precision", "f32")
	if f.err == nil && s.microBatch > s.batch {
		f.fail("micro_batch", "key micro_batch is %d, must be at most batch, %d", s.microBatch, s.batch)
	}
	if f.err == nil && s.warmupUpdates > s.updates {
		f.fail("warmup_updates", "key warmup_updates is %d, must be at most updates, %d", s.warmupUpdates, s.updates)
	}
	return s, f.end()
}

func (f *fields) above(key string, low float64) float64 {
	value := f.number(key)
	if f.err == nil && value <= low {
		f.fail(key, "key %s is %v, must be above %v", key, value, low)
	}
	return value
}

func (f *fields) between(key string, low, high float64, highToo bool) float64 {
	value := f.number(key)
	if f.err == nil && (value < low || value > high || value == high && !highToo) {
		f.fail(key, "key %s is %v, must lie between %v and %v", key, value, low, high)
	}
	return value
}

// targets reads a list of distinct projection names and puts them into adapter order.
func (f *fields) targets(key string) []string {
	given := map[string]bool{}
	for _, value := range f.list(key) {
		name, _ := value.(string)
		index := slices.IndexFunc(projections, func(p struct{ name, block string }) bool { return p.name == name })
		if index < 0 || given[name] {
			f.fail(key, "key %s holds %v, must hold distinct names of q_proj k_proj v_proj o_proj gate_proj up_proj down_proj", key, value)
		}
		given[name] = true
	}
	if len(given) == 0 {
		f.fail(key, "key %s is empty, must name a projection", key)
	}
	var ordered []string
	for _, p := range projections {
		if given[p.name] {
			ordered = append(ordered, p.name)
		}
	}
	return ordered
}

// rate is the learning rate of update k (from 1): computed in f64, rounded once to f32. The
// conversions keep the compiler from fusing a product and a sum.
func (s spec) rate(k int64) float64 {
	factor := s.decayFloor
	if k <= s.warmupUpdates {
		factor = float64(k) / float64(s.warmupUpdates)
	} else {
		past, span := float64(k-s.warmupUpdates), float64(s.updates-s.warmupUpdates)
		if s.decay == "cosine" {
			factor += float64((1 - s.decayFloor) * (1 + math.Cos(math.Pi*past/span)) / 2)
		} else {
			factor += float64((1 - s.decayFloor) * float64(s.updates-k) / span)
		}
	}
	return float64(float32(s.learningRate * factor))
}

// evaluates and saves say what follows update k.
func (s spec) evaluates(k int64) bool { return k%s.evaluateEvery == 0 || k == s.updates }

func (s spec) saves(k, stopAfter int64) bool {
	return k%s.saveEvery == 0 || k == s.updates || k == stopAfter
}
