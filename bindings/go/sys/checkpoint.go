package sys

// Checkpoints on disk: safetensors files, single or sharded. The contract of each call stands in hexapla/checkpoint.h.

// #include <hexapla/checkpoint.h>
import "C"

import "unsafe"

// CheckpointEntryInit is hxp_checkpoint_entry_init. Set an entry's size and zero the rest.
func CheckpointEntryInit(entry *CheckpointEntry) {
	C.hxp_checkpoint_entry_init((*C.hxp_checkpoint_entry)(unsafe.Pointer(entry)))
}

// CheckpointOpen is hxp_checkpoint_open. Open a checkpoint for reading.
func CheckpointOpen(path *byte, out *Checkpoint, failure *Error) Status {
	return Status(C.hxp_checkpoint_open((*C.char)(unsafe.Pointer(path)), (*C.hxp_checkpoint)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// CheckpointRetain is hxp_checkpoint_retain. Take another share: a new id for the same reader.
func CheckpointRetain(checkpoint Checkpoint, out *Checkpoint, failure *Error) Status {
	return Status(C.hxp_checkpoint_retain(C.hxp_checkpoint(checkpoint), (*C.hxp_checkpoint)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// CheckpointRelease is hxp_checkpoint_release. Give one share back.
func CheckpointRelease(checkpoint Checkpoint, failure *Error) Status {
	return Status(C.hxp_checkpoint_release(C.hxp_checkpoint(checkpoint), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// CheckpointCount is hxp_checkpoint_count. How many tensors the checkpoint holds.
func CheckpointCount(checkpoint Checkpoint, out *uint64, failure *Error) Status {
	return Status(C.hxp_checkpoint_count(C.hxp_checkpoint(checkpoint), (*C.uint64_t)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// CheckpointDescribe is hxp_checkpoint_describe. The entry at an index; entries are sorted by the bytes of their names.
func CheckpointDescribe(checkpoint Checkpoint, index uint64, out *CheckpointEntry, failure *Error) Status {
	return Status(C.hxp_checkpoint_describe(C.hxp_checkpoint(checkpoint), C.uint64_t(index), (*C.hxp_checkpoint_entry)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// CheckpointFind is hxp_checkpoint_find. The index of a name; HXP_NOT_FOUND if there is none.
func CheckpointFind(checkpoint Checkpoint, name *byte, indexOut *uint64, failure *Error) Status {
	return Status(C.hxp_checkpoint_find(C.hxp_checkpoint(checkpoint), (*C.char)(unsafe.Pointer(name)), (*C.uint64_t)(unsafe.Pointer(indexOut)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// CheckpointRead is hxp_checkpoint_read. Read one tensor to a device, widened to f32 (exactly; subnormals and NaN kept).
func CheckpointRead(checkpoint Checkpoint, index uint64, context Context, out *Tensor, failure *Error) Status {
	return Status(C.hxp_checkpoint_read(C.hxp_checkpoint(checkpoint), C.uint64_t(index), C.hxp_context(context), (*C.hxp_tensor)(unsafe.Pointer(out)), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// CheckpointMetadata is hxp_checkpoint_metadata. A value of the file's "__metadata__" (of a sharded checkpoint: of its first shard).
func CheckpointMetadata(checkpoint Checkpoint, key, out *byte, outBytes uint64, failure *Error) Status {
	return Status(C.hxp_checkpoint_metadata(C.hxp_checkpoint(checkpoint), (*C.char)(unsafe.Pointer(key)), (*C.char)(unsafe.Pointer(out)), C.uint64_t(outBytes), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// CheckpointWrite is hxp_checkpoint_write. Write tensors to one safetensors file (F32, in the order given), all or nothing: a
// temporary file beside it, synced, renamed.
func CheckpointWrite(path *byte, names **byte, tensors *Tensor, count uint64, metadataKeys, metadataValues **byte, metadataCount uint64, failure *Error) Status {
	return Status(C.hxp_checkpoint_write((*C.char)(unsafe.Pointer(path)), (**C.char)(unsafe.Pointer(names)), (*C.hxp_tensor)(unsafe.Pointer(tensors)), C.uint64_t(count), (**C.char)(unsafe.Pointer(metadataKeys)), (**C.char)(unsafe.Pointer(metadataValues)), C.uint64_t(metadataCount), (*C.hxp_error)(unsafe.Pointer(failure))))
}

// CheckpointCommit is hxp_checkpoint_commit. Make a folder of finished files final: sync its files and itself, rename it, sync the
// parent.
func CheckpointCommit(partial, finalPath *byte, failure *Error) Status {
	return Status(C.hxp_checkpoint_commit((*C.char)(unsafe.Pointer(partial)), (*C.char)(unsafe.Pointer(finalPath)), (*C.hxp_error)(unsafe.Pointer(failure))))
}
