package main

// Micro-batches: records end to end, with everything about them that the forward pass asks for, and the digest of an update's batch.

import (
	"encoding/binary"
	"fmt"
)

// batch is one micro-batch, packed.
type batch struct {
	ids, positions []int32 // one a row
	starts         []int32 // each record's first row, then the row behind the last
	rows, targets  []int32 // one a label: the target id, and the row before it
	labels         []int   // labels of each record
}

func pack(records []rendered) batch {
	b := batch{starts: []int32{0}}
	for _, r := range records {
		first := int32(len(b.ids))
		for i, id := range r.ids {
			b.ids = append(b.ids, id)
			b.positions = append(b.positions, int32(i))
			if r.flags[i] == 1 {
				b.rows = append(b.rows, first+int32(i)-1)
				b.targets = append(b.targets, id)
			}
		}
		b.starts = append(b.starts, int32(len(b.ids)))
		b.labels = append(b.labels, r.labels)
	}
	return b
}

// microBatches packs successive runs of `size` records.
func microBatches(records []rendered, size int64) []batch {
	var all []batch
	for first := int64(0); first < int64(len(records)); first += size {
		all = append(all, pack(records[first:min(first+size, int64(len(records)))]))
	}
	return all
}

// sums are the records' NLLs: f64 running sums of their labels, in order.
func (b batch) sums(nll []float32) []float64 {
	sums := make([]float64, len(b.labels))
	next := 0
	for i, labels := range b.labels {
		for _, value := range nll[next : next+labels] {
			sums[i] += float64(value)
		}
		next += labels
	}
	return sums
}

// batchDigest is FNV-1a 64 over, per record, its id count and ids as little-endian u32, then its flags.
func batchDigest(records []rendered) string {
	digest := uint64(0xCBF29CE484222325)
	var buffer []byte
	for _, r := range records {
		buffer = binary.LittleEndian.AppendUint32(buffer[:0], uint32(len(r.ids)))
		for _, id := range r.ids {
			buffer = binary.LittleEndian.AppendUint32(buffer, uint32(id))
		}
		for _, c := range append(buffer, r.flags...) {
			digest = (digest ^ uint64(c)) * 0x100000001B3
		}
	}
	return fmt.Sprintf("%016x", digest)
}

func countLabels(records []rendered) (tokens, labels int64) {
	for _, r := range records {
		tokens += int64(len(r.ids))
		labels += int64(r.labels)
	}
	return tokens, labels
}
