package main

// Requests: the objects of the protocol as Go structs, every key required, no unknown one. What a key's value means is for others.

import (
	"math"
	"path/filepath"
	"strings"
)

// fields reads the keys of one object, and remembers the first that is wrong. status is what its failures are called.
type fields struct {
	object *object
	where  string // in front of a key's name
	status string
	known  map[string]bool
	err    error
}

func fieldsOf(o *object, status, where string) *fields {
	return &fields{object: o, where: where, status: status, known: map[string]bool{}}
}

func (f *fields) fail(key, format string, values ...any) {
	if f.err == nil {
		f.err = fail(f.status, f.where+key, format, values...)
	}
}

func (f *fields) get(key string) (any, bool) {
	f.known[key] = true
	value, ok := f.object.values[key]
	if !ok {
		f.fail(key, "key %s is missing", key)
	}
	return value, ok
}

// typed is the value of a key that must be a T; the zero T otherwise.
func typed[T any](f *fields, key, kind string) T {
	var none T
	value, ok := f.get(key)
	if !ok {
		return none
	}
	found, ok := value.(T)
	if !ok {
		f.fail(key, "key %s must be %s", key, kind)
	}
	return found
}

func (f *fields) text(key string) string    { return typed[string](f, key, "a string") }
func (f *fields) flag(key string) bool      { return typed[bool](f, key, "true or false") }
func (f *fields) number(key string) float64 { return typed[float64](f, key, "a number") }
func (f *fields) list(key string) []any     { return typed[[]any](f, key, "a list") }
func (f *fields) child(key string) *object {
	if o := typed[*object](f, key, "an object"); o != nil {
		return o
	}
	return &object{values: map[string]any{}}
}

// has says whether the key is there; it is then a known one.
func (f *fields) has(key string) bool {
	_, ok := f.object.values[key]
	f.known[key] = f.known[key] || ok
	return ok
}

// null says whether the key is there and null.
func (f *fields) null(key string) bool {
	value, ok := f.get(key)
	return ok && value == nil
}

const exactMax = 1 << 53 // integers from here on are not exact in an f64

// integer reads a whole number of [low, high].
func (f *fields) integer(key string, low, high int64) int64 {
	number := f.number(key)
	if f.err == nil && (number != math.Trunc(number) || math.Abs(number) >= exactMax) {
		f.fail(key, "key %s is %v, must be a whole number", key, number)
	} else if f.err == nil && (int64(number) < low || int64(number) > high) {
		f.fail(key, "key %s is %d, must be at least %d and at most %d", key, int64(number), low, high)
	}
	if f.err != nil {
		return 0
	}
	return int64(number)
}

// path reads an absolute path; it must hold no zero byte.
func (f *fields) path(key string) string {
	path := f.text(key)
	if f.err == nil && (!filepath.IsAbs(path) || strings.Contains(path, "\x00")) {
		f.fail(key, "key %s is %q, must be an absolute path", key, path)
	}
	return path
}

// end refuses keys that nobody asked for, and says what went wrong first.
func (f *fields) end() error {
	for _, key := range f.object.keys {
		if !f.known[key] {
			f.fail(key, "key %s is unknown", key)
		}
	}
	return f.err
}

// contextRequest is what a request asks of its context.
type contextRequest struct {
	device      string
	threads     int
	memoryLimit int64
	spill       bool
	ledger      string
}

func (f *fields) context() contextRequest {
	inner := fieldsOf(f.child("context"), f.status, f.where+"context.")
	c := contextRequest{
		device: inner.text("device"), threads: int(inner.integer("threads", 1, 4096)),
		memoryLimit: inner.integer("memory_limit", 0, exactMax-1), spill: inner.flag("spill"),
	}
	if !inner.null("ledger") {
		c.ledger = inner.path("ledger")
	}
	if err := inner.end(); err != nil && f.err == nil {
		f.err = err
	}
	return c
}

type trainRequest struct {
	context                                               contextRequest
	spec                                                  *object
	specDigest, model, tokenizer, train, heldout, adapter string
	output, resumeFrom                                    string // resumeFrom "" = from the beginning
	stopAfter                                             int64  // 0 = not asked for
	stops, migrating, collector                           bool
}

// trainKeys reads the keys of a `train` request, its context apart.
func (f *fields) trainKeys() trainRequest {
	t := trainRequest{
		spec: f.child("spec"), specDigest: f.text("spec_digest"), model: f.path("model"), tokenizer: f.path("tokenizer"),
		train: f.path("train"), heldout: f.path("heldout"), adapter: f.path("adapter"), output: f.path("output"),
	}
	if !f.null("resume_from") {
		t.resumeFrom = f.path("resume_from")
	}
	if !f.null("stop_after") {
		t.stops, t.stopAfter = true, f.integer("stop_after", -exactMax+1, exactMax-1)
	}
	t.migrating = f.choice("schedule", "pinned", "migrating") == "migrating"
	t.collector = f.choice("release", "explicit", "collector") == "collector"
	return t
}

func (f *fields) choice(key string, choices ...string) string {
	value := f.text(key)
	for _, choice := range choices {
		if value == choice {
			return value
		}
	}
	f.fail(key, "key %s is %q, must be %s", key, value, strings.Join(choices, " or "))
	return value
}

type evaluateRequest struct {
	context                            contextRequest
	spec                               *object
	model, tokenizer, heldout, adapter string // adapter "" = off
}

func (f *fields) evaluateKeys() evaluateRequest {
	e := evaluateRequest{
		context: f.context(), spec: f.child("spec"), model: f.path("model"), tokenizer: f.path("tokenizer"),
		heldout: f.path("heldout"),
	}
	if !f.null("adapter") {
		e.adapter = f.path("adapter")
	}
	return e
}
