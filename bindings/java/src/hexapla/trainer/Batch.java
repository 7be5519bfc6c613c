// A micro-batch as the forward pass reads it: records end to end, no padding.
//
// Separate because the arrays are made once, from the examples alone, and the order of labels fixed here is the order of every sum
// later.

package hexapla.trainer;

import java.util.List;

/**
 * Host arrays of one micro-batch.
 *
 * @param ids       all ids, packed
 * @param positions restarting at 0 in each record
 * @param starts    each record's first row, then the row behind the last record
 * @param rows      for each label the row that predicts it
 * @param targets   for each label its id
 * @param labels    how many labels each record has
 */
record Batch(int[] ids, int[] positions, int[] starts, int[] rows, int[] targets, int[] labels) {

    static Batch of(List<Render.Example> examples) {
        int tokens = examples.stream().mapToInt(example -> example.ids().length).sum();
        int labelCount = examples.stream().mapToInt(Render.Example::labels).sum();
        Batch batch = new Batch(
                new int[tokens],
                new int[tokens],
                new int[examples.size() + 1],
                new int[labelCount],
                new int[labelCount],
                new int[examples.size()]);
        int row = 0;
        int label = 0;
        for (int record = 0; record < examples.size(); record++) {
            Render.Example example = examples.get(record);
            int[] ids = example.ids();
            System.arraycopy(ids, 0, batch.ids, row, ids.length);
            for (int i = 0; i < ids.length; i++) {
                batch.positions[row + i] = i;
            }
            for (int i = example.labelFrom(); i < example.labelTo(); i++) {
                batch.rows[label] = row + i - 1;
                batch.targets[label] = ids[i];
                label++;
            }
            batch.labels[record] = example.labels();
            row += ids.length;
            batch.starts[record + 1] = row;
        }
        return batch;
    }

    /** FNV-1a 64 of records in update order: count and ids as little-endian u32, then a byte a flag; 16 hex digits. */
    static String digest(List<Render.Example> examples) {
        long hash = 0xCBF29CE484222325L;
        for (Render.Example example : examples) {
            hash = word(hash, example.ids().length);
            for (int id : example.ids()) {
                hash = word(hash, id);
            }
            for (int i = 0; i < example.ids().length; i++) {
                hash = octet(hash, i >= example.labelFrom() && i < example.labelTo() ? 1 : 0);
            }
        }
        return String.format("%016x", hash);
    }

    private static long word(long hash, int value) {
        long result = hash;
        for (int shift = 0; shift < 32; shift += 8) {
            result = octet(result, value >>> shift & 0xFF);
        }
        return result;
    }

    private static long octet(long hash, int value) {
        return (hash ^ value) * 0x100000001B3L;
    }
}
