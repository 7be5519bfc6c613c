// Lines out of a stream of bytes, split at \n only.
//
// Separate because requests and records are split alike: U+2028, U+0085 and a lone \r are data, a last line needs no \n. Keeps
// bytes; what they mean is the reader's matter.

package hexapla.trainer;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/** A line after another; the bytes of {@link #bytes} up to {@link #length} are the current one. */
final class Lines {
    private final InputStream input;
    private final int limit;
    private final byte[] buffer = new byte[64 << 10];
    private int next;
    private int filled;

    byte[] bytes = new byte[1024];
    int length;
    /** Of the current line, from 1. */
    long number;
    /** The line was longer than the limit and is cut. */
    boolean tooLong;

    Lines(InputStream input, int limit) {
        this.input = input;
        this.limit = limit;
    }

    /** Go to the next line; false at the end. */
    boolean advance() throws IOException {
        length = 0;
        tooLong = false;
        boolean any = false;
        while (true) {
            if (next == filled) {
                filled = input.read(buffer);
                next = 0;
                if (filled <= 0) {
                    filled = 0;
                    number += any ? 1 : 0;
                    return any;
                }
            }
            any = true;
            int end = next;
            while (end < filled && buffer[end] != '\n') {
                end++;
            }
            append(end);
            if (end < filled) {
                next = end + 1;
                number++;
                return true;
            }
            next = end;
        }
    }

    private void append(int end) {
        int count = end - next;
        if (length + count > limit) {
            tooLong = true;
            count = limit - length;
        }
        if (length + count > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + count));
        }
        System.arraycopy(buffer, next, bytes, length, count);
        length += count;
    }
}
