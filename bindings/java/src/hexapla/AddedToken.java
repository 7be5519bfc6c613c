// A token outside the BPE vocabulary, as a value.
//
// Separate because it outlives the tokenizer that it came from.

package hexapla;

/**
 * A token of {@code added_tokens}.
 *
 * @param id      its id
 * @param text    its text
 * @param special flagged special in the file
 */
public record AddedToken(int id, String text, boolean special) {}
