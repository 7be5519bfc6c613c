// The `operators` request: single ops on tensors from a file, results and gradients to another.
//
// Separate because here an op is named by the request; nothing of a training run is involved. A case that fails says why and the
// next one is tried.

package hexapla.trainer;

import hexapla.AdamW;
import hexapla.Checkpoint;
import hexapla.CheckpointEntry;
import hexapla.Context;
import hexapla.HexaplaException;
import hexapla.Ops;
import hexapla.Optimizer;
import hexapla.Scope;
import hexapla.Tape;
import hexapla.Tensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;

/** Runs the cases of one request. */
final class Operators {
    private static final String INCOMING = "incoming";

    private final Context context;
    private final Checkpoint file;
    private final Set<String> stored;
    private final Scope scope;
    private final SequencedMap<String, Tensor> results = new LinkedHashMap<>();

    private Operators(Context context, Checkpoint file, Scope scope) {
        this.context = context;
        this.file = file;
        this.scope = scope;
        stored = file.entries().stream().map(CheckpointEntry::name).collect(Collectors.toSet());
    }

    static void answer(Keys keys, Events events) {
        ContextChoice choice = ContextChoice.parse(keys);
        List<?> cases = keys.list("cases");
        String path = keys.path("file");
        String output = keys.path("output");
        keys.finish();
        try (Context context = choice.open();
                Checkpoint file = Checkpoint.open(path);
                Scope scope = new Scope()) {
            Operators operators = new Operators(context, file, scope);
            for (int i = 0; i < cases.size(); i++) {
                operators.one(Case.parse(cases.get(i), i), events);
            }
            Checkpoint.write(output, operators.results, Map.of());
        }
        events.done("cases", cases.size());
    }

    /** One case of the request. */
    private record Case(String name, String op, Keys attributes, List<String> inputs, List<String> gradients) {
        static Case parse(Object value, int index) {
            if (!(value instanceof Map<?, ?> members)) {
                throw Failure.request("cases", "cases[" + index + "] is not an object");
            }
            Keys keys = new Keys(members, "request", "cases[" + index + "].");
            Case parsed = new Case(
                    keys.string("case"),
                    keys.string("op"),
                    keys.object("attributes"),
                    keys.strings("inputs"),
                    keys.strings("gradients"));
            keys.finish();
            return parsed;
        }
    }

    private void one(Case asked, Events events) {
        String message = "";
        SequencedMap<String, Tensor> made = new LinkedHashMap<>();
        try {
            run(asked, made);
            made.forEach((name, tensor) -> results.put(asked.name + "." + name, tensor));
        } catch (HexaplaException | Failure refused) {
            message = refused.getMessage();
        }
        events.send("case", "case", asked.name, "ok", message.isEmpty(), "message", message);
    }

    private void run(Case asked, SequencedMap<String, Tensor> made) {
        SequencedMap<String, Tensor> buffers = new LinkedHashMap<>();
        for (String name : asked.inputs) {
            buffers.put(name, scope.keep(file.read(asked.name + "." + name, context)));
        }
        if (optimizer(asked, buffers, made)) {
            return;
        }
        try (Tape tape = Tape.open(context)) {
            for (String name : asked.gradients) {
                if (!buffers.containsKey(name)) {
                    throw new Failure("request", name, "gradients names " + Json.quote(name) + ", which is no input");
                }
                tape.watch(buffers.get(name), null);
            }
            List<Tensor> inputs = buffers.entrySet().stream()
                    .map(entry -> view(asked, entry.getKey(), entry.getValue(), tape))
                    .toList();
            Tensor output = scope.keep(apply(asked.op, asked.attributes, tape, inputs));
            made.put("output", output);
            if (!asked.gradients.isEmpty()) {
                tape.backward(output, incoming(asked));
                for (String name : asked.gradients) {
                    made.put("gradient." + name, scope.keep(tape.gradient(buffers.get(name))));
                }
            }
        }
    }

    /** The gradient at the output: from the file, else ones. */
    private Tensor incoming(Case asked) {
        String name = asked.name + "." + INCOMING;
        return stored.contains(name) ? view(asked, INCOMING, scope.keep(file.read(name, context)), null) : null;
    }

