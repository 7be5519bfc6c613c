// The keys of one JSON object, taken one by one, each with its type; what is left over is unknown.
//
// Separate because requests, the spec and configuration files all refuse a missing key, a wrong type and an unknown key, and differ
// only in the status that they say it with.

package hexapla.trainer;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Checked access to an object's members. */
final class Keys {
    private static final long INTEGER_MAX = (1L << 53) - 1;

    private final Map<?, ?> members;
    private final String status;
    private final String prefix;
    private final Set<Object> left;

    /** `status` is what a failure says; `prefix` stands before each key in its place. */
    Keys(Map<?, ?> members, String status, String prefix) {
        this.members = members;
        this.status = status;
        this.prefix = prefix;
        this.left = new LinkedHashSet<>(members.keySet());
    }

    boolean has(String key) {
        return members.containsKey(key);
    }

    /** The member as it is; refused when missing. */
    Object any(String key) {
        if (!members.containsKey(key)) {
            throw failure(key, "is missing");
        }
        left.remove(key);
        return members.get(key);
    }

    String string(String key) {
        return any(key) instanceof String text ? text : wrong(key, "a string");
    }

    String stringOrNull(String key) {
        return any(key) == null ? null : string(key);
    }

    /** A path from the root. */
    String path(String key) {
        String text = string(key);
        if (!text.startsWith("/") || text.indexOf('\0') >= 0) {
            throw failure(key, "is " + Json.quote(text) + ", must be an absolute path");
        }
        return text;
    }

    String pathOrNull(String key) {
        return any(key) == null ? null : path(key);
    }

    long integer(String key) {
        return any(key) instanceof Long number && Math.abs(number) <= INTEGER_MAX ? number : wrong(key, "an integer");
    }

    Long integerOrNull(String key) {
        return any(key) == null ? null : Long.valueOf(integer(key));
    }

    /** An integer of a range, both ends in it. */
    int integer(String key, long least, long most) {
        long number = integer(key);
        if (number < least || number > most) {
            throw failure(key, "is " + number + ", must be " + least + " … " + most);
        }
        return (int) number;
    }

    double number(String key) {
        return any(key) instanceof Number number ? number.doubleValue() : wrong(key, "a number");
    }

    boolean flag(String key) {
        return any(key) instanceof Boolean flag ? flag : wrong(key, "true or false");
    }

    String oneOf(String key, String... choices) {
        String text = string(key);
        if (!List.of(choices).contains(text)) {
            throw failure(key, "is " + Json.quote(text) + ", must be " + String.join(" or ", choices));
        }
        return text;
    }

    List<?> list(String key) {
        return any(key) instanceof List<?> items ? items : wrong(key, "a list");
    }

    List<String> strings(String key) {
        List<?> items = list(key);
        if (!items.stream().allMatch(String.class::isInstance)) {
            wrong(key, "a list of strings");
        }
        return items.stream().map(String.class::cast).toList();
    }

    long[] longs(String key) {
        List<?> items = list(key);
        if (!items.stream().allMatch(Long.class::isInstance)) {
            wrong(key, "a list of integers");
        }
        return items.stream().mapToLong(item -> (Long) item).toArray();
    }

    int[] ints(String key) {
        long[] values = longs(key);
        int[] result = new int[values.length];
        for (int i = 0; i < values.length; i++) {
            if (values[i] != (int) values[i]) {
                throw failure(key, "holds " + values[i] + ", beyond 32 bits");
            }
            result[i] = (int) values[i];
        }
        return result;
    }

    /** A member that is an object; failures in it name `key.` and theirs. */
    Keys object(String key) {
        return any(key) instanceof Map<?, ?> inner ? new Keys(inner, status, prefix + key + ".") : wrong(key, "an object");
    }

    /** The same object under another status. */
    Map<?, ?> map(String key) {
        return any(key) instanceof Map<?, ?> inner ? inner : wrong(key, "an object");
    }

    /** Refuse what nobody took. */
    void finish() {
        for (Object key : left) {
            throw failure((String) key, "is not known");
        }
    }

    Failure failure(String key, String problem) {
        return new Failure(status, prefix + key, prefix + key + " " + problem);
    }

    private <T> T wrong(String key, String wanted) {
        String value = Json.text(members.get(key));
        String shown = value.length() > 60 ? value.substring(0, 60) + "…" : value;
        throw failure(key, "is " + shown + ", must be " + wanted);
    }
}
