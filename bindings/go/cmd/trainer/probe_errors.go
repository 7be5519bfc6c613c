package main

// Probes of errors: every status provoked, and a hook that panics.

import (
	"errors"
	"os"
	"path/filepath"

	"hexapla-go/hexapla"
	"hexapla-go/hexapla/rawtest"
)

const (
	smallLimit   = 1 << 20 // bytes
	tooManyFloat = 524288  // 2 MiB
)

// provocations make the error of each status, in docs/probes.md's way.
var provocations = map[string]func(scene) error{
	"HXP_OK":               func(s scene) error { return s.zeros(s.context.options(), 1) },
	"HXP_INVALID_ARGUMENT": func(s scene) error { return s.zeros(s.context.options(), -1) },
	"HXP_OUT_OF_MEMORY": func(s scene) error {
		options := s.context.options()
		options.MemoryLimit, options.NoPressure = smallLimit, true
		return s.zeros(options, tooManyFloat)
	},
	"HXP_STALE_HANDLE": func(s scene) error {
		return s.tensor(func(_ *hexapla.Context, t *hexapla.Tensor) error {
			t.Close()
			return t.Read(make([]float32, 1))
		})
	},
	"HXP_WRONG_KIND": func(s scene) error {
		return s.tensor(func(_ *hexapla.Context, t *hexapla.Tensor) error { return rawtest.ContextDevice(t.ID()) })
	},
	"HXP_WRONG_THREAD": wrongThread,
	"HXP_BUSY":         busy,
	"HXP_DEVICE": func(s scene) error {
		context, err := hexapla.NewContext("cuda:255", s.context.options())
		if err == nil {
			context.Close()
		}
		return err
	},
	"HXP_NO_GRADIENT": func(s scene) error {
		return s.tensor(func(c *hexapla.Context, t *hexapla.Tensor) error {
			tape, err := c.NewTape()
			if err != nil {
				return err
			}
			defer tape.Close()
			return tape.Backward(t, nil)
		})
	},
	"HXP_IO":     func(scene) error { return opened("/nonexistent/hexapla") },
	"HXP_FORMAT": badFormat,
	"HXP_NOT_FOUND": func(s scene) error {
		return s.injected(hexapla.NotFound)
	},
	"HXP_UNSUPPORTED": func(s scene) error {
		return s.inContext(func(c *hexapla.Context) error {
			t, err := c.ZerosOf(hexapla.F16, 1)
			if err == nil {
				t.Close()
			}
			return err
		})
	},
	"HXP_INTERNAL": func(s scene) error { return s.injected(hexapla.Internal) },
}

func provokeStatus(s scene) func() (pairs, error) {
	name := s.text("status")
	return func() (pairs, error) {
		provoke, known := provocations[name]
		if !known {
			return nil, fail(badRequest, "parameters.status", "key status is %q, which is no status of core", name)
		}
		err := provoke(s)
		return pairs{{"status", statusName(err)}, {"message", messageOf(err)}, {"error_type", errorType(err)}}, nil
	}
}

// zeros makes a tensor in a context of these options, and is what went wrong.
func (s scene) zeros(options hexapla.Options, size int64) error {
	context, err := hexapla.NewContext(s.context.device, options)
	if err != nil {
		return err
	}
	defer context.Close()
	tensor, err := context.Zeros(size)
	if err != nil {
		return err
	}
	return tensor.Close()
}

func (s scene) tensor(play func(*hexapla.Context, *hexapla.Tensor) error) error {
	return s.inContext(func(c *hexapla.Context) error {
		t, err := c.Zeros(1)
		if err != nil {
			return err
		}
		defer t.Close()
		return play(c, t)
	})
}

func (s scene) injected(status hexapla.Status) error {
	return s.inContext(func(c *hexapla.Context) error {
		if err := c.FailNext(status); err != nil {
			return err
		}
		t, err := c.Zeros(1)
		if err == nil {
			t.Close()
		}
		return err
	})
}

func opened(path string) error {
	checkpoint, err := hexapla.OpenCheckpoint(path)
	if err == nil {
		checkpoint.Close()
	}
	return err
}

func badFormat(scene) error {
	folder, err := os.MkdirTemp("", "hexapla")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "bad.safetensors")
	if err := os.WriteFile(path, make([]byte, 7), 0o666); err != nil {
		return err
	}
	return opened(path)
}

// wrongThread asks for tensors in goroutines that each keep their thread afterwards, until one ran on another than the maker's.
func wrongThread(s scene) error {
	options := s.context.options()
	options.OwnerThread = true
	context, err := hexapla.NewContext(s.context.device, options)
	if err != nil {
		return err
	}
	defer context.Close()
	tasks := newTasks(true)
	defer tasks.end()
	for range threadTries {
		err := tasks.do(func() error {
			t, err := context.Zeros(1)
			if err == nil {
				t.Close()
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func busy(s scene) error {
	var context *hexapla.Context
	var inside error
	options := s.context.options()
	options.MemoryLimit = smallLimit
	options.Pressure = func(hexapla.Pressure) bool {
		t, err := context.Zeros(1)
		if err == nil {
			t.Close()
		}
		inside = err
		return false
	}
	context, err := hexapla.NewContext(s.context.device, options)
	if err != nil {
		return err
	}
	defer context.Close()
	if t, err := context.Zeros(tooManyFloat); err == nil {
		t.Close()
	}
	return inside
}

func callbackThrows(s scene) func() (pairs, error) {
	return func() (pairs, error) {
		options := s.context.options()
		options.MemoryLimit = smallLimit
		options.Pressure = func(hexapla.Pressure) bool { panic("thrown by the pressure hook") }
		context, err := hexapla.NewContext(s.context.device, options)
		if err != nil {
			return nil, err
		}
		defer context.Close()
		tensor, thrown := context.Zeros(tooManyFloat)
		if thrown == nil {
			tensor.Close()
		}
		var panicked *hexapla.HookPanic
		surfaced := errors.As(thrown, &panicked)
		small, err := context.Zeros(256)
		if err == nil {
			small.Close()
		}
		return pairs{{"status", statusName(thrown)}, {"surfaced", flagOf(surfaced)}, {"alive", flagOf(err == nil)}}, nil
	}
}
