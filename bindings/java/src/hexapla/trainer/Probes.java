// The `probe` request.
//
// Separate because it only finds the scenario; what a scenario does stands in the file of its axis.

package hexapla.trainer;

import java.util.Map;

/** Scenarios by name. */
final class Probes {
    /** A scenario: from the context's choice and the parameters to what was seen. */
    interface Scenario {
        Map<String, Object> play(ContextChoice choice, Keys parameters) throws Exception;
    }

    static final Map<String, Scenario> SCENARIOS = Map.ofEntries(
            Map.entry("device_of_context", ProbeThreads::deviceOfContext),
            Map.entry("error_text", ProbeThreads::errorText),
            Map.entry("two_contexts", ProbeThreads::twoContexts),
            Map.entry("drop_in_loop", ProbeMemory::dropInLoop),
            Map.entry("cycles", ProbeMemory::cycles),
            Map.entry("caught_errors", ProbeMemory::caughtErrors),
            Map.entry("scope", ProbeMemory::scope),
            Map.entry("accessors", ProbeOwnership::accessors),
            Map.entry("copies", ProbeOwnership::copies),
            Map.entry("drop_orders", ProbeOwnership::dropOrders),
            Map.entry("double_release", ProbeOwnership::doubleRelease),
            Map.entry("use_after_release", ProbeOwnership::useAfterRelease),
            Map.entry("release_elsewhere", ProbeOwnership::releaseElsewhere),
            Map.entry("close_race", ProbeOwnership::closeRace),
            Map.entry("finaliser_race", ProbeOwnership::finaliserRace),
            Map.entry("status", ProbeErrors::status),
            Map.entry("callback_throws", ProbeErrors::callbackThrows),
            Map.entry("fail_allocation", ProbeErrors::failAllocation),
            Map.entry("write_fails", ProbeErrors::writeFails));

    private Probes() {}

    static void answer(Keys keys, Events events) throws Exception {
        ContextChoice choice = ContextChoice.parse(keys);
        String name = keys.string("scenario");
        Keys parameters = keys.object("parameters");
        keys.finish();
        Scenario scenario = SCENARIOS.get(name);
        if (scenario == null) {
            events.send("skipped", "reason", "the scenario " + Json.quote(name) + " is not known here");
            return;
        }
        Map<String, Object> seen = scenario.play(choice, parameters);
        events.send("probe", "scenario", name, "seen", seen);
        events.done();
    }
}
