package main

// The `probe` request: which scenario plays what, and what scenarios share. The scenarios themselves are in probe_*.go; docs/probes.md says
// step by step what each does.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hexapla-go/hexapla"
)

// scene is what a scenario is given.
type scene struct {
	context contextRequest
	*fields // its parameters
}

// scenario reads its parameters with `read`, which returns what plays it.
type scenario struct {
	name string
	read func(scene) func() (pairs, error)
}

var scenarios = []scenario{
	{"device_of_context", deviceOfContext},
	{"error_text", errorText},
	{"two_contexts", twoContexts},
	{"drop_in_loop", dropInLoop},
	{"cycles", cycles},
	{"caught_errors", caughtErrors},
	{"scope", shortestScope},
	{"accessors", accessors},
	{"copies", copies},
	{"drop_orders", dropOrders},
	{"double_release", doubleRelease},
	{"use_after_release", useAfterRelease},
	{"release_elsewhere", releaseElsewhere},
	{"close_race", closeRace},
	{"finaliser_race", finaliserRace},
	{"status", provokeStatus},
	{"callback_throws", callbackThrows},
	{"fail_allocation", failAllocation},
	{"write_fails", writeFails},
}

func probe(c contextRequest, name string, parameters *object, e *events) (pairs, error) {
	for _, s := range scenarios {
		if s.name != name {
			continue
		}
		f := fieldsOf(parameters, badRequest, "parameters.")
		play := s.read(scene{c, f})
		if err := f.end(); err != nil {
			return nil, err
		}
		before, err := hexapla.ProcessMemory()
		if err != nil {
			return nil, err
		}
		report := hexapla.OnLeak(nil) // scenarios lose owners on purpose
		seen, err := play()
		if _, settling := hexapla.Settle(before.LiveHandles, settleLimit); err == nil {
			err = settling
		}
		hexapla.OnLeak(report)
		if err != nil {
			return nil, at("scenario "+name, err)
		}
		e.send("probe", pair{"scenario", name}, pair{"seen", seen})
		return nil, nil
	}
	return nil, &skip{fmt.Sprintf("unknown scenario %q", name)}
}

// count reads a number of things.
func (s scene) count(key string) int { return int(s.integer(key, 0, 1<<40)) }

// inContext runs `play` in a context as the request asks, which is closed afterwards.
func (s scene) inContext(play func(*hexapla.Context) error) error {
	context, err := newContext(s.context)
	if err != nil {
		return err
	}
	err = play(context)
	if closing := context.Close(); err == nil {
		err = closing
	}
	return err
}

// statuses lists distinct statuses in order of first appearance.
type statuses struct{ names []string }

func (s *statuses) add(err error) {
	if name := statusName(err); !contains(s.names, name) {
		s.names = append(s.names, name)
	}
}

func (s *statuses) String() string { return strings.Join(s.names, ",") }

// statusName is core's name of an error's status, or the trainer's own.
func statusName(err error) string {
	if err == nil {
		return hexapla.OK.String()
	}
	status, _, _ := describe(err)
	return status
}

// messageOf is the text that an error carries from core.
func messageOf(err error) string {
	var failed *hexapla.Error
	if errors.As(err, &failed) {
		return failed.Message
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// errorType is what a program asks an error for: its type by errors.As, its status by errors.Is; "" for none of this package's.
func errorType(err error) string {
	var failed *hexapla.Error
	if !errors.As(err, &failed) {
		return ""
	}
	for status := hexapla.OK; status <= hexapla.Internal; status++ {
		if errors.Is(err, status) {
			return fmt.Sprintf("%T(%s)", failed, status)
		}
	}
	return fmt.Sprintf("%T", failed)
}

// plain writes numbers as `1 2 3 4`.
func plain(values []float32) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = strconv.FormatFloat(float64(value), 'g', -1, 32)
	}
	return strings.Join(texts, " ")
}

func flagOf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
