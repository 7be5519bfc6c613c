// The order of records: SplitMix64, one shuffle an epoch, and the updates cut from it.
//
// Separate because it depends on the seed and the number of accepted records alone. Draws nothing else and keeps no state between
// epochs.

package hexapla.trainer;

/** Which records an update takes. */
final class Order {
    private static final long GAMMA = 0x9E3779B97F4A7C15L;

    /**
     * The records of one update.
     *
     * @param epoch   from 0
     * @param records indices of accepted records, in order
     */
    record Batch(long epoch, int[] records) {}

    private final long seed;
    private final int count;
    private final int batch;
    private long shuffledEpoch = -1;
    private int[] shuffled;

    Order(long seed, int count, int batch) {
        this.seed = seed;
        this.count = count;
        this.batch = batch;
    }

    /** The records of update k, from 1. */
    Batch update(long k) {
        int perEpoch = (count + batch - 1) / batch;
        long epoch = (k - 1) / perEpoch;
        if (epoch != shuffledEpoch) {
            shuffled = shuffle(seed, epoch, count);
            shuffledEpoch = epoch;
        }
        int from = (int) ((k - 1) % perEpoch) * batch;
        int to = Math.min(from + batch, count);
        int[] records = new int[to - from];
        System.arraycopy(shuffled, from, records, 0, records.length);
        return new Batch(epoch, records);
    }

    /** 0 … count−1 in the order of an epoch. */
    static int[] shuffle(long seed, long epoch, int count) {
        int[] order = new int[count];
        for (int i = 0; i < count; i++) {
            order[i] = i;
        }
        long state = (seed << 32) + epoch;
        for (int i = count - 1; i > 0; i--) {
            state += GAMMA;
            int j = (int) Long.remainderUnsigned(mix(state), i + 1L);
            int swapped = order[i];
            order[i] = order[j];
            order[j] = swapped;
        }
        return order;
    }

    private static long mix(long state) {
        long z = (state ^ state >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }
}
