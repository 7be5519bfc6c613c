// The library file: found, opened once, its symbols bound, its ABI version compared.
//
// Separate because every declaration needs it and nothing else may open a library. A wrong or missing library ends here with one
// clear line, before any call.

package hexapla.sys;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The core library. Its file is named by the system property {@code hexapla.library} or the environment variable
 * {@code HEXAPLA_LIBRARY}.
 */
public final class Library {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final SymbolLookup SYMBOLS = open();

    private Library() {}

    /** A function that returns a value. No call is {@code critical}: any may reach the pressure hook, which runs Java code. */
    @SuppressWarnings("restricted")
    static MethodHandle function(String name, MemoryLayout result, MemoryLayout... parameters) {
        return LINKER.downcallHandle(symbol(SYMBOLS, name), FunctionDescriptor.of(result, parameters));
    }

    /** A function that returns nothing. */
    @SuppressWarnings("restricted")
    static MethodHandle action(String name, MemoryLayout... parameters) {
        return LINKER.downcallHandle(symbol(SYMBOLS, name), FunctionDescriptor.ofVoid(parameters));
    }

    /**
     * A C function pointer that calls {@code target}.
     *
     * @param target must throw nothing: an exception that leaves it ends the virtual machine
     * @param arena  how long the pointer is good
     */
    @SuppressWarnings("restricted")
    public static MemorySegment pointerTo(MethodHandle target, FunctionDescriptor descriptor, Arena arena) {
        return LINKER.upcallStub(target, descriptor, arena);
    }

    /** What a downcall itself cannot throw: no declared exception crosses it. */
    static RuntimeException unexpected(Throwable thrown) {
        if (thrown instanceof Error error) {
            throw error;
        }
        return thrown instanceof RuntimeException exception ? exception : new IllegalStateException(thrown);
    }

    private static MemorySegment symbol(SymbolLookup symbols, String name) {
        return symbols.find(name).orElseThrow(() -> new UnsatisfiedLinkError("the core library has no " + name));
    }

    @SuppressWarnings("restricted")
    private static SymbolLookup open() {
        String text = System.getProperty("hexapla.library", System.getenv("HEXAPLA_LIBRARY"));
        if (text == null || text.isEmpty()) {
            throw new UnsatisfiedLinkError(
                    "no core library named: set -Dhexapla.library or HEXAPLA_LIBRARY to the path of libhexapla");
        }
        Path path = Path.of(text).toAbsolutePath();
        if (!Files.isReadable(path)) {
            throw new UnsatisfiedLinkError("the core library " + path + " cannot be read");
        }
        // Never closed: a Cleaner may release handles until the process ends.
        SymbolLookup symbols = SymbolLookup.libraryLookup(path, Arena.global());
        int version = abiVersion(symbols);
        if (version != Constants.HXP_ABI_VERSION) {
            throw new UnsatisfiedLinkError("the core library " + path + " has ABI version " + version + ", this binding is for "
                    + Constants.HXP_ABI_VERSION);
        }
        return symbols;
    }

    @SuppressWarnings("restricted")
    private static int abiVersion(SymbolLookup symbols) {
        MethodHandle handle =
                LINKER.downcallHandle(symbol(symbols, "hxp_abi_version"), FunctionDescriptor.of(JAVA_INT));
        try {
            return (int) handle.invokeExact();
        } catch (Throwable thrown) {
            throw unexpected(thrown);
        }
    }
}
