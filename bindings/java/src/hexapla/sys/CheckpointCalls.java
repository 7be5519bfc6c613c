// Declarations of hexapla/checkpoint.h: safetensors files and checkpoint folders.
//
// Separate because only this package knows C's names and types. One method a function, nothing decided here: no check of a
// status, no ownership.

package hexapla.sys;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The functions of {@code hexapla/checkpoint.h}; pointers are segments, ids are longs. */
public final class CheckpointCalls {
    private static final MethodHandle ENTRY_INIT = Library.action("hxp_checkpoint_entry_init", ADDRESS);
    private static final MethodHandle OPEN =
            Library.function("hxp_checkpoint_open", JAVA_INT, ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle RETAIN =
            Library.function("hxp_checkpoint_retain", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle RELEASE =
            Library.function("hxp_checkpoint_release", JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle COUNT =
            Library.function("hxp_checkpoint_count", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle DESCRIBE =
            Library.function("hxp_checkpoint_describe", JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS);
    private static final MethodHandle FIND =
            Library.function("hxp_checkpoint_find", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle READ =
            Library.function("hxp_checkpoint_read", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS,
                    ADDRESS);
    private static final MethodHandle METADATA =
            Library.function("hxp_checkpoint_metadata", JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG,
                    ADDRESS);
    private static final MethodHandle WRITE =
            Library.function("hxp_checkpoint_write", JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG,
                    ADDRESS, ADDRESS, JAVA_LONG, ADDRESS);
    private static final MethodHandle COMMIT =
            Library.function("hxp_checkpoint_commit", JAVA_INT, ADDRESS, ADDRESS, ADDRESS);

    private CheckpointCalls() {}

    /** {@code hxp_checkpoint_entry_init}. */
    public static void entryInit(MemorySegment entry) {
        try {
            ENTRY_INIT.invokeExact(entry);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_checkpoint_open}. */
    public static int open(MemorySegment path, MemorySegment out, MemorySegment error) {
        try {
            return (int) OPEN.invokeExact(path, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_checkpoint_retain}. */
    public static int retain(long checkpoint, MemorySegment out, MemorySegment error) {
        try {
            return (int) RETAIN.invokeExact(checkpoint, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_checkpoint_release}. */
    public static int release(long checkpoint, MemorySegment error) {
        try {
            return (int) RELEASE.invokeExact(checkpoint, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_checkpoint_count}. */
    public static int count(long checkpoint, MemorySegment out, MemorySegment error) {
        try {
            return (int) COUNT.invokeExact(checkpoint, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_checkpoint_describe}. */
    public static int describe(long checkpoint, long index, MemorySegment out, MemorySegment error) {
        try {
            return (int) DESCRIBE.invokeExact(checkpoint, index, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_checkpoint_find}. */
    public static int find(long checkpoint, MemorySegment name, MemorySegment indexOut, MemorySegment error) {
        try {
            return (int) FIND.invokeExact(checkpoint, name, indexOut, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_checkpoint_read}. */
    public static int read(
            long checkpoint, long index, long context, MemorySegment out, MemorySegment error) {
        try {
            return (int) READ.invokeExact(checkpoint, index, context, out, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_checkpoint_metadata}. */
    public static int metadata(
            long checkpoint, MemorySegment key, MemorySegment out, long outBytes, MemorySegment error) {
        try {
            return (int) METADATA.invokeExact(checkpoint, key, out, outBytes, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_checkpoint_write}. */
    public static int write(
            MemorySegment path, MemorySegment names, MemorySegment tensors, long count,
            MemorySegment metadataKeys, MemorySegment metadataValues, long metadataCount,
            MemorySegment error) {
        try {
            return (int) WRITE.invokeExact(
                    path, names, tensors, count, metadataKeys, metadataValues, metadataCount, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }

    /** {@code hxp_checkpoint_commit}. */
    public static int commit(MemorySegment partial, MemorySegment finalPath, MemorySegment error) {
        try {
            return (int) COMMIT.invokeExact(partial, finalPath, error);
        } catch (Throwable thrown) {
            throw Library.unexpected(thrown);
        }
    }
}
