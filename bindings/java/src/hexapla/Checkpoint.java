// Checkpoints on disk: safetensors files, single or sharded, read and written.
//
// Separate because a reader belongs to no context. Writing is all or nothing, by the core.

package hexapla;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.ref.Reference.reachabilityFence;

import hexapla.sys.CheckpointCalls;
import hexapla.sys.Structs;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;

/** A reader of one checkpoint. */
public final class Checkpoint extends Handle {
    private static final int METADATA_BYTES = 64 << 10;

    private Checkpoint(long id) {
        super(Kind.CHECKPOINT, id);
    }

    /**
     * Open for reading.
     *
     * @param path a safetensors file, or a folder with {@code model.safetensors} or its index
     * @return to be closed
     * @throws HexaplaException {@link Status#IO}, {@link Status#FORMAT}
     */
    public static Checkpoint open(String path) {
        try (Call call = Call.begin()) {
            call.check(CheckpointCalls.open(call.text(path), call.out, call.error));
            return new Checkpoint(call.id());
        }
    }

    /**
     * A second owner of this reader.
     *
     * @return to be closed on its own
     */
    public Checkpoint copy() {
        try (Call call = Call.begin()) {
            call.check(CheckpointCalls.retain(id(), call.out, call.error));
            return new Checkpoint(call.id());
        } finally {
            reachabilityFence(this);
        }
    }

    /** {@return what the checkpoint holds, sorted by the bytes of the names} */
    public List<CheckpointEntry> entries() {
        long count;
        try (Call call = Call.begin()) {
            call.check(CheckpointCalls.count(id(), call.out, call.error));
            count = call.id();
        } finally {
            reachabilityFence(this);
        }
        List<CheckpointEntry> entries = new ArrayList<>();
        for (long index = 0; index < count; index++) {
            entries.add(entry(index));
        }
        return entries;
    }

    private CheckpointEntry entry(long index) {
        try (Call call = Call.begin()) {
            MemorySegment struct = call.struct(Structs.CHECKPOINT_ENTRY);
            CheckpointCalls.entryInit(struct);
            call.check(CheckpointCalls.describe(id(), index, struct, call.error));
            int rank = struct.get(JAVA_INT, at("rank"));
            return new CheckpointEntry(
                    Core.view(struct.get(ADDRESS, at("name"))),
                    struct.asSlice(at("shape"), 8L * rank).toArray(JAVA_LONG),
                    struct.get(JAVA_LONG, at("elements")),
                    struct.get(JAVA_LONG, at("bytes")),
                    struct.asSlice(at("dtype"), 16).getString(0));
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * Where a tensor is.
     *
     * @param name its name
     * @return its index in {@link #entries}
     * @throws HexaplaException {@link Status#NOT_FOUND}
     */
    public long find(String name) {
        try (Call call = Call.begin()) {
            call.check(CheckpointCalls.find(id(), call.text(name), call.out, call.error));
            return call.id();
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * Read a tensor, widened to f32 exactly.
     *
     * @param name    its name
     * @param context where it goes
     * @return to be closed; a scalar becomes a tensor of shape (1)
     * @throws HexaplaException {@link Status#NOT_FOUND}, {@link Status#UNSUPPORTED} (dtype), {@link Status#IO},
     *     {@link Status#OUT_OF_MEMORY}
     */
    public Tensor read(String name, Context context) {
        long index = find(name);
        try (Call call = Call.begin()) {
            call.check(CheckpointCalls.read(id(), index, context.id(), call.out, call.error));
            return new Tensor(call.id(), context.pressure);
        } finally {
            reachabilityFence(this);
            reachabilityFence(context);
        }
    }

    /**
     * A value of the file's metadata.
     *
     * @param key its key
     * @return its text
     * @throws HexaplaException {@link Status#NOT_FOUND}
     */
    public String metadata(String key) {
        try (Call call = Call.begin()) {
            MemorySegment text = call.bytes(METADATA_BYTES);
            call.check(CheckpointCalls.metadata(id(), call.text(key), text, METADATA_BYTES, call.error));
            return text.getString(0);
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * Write tensors to one safetensors file, all or nothing.
     *
     * @param path     an existing file is replaced only by the complete new one
     * @param tensors  by name, in the order of the file
     * @param metadata texts by key
     * @throws HexaplaException {@link Status#IO} (nothing is left behind), {@link Status#INVALID_ARGUMENT}
     */
    public static void write(String path, SequencedMap<String, Tensor> tensors, Map<String, String> metadata) {
        List<Tensor> values = List.copyOf(tensors.values());
        List<String> keys = List.copyOf(metadata.keySet());
        List<String> texts = keys.stream().map(metadata::get).toList();
        try (Call call = Call.begin()) {
            call.check(CheckpointCalls.write(
                    call.text(path),
                    call.texts(List.copyOf(tensors.keySet())),
                    call.ids(values),
                    values.size(),
                    call.texts(keys),
                    call.texts(texts),
                    keys.size(),
                    call.error));
        } finally {
            reachabilityFence(values);
        }
    }

    /**
     * Make a folder of finished files final: sync, rename, sync the parent.
     *
     * @param partial   an existing folder
     * @param finalPath in the same parent; must not exist
     * @throws HexaplaException {@link Status#IO}
     */
    public static void commit(String partial, String finalPath) {
        try (Call call = Call.begin()) {
            call.check(CheckpointCalls.commit(call.text(partial), call.text(finalPath), call.error));
        }
    }

    private static long at(String field) {
        return Structs.offset(Structs.CHECKPOINT_ENTRY, field);
    }
}
