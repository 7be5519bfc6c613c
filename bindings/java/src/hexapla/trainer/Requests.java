// The requests that need no file of their own: hello, render, evaluate.
//
// Separate from Main because that one decides who answers, this one answers.

package hexapla.trainer;

import hexapla.Context;
import hexapla.Core;
import hexapla.Tokenizer;
import java.util.ArrayList;
import java.util.List;

/** Answers to the short requests. */
final class Requests {
    /** Requests, in the order of the protocol. */
    private static final List<String> NAMES =
            List.of("hello", "abi", "operators", "load", "render", "evaluate", "train", "probe", "bye");

    private static final List<String> FEATURES =
            List.of("migrating", "collector", "spill", "memory_limit", "ledger");

    private Requests() {}

    static void hello(Keys keys, Events events) {
        keys.finish();
        List<String> capabilities = new ArrayList<>(NAMES);
        Probes.SCENARIOS.keySet().stream().sorted().forEach(name -> capabilities.add("probe." + name));
        capabilities.addAll(FEATURES);
        String faults = Core.buildFaults();
        events.send("hello",
                "protocol", 1,
                "implementation", "java",
                "language", "Java",
                "runtime", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"),
                "stack", "core",
                "core", Core.buildInfo(),
                "faults", faults.isEmpty() ? List.of() : List.of(faults.split(",")),
                "capabilities", capabilities);
        events.done();
    }

    static void render(Keys keys, Events events) {
        String folder = keys.path("tokenizer");
        String records = keys.path("records");
        boolean thinkBlock = keys.oneOf("template", "qwen3", "chatml").equals("qwen3");
        int length = keys.integer("length", 1, Integer.MAX_VALUE);
        keys.finish();
        int[] accepted = {0};
        try (Tokenizer tokenizer = Tokenizer.open(folder)) {
            Render render = new Render(tokenizer, thinkBlock, length);
            Records.forEach(records, record -> {
                Render.Rendered rendered = render.render(record);
                Render.Example example = rendered.example();
                if (example == null) {
                    events.send("record", "record", record.id(), "rejected", rendered.rejected());
                    return;
                }
                accepted[0]++;
                String labels = "0".repeat(example.labelFrom())
                        + "1".repeat(example.labels())
                        + "0".repeat(example.ids().length - example.labelTo());
                events.send("record", "record", record.id(), "ids", example.ids(), "labels", labels);
            });
            events.done("accepted", accepted[0], "rejected", render.rejected(), "markers", render.markers());
        }
    }

    static void evaluate(Keys keys, Events events) {
        ContextChoice choice = ContextChoice.parse(keys);
        Spec spec = Spec.parse(keys.map("spec"));
        String modelFolder = keys.path("model");
        String tokenizer = keys.path("tokenizer");
        String heldout = keys.path("heldout");
        String adapterFolder = keys.pathOrNull("adapter");
        keys.finish();
        Data data = Data.load(tokenizer, null, heldout, spec);
        try (Context context = choice.open();
                Model model = Model.load(modelFolder, context);
                Adapter adapter = adapterFolder == null
                        ? null
                        : Adapter.load(adapterFolder, adapterFolder, spec, model.config, context)) {
            new Evaluate(model, adapter, spec, true, data.heldout()).send(0, events);
        }
        events.done();
    }
}
