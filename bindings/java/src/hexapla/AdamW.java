// The numbers of one AdamW step, as a value.
//
// Separate because no number has a default: a step is made of all of them.

package hexapla;

/**
 * Options of {@link Optimizer#adamw}.
 *
 * @param step         k, from 1
 * @param learningRate η(k)
 * @param beta1        in [0, 1)
 * @param beta2        in [0, 1)
 * @param epsilon      above 0
 * @param weightDecay  decoupled
 */
public record AdamW(
        long step, double learningRate, double beta1, double beta2, double epsilon, double weightDecay) {}
