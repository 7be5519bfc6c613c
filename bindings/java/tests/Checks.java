// A test runner in one screen: the binding takes no third-party jar, so neither do its tests.
//
// Separate so that a test reads as what it shows. A check that fails throws; the runner counts and goes on.

import hexapla.Core;
import hexapla.HexaplaException;
import hexapla.Status;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Objects;

/** Runs the public static methods without parameters of some classes. */
final class Checks {
    @FunctionalInterface
    interface Action {
        void run() throws Exception;
    }

    private int passed;
    private int failed;

    void run(Class<?> tests) {
        Method[] methods = tests.getDeclaredMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName));
        for (Method method : methods) {
            boolean test = Modifier.isPublic(method.getModifiers()) && method.getParameterCount() == 0;
            if (test) {
                one(method);
            }
        }
    }

    private void one(Method method) {
        String name = method.getDeclaringClass().getSimpleName() + "." + method.getName();
        try {
            method.invoke(null);
            // Each test ends with nothing live, whatever it did.
            if (!Core.collectTo(0, Duration.ofSeconds(10))) {
                throw new AssertionError(Core.memory().liveHandles() + " handles are still live");
            }
            passed++;
        } catch (InvocationTargetException thrown) {
            report(name, thrown.getCause());
        } catch (AssertionError | ReflectiveOperationException thrown) {
            report(name, thrown);
        }
    }

    private void report(String name, Throwable thrown) {
        failed++;
        System.out.println("FAILED " + name);
        thrown.printStackTrace(System.out);
    }

    /** Print the closing line; the number of failures is the exit status. */
    int close() {
        System.out.println(passed + " passed, " + failed + " failed");
        return passed == 0 ? 1 : Math.min(failed, 1);
    }

    static void equal(Object seen, Object expected) {
        if (!Objects.deepEquals(seen, expected)) {
            throw new AssertionError("is " + show(seen) + ", not " + show(expected));
        }
    }

    static void holds(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    /** The action must be refused with this status; its exception is returned. */
    static HexaplaException refused(Status status, Action action) throws Exception {
        try {
            action.run();
        } catch (HexaplaException refused) {
            equal(refused.status(), status);
            return refused;
        }
        throw new AssertionError("was not refused with " + status);
    }

    private static String show(Object value) {
        return value instanceof float[] floats ? Arrays.toString(floats) : String.valueOf(value);
    }
}
