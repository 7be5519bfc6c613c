package main

// The order of records: SplitMix64 and the shuffle of each epoch, and which records an update takes.

// splitMix is the generator's state.
type splitMix uint64

func (s *splitMix) next() uint64 {
	*s += 0x9E3779B97F4A7C15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// shuffled is the order of n things in an epoch.
func shuffled(n int, seed, epoch int64) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	state := splitMix(uint64(seed)<<32 + uint64(epoch))
	for i := n - 1; i >= 0; i-- {
		j := int(state.next() % uint64(i+1))
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// orders deals out the records of updates; updates never span epochs.
type orders struct {
	spec  spec
	ids   []rendered
	epoch int64
	order []int
}

// take is update k's epoch and records.
func (o *orders) take(k int64) (int64, []rendered) {
	n := int64(len(o.ids))
	perEpoch := (n + o.spec.batch - 1) / o.spec.batch
	epoch, first := (k-1)/perEpoch, (k-1)%perEpoch*o.spec.batch
	if o.order == nil || o.epoch != epoch {
		o.epoch, o.order = epoch, shuffled(int(n), o.spec.seed, epoch)
	}
	var taken []rendered
	for _, index := range o.order[first:min(first+o.spec.batch, n)] {
		taken = append(taken, o.ids[index])
	}
	return epoch, taken
}