    /** The strided view that the attributes ask for, or the buffer itself. */
    private Tensor view(Case asked, String name, Tensor buffer, Tape tape) {
        Keys attributes = asked.attributes;
        if (!attributes.has("strides") || !attributes.object("strides").has(name)) {
            return buffer;
        }
        long[] strides = attributes.object("strides").longs(name);
        long[] shape = attributes.object("view").longs(name);
        boolean moved = attributes.has("offset") && attributes.object("offset").has(name);
        long offset = moved ? attributes.object("offset").integer(name) : 0;
        if (strides.length != shape.length) {
            throw new Failure("request", name, "strides and view of " + name + " differ in length");
        }
        return scope.keep(Ops.asStrided(tape, buffer, shape, strides, offset));
    }

    /** The ops that change tensors in place; false if this is none of them. */
    private boolean optimizer(Case asked, SequencedMap<String, Tensor> buffers, SequencedMap<String, Tensor> made) {
        List<Tensor> tensors = List.copyOf(buffers.values());
        switch (asked.op) {
            case "gradient_norm" -> made.put("output", number(Optimizer.norm(tensors)));
            case "clip" -> {
                double norm = Optimizer.norm(tensors);
                Optimizer.clip(tensors, norm, asked.attributes.number("clip_norm"));
                made.put("output.norm", number(norm));
                buffers.forEach((name, tensor) -> made.put("output." + name, tensor));
            }
            case "adamw" -> {
                adamw(asked, tensors);
                made.put("output.p", tensors.get(0));
                made.put("output.m", tensors.get(2));
                made.put("output.v", tensors.get(3));
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private static void adamw(Case asked, List<Tensor> tensors) {
        need(tensors, 4, "adamw");
        Keys keys = asked.attributes;
        AdamW options = new AdamW(
                keys.integer("step"),
                keys.number("learning_rate"),
                keys.number("beta1"),
                keys.number("beta2"),
                keys.number("epsilon"),
                keys.number("weight_decay"));
        Optimizer.adamw(options, tensors.subList(0, 1), tensors.subList(1, 2), tensors.subList(2, 3), tensors.subList(3, 4));
    }

    private Tensor number(double value) {
        return scope.keep(Tensor.of(context, new float[] {(float) value}, 1));
    }

    private static void need(List<Tensor> inputs, int count, String op) {
        if (inputs.size() != count) {
            throw new Failure("request", "inputs", op + " takes " + count + " inputs, not " + inputs.size());
        }
    }

    private static Tensor apply(String op, Keys keys, Tape tape, List<Tensor> in) {
        int count = switch (op) {
            case "softmax", "transpose", "reshape", "reduce_sum", "embedding", "rope", "scale" -> 1;
            case "rms_norm", "linear", "swiglu", "add", "linear_cross_entropy", "matmul" -> 2;
            case "attention" -> 3;
            case "lora_linear" -> 4;
            default -> throw new Failure("request", "op", "the op " + Json.quote(op) + " is not known here");
        };
        need(in, count, op);
        Tensor x = in.get(0);
        return switch (op) {
            case "embedding" -> Ops.embedding(tape, x, keys.ints("ids"));
            case "rms_norm" -> Ops.rmsNorm(tape, x, in.get(1), keys.number("epsilon"));
            case "linear" -> Ops.linear(tape, x, in.get(1));
            case "lora_linear" -> Ops.loraLinear(tape, x, in.get(1), in.get(2), in.get(3), keys.number("scale"));
            case "rope" -> Ops.rope(tape, x, keys.ints("positions"), keys.number("theta"));
            case "attention" ->
                Ops.attention(tape, x, in.get(1), in.get(2), keys.ints("starts"), keys.flag("causal"));
            case "swiglu" -> Ops.swiglu(tape, x, in.get(1));
            case "add" -> Ops.add(tape, x, in.get(1));
            case "scale" -> Ops.scale(tape, x, keys.number("scale"));
            case "linear_cross_entropy" -> crossEntropy(keys, tape, x, in.get(1));
            case "matmul" -> Ops.matmul(tape, x, in.get(1));
            case "softmax" -> Ops.softmax(tape, x);
            case "transpose" -> Ops.transpose(tape, x);
            case "reshape" -> Ops.reshape(tape, x, keys.longs("shape"));
            case "reduce_sum" -> Ops.reduceSum(tape, x, keys.integer("axis", 0, Integer.MAX_VALUE));
            default -> throw new IllegalStateException(op);
        };
    }

    private static Tensor crossEntropy(Keys keys, Tape tape, Tensor h, Tensor w) {
        int[] rows = keys.ints("rows");
        int[] targets = keys.ints("targets");
        if (rows.length != targets.length) {
            throw new Failure("request", "targets", "rows and targets differ in length");
        }
        return Ops.linearCrossEntropy(tape, h, w, rows, targets);
    }
}
