package main

// A model's config.json: its shape, read strictly, never derived. What this trainer does not do is refused in one line. Separate from the
// tensors, which model.go loads.

import (
	"fmt"
	"os"
	"path/filepath"
)

type config struct {
	layers, hidden, heads, kvHeads, headDim, intermediate, vocabulary int64
	epsilon, theta                                                    float64
	tied, qkNorm                                                      bool
}

// Keys that, unless absent, null, false or empty, ask for something else than the forward pass of docs/spec.md.
var refusedKeys = []string{
	"quantization", "quantization_config", "rope_scaling", "attention_bias", "mlp_bias", "use_sliding_window",
}

const sizeMax = 1 << 31

func readConfig(folder string) (config, error) {
	path := filepath.Join(folder, "config.json")
	o, err := readObject(path)
	if err != nil {
		return config{}, err
	}
	return configOf(o, path)
}

func configOf(o *object, path string) (config, error) {
	f := fieldsOf(o, badCheckpoint, path+": ")
	for _, key := range refusedKeys {
		if asked(o.values[key]) {
			return config{}, fail(badCheckpoint, path+": "+key, "key %s is set, which this trainer does not do", key)
		}
	}
	if activation, given := o.values["hidden_act"]; given && activation != "silu" {
		f.fail("hidden_act", "key hidden_act is %v, must be silu", activation)
	}
	c := config{
		layers: f.integer("num_hidden_layers", 1, 1<<16), hidden: f.integer("hidden_size", 1, sizeMax),
		heads: f.integer("num_attention_heads", 1, 1<<16), kvHeads: f.integer("num_key_value_heads", 1, 1<<16),
		headDim: f.integer("head_dim", 2, 1<<16), intermediate: f.integer("intermediate_size", 1, sizeMax),
		vocabulary: f.integer("vocab_size", 1, sizeMax), epsilon: f.between("rms_norm_eps", 0, 1, false),
		tied: f.flag("tie_word_embeddings"), qkNorm: f.choice("model_type", "qwen3", "llama") == "qwen3",
	}
	c.theta = f.theta()
	if f.err == nil && (c.heads%c.kvHeads != 0 || c.headDim%2 != 0) {
		f.fail("num_attention_heads", "%d heads, %d key-value heads of %d: heads must be a multiple of key-value heads, head_dim even",
			c.heads, c.kvHeads, c.headDim)
	}
	return c, f.err
}

// asked says whether a config's value asks for something.
func asked(value any) bool {
	if o, ok := value.(*object); ok {
		return len(o.keys) > 0
	}
	return value != nil && value != false
}

// theta is rope_theta, at the top level or inside rope_parameters, where no scaling may stand.
func (f *fields) theta() float64 {
	inner, nested := f.object.values["rope_parameters"].(*object)
	if !nested {
		return f.above("rope_theta", 0)
	}
	g := fieldsOf(inner, f.status, f.where+"rope_parameters.")
	if kind, given := inner.values["rope_type"]; given && kind != "default" {
		g.fail("rope_type", "rope scaling %v is not done by this trainer", kind)
	}
	theta := g.above("rope_theta", 0)
	if g.err != nil && f.err == nil {
		f.err = g.err
	}
	if outer, given := f.object.values["rope_theta"]; given && outer != theta && f.err == nil {
		f.fail("rope_theta", "key rope_theta is %v here and %v in rope_parameters", outer, theta)
	}
	return theta
}

// readObject is the one object of a JSON file of the model or an adapter.
func readObject(path string) (*object, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fail(badCheckpoint, path, "%v", err)
	}
	value, err := parseJSON(string(data))
	if err != nil {
		return nil, fail(badCheckpoint, path, "%v", err)
	}
	o, ok := value.(*object)
	if !ok {
		return nil, fail(badCheckpoint, path, "the file must hold one object")
	}
	return o, nil
}

// The names of the model's own tensors.
const (
	embeddingName = "model.embed_tokens.weight"
	normName      = "model.norm.weight"
	headName      = "lm_head.weight"
)

func layerName(layer int64, part string) string {
	return fmt.Sprintf("model.layers.%d.%s.weight", layer, part)
}

// projectionShape is (out, in) of a projection's weight.
func (c config) projectionShape(name string) (int64, int64) {
	switch name {
	case "q_proj":
		return c.heads * c.headDim, c.hidden
	case "k_proj", "v_proj":
		return c.kvHeads * c.headDim, c.hidden
	case "o_proj":
		return c.hidden, c.heads * c.headDim
	case "down_proj":
		return c.hidden, c.intermediate
	default: // gate_proj, up_proj
		return c.intermediate, c.hidden
	}
}

// shapes are the tensors that a checkpoint of this shape must hold, a tied head left out.
func (c config) shapes() map[string][]int64 {
	all := map[string][]int64{embeddingName: {c.vocabulary, c.hidden}, normName: {c.hidden}}
	if !c.tied {
		all[headName] = []int64{c.vocabulary, c.hidden}
	}
	for layer := range c.layers {
		all[layerName(layer, "input_layernorm")] = []int64{c.hidden}
		all[layerName(layer, "post_attention_layernorm")] = []int64{c.hidden}
		if c.qkNorm {
			all[layerName(layer, "self_attn.q_norm")] = []int64{c.headDim}
			all[layerName(layer, "self_attn.k_norm")] = []int64{c.headDim}
		}
		for _, p := range projections {
			out, in := c.projectionShape(p.name)
			all[layerName(layer, p.block+"."+p.name)] = []int64{out, in}
		}
	}
	return all
}
