import hexapla.Context;
import hexapla.ContextOptions;
import hexapla.Ops;
import hexapla.Tape;
import hexapla.Tensor;
import java.util.Arrays;

/** y = x wᵀ and the gradient of its sum at w; everything is closed by the blocks that made it. */
public final class Example {
    private Example() {}

    public static void main(String[] arguments) {
        try (Context context = Context.open("cpu:0", ContextOptions.DEFAULTS);
                Tape tape = Tape.open(context);
                Tensor x = Tensor.of(context, new float[] {1, 2, 3, 4}, 2, 2);
                Tensor w = Tensor.of(context, new float[] {1, 1}, 1, 2)) {
            tape.watch(w, null);
            try (Tensor y = Ops.linear(tape, x, w)) {
                System.out.println(Arrays.toString(y.read())); // [3.0, 7.0]
                tape.backward(y, null);
            }
            try (Tensor gradient = tape.gradient(w)) {
                System.out.println(Arrays.toString(gradient.read())); // [4.0, 6.0]
            }
        }
    }
}
