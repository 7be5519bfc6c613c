// What a training run owns on the device, made in order and released in reverse.
//
// Separate because the `train` request and several probes need the same: context, model, trainable state, and the order of updates.

package hexapla.trainer;

import hexapla.Context;
import java.util.ArrayList;
import java.util.List;

/** A run ready for its first update. */
final class Run implements AutoCloseable {
    final TrainRequest request;
    final Data data;
    final Context context;
    final Model model;
    final Trainable trainable;
    final Update update;
    /** The update that it starts behind. */
    final long start;

    private final Order order;

    private Run(TrainRequest request, Data data, Context context, Model model, Trainable trainable, long start) {
        this.request = request;
        this.data = data;
        this.context = context;
        this.model = model;
        this.trainable = trainable;
        this.start = start;
        Spec spec = request.spec();
        update = new Update(context, model, trainable, spec, request.explicit());
        order = new Order(spec.seed(), data.train().size(), spec.batch());
    }

    static Data load(TrainRequest request) {
        return Data.load(request.tokenizer(), request.train(), request.heldout(), request.spec());
    }

    /** Make everything; what was made before a failure is released again. */
    static Run open(TrainRequest request, ContextChoice choice, Data data) {
        long start = request.resumeFrom() == null ? 0 : Checkpoints.updateOf(request.resumeFrom(), request.specDigest());
        Context context = choice.open();
        Model model = null;
        try {
            model = Model.load(request.model(), context);
            return new Run(request, data, context, model, trainable(request, model, context), start);
        } catch (Throwable thrown) {
            if (model != null) {
                model.close();
            }
            context.close();
            throw thrown;
        }
    }

    private static Trainable trainable(TrainRequest request, Model model, Context context) {
        return request.resumeFrom() == null
                ? Trainable.initial(request.adapter(), request.spec(), model.config, context)
                : Trainable.resumed(request.resumeFrom(), request.adapter(), request.spec(), model.config, context);
    }

    Order.Batch batch(long k) {
        return order.update(k);
    }

    List<Render.Example> examples(Order.Batch batch) {
        List<Render.Example> examples = new ArrayList<>(batch.records().length);
        for (int index : batch.records()) {
            examples.add(data.train().get(index));
        }
        return examples;
    }

    /** Update k from its mark on, without events. */
    Update.Result run(long k) {
        context.mark(k);
        return update.run(k, examples(batch(k)));
    }

    @Override
    public void close() {
        trainable.close();
        model.close();
        context.close();
    }
}
