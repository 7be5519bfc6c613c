package hexapla_test

// The safe layer against the built core: errors, owners, the cleanup net and the pressure hook. The whole run must leave no handle behind.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hexapla-go/hexapla"
	"hexapla-go/hexapla/rawtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if left, err := hexapla.Settle(0, 10*time.Second); err != nil || left != 0 {
		fmt.Fprintf(os.Stderr, "%d handles are live after all tests (%v)\n", left, err)
		code = 1
	}
	os.Exit(code)
}

func newContext(t *testing.T, options hexapla.Options) *hexapla.Context {
	t.Helper()
	context, err := hexapla.NewContext("cpu:0", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { context.Close() })
	return context
}

// must closes an owner at the test's end.
func must[T interface{ Close() error }](t *testing.T) func(T, error) T {
	return func(owner T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { owner.Close() })
		return owner
	}
}

func values(t *testing.T, tensor *hexapla.Tensor) string {
	t.Helper()
	read, err := tensor.Values()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(read)
}

func TestErrorsCarryStatusAndText(t *testing.T) {
	context := newContext(t, hexapla.Options{})
	_, err := context.Zeros(-7)
	var failed *hexapla.Error
	if !errors.Is(err, hexapla.InvalidArgument) || errors.Is(err, hexapla.OutOfMemory) || !errors.As(err, &failed) {
		t.Fatalf("a negative size answers %v", err)
	}
	if !strings.Contains(failed.Message, "-7") || failed.Status.String() != "HXP_INVALID_ARGUMENT" {
		t.Errorf("the error is %v", failed)
	}
	if _, err := hexapla.OpenCheckpoint("/nonexistent/hexapla"); !errors.Is(err, hexapla.IO) {
		t.Errorf("a missing file answers %v", err)
	}
	if _, err := hexapla.OpenCheckpoint("a\x00b"); !errors.Is(err, hexapla.InvalidArgument) {
		t.Errorf("a path with a zero byte answers %v", err)
	}
	if err := context.FailNext(hexapla.Internal); err != nil {
		t.Fatal(err)
	}
	if _, err := context.Zeros(1); hexapla.StatusOf(err) != hexapla.Internal || hexapla.StatusOf(nil) != hexapla.OK {
		t.Errorf("an injected failure answers %v", err)
	}
}

func TestClosedOwnersAreStale(t *testing.T) {
	context := newContext(t, hexapla.Options{})
	tensor := must[*hexapla.Tensor](t)(context.Full(3, 2))
	for range 2 {
		if err := tensor.Close(); err != nil {
			t.Fatalf("Close answers %v", err)
		}
	}
	if _, err := tensor.Values(); !errors.Is(err, hexapla.StaleHandle) {
		t.Errorf("a read after Close answers %v", err)
	}
	if err := rawtest.ReleaseTensor(tensor.ID()); !errors.Is(err, hexapla.StaleHandle) {
		t.Errorf("a second release answers %v", err)
	}
	if err := rawtest.ContextDevice(must[*hexapla.Tensor](t)(context.Zeros(1)).ID()); !errors.Is(err, hexapla.WrongKind) {
		t.Errorf("a tensor's id for a context answers %v", err)
	}
}

