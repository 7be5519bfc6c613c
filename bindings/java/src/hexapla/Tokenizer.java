// The tokenizer: byte-level BPE of a tokenizer.json.
//
// Separate because it belongs to no context; any number of threads may encode at once.

package hexapla;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.ref.Reference.reachabilityFence;

import hexapla.sys.Constants;
import hexapla.sys.Structs;
import hexapla.sys.TokenizerCalls;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Text to token ids. */
public final class Tokenizer extends Handle {
    private Tokenizer(long id) {
        super(Kind.TOKENIZER, id);
    }

    /**
     * Open a tokenizer.
     *
     * @param folder holds {@code tokenizer.json}
     * @return to be closed
     * @throws HexaplaException {@link Status#IO}, {@link Status#FORMAT}, {@link Status#UNSUPPORTED}
     */
    public static Tokenizer open(String folder) {
        try (Call call = Call.begin()) {
            call.check(TokenizerCalls.open(call.text(folder), call.out, call.error));
            return new Tokenizer(call.id());
        }
    }

    /**
     * A second owner of this tokenizer.
     *
     * @return to be closed on its own
     */
    public Tokenizer copy() {
        try (Call call = Call.begin()) {
            call.check(TokenizerCalls.retain(id(), call.out, call.error));
            return new Tokenizer(call.id());
        } finally {
            reachabilityFence(this);
        }
    }

    /**
     * The ids of a text after NFC; no added token is recognised in it.
     *
     * @param text without lone surrogates
     * @return its ids
     */
    public int[] encode(String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        // As many ids as bytes are enough for a text in NFC; another may need a second try.
        long capacity = utf8.length;
        while (true) {
            try (Call call = Call.begin()) {
                MemorySegment bytes = call.bytes(utf8.length);
                MemorySegment.copy(utf8, 0, bytes, JAVA_BYTE, 0, utf8.length);
                MemorySegment ids = call.bytes(4 * capacity);
                call.out.set(JAVA_LONG, 0, 0);
                int status = TokenizerCalls.encode(id(), bytes, utf8.length, ids, capacity, call.out, call.error);
                long count = call.id();
                if (status == Constants.HXP_INVALID_ARGUMENT && count > capacity) {
                    capacity = count;
                    continue;
                }
                call.check(status);
                return ids.asSlice(0, 4 * count).toArray(JAVA_INT);
            } finally {
                reachabilityFence(this);
            }
        }
    }

    /**
     * The id of an added token.
     *
     * @param text as in {@code <|im_start|>}
     * @return its id
     * @throws HexaplaException {@link Status#NOT_FOUND}
     */
    public int idOf(String text) {
        try (Call call = Call.begin()) {
            call.check(TokenizerCalls.id(id(), call.text(text), call.out, call.error));
            return call.out.get(JAVA_INT, 0);
        } finally {
            reachabilityFence(this);
        }
    }

    /** {@return the added tokens, in the file's order} */
    public List<AddedToken> addedTokens() {
        long count;
        try (Call call = Call.begin()) {
            call.check(TokenizerCalls.addedCount(id(), call.out, call.error));
            count = call.id();
        } finally {
            reachabilityFence(this);
        }
        List<AddedToken> tokens = new ArrayList<>();
        for (long index = 0; index < count; index++) {
            tokens.add(addedToken(index));
        }
        return tokens;
    }

    @SuppressWarnings("restricted")
    private AddedToken addedToken(long index) {
        try (Call call = Call.begin()) {
            MemorySegment struct = call.struct(Structs.ADDED_TOKEN);
            TokenizerCalls.addedTokenInit(struct);
            call.check(TokenizerCalls.added(id(), index, struct, call.error));
            // By length, since the text may hold zero bytes.
            byte[] utf8 = struct.get(ADDRESS, at("text"))
                    .reinterpret(struct.get(JAVA_INT, at("text_bytes")))
                    .toArray(JAVA_BYTE);
            return new AddedToken(
                    struct.get(JAVA_INT, at("id")),
                    new String(utf8, StandardCharsets.UTF_8),
                    struct.get(JAVA_INT, at("special")) != 0);
        } finally {
            reachabilityFence(this);
        }
    }

    private static long at(String field) {
        return Structs.offset(Structs.ADDED_TOKEN, field);
    }
}
