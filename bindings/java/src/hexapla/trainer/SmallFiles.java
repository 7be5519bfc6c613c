// Small files, and the way an operating system's refusal becomes a failure.
//
// Separate because every stage reads or copies one, and each refusal must name the file and say why in one line.

package hexapla.trainer;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;

/** Reading whole files. */
final class SmallFiles {
    private SmallFiles() {}

    /** One line on why a file was refused. */
    static Failure failure(Path path, IOException error) {
        String reason = switch (error) {
            case NoSuchFileException missing -> "no such file or folder";
            case FileAlreadyExistsException present -> "exists already";
            default -> error.getMessage();
        };
        return Failure.io(path.toString(), path + ": " + reason);
    }

    /** A JSON object that is the whole of a file; `checkpoint` failures. */
    static Keys object(Path path) {
        byte[] bytes;
        try {
            bytes = Files.readAllBytes(path);
        } catch (IOException error) {
            throw failure(path, error);
        }
        try {
            if (Json.parse(bytes, bytes.length) instanceof Map<?, ?> members) {
                return new Keys(members, "checkpoint", path.getFileName() + ": ");
            }
        } catch (Json.Malformed error) {
            throw Failure.checkpoint(path.toString(), path + ": " + error.getMessage());
        }
        throw Failure.checkpoint(path.toString(), path + ": not a JSON object");
    }
}
