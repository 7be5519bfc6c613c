// Training and held-out records of a run, rendered whole before its first update.
//
// Separate because rejected records leave here: everything later counts accepted ones only.

package hexapla.trainer;

import hexapla.Tokenizer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Accepted examples in file order, and what was counted on the way. */
record Data(List<Render.Example> train, List<Render.Example> heldout, Map<String, Integer> rejected, int markers) {

    /** Both files; `train` null: no training records. */
    static Data load(String tokenizerFolder, String train, String heldout, Spec spec) {
        try (Tokenizer tokenizer = Tokenizer.open(tokenizerFolder)) {
            Render render = new Render(tokenizer, spec.thinkBlock(), spec.length());
            List<Render.Example> trained = train == null ? List.of() : accepted(render, train);
            List<Render.Example> held = accepted(render, heldout);
            return new Data(trained, held, render.rejected(), render.markers());
        }
    }

    private static List<Render.Example> accepted(Render render, String file) {
        List<Render.Example> examples = new ArrayList<>();
        Records.forEach(file, record -> {
            Render.Example example = render.render(record).example();
            if (example != null) {
                examples.add(example);
            }
        });
        if (examples.isEmpty()) {
            throw new Failure("record", file, file + ": no accepted record");
        }
        return examples;
    }
}
