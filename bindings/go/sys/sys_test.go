package sys

// The structs written out here have the sizes that core's own `_init` functions put into struct_size.

import (
	"testing"
	"unsafe"
)

func TestStructSizes(t *testing.T) {
	failure, options, memory, info := new(Error), new(ContextOptions), new(Memory), new(TensorInfo)
	entry, token, adamw := new(CheckpointEntry), new(AddedToken), new(AdamwOptions)
	ErrorInit(failure)
	ContextOptionsInit(options)
	MemoryInit(memory)
	TensorInfoInit(info)
	CheckpointEntryInit(entry)
	AddedTokenInit(token)
	AdamwOptionsInit(adamw)
	for _, one := range []struct {
		name string
		ours uintptr
		core uint32
	}{
		{"Error", unsafe.Sizeof(*failure), failure.StructSize},
		{"ContextOptions", unsafe.Sizeof(*options), options.StructSize},
		{"Memory", unsafe.Sizeof(*memory), memory.StructSize},
		{"TensorInfo", unsafe.Sizeof(*info), info.StructSize},
		{"CheckpointEntry", unsafe.Sizeof(*entry), entry.StructSize},
		{"AddedToken", unsafe.Sizeof(*token), token.StructSize},
		{"AdamwOptions", unsafe.Sizeof(*adamw), adamw.StructSize},
	} {
		if one.ours != uintptr(one.core) {
			t.Errorf("%s has %d bytes here, %d in core", one.name, one.ours, one.core)
		}
	}
	if options.Threads != 1 || options.PressureRetries != 8 {
		t.Errorf("default options are %+v: fields are not where core writes them", *options)
	}
}

func TestABIVersion(t *testing.T) {
	if version := LibraryABIVersion(); version != ABIVersion {
		t.Errorf("the library speaks ABI %d, this package %d", version, ABIVersion)
	}
}
