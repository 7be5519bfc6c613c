package main

// The `load` request: what a model's checkpoint holds, tensor by tensor, as read to the device.

import (
	"hexapla-go/hexapla"
)

func load(request contextRequest, folder string, e *events) (pairs, error) {
	context, err := newContext(request)
	if err != nil {
		return nil, err
	}
	defer context.Close()
	c, checkpoint, entries, err := openModel(folder)
	if err != nil {
		return nil, err
	}
	defer checkpoint.Close()
	if err := loadHead(c, checkpoint, context); err != nil {
		return nil, at(folder, err)
	}
	var tensors, parameters int64
	for index, entry := range entries {
		if entry.Name == headName && c.tied {
			continue
		}
		digest, err := readDigest(checkpoint, index, context)
		if err != nil {
			return nil, at(folder+": "+entry.Name, err)
		}
		e.send("tensor", pair{"name", entry.Name}, pair{"shape", entry.Shape}, pair{"dtype", entry.Dtype}, pair{"digest", digest})
		tensors++
		parameters += entry.Elements
	}
	return pairs{{"tensors", tensors}, {"parameters", parameters}}, nil
}

// loadHead checks a tied head before any event says that the model is good.
func loadHead(c config, checkpoint *hexapla.Checkpoint, context *hexapla.Context) error {
	index, err := checkpoint.Find(embeddingName)
	if err != nil {
		return err
	}
	embedding, err := checkpoint.Read(index, context)
	if err != nil {
		return err
	}
	defer embedding.Close()
	return equalHead(c, checkpoint, context, embedding)
}

func readDigest(checkpoint *hexapla.Checkpoint, index int, context *hexapla.Context) (string, error) {
	tensor, err := checkpoint.Read(index, context)
	if err != nil {
		return "", err
	}
	defer tensor.Close()
	return hexapla.Digest(tensor)
}
