package main

// What the specification and the protocol fix by value: the order, the rates, the digest of a batch, the lines that are refused.

import (
	"fmt"
	"strings"
	"testing"
)

func TestSplitMix(t *testing.T) {
	var state splitMix
	if first := state.next(); first != 0xe220a8397b1dcdaf {
		t.Errorf("SplitMix64(0) begins with %x", first)
	}
	for epoch, wanted := range []string{"[9 7 4 0 3 8 2 5 1 6]", "[1 6 3 2 4 5 9 8 0 7]"} {
		if order := fmt.Sprint(shuffled(10, 1, int64(epoch))); order != wanted {
			t.Errorf("epoch %d is %s", epoch, order)
		}
	}
}

func TestRates(t *testing.T) {
	tiny := spec{updates: 60, warmupUpdates: 2, learningRate: 2e-3, decay: "cosine", decayFloor: 0.1}
	full := spec{updates: 10536, warmupUpdates: 317, learningRate: 2e-4, decay: "cosine", decayFloor: 0.1}
	for _, one := range []struct {
		spec   spec
		update int64
		bits   string
	}{
		{tiny, 1, "0x3f50624de0000000"}, {tiny, 3, "0x3f605f8940000000"}, {tiny, 31, "0x3f5205bc00000000"},
		{tiny, 60, "0x3f2a36e2e0000000"}, {full, 5000, "0x3f1feba180000000"},
	} {
		if got := bits(one.spec.rate(one.update)); got != one.bits {
			t.Errorf("the rate of update %d is %s, must be %s", one.update, got, one.bits)
		}
	}
	linear := spec{updates: 6, warmupUpdates: 2, learningRate: 1, decay: "linear"} // case E3
	var rates []float64
	for k := range int64(6) {
		rates = append(rates, linear.rate(k+1))
	}
	if fmt.Sprint(rates) != "[0.5 1 0.75 0.5 0.25 0]" {
		t.Errorf("the linear rates are %v", rates)
	}
}

// Case D1's record.
func TestBatchDigest(t *testing.T) {
	one := rendered{ids: []int32{
		151644, 872, 198, 3872, 29067, 220, 16, 20, 15, 14, 24, 20, 1550, 30, 151645, 198, 151644, 77091, 198, 151667, 271, 151668, 271,
		9454, 13, 151645, 198,
	}, flags: make([]byte, 27), labels: 3}
	copy(one.flags[23:], []byte{1, 1, 1})
	if digest := batchDigest([]rendered{one}); digest != "d07c95059f5dc313" {
		t.Errorf("the digest is %s", digest)
	}
	b := pack([]rendered{one, one})
	if fmt.Sprint(b.rows) != "[22 23 24 49 50 51]" || fmt.Sprint(b.starts) != "[0 27 54]" || b.positions[27] != 0 {
		t.Errorf("the batch has rows %v, starts %v, positions %v", b.rows, b.starts, b.positions)
	}
}

func TestStrictLines(t *testing.T) {
	for text, wanted := range map[string]string{
		"":                       "empty line",
		" \r":                    "empty line",
		"\xef\xbb\xbf{}":         "byte-order mark",
		`{"a":"` + "\xff" + `"}`: "not UTF-8",
		`{} x`:                   "behind the value",
		`{"a":1,"a":1}`:          "duplicate key",
		`{"a":1,"\u0061":1}`:     "duplicate key",
		`"\ud800"`:               "lone surrogate",
		`"\ud800\u0041"`:         "lone surrogate",
		`"\udc00\ud800"`:         "lone surrogate",
		`1e999`:                  "not finite",
		`NaN`:                    "not JSON",
		`01`:                     "behind the value",
		`1.`:                     "ends too early",
		`[1,]`:                   "not JSON",
		`{"a":1,}`:               "not JSON",
		`{"a"`:                   "ends too early",
		`"a`:                     "ends too early",
		"\"\n\"":                 "control character",
		`"\u12"`:                 "not JSON",
		strings.Repeat("[", 65) + strings.Repeat("]", 65): "nesting past 64",
	} {
		if _, err := parseJSON(text); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%.40q is answered by %v, must say %q", text, err, wanted)
		}
	}
	for _, text := range []string{
		strings.Repeat("[", 64) + strings.Repeat("]", 64), "{} \r", `"\u0000"`, "\"\u2028\u0085\"", `"\ud83d\ude00"`, "-0.5e-3", "1e-999",
	} {
		if _, err := parseJSON(text); err != nil {
			t.Errorf("%.40q is refused: %v", text, err)
		}
	}
	if value, err := parseJSON(`{"b":["\ud83d\ude00\n",-1.5e2,true,null]}`); err != nil ||
		fmt.Sprint(value.(*object).values["b"]) != "[😀\n -150 true <nil>]" {
		t.Errorf("a good line reads as %v (%v)", value, err)
	}
}

func TestNumbersInEvents(t *testing.T) {
	zero := 0.0
	got := string(appendValue(nil, pairs{{"a", 1e-05}, {"b", 1 / zero}, {"c", []float64{-1 / zero, zero / zero, 0.1}}, {"d", "\u2028\x00\""}}))
	if got != `{"a":1e-05,"b":"Infinity","c":["-Infinity","NaN",0.1],"d":"\u2028\u0000\""}` {
		t.Errorf("the event is %s", got)
	}
}

func TestRefusedConfigs(t *testing.T) {
	good := `"model_type":"llama","num_hidden_layers":1,"hidden_size":8,"num_attention_heads":2,"num_key_value_heads":1,"head_dim":4,` +
		`"intermediate_size":8,"vocab_size":9,"rms_norm_eps":1e-6,"tie_word_embeddings":false`
	for text, wanted := range map[string]string{
		`{` + good + `,"rope_theta":1e4}`:                                           "",
		`{` + good + `,"rope_parameters":{"rope_theta":1e4,"rope_type":"default"}}`: "",
		`{` + good + `,"rope_parameters":{"rope_theta":1e4,"rope_type":"yarn"}}`:    "rope_type",
		`{` + good + `,"rope_theta":1e4,"rope_scaling":{"factor":2}}`:               "rope_scaling",
		`{` + good + `,"rope_theta":1e4,"quantization_config":{"bits":4}}`:          "quantization_config",
		`{` + good + `,"rope_theta":1e4,"attention_bias":true}`:                     "attention_bias",
		`{` + good + `}`: "rope_theta",
		`{` + strings.Replace(good, `"head_dim":4,`, "", 1) + `,"rope_theta":1e4}`:                           "head_dim",
		`{` + strings.Replace(good, `"model_type":"llama"`, `"model_type":"gpt2"`, 1) + `,"rope_theta":1e4}`: "model_type",
	} {
		value, err := parseJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = configOf(value.(*object), "config.json")
		if (err == nil) != (wanted == "") || err != nil && !strings.Contains(err.Error(), wanted) {
			t.Errorf("%s is answered by %v, must name %q", text, err, wanted)
		}
	}
}
