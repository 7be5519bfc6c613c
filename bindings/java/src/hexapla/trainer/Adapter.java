// The adapter: pairs A, B of each adapted projection, in adapter order.
//
// Separate because its names and order are a format that other programs read. Loading refuses another set, rank or alpha; nothing is
// made up here, A and B come from a file.

package hexapla.trainer;

import hexapla.Checkpoint;
import hexapla.Context;
import hexapla.Scope;
import hexapla.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;

/** The trained tensors by name; closing releases them. */
final class Adapter implements AutoCloseable {
    static final String FILE = "adapter_model.safetensors";
    static final String CONFIG = "adapter_config.json";

    /** x wᵀ + scale · (x aᵀ) bᵀ: a (rank, in), b (out, rank). */
    record Pair(Tensor a, Tensor b) {}

    private final SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
    private final List<Tensor> list = new ArrayList<>();
    private final List<Map<Projection, Pair>> layers = new ArrayList<>();
    private final Scope scope;

    private Adapter(Spec spec, ModelConfig config, Checkpoint file, Context context, Scope scope) {
        this.scope = scope;
        for (int layer = 0; layer < config.layers(); layer++) {
            Map<Projection, Pair> pairs = new EnumMap<>(Projection.class);
            for (Projection projection : Projection.values()) {
                if (spec.adapts(projection)) {
                    String name = name(layer, projection);
                    Tensor a = read(name + ".lora_A.weight", file, context);
                    Tensor b = read(name + ".lora_B.weight", file, context);
                    pairs.put(projection, new Pair(a, b));
                }
            }
            layers.add(pairs);
        }
    }

    private Tensor read(String name, Checkpoint file, Context context) {
        Tensor tensor = scope.keep(file.read(name, context));
        tensors.put(name, tensor);
        list.add(tensor);
        return tensor;
    }

    /** Load the adapter of a folder; its configuration is that of `configFolder`. */
    static Adapter load(String folder, String configFolder, Spec spec, ModelConfig config, Context context) {
        checkConfig(configFolder, spec);
        String path = folder + "/" + FILE;
        Scope scope = new Scope();
        try (Checkpoint file = Checkpoint.open(path)) {
            TensorSet.require(file.entries(), shapes(spec, config), path);
            return new Adapter(spec, config, file, context, scope);
        } catch (Throwable thrown) {
            scope.close();
            throw thrown;
        }
    }

    private static void checkConfig(String folder, Spec spec) {
        Keys keys = SmallFiles.object(Path.of(folder, CONFIG));
        if (keys.number("r") != spec.rank()) {
            throw keys.failure("r", "is " + keys.number("r") + ", the spec's rank is " + spec.rank());
        }
        if (keys.number("lora_alpha") != spec.alpha()) {
            throw keys.failure("lora_alpha", "is " + keys.number("lora_alpha") + ", the spec's alpha is " + spec.alpha());
        }
    }

    private static String name(int layer, Projection projection) {
        return "base_model.model." + projection.path(layer);
    }

    /** Names and shapes in adapter order. */
    static SequencedMap<String, long[]> shapes(Spec spec, ModelConfig config) {
        SequencedMap<String, long[]> shapes = new LinkedHashMap<>();
        for (int layer = 0; layer < config.layers(); layer++) {
            for (Projection projection : Projection.values()) {
                if (spec.adapts(projection)) {
                    long[] weight = projection.shape(config);
                    String name = name(layer, projection);
                    shapes.put(name + ".lora_A.weight", new long[] {spec.rank(), weight[1]});
                    shapes.put(name + ".lora_B.weight", new long[] {weight[0], spec.rank()});
                }
            }
        }
        return shapes;
    }

    /** In adapter order. */
    SequencedMap<String, Tensor> tensors() {
        return tensors;
    }

    /** In adapter order. */
    List<Tensor> list() {
        return list;
    }

    /** The pair of a projection, or null where nothing is adapted. */
    Pair pair(int layer, Projection projection) {
        return layers.get(layer).get(projection);
    }

    String digest() {
        return Tensor.digest(list);
    }

    @Override
    public void close() {
        scope.close();
    }
}
