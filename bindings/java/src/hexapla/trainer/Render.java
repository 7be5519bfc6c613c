// Records to token ids and label flags.
//
// Separate because it is text only: no tensor, no model. A record is rejected here or nowhere.

package hexapla.trainer;

import hexapla.AddedToken;
import hexapla.Tokenizer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Renders with one tokenizer and template, and counts what it rejected. */
final class Render {
    private static final String THINK_END = "</think>";

    /**
     * A record as the model sees it, cut to the length.
     *
     * @param labelFrom the first id with flag 1
     * @param labelTo   behind the last one
     */
    record Example(String id, int[] ids, int labelFrom, int labelTo) {
        int labels() {
            return labelTo - labelFrom;
        }
    }

    /** Either an example, or why there is none. */
    record Rendered(Example example, String rejected) {}

    private final Tokenizer tokenizer;
    private final boolean thinkBlock;
    private final int length;
    private final List<String> markerTexts;
    private final int start;
    private final int end;
    private final int think;
    private final int thinkEnd;
    private final int[] newline;
    private final int[] prefix;

    private final Map<String, Integer> rejected = new TreeMap<>();
    private int markers;

    Render(Tokenizer tokenizer, boolean thinkBlock, int length) {
        this.tokenizer = tokenizer;
        this.thinkBlock = thinkBlock;
        this.length = length;
        markerTexts = tokenizer.addedTokens().stream().map(AddedToken::text).toList();
        start = tokenizer.idOf("<|im_start|>");
        end = tokenizer.idOf("<|im_end|>");
        think = thinkBlock ? tokenizer.idOf("<think>") : 0;
        thinkEnd = thinkBlock ? tokenizer.idOf(THINK_END) : 0;
        newline = tokenizer.encode("\n");
        prefix = tokenizer.encode(prefixText());
    }

    /** How many records were rejected so far, by reason. */
    Map<String, Integer> rejected() {
        return rejected;
    }

    /** How many records so far hold an added token's text. */
    int markers() {
        return markers;
    }

    /** What stands before the answer in its own piece. */
    private String prefixText() {
        return thinkBlock ? "\n\n" : "assistant\n";
    }

    /** Render one record; a rejection is counted. */
    Rendered render(Records.Entry record) {
        markers += hasMarker(record) ? 1 : 0;
        if (record.answer().contains(THINK_END)) {
            return reject("think");
        }
        String answer = record.answer().substring(leadingNewlines(record.answer()));
        if (answer.isEmpty()) {
            return reject("empty");
        }
        int[] piece = tokenizer.encode(prefixText() + answer);
        if (piece.length < prefix.length || Arrays.mismatch(prefix, Arrays.copyOf(piece, prefix.length)) >= 0) {
            return reject("joined");
        }
        Ids ids = new Ids();
        if (record.system() != null) {
            ids.add(start).add(tokenizer.encode("system\n" + record.system())).add(end).add(newline);
        }
        ids.add(start).add(tokenizer.encode("user\n" + record.question())).add(end).add(newline);
        ids.add(start);
        if (thinkBlock) {
            ids.add(tokenizer.encode("assistant\n")).add(think).add(tokenizer.encode("\n\n")).add(thinkEnd);
        }
        int labelFrom = Math.min(ids.count + prefix.length, length);
        ids.add(piece).add(end);
        int labelTo = Math.min(ids.count, length);
        ids.add(newline);
        if (labelFrom == labelTo) {
            return reject("no_label");
        }
        return new Rendered(new Example(record.id(), ids.first(length), labelFrom, labelTo), null);
    }

    private Rendered reject(String reason) {
        rejected.merge(reason, 1, Integer::sum);
        return new Rendered(null, reason);
    }

    private static int leadingNewlines(String text) {
        int count = 0;
        while (count < text.length() && text.charAt(count) == '\n') {
            count++;
        }
        return count;
    }

    private boolean hasMarker(Records.Entry record) {
        for (String text : markerTexts) {
            if (record.question().contains(text)
                    || record.answer().contains(text)
                    || record.system() != null && record.system().contains(text)) {
                return true;
            }
        }
        return false;
    }

    /** A growing list of ids. */
    private static final class Ids {
        private int[] values = new int[256];
        private int count;

        Ids add(int... more) {
            if (count + more.length > values.length) {
                values = Arrays.copyOf(values, Math.max(2 * values.length, count + more.length));
            }
            System.arraycopy(more, 0, values, count, more.length);
            count += more.length;
            return this;
        }

        int[] first(int most) {
            return Arrays.copyOf(values, Math.min(most, count));
        }
    }
}
