package hexapla

// What calls answer, in Go's terms: Status and Error. This file is the one place that turns a status of core into an error.

import (
	"bytes"
	"errors"
	"fmt"

	"hexapla-go/sys"
)

// Status says why a call failed. It is an error itself, so that errors.Is(err, hexapla.OutOfMemory) reads as it should.
type Status int32

// The statuses of core. Their meaning stands in hexapla/status.h.
const (
	OK              Status = sys.OK
	InvalidArgument Status = sys.InvalidArgument
	OutOfMemory     Status = sys.OutOfMemory
	StaleHandle     Status = sys.StaleHandle // closed already
	WrongKind       Status = sys.WrongKind
	WrongThread     Status = sys.WrongThread
	Busy            Status = sys.Busy
	Device          Status = sys.Device
	NoGradient      Status = sys.NoGradient
	IO              Status = sys.IO
	Format          Status = sys.Format
	NotFound        Status = sys.NotFound
	Unsupported     Status = sys.Unsupported
	Internal        Status = sys.Internal
)

// String is the status's name in C, "HXP_OUT_OF_MEMORY".
func (s Status) String() string {
	name := text(sys.StatusName(sys.Status(s)))
	if name == "" {
		return fmt.Sprintf("status %d", int32(s))
	}
	return name
}

func (s Status) Error() string { return s.String() }

// Error is a failed call of core.
type Error struct {
	Status  Status
	Message string // core's text, byte for byte
	Cause   error  // a *HookPanic if the pressure hook panicked during the call, else nil
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s (%s)", e.Status, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Status, e.Message)
}

// Unwrap lists what the error stands for: its Status, and its Cause if there is one.
func (e *Error) Unwrap() []error {
	if e.Cause != nil {
		return []error{e.Status, e.Cause}
	}
	return []error{e.Status}
}

// StatusOf is the status that err carries: OK for nil, Internal for an error that no call of core made.
func StatusOf(err error) Status {
	var failure *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &failure):
		return failure.Status
	default:
		return Internal
	}
}

// check turns the answer of a call into an error. A status that this package does not know is a bug and stops the program.
func check(status sys.Status, failure *sys.Error) error {
	if status == sys.OK {
		return nil
	}
	if status < sys.OK || status > sys.Internal {
		panic(fmt.Sprintf("hexapla: core answered the unknown status %d", status))
	}
	return &Error{Status: Status(status), Message: cut(failure.Message[:])}
}

// cut is the text in front of the first zero byte.
func cut(buffer []byte) string {
	before, _, _ := bytes.Cut(buffer, []byte{0})
	return string(before)
}
