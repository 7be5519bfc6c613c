// The structs of the public headers, as memory layouts with their padding written out.
//
// Separate because the layouts are what `abi` holds against C: a wrong field shows there, not as a wrong number in a run. Offsets
// are asked of the layouts, never written as numbers.

package hexapla.sys;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.StructLayout;
import java.util.List;

/** Layouts of all structs, named as in C. */
public final class Structs {
    /** {@code hxp_error}. */
    public static final StructLayout ERROR = MemoryLayout.structLayout(
                    JAVA_INT.withName("struct_size"),
                    JAVA_INT.withName("status"),
                    MemoryLayout.sequenceLayout(1016, JAVA_BYTE).withName("message"))
            .withName("hxp_error");

    /** {@code hxp_context_options}. */
    public static final StructLayout CONTEXT_OPTIONS = MemoryLayout.structLayout(
                    JAVA_INT.withName("struct_size"),
                    JAVA_INT.withName("flags"),
                    JAVA_INT.withName("threads"),
                    JAVA_INT.withName("pressure_retries"),
                    JAVA_LONG.withName("memory_limit"),
                    ADDRESS.withName("ledger_path"),
                    ADDRESS.withName("pressure_hook"),
                    ADDRESS.withName("pressure_payload"))
            .withName("hxp_context_options");

    /** {@code hxp_memory}. */
    public static final StructLayout MEMORY = MemoryLayout.structLayout(
                    JAVA_INT.withName("struct_size"),
                    JAVA_INT.withName("threads"),
                    JAVA_LONG.withName("live_bytes"),
                    JAVA_LONG.withName("peak_bytes"),
                    JAVA_LONG.withName("limit_bytes"),
                    JAVA_LONG.withName("live_handles"),
                    JAVA_LONG.withName("spilled_bytes"),
                    JAVA_LONG.withName("allocations"),
                    JAVA_LONG.withName("pressure_calls"),
                    JAVA_LONG.withName("pressure_rescues"),
                    JAVA_LONG.withName("stale_calls"),
                    JAVA_LONG.withName("foreign_calls"),
                    JAVA_LONG.withName("injected_failures"))
            .withName("hxp_memory");

    /** {@code hxp_ledger_header}. */
    public static final StructLayout LEDGER_HEADER = MemoryLayout.structLayout(
                    MemoryLayout.sequenceLayout(4, JAVA_BYTE).withName("magic"),
                    JAVA_INT.withName("version"),
                    JAVA_INT.withName("record_bytes"),
                    JAVA_INT.withName("capacity"),
                    JAVA_LONG.withName("written"),
                    JAVA_LONG.withName("live_bytes"),
                    JAVA_LONG.withName("peak_bytes"),
                    JAVA_LONG.withName("limit_bytes"),
                    JAVA_LONG.withName("live_handles"))
            .withName("hxp_ledger_header");

    /** {@code hxp_ledger_record}. */
    public static final StructLayout LEDGER_RECORD = MemoryLayout.structLayout(
                    JAVA_LONG.withName("time_ns"),
                    JAVA_LONG.withName("handle"),
                    JAVA_LONG.withName("bytes"),
                    JAVA_LONG.withName("live_bytes"),
                    JAVA_LONG.withName("update"),
                    JAVA_LONG.withName("context"),
                    JAVA_INT.withName("thread"),
                    JAVA_SHORT.withName("operation"),
                    JAVA_SHORT.withName("status"),
                    JAVA_LONG.withName("sequence"))
            .withName("hxp_ledger_record");

    /** {@code hxp_tensor_info}. */
    public static final StructLayout TENSOR_INFO = MemoryLayout.structLayout(
                    JAVA_INT.withName("struct_size"),
                    JAVA_INT.withName("dtype"),
                    JAVA_INT.withName("rank"),
                    JAVA_INT.withName("contiguous"),
                    MemoryLayout.sequenceLayout(8, JAVA_LONG).withName("shape"),
                    MemoryLayout.sequenceLayout(8, JAVA_LONG).withName("strides"),
                    JAVA_LONG.withName("offset"),
                    JAVA_LONG.withName("elements"),
                    JAVA_LONG.withName("bytes"))
            .withName("hxp_tensor_info");

    /** {@code hxp_adamw_options}. */
    public static final StructLayout ADAMW_OPTIONS = MemoryLayout.structLayout(
                    JAVA_INT.withName("struct_size"),
                    JAVA_INT.withName("reserved"),
                    JAVA_LONG.withName("step"),
                    JAVA_DOUBLE.withName("learning_rate"),
                    JAVA_DOUBLE.withName("beta1"),
                    JAVA_DOUBLE.withName("beta2"),
                    JAVA_DOUBLE.withName("epsilon"),
                    JAVA_DOUBLE.withName("weight_decay"))
            .withName("hxp_adamw_options");

    /** {@code hxp_checkpoint_entry}. */
    public static final StructLayout CHECKPOINT_ENTRY = MemoryLayout.structLayout(
                    JAVA_INT.withName("struct_size"),
                    JAVA_INT.withName("rank"),
                    MemoryLayout.sequenceLayout(8, JAVA_LONG).withName("shape"),
                    JAVA_LONG.withName("elements"),
                    JAVA_LONG.withName("bytes"),
                    MemoryLayout.sequenceLayout(16, JAVA_BYTE).withName("dtype"),
                    ADDRESS.withName("name"))
            .withName("hxp_checkpoint_entry");

    /** {@code hxp_added_token}. */
    public static final StructLayout ADDED_TOKEN = MemoryLayout.structLayout(
                    JAVA_INT.withName("struct_size"),
                    JAVA_INT.withName("id"),
                    JAVA_INT.withName("special"),
                    JAVA_INT.withName("text_bytes"),
                    ADDRESS.withName("text"))
            .withName("hxp_added_token");

    /** All of them. */
    public static final List<StructLayout> ALL = List.of(
            ERROR, CONTEXT_OPTIONS, MEMORY, LEDGER_HEADER, LEDGER_RECORD, TENSOR_INFO, ADAMW_OPTIONS, CHECKPOINT_ENTRY,
            ADDED_TOKEN);

    /** A field's offset in bytes. */
    public static long offset(StructLayout struct, String field) {
        return struct.byteOffset(PathElement.groupElement(field));
    }

    private Structs() {}
}
