// The native memory of one call: the error struct, the out value, and the arguments that C reads.
//
// Separate so that the rest of the library reads as arguments and results. Blocks are pooled, not kept per thread: a virtual
// thread would need one each, and a pressure hook makes calls inside a call. The only place where a status becomes an exception.

package hexapla;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hexapla.sys.Constants;
import hexapla.sys.StatusCalls;
import hexapla.sys.Structs;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;

/** One call's scratch; used by one thread at a time, between {@link #begin} and {@link #close}. */
final class Call implements AutoCloseable {
    private static final int BLOCK_BYTES = 16 << 10;
    private static final long MESSAGE = Structs.offset(Structs.ERROR, "message");
    private static final ConcurrentLinkedDeque<Call> POOL = new ConcurrentLinkedDeque<>();

    /** The {@code hxp_error} of this call. */
    final MemorySegment error;
    /** Room for one value of at most 8 bytes. */
    final MemorySegment out;

    private final MemorySegment block;
    private long used;
    private Arena overflow;

    private Call() {
        // Blocks are never freed: there are as many as calls were ever open at once.
        Arena arena = Arena.global();
        error = arena.allocate(Structs.ERROR);
        StatusCalls.errorInit(error);
        out = arena.allocate(JAVA_LONG);
        block = arena.allocate(BLOCK_BYTES, 8);
    }

    /** A call that nobody else uses. */
    static Call begin() {
        Call call = POOL.pollFirst();
        return call != null ? call : new Call();
    }

    /** Turn a status into nothing or an exception; what the pressure hook threw meanwhile becomes its cause. */
    void check(int status) {
        Throwable thrown = PressureUpcall.takeThrown();
        if (status == Constants.HXP_OK) {
            PressureUpcall.reportUnasked(thrown);
            return;
        }
        String message = error.asSlice(MESSAGE).getString(0);
        if (status == Constants.HXP_OUT_OF_MEMORY) {
            throw new OutOfDeviceMemoryException(message, thrown);
        }
        throw new HexaplaException(Status.of(status), message, thrown);
    }

    /** The id that the call made. */
    long id() {
        return out.get(JAVA_LONG, 0);
    }

    /** Zeroed room for a struct, its {@code struct_size} still to be set by its {@code _init}. */
    MemorySegment struct(StructLayout layout) {
        return bytes(layout.byteSize()).fill((byte) 0);
    }

    /** Room for so many bytes, 8-aligned, with arbitrary content. */
    MemorySegment bytes(long count) {
        long end = used + count;
        if (end > BLOCK_BYTES) {
            if (overflow == null) {
                overflow = Arena.ofConfined();
            }
            return overflow.allocate(Math.max(count, 1), 8);
        }
        MemorySegment part = block.asSlice(used, count);
        used = (end + 7) & ~7L;
        return part;
    }

    /** A copy of the numbers. */
    MemorySegment ints(int[] values) {
        MemorySegment part = bytes(4L * values.length);
        MemorySegment.copy(values, 0, part, JAVA_INT, 0, values.length);
        return part;
    }

    /** A copy of the numbers. */
    MemorySegment longs(long[] values) {
        MemorySegment part = bytes(8L * values.length);
        MemorySegment.copy(values, 0, part, JAVA_LONG, 0, values.length);
        return part;
    }

    /** The ids of open handles. The caller keeps the list reachable. */
    MemorySegment ids(List<? extends Handle> handles) {
        MemorySegment part = bytes(8L * handles.size());
        for (int i = 0; i < handles.size(); i++) {
            part.setAtIndex(JAVA_LONG, i, handles.get(i).id());
        }
        return part;
    }

    /** A text that ends in a zero byte. Refused with one inside: C would read less than was meant. */
    MemorySegment text(String value) {
        if (value.indexOf('\0') >= 0) {
            throw new HexaplaException(
                    Status.INVALID_ARGUMENT, "the text " + value.replace("\0", "\\u0000") + " holds a zero byte", null);
        }
        byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
        MemorySegment part = bytes(utf8.length + 1L);
        MemorySegment.copy(utf8, 0, part, JAVA_BYTE, 0, utf8.length);
        part.set(JAVA_BYTE, utf8.length, (byte) 0);
        return part;
    }

    /** An array of pointers to texts. */
    MemorySegment texts(List<String> values) {
        MemorySegment part = bytes(8L * values.size());
        for (int i = 0; i < values.size(); i++) {
            part.setAtIndex(JAVA_LONG, i, text(values.get(i)).address());
        }
        return part;
    }

    /** The f64 in {@link #out}. */
    double number() {
        return out.get(JAVA_DOUBLE, 0);
    }

    @Override
    public void close() {
        used = 0;
        if (overflow != null) {
            overflow.close();
            overflow = null;
        }
        POOL.offerFirst(this);
    }
}
