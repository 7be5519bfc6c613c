// The `train` request: update after update, evaluating and saving when due.
//
// Separate because it is the loop and nothing else; each stage has its own file.

package hexapla.trainer;

import hexapla.Core;
import java.nio.file.Path;
import java.time.Duration;

/** One training run. */
final class Train {
    private static final Duration COLLECT_LIMIT = Duration.ofSeconds(20);

    private final TrainRequest request;
    private final ContextChoice choice;
    private final Events events;
    private final Input input;
    private final Checkpoints checkpoints;
    private long last;
    private long done;

    private Train(TrainRequest request, ContextChoice choice, Events events, Input input) {
        this.request = request;
        this.choice = choice;
        this.events = events;
        this.input = input;
        this.checkpoints = new Checkpoints(request);
    }

    static void answer(Keys keys, Events events, Input input) throws Exception {
        ContextChoice choice = ContextChoice.parse(keys);
        TrainRequest request = TrainRequest.parse(keys);
        keys.finish();
        new Train(request, choice, events, input).run();
    }

    private void run() throws Exception {
        long start = request.resumeFrom() == null ? 0 : Checkpoints.updateOf(request.resumeFrom(), request.specDigest());
        last = request.last(start);
        checkpoints.prepare(start, last);
        Data data = Run.load(request);
        events.send("data", "train", data.train().size(), "heldout", data.heldout().size(),
                "rejected", data.rejected(), "markers", data.markers());
        long peak;
        try (Run run = Run.open(request, choice, data)) {
            updates(run);
            peak = run.context.memory().peakBytes();
        }
        if (!request.explicit()) {
            Core.collectTo(0, COLLECT_LIMIT);
        }
        events.done("step", done, "stopped", done < request.spec().updates(),
                "device_bytes_peak", peak, "handles_live", Core.memory().liveHandles());
    }

    private void updates(Run run) throws Exception {
        Evaluate evaluate = new Evaluate(
                run.model, run.trainable.adapter, request.spec(), request.explicit(), run.data.heldout());
        if (request.resumeFrom() == null) {
            evaluate.send(0, events);
        }
        done = run.start;
        try (Schedule schedule = new Schedule(request.migrating())) {
            for (long k = run.start + 1; k <= last && !input.ended(); k++) {
                long update = k;
                schedule.run(() -> {
                    one(update, run, evaluate, schedule);
                    return null;
                });
                schedule.settle();
                done = k;
            }
        }
    }

    private void one(long k, Run run, Evaluate evaluate, Schedule schedule) {
        long begin = System.nanoTime();
        run.context.mark(k);
        schedule.begun();
        Order.Batch batch = run.batch(k);
        var examples = run.examples(batch);
        Update.Result result = run.update.run(k, examples);
        double milliseconds = (System.nanoTime() - begin) / 1e6;
        int tokens = examples.stream().mapToInt(example -> example.ids().length).sum();
        double rate = result.learningRate();
        events.send("step", "step", k, "epoch", batch.epoch(), "records", examples.size(), "tokens", tokens,
                "labels", result.labels(), "loss", result.loss(), "loss_bits", Events.bits(result.loss()),
                "gradient_norm", result.norm(), "gradient_norm_bits", Events.bits(result.norm()),
                "clipped", result.clipped(), "learning_rate", rate, "learning_rate_bits", Events.bits(rate),
                "batch_digest", Batch.digest(examples), "milliseconds", milliseconds);
        if (k % request.spec().evaluateEvery() == 0 || k == request.spec().updates()) {
            evaluate.send(k, events);
        }
        if (checkpoints.due(k, last)) {
            Path path = checkpoints.save(k, run.trainable);
            events.send("checkpoint", "step", k, "path", path.toString(),
                    "adapter_digest", run.trainable.adapter.digest(),
                    "optimizer_digest", run.trainable.optimizerDigest());
        }
    }
}
