// Tests of the safe layer; the closing line counts them, the exit status says whether all held.

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Runs all tests, the example among them. */
public final class LibraryTests {
    private LibraryTests() {}

    /** Takes no arguments. */
    public static void main(String[] arguments) {
        Checks checks = new Checks();
        checks.run(HandleTests.class);
        checks.run(ErrorTests.class);
        checks.run(ValueTests.class);
        checks.run(LibraryTests.Documentation.class);
        System.exit(checks.close());
    }

    /** What the README shows. */
    static final class Documentation {
        private Documentation() {}

        public static void theExamplePrintsWhatItSays() {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream before = System.out;
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            try {
                Example.main(new String[0]);
            } finally {
                System.setOut(before);
            }
            Checks.equal(printed.toString(StandardCharsets.UTF_8), "[3.0, 7.0]\n[4.0, 6.0]\n");
        }
    }
}
