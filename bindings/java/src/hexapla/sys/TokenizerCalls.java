// Declarations of hexapla/tokenizer.h: byte-level BPE.
//
// Separate because only this package knows C's names and types. One method a function, nothing decided here: no check of a
// status, no ownership.

package hexapla.sys;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The functions of {@code hexapla/tokenizer.h}; pointers are segments, ids are longs. */
public final class TokenizerCalls {
    private static final MethodHandle ADDED_TOKEN_INIT = Library.action("hxp_added_token_init", ADDRESS);
    private static final MethodHandle OPEN =
            Library.function("hxp_tokenizer_open", JAVA_INT, ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle RETAIN =
            Library.function("hxp_tokenizer_retain", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle RELEASE =
            Library.function("hxp_tokenizer_release", JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle ENCODE =
            Library.function("hxp_tokenizer_encode", JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS,
                    JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle ID =
            Library.function("hxp_tokenizer_id", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle ADDED_COUNT =
            Library.function("hxp_tokenizer_added_count", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle ADDED =
            Library.function("hxp_tokenizer_added", JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);

    private TokenizerCalls() {}

    /** {@code hxp_added_token_init}. */
    public static void addedTokenInit(MemorySegment token) {
        try {
            ADDED_TOKEN_INIT.invokeExact(token);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tokenizer_open}. */
    public static int open(MemorySegment folder, MemorySegment out, MemorySegment error) {
        try {
            return (int) OPEN.invokeExact(folder, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tokenizer_retain}. */
    public static int retain(long tokenizer, MemorySegment out, MemorySegment error) {
        try {
            return (int) RETAIN.invokeExact(tokenizer, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tokenizer_release}. */
    public static int release(long tokenizer, MemorySegment error) {
        try {
            return (int) RELEASE.invokeExact(tokenizer, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tokenizer_encode}. */
    public static int encode(
            long tokenizer, MemorySegment text, long textBytes, MemorySegment ids, long capacity,
            MemorySegment countOut, MemorySegment error) {
        try {
            return (int) ENCODE.invokeExact(tokenizer, text, textBytes, ids, capacity, countOut, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tokenizer_id}. */
    public static int id(long tokenizer, MemorySegment text, MemorySegment idOut, MemorySegment error) {
        try {
            return (int) ID.invokeExact(tokenizer, text, idOut, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tokenizer_added_count}. */
    public static int addedCount(long tokenizer, MemorySegment out, MemorySegment error) {
        try {
            return (int) ADDED_COUNT.invokeExact(tokenizer, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_tokenizer_added}. */
    public static int added(long tokenizer, long index, MemorySegment out, MemorySegment error) {
        try {
            return (int) ADDED.invokeExact(tokenizer, index, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }
}
