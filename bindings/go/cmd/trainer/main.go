// The Go trainer of Hexapla: requests on stdin, events on stdout, as docs/protocol.md says. This file is the loop over requests: what ends
// how, and the exit status. It knows no request's work.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"hexapla-go/hexapla"
)

const (
	protocolVersion = 1
	settleLimit     = 10 * time.Second // to wait, at a request's end, for cleanups of owners lost on purpose
)

// Exit statuses: the largest that applies.
const (
	exitError      = 1
	exitUnreadable = 2
	exitHandles    = 3
)

// session is what all requests share.
type session struct {
	out  *bufio.Writer
	ctx  context.Context // ends with stdin
	exit int
}

func main() {
	signal.Ignore(syscall.SIGPIPE) // a closed stdout is a failed write, never a signal
	ctx, end := context.WithCancel(context.Background())
	s := &session{out: newEvents(os.Stdout), ctx: ctx}
	in := readLines(os.Stdin, end)
	for {
		next, more := in.next()
		if !more {
			s.bye("")
		}
		s.answer(next)
	}
}

func (s *session) atLeast(status int) { s.exit = max(s.exit, status) }

// answer reads one request and sends its events up to the last.
func (s *session) answer(next line) {
	o, err := readRequest(next)
	if err != nil {
		e := &events{out: s.out}
		e.send("error", pair{"status", badRequest}, pair{"message", err.Error()}, pair{"where", fmt.Sprintf("stdin:%d", next.number)})
		s.atLeast(exitUnreadable)
		return
	}
	e := &events{out: s.out, id: o.values["id"].(string)}
	done, err := s.dispatch(o, e)
	var skipped *skip
	switch {
	case errors.As(err, &skipped):
		e.send("skipped", pair{"reason", skipped.reason})
	case err != nil:
		status, message, where := describe(err)
		e.send("error", pair{"status", status}, pair{"message", message}, pair{"where", where})
		s.atLeast(exitError)
	default:
		e.send("done", done...)
	}
}

// readRequest is the object of a line, with an id in it: less cannot be answered.
func readRequest(next line) (*object, error) {
	if next.tooLong {
		return nil, fmt.Errorf("the line is longer than %d bytes", requestBytesMax)
	}
	value, err := parseJSON(next.text)
	if err != nil {
		return nil, err
	}
	o, ok := value.(*object)
	if !ok {
		return nil, fmt.Errorf("a request must be an object")
	}
	if _, ok := o.values["id"].(string); !ok {
		return nil, fmt.Errorf("key id must be a string")
	}
	return o, nil
}

// dispatch reads a request's keys, runs it, and returns what its `done` says.
func (s *session) dispatch(o *object, e *events) (pairs, error) {
	f := fieldsOf(o, badRequest, "")
	f.text("id")
	if version := f.number("protocol"); f.err == nil && version != protocolVersion {
		f.fail("protocol", "key protocol is %v, this trainer speaks %d", version, protocolVersion)
	}
	request := f.text("request")
	if f.err != nil {
		return nil, f.err
	}
	switch request {
	case "hello":
		return withKeys(f, struct{}{}, func(struct{}) (pairs, error) { return hello(e), nil })
	case "abi":
		return withKeys(f, struct{}{}, func(struct{}) (pairs, error) { return abi(e), nil })
	case "bye":
		return withKeys(f, struct{}{}, func(struct{}) (pairs, error) { s.bye(e.id); return nil, nil })
	case "operators":
		return withKeys(f, f.operatorsKeys(), func(r operatorsRequest) (pairs, error) { return operators(r, e) })
	case "load":
		c, model := f.context(), f.path("model")
		return withKeys(f, model, func(string) (pairs, error) { return load(c, model, e) })
	case "render":
		return withKeys(f, f.renderKeys(), func(r renderRequest) (pairs, error) { return render(r, e) })
	case "evaluate":
		return withKeys(f, f.evaluateKeys(), func(r evaluateRequest) (pairs, error) { return evaluateOnly(r, e) })
	case "train":
		c := f.context()
		t := f.trainKeys()
		t.context = c
		return withKeys(f, t, func(t trainRequest) (pairs, error) { return train(s.ctx, t, e) })
	case "probe":
		c, scenario, parameters := f.context(), f.text("scenario"), f.child("parameters")
		return withKeys(f, c, func(contextRequest) (pairs, error) { return probe(c, scenario, parameters, e) })
	default:
		return nil, &skip{fmt.Sprintf("unknown request %q", request)}
	}
}

func withKeys[T any](f *fields, keys T, run func(T) (pairs, error)) (pairs, error) {
	if err := f.end(); err != nil {
		return nil, err
	}
	return run(keys)
}

func hello(e *events) pairs {
	e.send("hello",
		pair{"protocol", protocolVersion}, pair{"implementation", "go"}, pair{"language", "Go"},
		pair{"runtime", strings.TrimSpace(runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH)},
		pair{"stack", "core"}, pair{"core", hexapla.BuildInfo()}, pair{"faults", hexapla.BuildFaults()},
		pair{"capabilities", capabilities()})
	return nil
}

func capabilities() []string {
	names := []string{"hello", "abi", "operators", "load", "render", "evaluate", "train", "probe", "bye"}
	for _, scenario := range scenarios {
		names = append(names, "probe."+scenario.name)
	}
	return append(names, "migrating", "collector", "spill", "memory_limit", "ledger")
}

// bye sends the last event and ends the process.
func (s *session) bye(id string) {
	memory, err := hexapla.ProcessMemory()
	if err == nil && memory.LiveHandles > 0 {
		if _, err = hexapla.Settle(0, settleLimit); err == nil {
			memory, err = hexapla.ProcessMemory()
		}
	}
	e := &events{out: s.out, id: id}
	if err != nil {
		e.send("bye", pair{"handles_live", nil}, pair{"bytes_live", nil})
	} else {
		e.send("bye", pair{"handles_live", memory.LiveHandles}, pair{"bytes_live", memory.LiveBytes})
	}
	if memory.LiveHandles > 0 {
		s.atLeast(exitHandles)
	}
	os.Exit(s.exit)
}

// newContext makes the context that a request asks for.
func newContext(c contextRequest) (*hexapla.Context, error) {
	context, err := hexapla.NewContext(c.device, c.options())
	return context, at("context", err)
}

func (c contextRequest) options() hexapla.Options {
	return hexapla.Options{Threads: c.threads, MemoryLimit: c.memoryLimit, Spill: c.spill, LedgerPath: c.ledger}
}
