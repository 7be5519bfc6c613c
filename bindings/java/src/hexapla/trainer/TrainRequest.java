// The keys of a `train` request, context apart.
//
// Separate because probes carry the same keys in an object of their own.

package hexapla.trainer;

/** What to train, on what, where to. */
record TrainRequest(
        Spec spec,
        String specDigest,
        String model,
        String tokenizer,
        String train,
        String heldout,
        String adapter,
        String output,
        String resumeFrom,
        Long stopAfter,
        boolean migrating,
        boolean explicit) {

    static TrainRequest parse(Keys keys) {
        return new TrainRequest(
                Spec.parse(keys.map("spec")),
                keys.string("spec_digest"),
                keys.path("model"),
                keys.path("tokenizer"),
                keys.path("train"),
                keys.path("heldout"),
                keys.path("adapter"),
                keys.path("output"),
                keys.pathOrNull("resume_from"),
                keys.integerOrNull("stop_after"),
                keys.oneOf("schedule", "pinned", "migrating").equals("migrating"),
                keys.oneOf("release", "explicit", "collector").equals("explicit"));
    }

    /** The last update of this run, for a run that starts behind `start`. */
    long last(long start) {
        if (start >= spec.updates()) {
            throw Failure.request("resume_from", "resume_from is at update " + start + ", the last one");
        }
        if (stopAfter == null) {
            return spec.updates();
        }
        if (stopAfter <= start || stopAfter > spec.updates()) {
            throw Failure.request("stop_after", "stop_after is " + stopAfter + ", must be " + (start + 1) + " … "
                    + spec.updates());
        }
        return stopAfter;
    }
}
