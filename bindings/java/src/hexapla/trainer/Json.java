// One JSON value from bytes, as strictly as the protocol asks, and JSON text from values.
//
// Separate because the JDK has no reader, and because what must be refused (a duplicate key, a lone surrogate, a number beyond f64,
// text behind the value) once hid faults elsewhere. Knows nothing of requests or records.

package hexapla.trainer;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Objects are Map, arrays List, integers Long, other numbers Double (an integer beyond 64 bits too), the rest String, Boolean and
 * null.
 */
final class Json {
    private static final int DEPTH_MAX = 64;

    /** Bytes that are not one strict JSON value; the text says why. */
    static final class Malformed extends Exception {
        private static final long serialVersionUID = 1L;

        Malformed(String message) {
            super(message);
        }
    }

    private final String text;
    private int at;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    /** Read one value from so many bytes; white space around it is allowed. */
    static Object parse(byte[] bytes, int length) throws Malformed {
        if (length >= 3 && bytes[0] == (byte) 0xEF && bytes[1] == (byte) 0xBB && bytes[2] == (byte) 0xBF) {
            throw new Malformed("byte-order mark");
        }
        String text;
        try {
            text = StandardCharsets.UTF_8
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(bytes, 0, length))
                    .toString();
        } catch (CharacterCodingException error) {
            throw new Malformed("not UTF-8");
        }
        Json reader = new Json(text);
        reader.skipSpace();
        if (reader.at == text.length()) {
            throw new Malformed("empty line");
        }
        Object value = reader.value();
        reader.skipSpace();
        if (reader.at < text.length()) {
            throw reader.malformed("text behind the value");
        }
        return value;
    }

    private Malformed malformed(String what) {
        return new Malformed(what + " at character " + (at + 1));
    }

    private void skipSpace() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    /** The next character, or 0 at the end (a real U+0000 stands only where it is refused anyway). */
    private char peek() {
        return at < text.length() ? text.charAt(at) : 0;
    }

    private Object value() throws Malformed {
        skipSpace();
        return switch (peek()) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Object word(String word, Object value) throws Malformed {
        if (!text.startsWith(word, at)) {
            throw malformed("no JSON value");
        }
        at += word.length();
        return value;
    }

    private void enter() throws Malformed {
        if (++depth > DEPTH_MAX) {
            throw malformed("nesting past " + DEPTH_MAX);
        }
        at++;
    }

    private Map<String, Object> object() throws Malformed {
        enter();
        Map<String, Object> members = new LinkedHashMap<>();
        skipSpace();
        if (peek() != '}') {
            while (true) {
                member(members);
                skipSpace();
                if (peek() == '}') {
                    break;
                }
                expect(',');
            }
        }
        at++;
        depth--;
        return members;
    }

    private void member(Map<String, Object> members) throws Malformed {
        skipSpace();
        if (peek() != '"') {
            throw malformed("no key");
        }
        String key = string();
        if (members.containsKey(key)) {
            throw malformed("duplicate key " + quote(key));
        }
        skipSpace();
        expect(':');
        members.put(key, value());
    }

    private List<Object> array() throws Malformed {
        enter();
        List<Object> items = new ArrayList<>();
        skipSpace();
        if (peek() != ']') {
            while (true) {
                items.add(value());
                skipSpace();
                if (peek() == ']') {
                    break;
                }
                expect(',');
            }
        }
        at++;
        depth--;
        return items;
    }

    private void expect(char wanted) throws Malformed {
        if (peek() != wanted) {
            throw malformed(at < text.length() ? "no '" + wanted + "'" : "end of text");
        }
        at++;
    }

    private String string() throws Malformed {
        at++;
        StringBuilder result = new StringBuilder();
        while (true) {
            if (at >= text.length()) {
                throw malformed("string without end");
            }
            char c = text.charAt(at++);
            if (c == '"') {
                break;
            }
            if (c < 0x20) {
                throw malformed("control character in a string");
            }
            result.append(c == '\\' ? escape() : c);
        }
        for (int i = 0; i < result.length(); i++) {
            char c = result.charAt(i);
            boolean pair = Character.isHighSurrogate(c)
                    && i + 1 < result.length()
                    && Character.isLowSurrogate(result.charAt(i + 1));
            if (pair) {
                i++;
            } else if (Character.isSurrogate(c)) {
                throw malformed("lone surrogate");
            }
        }
        return result.toString();
    }

    private char escape() throws Malformed {
        char c = peek();
        at++;
        return switch (c) {
            case '"', '\\', '/' -> c;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> codeUnit();
            default -> throw malformed("no escape");
        };
    }

    private char codeUnit() throws Malformed {
        int unit = 0;
        for (int i = 0; i < 4; i++) {
            char c = peek();
            // Character.digit would take digits of other scripts too.
            int digit = c < 128 ? Character.digit(c, 16) : -1;
            if (digit < 0) {
                throw malformed("no four hex digits");
            }
            unit = unit << 4 | digit;
            at++;
        }
        return (char) unit;
    }

    private Object number() throws Malformed {
        int start = at;
        if (peek() == '-') {
            at++;
        }
        if (peek() == '0') {
            at++;
        } else if (digits() == 0) {
            at = start;
            throw malformed("no JSON value");
        }
        boolean integer = true;
        if (peek() == '.') {
            integer = false;
            at++;
            if (digits() == 0) {
                throw malformed("no digit behind the point");
            }
        }
        if (peek() == 'e' || peek() == 'E') {
            integer = false;
            at++;
            if (peek() == '+' || peek() == '-') {
                at++;
            }
            if (digits() == 0) {
                throw malformed("no digit in the exponent");
            }
        }
        String digits = text.substring(start, at);
        if (integer && digits.length() <= 18) {
            return Long.valueOf(digits);
        }
        double value = Double.parseDouble(digits);
        if (!Double.isFinite(value)) {
            throw malformed("number that is not finite in f64");
        }
        return value;
    }

    private int digits() {
        int start = at;
        while (peek() >= '0' && peek() <= '9') {
            at++;
        }
        return at - start;
    }

    /** JSON text of a value; a number that is not finite becomes its name as a string. */
    static String text(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.toString();
    }

    private static void write(StringBuilder out, Object value) {
        switch (value) {
            case null -> out.append("null");
            case String string -> writeString(out, string);
            case Double number when !Double.isFinite(number) -> out.append('"').append(number).append('"');
            case Number number -> out.append(number);
            case Boolean flag -> out.append(flag);
            case int[] numbers -> {
                out.append('[');
                for (int i = 0; i < numbers.length; i++) {
                    out.append(i == 0 ? "" : ",").append(numbers[i]);
                }
                out.append(']');
            }
            case Iterable<?> items -> {
                char before = '[';
                for (Object item : items) {
                    write(out.append(before), item);
                    before = ',';
                }
                out.append(before == '[' ? "[]" : "]");
            }
            case Map<?, ?> members -> {
                char before = '{';
                for (Map.Entry<?, ?> member : members.entrySet()) {
                    writeString(out.append(before), (String) member.getKey());
                    write(out.append(':'), member.getValue());
                    before = ',';
                }
                out.append(before == '{' ? "{}" : "}");
            }
            default -> throw new IllegalArgumentException("no JSON for " + value.getClass());
        }
    }

    static String quote(String text) {
        StringBuilder out = new StringBuilder();
        writeString(out, text);
        return out.toString();
    }

    private static void writeString(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
