package hexapla

// Checkpoints on disk: safetensors files, single or sharded, read and written.

import (
	"errors"
	"runtime"
	"sort"
	"unsafe"

	"hexapla-go/sys"
)

// Checkpoint is an owner of a reader. It belongs to no context.
type Checkpoint struct{ owner }

// Entry is one tensor of a checkpoint.
type Entry struct {
	Name     string
	Dtype    string // as stored: "F32", "F16", "BF16"; others are listed, but Read refuses them
	Shape    []int64
	Elements int64
	Bytes    int64 // as stored
}

// NamedTensor is a tensor to write.
type NamedTensor struct {
	Name   string
	Tensor *Tensor
}

// OpenCheckpoint opens a .safetensors file, or a folder with model.safetensors or its index. It fails with IO or Format.
func OpenCheckpoint(path string) (*Checkpoint, error) {
	raw, err := terminated(path)
	if err != nil {
		return nil, err
	}
	return checkpoint(func(f *frame) sys.Status { return sys.CheckpointOpen(raw, f.checkpoint(), &f.failure) })
}

func checkpoint(f func(*frame) sys.Status) (*Checkpoint, error) {
	id, err := made(f)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{}
	return adopt(c, &c.owner, id, "checkpoint", func(id uint64, failure *sys.Error) sys.Status {
		return sys.CheckpointRelease(sys.Checkpoint(id), failure)
	}), nil
}

// Close gives this share back.
func (c *Checkpoint) Close() error {
	defer runtime.KeepAlive(c)
	return c.close()
}

// Retain makes a second owner of the same reader.
func (c *Checkpoint) Retain() (*Checkpoint, error) {
	defer runtime.KeepAlive(c)
	return checkpoint(func(f *frame) sys.Status {
		return sys.CheckpointRetain(sys.Checkpoint(c.id), f.checkpoint(), &f.failure)
	})
}

// Count is the number of tensors.
func (c *Checkpoint) Count() (int, error) {
	defer runtime.KeepAlive(c)
	count, err := made(func(f *frame) sys.Status {
		return sys.CheckpointCount(sys.Checkpoint(c.id), &f.id, &f.failure)
	})
	return int(count), err
}

// Entry describes the tensor at an index; entries are sorted by the bytes of their names.
func (c *Checkpoint) Entry(index int) (Entry, error) {
	defer runtime.KeepAlive(c)
	raw := new(sys.CheckpointEntry)
	sys.CheckpointEntryInit(raw)
	err := call(func(f *frame) sys.Status {
		return sys.CheckpointDescribe(sys.Checkpoint(c.id), uint64(index), raw, &f.failure)
	})
	if err != nil {
		return Entry{}, err
	}
	shape := append([]int64{}, raw.Shape[:raw.Rank]...)
	return Entry{text(raw.Name), cut(raw.Dtype[:]), shape, int64(raw.Elements), int64(raw.Bytes)}, nil
}

// Entries describes all tensors.
func (c *Checkpoint) Entries() ([]Entry, error) {
	count, err := c.Count()
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, count)
	for i := range entries {
		if entries[i], err = c.Entry(i); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Find is the index of a name; NotFound if there is none.
func (c *Checkpoint) Find(name string) (int, error) {
	defer runtime.KeepAlive(c)
	raw, err := terminated(name)
	if err != nil {
		return 0, err
	}
	index, err := made(func(f *frame) sys.Status {
		return sys.CheckpointFind(sys.Checkpoint(c.id), raw, &f.id, &f.failure)
	})
	return int(index), err
}

// Read reads one tensor to a device, widened to f32.
func (c *Checkpoint) Read(index int, context *Context) (*Tensor, error) {
	defer runtime.KeepAlive(c)
	defer runtime.KeepAlive(context)
	return context.domain.tensor(func(f *frame) sys.Status {
		return sys.CheckpointRead(sys.Checkpoint(c.id), uint64(index), sys.Context(context.id), f.tensor(), &f.failure)
	})
}

const (
	metadataBytes    = 4096
	metadataBytesMax = 1 << 24
)

// Metadata is a value of the file's "__metadata__"; NotFound if the key is absent.
func (c *Checkpoint) Metadata(key string) (string, error) {
	defer runtime.KeepAlive(c)
	raw, err := terminated(key)
	if err != nil {
		return "", err
	}
	for capacity := metadataBytes; ; capacity *= 4 {
		value, err := asked(capacity, func(out *byte, outBytes uint64, failure *sys.Error) sys.Status {
			return sys.CheckpointMetadata(sys.Checkpoint(c.id), raw, out, outBytes, failure)
		})
		if errors.Is(err, InvalidArgument) && capacity < metadataBytesMax {
			continue // too small a buffer: the only argument of ours that can be wrong
		}
		return value, err
	}
}

// WriteCheckpoint writes tensors to one safetensors file, F32, in the order given, all or nothing. It fails with InvalidArgument or IO.
func WriteCheckpoint(path string, tensors []NamedTensor, metadata map[string]string) error {
	defer runtime.KeepAlive(tensors)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	raw, err := terminated(path)
	if err != nil {
		return err
	}
	names := make([]string, len(tensors))
	list := make([]sys.Tensor, len(tensors))
	for i, named := range tensors {
		names[i], list[i] = named.Name, sys.Tensor(named.Tensor.id)
	}
	keys := make([]string, 0, len(metadata))
	for key := range metadata {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	values := make([]string, len(keys))
	for i, key := range keys {
		values[i] = metadata[key]
	}
	var arrays [3][]*byte
	for i, texts := range [][]string{names, keys, values} {
		if arrays[i], err = terminatedAll(&pinner, texts); err != nil {
			return err
		}
	}
	return call(func(f *frame) sys.Status {
		return sys.CheckpointWrite(raw, unsafe.SliceData(arrays[0]), unsafe.SliceData(list), uint64(len(list)),
			unsafe.SliceData(arrays[1]), unsafe.SliceData(arrays[2]), uint64(len(keys)), &f.failure)
	})
}

// CommitCheckpoint makes a folder of finished files final: sync, rename, sync the parent. final must not exist.
func CommitCheckpoint(partial, final string) error {
	from, err := terminated(partial)
	if err != nil {
		return err
	}
	to, err := terminated(final)
	if err != nil {
		return err
	}
	return call(func(f *frame) sys.Status { return sys.CheckpointCommit(from, to, &f.failure) })
}
