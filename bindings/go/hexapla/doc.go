// Package hexapla trains language models on the Hexapla core: contexts, tensors, tapes, operations, checkpoints and a tokenizer.
//
// # Ownership
//
// Every handle (Context, Tensor, Tape, Checkpoint, Tokenizer, Gate) is an owner with a Close method, and Close is the plan: a collector
// cannot see device memory. Scope closes many at once. An owner that is collected unclosed is released by a cleanup, counted by Leaks and
// reported; together with the pressure hook (Options.Pressure) this keeps a program that forgets alive, slowly. Retain makes a second owner
// of the same object; both are closed. Owners may be closed in any order, from any goroutine, more than once.
//
// # Goroutines
//
// Every method may be called from any goroutine; a context runs its calls one at a time. Nothing depends on the OS thread, so that
// runtime.LockOSThread is never needed (Options.OwnerThread apart).
//
// # Errors
//
// A failing call returns an *Error with core's status and text. errors.Is compares with a Status: errors.Is(err, hexapla.OutOfMemory).
package hexapla
