package main

// Is a checkpoint's set of names and shapes the one that is wanted? Used for models, adapters and optimizer files alike.

import (
	"fmt"
	"slices"
	"strings"

	"hexapla-go/hexapla"
)

const namesShown = 3

// expect compares entries with wanted shapes, and says counts and first names of what is missing, unexpected or of another shape.
func expect(path string, entries []hexapla.Entry, wanted map[string][]int64) error {
	var missing, unexpected, other []string
	found := map[string]bool{}
	for _, entry := range entries {
		found[entry.Name] = true
		shape, known := wanted[entry.Name]
		switch {
		case !known:
			unexpected = append(unexpected, entry.Name)
		case !slices.Equal(shape, entry.Shape):
			other = append(other, fmt.Sprintf("%s %v, wanted %v", entry.Name, entry.Shape, shape))
		}
	}
	for name := range wanted {
		if !found[name] {
			missing = append(missing, name)
		}
	}
	if len(missing)+len(unexpected)+len(other) == 0 {
		return nil
	}
	return fail(badCheckpoint, path, "%s; %s; %s", firstOf("missing", missing), firstOf("unexpected", unexpected), firstOf("other shape", other))
}

func firstOf(what string, names []string) string {
	slices.Sort(names)
	text := fmt.Sprintf("%s %d", what, len(names))
	if len(names) > 0 {
		text += " (" + strings.Join(names[:min(namesShown, len(names))], ", ")
		if len(names) > namesShown {
			text += ", …"
		}
		text += ")"
	}
	return text
}

// readAll reads the named tensors of a checkpoint into a scope.
func readAll(c *hexapla.Checkpoint, names []string, context *hexapla.Context, scope *hexapla.Scope) ([]*hexapla.Tensor, error) {
	tensors := make([]*hexapla.Tensor, len(names))
	for i, name := range names {
		index, err := c.Find(name)
		if err != nil {
			return nil, err
		}
		tensor, err := c.Read(index, context)
		if err != nil {
			return nil, at(name, err)
		}
		tensors[i] = hexapla.Keep(scope, tensor)
	}
	return tensors, nil
}
