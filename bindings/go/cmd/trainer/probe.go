package main

// The `probe` request: which scenario plays what. The scenarios themselves are in probe_*.go.

import "fmt"

// scene is what a scenario is given.
type scene struct {
	context    contextRequest
	parameters *fields
}

type scenario struct {
	name string
	play func(scene) (pairs, error)
}

func probe(c contextRequest, name string, parameters *object, e *events) (pairs, error) {
	for _, s := range scenarios {
		if s.name == name {
			seen, err := s.play(scene{c, fieldsOf(parameters, badRequest, "parameters.")})
			if err != nil {
				return nil, err
			}
			e.send("probe", pair{"scenario", name}, pair{"seen", seen})
			return nil, nil
		}
	}
	return nil, &skip{fmt.Sprintf("unknown scenario %q", name)}
}
