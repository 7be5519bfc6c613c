// What a tensor says of itself, as a value.
//
// Separate because it outlives the question.

package hexapla;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hexapla.sys.Structs;
import java.lang.foreign.MemorySegment;

/**
 * Shape, strides and sizes of a tensor.
 *
 * @param shape      one size an axis
 * @param strides    one an axis, in elements
 * @param offset     of the first element in its storage, in elements
 * @param elements   their number
 * @param bytes      what reading needs
 * @param contiguous row-major without gaps
 */
public record TensorInfo(long[] shape, long[] strides, long offset, long elements, long bytes, boolean contiguous) {
    static TensorInfo of(MemorySegment struct) {
        int rank = struct.get(JAVA_INT, at("rank"));
        return new TensorInfo(
                struct.asSlice(at("shape"), 8L * rank).toArray(JAVA_LONG),
                struct.asSlice(at("strides"), 8L * rank).toArray(JAVA_LONG),
                struct.get(JAVA_LONG, at("offset")),
                struct.get(JAVA_LONG, at("elements")),
                struct.get(JAVA_LONG, at("bytes")),
                struct.get(JAVA_INT, at("contiguous")) != 0);
    }

    private static long at(String field) {
        return Structs.offset(Structs.TENSOR_INFO, field);
    }
}
