package main

// The base model: its frozen tensors on the device, found under their names and nothing else.

import (
	"hexapla-go/hexapla"
)

// layer holds the tensors of one layer; weights are by projection name.
type layer struct {
	inputNorm, postNorm *hexapla.Tensor
	qNorm, kNorm        *hexapla.Tensor // nil without q/k norm
	weights             map[string]*hexapla.Tensor
}

type model struct {
	config
	embedding, norm, head *hexapla.Tensor // head is the embedding when tied
	layers                []layer
	scope                 hexapla.Scope
}

func (m *model) close() error { return m.scope.Close() }

// openModel opens a model's checkpoint and checks its names and shapes. The tied head, if stored, is not among the entries.
func openModel(folder string) (config, *hexapla.Checkpoint, []hexapla.Entry, error) {
	c, err := readConfig(folder)
	if err != nil {
		return c, nil, nil, err
	}
	checkpoint, err := hexapla.OpenCheckpoint(folder)
	if err != nil {
		return c, nil, nil, at(folder, err)
	}
	entries, err := checkpoint.Entries()
	if err == nil {
		wanted := c.shapes()
		if _, err := checkpoint.Find(headName); err == nil && c.tied {
			wanted[headName] = wanted[embeddingName]
		}
		err = expect(folder, entries, wanted)
	}
	if err != nil {
		checkpoint.Close()
		return c, nil, nil, at(folder, err)
	}
	return c, checkpoint, entries, nil
}

// loadModel reads the model of a folder. The model must be closed.
func loadModel(folder string, context *hexapla.Context) (*model, error) {
	c, checkpoint, entries, err := openModel(folder)
	if err != nil {
		return nil, err
	}
	defer checkpoint.Close()
	m := &model{config: c}
	if err := m.read(checkpoint, entries, context); err != nil {
		m.close()
		return nil, at(folder, err)
	}
	return m, nil
}

func (m *model) read(checkpoint *hexapla.Checkpoint, entries []hexapla.Entry, context *hexapla.Context) error {
	found := map[string]*hexapla.Tensor{}
	for index, entry := range entries {
		if entry.Name == headName && m.tied {
			continue
		}
		tensor, err := checkpoint.Read(index, context)
		if err != nil {
			return at(entry.Name, err)
		}
		found[entry.Name] = hexapla.Keep(&m.scope, tensor)
	}
	if err := equalHead(m.config, checkpoint, context, found[embeddingName]); err != nil {
		return err
	}
	m.embedding, m.norm, m.head = found[embeddingName], found[normName], found[headName]
	if m.tied {
		m.head = m.embedding
	}
	for number := range m.config.layers {
		l := layer{
			inputNorm: found[layerName(number, "input_layernorm")], postNorm: found[layerName(number, "post_attention_layernorm")],
			qNorm: found[layerName(number, "self_attn.q_norm")], kNorm: found[layerName(number, "self_attn.k_norm")],
			weights: map[string]*hexapla.Tensor{},
		}
		for _, p := range projections {
			l.weights[p.name] = found[layerName(number, p.block+"."+p.name)]
		}
		m.layers = append(m.layers, l)
	}
	return nil
}

// equalHead refuses a tied head that is stored beside the embedding and differs from it.
func equalHead(c config, checkpoint *hexapla.Checkpoint, context *hexapla.Context, embedding *hexapla.Tensor) error {
	index, err := checkpoint.Find(headName)
	if err != nil || !c.tied {
		return nil
	}
	head, err := checkpoint.Read(index, context)
	if err != nil {
		return at(headName, err)
	}
	defer head.Close()
	ours, err := hexapla.Digest(embedding)
	if err != nil {
		return err
	}
	stored, err := hexapla.Digest(head)
	if err != nil {
		return err
	}
	if ours != stored {
		return fail(badCheckpoint, headName, "the config ties the head to the embedding, but the stored head differs from it")
	}
	return nil
}
