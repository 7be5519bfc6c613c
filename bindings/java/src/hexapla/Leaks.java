// The count and the report of handles that nobody closed.
//
// Separate because a finaliser is a net and never the plan: that it had to work is a fault of the program and is said. Said at the
// 1st, 10th, 100th, … only, so that a program which leaks in a loop does not drown its log.

package hexapla;

import java.util.concurrent.atomic.AtomicLong;

/** Handles that the Cleaner had to release. */
public final class Leaks {
    private static final AtomicLong COUNT = new AtomicLong();

    private Leaks() {}

    /** {@return how many handles were lost unclosed so far} */
    public static long count() {
        return COUNT.get();
    }

    static void report(String noun) {
        long count = COUNT.incrementAndGet();
        if (isPowerOfTen(count)) {
            System.getLogger("hexapla")
                    .log(System.Logger.Level.WARNING, "{0} handles were lost unclosed, the last a {1}: close them", count, noun);
        }
    }

    private static boolean isPowerOfTen(long count) {
        long left = count;
        while (left % 10 == 0) {
            left /= 10;
        }
        return left == 1;
    }
}
