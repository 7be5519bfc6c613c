// One tensor of a checkpoint, as a value.
//
// Separate because it outlives the reader that it came from.

package hexapla;

/**
 * What a checkpoint says of one of its tensors.
 *
 * @param name     its name
 * @param shape    one size an axis; empty for a scalar
 * @param elements their number
 * @param bytes    as stored
 * @param dtype    as stored: {@code F32}, {@code F16}, {@code BF16}, or one that cannot be read here
 */
public record CheckpointEntry(String name, long[] shape, long elements, long bytes, String dtype) {}
