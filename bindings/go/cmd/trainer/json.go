package main

// A strict reader of one JSON value. encoding/json accepts duplicate keys, lone surrogates and bytes that are not UTF-8; the protocol does
// not. Separate from what requests and records mean: this file knows the grammar only.

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const nestingMax = 64

// object keeps its keys' order.
type object struct {
	keys   []string
	values map[string]any
}

// Values are *object, []any, string, float64, bool and nil.
type reader struct {
	data  string
	at    int
	depth int
}

// parseJSON reads the one value of a text.
func parseJSON(data string) (any, error) {
	if !utf8.ValidString(data) {
		return nil, fmt.Errorf("bytes are not UTF-8")
	}
	if len(data) >= 3 && data[:3] == "\xef\xbb\xbf" {
		return nil, fmt.Errorf("a byte-order mark stands at the beginning")
	}
	r := &reader{data: data}
	r.space()
	if r.at == len(data) {
		return nil, fmt.Errorf("empty line")
	}
	value, err := r.value()
	if err != nil {
		return nil, err
	}
	r.space()
	if r.at != len(data) {
		return nil, fmt.Errorf("text behind the value, at byte %d", r.at)
	}
	return value, nil
}

func (r *reader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return
		}
	}
}

func (r *reader) wrong() error {
	if r.at >= len(r.data) {
		return fmt.Errorf("not JSON: the text ends too early")
	}
	c, _ := utf8.DecodeRuneInString(r.data[r.at:])
	return fmt.Errorf("not JSON: unexpected %q at byte %d", c, r.at)
}

func (r *reader) peek() byte {
	if r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0
}

func (r *reader) value() (any, error) {
	switch c := r.peek(); {
	case c == '{':
		return r.nested(func() (any, error) { return r.object() })
	case c == '[':
		return r.nested(func() (any, error) { return r.array() })
	case c == '"':
		return r.text()
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	for word, value := range map[string]any{"true": true, "false": false, "null": nil} {
		if len(r.data)-r.at >= len(word) && r.data[r.at:r.at+len(word)] == word {
			r.at += len(word)
			return value, nil
		}
	}
	return nil, r.wrong()
}

func (r *reader) nested(read func() (any, error)) (any, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > nestingMax {
		return nil, fmt.Errorf("nesting past %d", nestingMax)
	}
	r.at++
	r.space()
	return read()
}

func (r *reader) object() (*object, error) {
	o := &object{values: map[string]any{}}
	if r.peek() == '}' {
		r.at++
		return o, nil
	}
	for {
		if r.peek() != '"' {
			return nil, r.wrong()
		}
		key, err := r.text()
		if err != nil {
			return nil, err
		}
		if _, twice := o.values[key]; twice {
			return nil, fmt.Errorf("duplicate key %q", key)
		}
		r.space()
		if r.peek() != ':' {
			return nil, r.wrong()
		}
		r.at++
		r.space()
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		o.keys, o.values[key] = append(o.keys, key), value
		more, err := r.more('}')
		if !more {
			return o, err
		}
	}
}

func (r *reader) array() ([]any, error) {
	list := []any{}
	if r.peek() == ']' {
		r.at++
		return list, nil
	}
	for {
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, value)
		more, err := r.more(']')
		if !more {
			return list, err
		}
	}
}

// more reads the comma in front of another member, or the end.
func (r *reader) more(end byte) (bool, error) {
	r.space()
	switch r.peek() {
	case ',':
		r.at++
		r.space()
		return true, nil
	case end:
		if r.at < len(r.data) {
			r.at++
			return false, nil
		}
	}
	return false, r.wrong()
}

func (r *reader) digits() bool {
	start := r.at
	for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
		r.at++
	}
	return r.at > start
}

func (r *reader) number() (float64, error) {
	start := r.at
	if r.peek() == '-' {
		r.at++
	}
	if r.peek() == '0' {
		r.at++
	} else if !r.digits() {
		return 0, r.wrong()
	}
	if r.peek() == '.' {
		r.at++
		if !r.digits() {
			return 0, r.wrong()
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		r.at++
		if c := r.peek(); c == '+' || c == '-' {
			r.at++
		}
		if !r.digits() {
			return 0, r.wrong()
		}
	}
	number, err := strconv.ParseFloat(r.data[start:r.at], 64)
	if err != nil || math.IsInf(number, 0) {
		return 0, fmt.Errorf("the number %.40s is not finite in 64 bits", r.data[start:r.at])
	}
	return number, nil
}

func (r *reader) text() (string, error) {
	r.at++
	start := r.at
	for r.at < len(r.data) && r.data[r.at] != '"' && r.data[r.at] != '\\' && r.data[r.at] >= 0x20 {
		r.at++
	}
	if r.peek() == '"' && r.at < len(r.data) {
		r.at++
		return r.data[start : r.at-1], nil
	}
	out := []byte(r.data[start:r.at])
	for r.at < len(r.data) {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			return string(out), nil
		case c < 0x20:
			return "", fmt.Errorf("not JSON: control character U+%04X inside a string, at byte %d", c, r.at)
		case c == '\\':
			symbol, err := r.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, symbol)
		default:
			out = append(out, c)
			r.at++
		}
	}
	return "", r.wrong()
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (r *reader) escape() (rune, error) {
	r.at++
	c := r.peek()
	if symbol, ok := escapes[c]; ok {
		r.at++
		return symbol, nil
	}
	if c != 'u' {
		return 0, r.wrong()
	}
	first, err := r.unit()
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	if r.at+1 < len(r.data) && r.data[r.at:r.at+2] == `\u` {
		r.at++
		second, err := r.unit()
		if err != nil {
			return 0, err
		}
		if symbol := utf16.DecodeRune(first, second); symbol != utf8.RuneError {
			return symbol, nil
		}
	}
	return 0, fmt.Errorf("lone surrogate U+%04X", first)
}

// unit reads the four digits behind \u.
func (r *reader) unit() (rune, error) {
	r.at++
	if r.at+4 > len(r.data) {
		r.at = len(r.data)
		return 0, r.wrong()
	}
	for i := range 4 {
		if c := r.data[r.at+i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			r.at += i
			return 0, r.wrong()
		}
	}
	unit, err := strconv.ParseUint(r.data[r.at:r.at+4], 16, 16)
	r.at += 4
	return rune(unit), err
}