func TestRetainSharesValues(t *testing.T) {
	context := newContext(t, hexapla.Options{})
	first := must[*hexapla.Tensor](t)(context.From([]float32{1, 2, 3, 4}, 4))
	second := must[*hexapla.Tensor](t)(first.Retain())
	if err := second.AddInPlace(1); err != nil {
		t.Fatal(err)
	}
	if first.ID() == second.ID() {
		t.Error("two owners share one id")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := context.Close(); err != nil {
		t.Fatal(err)
	}
	if got := values(t, second); got != "[2 3 4 5]" { // the tensor outlives both its other owner and its context's
		t.Errorf("the second owner reads %s", got)
	}
	home := must[*hexapla.Context](t)(second.Context())
	if device, err := home.Device(); err != nil || device != "cpu:0" {
		t.Errorf("the tensor's context is on %q (%v)", device, err)
	}
}

func TestForgottenOwnersAreReleasedAndReported(t *testing.T) {
	context := newContext(t, hexapla.Options{})
	reported := make(chan string, 1)
	defer hexapla.OnLeak(hexapla.OnLeak(func(kind string, _ uint64) { reported <- kind }))
	before, err := context.Memory()
	if err != nil {
		t.Fatal(err)
	}
	leaks := hexapla.Leaks()
	if _, err := context.Zeros(1000); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); hexapla.Leaks() == leaks && time.Since(start) < 10*time.Second; {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	after, err := context.Memory()
	if err != nil || after.LiveBytes != before.LiveBytes || after.LiveHandles != before.LiveHandles {
		t.Errorf("before the leak %+v, after its cleanup %+v (%v)", before, after, err)
	}
	if kind := <-reported; kind != "tensor" {
		t.Errorf("the leak is reported as %q", kind)
	}
}

const (
	mebibyte         = 1 << 20
	mebibyteElements = mebibyte / 4
)

// Four hundred lost tensors of 1 MiB fit under 8 MiB only if the hook collects and waits for the cleanups.
func TestCollectRescuesLostTensors(t *testing.T) {
	defer hexapla.OnLeak(hexapla.OnLeak(nil))
	context := newContext(t, hexapla.Options{MemoryLimit: 8 * mebibyte})
	for turn := range 400 {
		if _, err := context.Zeros(mebibyteElements); err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
	}
	memory, err := context.Memory()
	if err != nil || memory.PressureRescues == 0 || memory.PeakBytes > 8*mebibyte {
		t.Errorf("the account says %+v (%v)", memory, err)
	}
}

func TestWithoutHookLostTensorsRunOut(t *testing.T) {
	defer hexapla.OnLeak(hexapla.OnLeak(nil))
	context := newContext(t, hexapla.Options{MemoryLimit: 8 * mebibyte, NoPressure: true})
	var kept []*hexapla.Tensor
	for turn := range 9 {
		tensor, err := context.Zeros(mebibyteElements)
		if turn < 8 && err != nil || turn == 8 && !errors.Is(err, hexapla.OutOfMemory) {
			t.Fatalf("turn %d: %v", turn, err)
		}
		kept = append(kept, tensor)
	}
	runtime.KeepAlive(kept)
}

func TestHookPanicSurfacesAfterTheCall(t *testing.T) {
	cause := errors.New("thrown")
	context := newContext(t, hexapla.Options{MemoryLimit: mebibyte, Pressure: func(hexapla.Pressure) bool { panic(cause) }})
	_, err := context.Zeros(2 * mebibyteElements)
	var panicked *hexapla.HookPanic
	if !errors.Is(err, hexapla.OutOfMemory) || !errors.As(err, &panicked) || !errors.Is(err, cause) {
		t.Fatalf("the call answers %v", err)
	}
	must[*hexapla.Tensor](t)(context.Zeros(256))
	if _, err := context.Zeros(-1); errors.As(err, &panicked) {
		t.Errorf("a later failure carries the panic too: %v", err)
	}
}

func TestHookMayCloseAndQueryOnly(t *testing.T) {
	var context *hexapla.Context
	var spare *hexapla.Tensor
	var inside, query error
	context = newContext(t, hexapla.Options{MemoryLimit: mebibyte, Pressure: func(p hexapla.Pressure) bool {
		_, inside = context.Zeros(1)
		_, query = p.Memory()
		return spare.Close() == nil
	}})
	spare = must[*hexapla.Tensor](t)(context.Zeros(mebibyteElements))
	must[*hexapla.Tensor](t)(context.Zeros(mebibyteElements))
	if !errors.Is(inside, hexapla.Busy) || query != nil {
		t.Errorf("inside the hook an allocation answers %v, a query %v", inside, query)
	}
}

// A read that races with a close gives the values, or says that the owner is closed.
func TestCloseRacesWithRead(t *testing.T) {
	context := newContext(t, hexapla.Options{})
	for round := range 500 {
		tensor := must[*hexapla.Tensor](t)(context.Full(1, 1024))
		var both sync.WaitGroup
		both.Add(2)
		out := make([]float32, 1024)
		var err error
		go func() { defer both.Done(); err = tensor.Read(out) }()
		go func() { defer both.Done(); tensor.Close() }()
		both.Wait()
		if err != nil && !errors.Is(err, hexapla.StaleHandle) || err == nil && out[1023] != 1 {
			t.Fatalf("round %d: %v, last element %v", round, err, out[1023])
		}
	}
}

func TestCheckpointRoundTrip(t *testing.T) {
	context := newContext(t, hexapla.Options{})
	tensor := must[*hexapla.Tensor](t)(context.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3))
	path := filepath.Join(t.TempDir(), "some.safetensors")
	long := strings.Repeat("é", 10000) // longer than the first buffer that is tried
	err := hexapla.WriteCheckpoint(path, []hexapla.NamedTensor{{Name: "b", Tensor: tensor}, {Name: "a", Tensor: tensor}},
		map[string]string{"update": "7", "long": long})
	if err != nil {
		t.Fatal(err)
	}
	checkpoint := must[*hexapla.Checkpoint](t)(hexapla.OpenCheckpoint(path))
	entries, err := checkpoint.Entries()
	if err != nil || len(entries) != 2 || entries[0].Name != "a" || fmt.Sprint(entries[1].Shape) != "[2 3]" {
		t.Fatalf("the entries are %+v (%v)", entries, err)
	}
	for key, wanted := range map[string]string{"update": "7", "long": long} {
		if value, err := checkpoint.Metadata(key); err != nil || value != wanted {
			t.Errorf("metadata %s has %d bytes (%v)", key, len(value), err)
		}
	}
	if _, err := checkpoint.Metadata("absent"); !errors.Is(err, hexapla.NotFound) {
		t.Errorf("an absent key answers %v", err)
	}
	index, err := checkpoint.Find("b")
	if err != nil {
		t.Fatal(err)
	}
	if got := values(t, must[*hexapla.Tensor](t)(checkpoint.Read(index, context))); got != "[1 2 3 4 5 6]" {
		t.Errorf("the tensor reads %s", got)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestTokenizer(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "harness", "hexapla", "data", "embedded", "tokenizer")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the embedded tokenizer is not in this tree")
	}
	tokenizer := must[*hexapla.Tokenizer](t)(hexapla.OpenTokenizer(folder))
	end, err := tokenizer.AddedID("<|im_end|>")
	if err != nil {
		t.Fatal(err)
	}
	for text, empty := range map[string]bool{"": true, "a<|im_end|>b": false, "e\u0301 \x00": false} {
		ids, err := tokenizer.Encode(text)
		if err != nil || (len(ids) == 0) != empty {
			t.Errorf("%q encodes to %v (%v)", text, ids, err)
		}
		for _, id := range ids {
			if id == end {
				t.Errorf("%q holds an added token's id", text)
			}
		}
	}
	if _, err := tokenizer.Encode("\xff"); !errors.Is(err, hexapla.InvalidArgument) {
		t.Errorf("bytes that are not UTF-8 answer %v", err)
	}
}

// A nil scope keeps nothing, a scope closes newest first and can be used again.
func TestScope(t *testing.T) {
	var none *hexapla.Scope
	context := newContext(t, hexapla.Options{})
	tensor := must[*hexapla.Tensor](t)(context.Zeros(1))
	if hexapla.Keep(none, tensor) != tensor || none.Close() != nil {
		t.Error("a nil scope does something")
	}
	if _, err := tensor.Values(); err != nil {
		t.Errorf("a nil scope has closed: %v", err)
	}
	var scope hexapla.Scope
	hexapla.Keep(&scope, tensor)
	if err := scope.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tensor.Values(); !errors.Is(err, hexapla.StaleHandle) {
		t.Errorf("the scope has not closed: %v", err)
	}
}
