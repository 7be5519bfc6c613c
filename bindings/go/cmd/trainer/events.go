package main

// Events: one JSON object a line on stdout, keys in the protocol's order, flushed line by line. Separate from who sends what.

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
)

// pair is one key of an event.
type pair struct {
	key   string
	value any
}

// pairs is an object whose keys keep their order.
type pairs []pair

// events writes the events of one request.
type events struct {
	out *bufio.Writer
	id  string
	err error // of the first write that failed; nobody reads on then
}

func newEvents(out io.Writer) *bufio.Writer { return bufio.NewWriterSize(out, 1<<16) }

// send writes one event and flushes it.
func (e *events) send(event string, body ...pair) {
	line := appendValue(nil, append(pairs{{"id", e.id}, {"event", event}}, body...))
	if _, err := e.out.Write(append(line, '\n')); err != nil && e.err == nil {
		e.err = err
	}
	if err := e.out.Flush(); err != nil && e.err == nil {
		e.err = err
	}
}

// number is an f64 as `key` and its bits as `key_bits`.
func number(key string, value float64) []pair {
	return []pair{{key, value}, {key + "_bits", bits(value)}}
}

func bits(value float64) string {
	digits := strconv.FormatUint(math.Float64bits(value), 16)
	return "0x" + strings.Repeat("0", 16-len(digits)) + digits
}

func appendValue(line []byte, value any) []byte {
	switch v := value.(type) {
	case pairs:
		line = append(line, '{')
		for i, p := range v {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(appendText(line, p.key), ':')
			line = appendValue(line, p.value)
		}
		return append(line, '}')
	case map[string]int64:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		sorted := pairs{}
		for _, key := range keys {
			sorted = append(sorted, pair{key, v[key]})
		}
		return appendValue(line, sorted)
	case string:
		return appendText(line, v)
	case bool:
		return strconv.AppendBool(line, v)
	case int:
		return strconv.AppendInt(line, int64(v), 10)
	case int64:
		return strconv.AppendInt(line, v, 10)
	case float64:
		return appendNumber(line, v)
	case []float64:
		return appendList(line, v)
	case []int32:
		line = append(line, '[')
		for i, number := range v {
			if i > 0 {
				line = append(line, ',')
			}
			line = strconv.AppendInt(line, int64(number), 10)
		}
		return append(line, ']')
	case []int64:
		return appendList(line, v)
	case []string:
		return appendList(line, v)
	case nil:
		return append(line, "null"...)
	default:
		panic("no JSON for this type")
	}
}

func appendList[T any](line []byte, list []T) []byte {
	line = append(line, '[')
	for i, value := range list {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendValue(line, value)
	}
	return append(line, ']')
}

func appendNumber(line []byte, value float64) []byte {
	switch {
	case math.IsNaN(value):
		return append(line, `"NaN"`...)
	case math.IsInf(value, 1):
		return append(line, `"Infinity"`...)
	case math.IsInf(value, -1):
		return append(line, `"-Infinity"`...)
	default:
		return strconv.AppendFloat(line, value, 'g', -1, 64)
	}
}

func appendText(line []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings always marshal
	}
	return append(line, quoted...)
}
