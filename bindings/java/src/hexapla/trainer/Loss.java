// From the NLL of labels to that of records.
//
// Separate because updates and evaluations sum alike: f64, running, label by label in packed order.

package hexapla.trainer;

import java.util.List;

/** Sums over labels. */
final class Loss {
    private Loss() {}

    /** Append each record's NLL to `nlls`. */
    static void perRecord(float[] labelNlls, int[] labels, List<Double> nlls) {
        int label = 0;
        for (int count : labels) {
            double sum = 0;
            for (int i = 0; i < count; i++) {
                sum += labelNlls[label++];
            }
            nlls.add(sum);
        }
    }
}
