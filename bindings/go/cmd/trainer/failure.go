package main

// Failures: what an `error` event says. Every function of the trainer returns a plain error; the request's end turns it into status,
// message and where. A failed call of core keeps core's status and text.

import (
	"errors"
	"fmt"

	"hexapla-go/hexapla"
)

// The statuses that are the trainer's own.
const (
	badCheckpoint = "checkpoint"
	badRecord     = "record"
	badRequest    = "request"
	badSpec       = "spec"
	badTokenizer  = "tokenizer"
	badFile       = "io"
	notFinite     = "non_finite"
	broken        = "internal"
)

// failure is an error of the trainer's own: its status, its place, its text.
type failure struct {
	status, where, message string
}

func (f *failure) Error() string { return f.where + ": " + f.message }

func fail(status, where, format string, values ...any) error {
	return &failure{status, where, fmt.Sprintf(format, values...)}
}

// skip is the answer to what this trainer does not know or cannot do.
type skip struct{ reason string }

func (s *skip) Error() string { return s.reason }

// located says where an error came from.
type located struct {
	where string
	error
}

func (l *located) Unwrap() error { return l.error }

// at names the place of an error that has none of its own; nil stays nil.
func at(where string, err error) error {
	if err == nil {
		return nil
	}
	return &located{where, err}
}

// describe is what an `error` event says of err: the place nearest to its origin.
func describe(err error) (status, message, where string) {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if place, ok := e.(*located); ok {
			where = place.where
		}
	}
	var own *failure
	var core *hexapla.Error
	switch {
	case errors.As(err, &own):
		return own.status, own.message, own.where
	case errors.As(err, &core):
		return core.Status.String(), core.Message, where
	default:
		return broken, err.Error(), where
	}
}
