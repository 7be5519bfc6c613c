//! The `hello` and `abi` requests: who speaks, and the ABI as this binding sees it. Both know no context.

use hexapla::testing;

use crate::events::Events;
use crate::json::{Value, object};
use crate::probe;

const REQUESTS: [&str; 9] = ["hello", "abi", "operators", "load", "render", "evaluate", "train", "probe", "bye"];
const OPTIONS: [&str; 5] = ["migrating", "collector", "spill", "memory_limit", "ledger"];

pub fn hello(events: &Events) {
    let probes = probe::PLAYED.iter().map(|scenario| format!("probe.{scenario}"));
    let capabilities = REQUESTS.iter().chain(&OPTIONS).map(ToString::to_string).chain(probes);
    let runtime = format!("Rust standard library, {}-{}", std::env::consts::ARCH, std::env::consts::OS);
    events.send(
        "hello",
        [
            ("protocol", 1_i64.into()),
            ("implementation", "rust".into()),
            ("language", "Rust".into()),
            ("runtime", runtime.into()),
            ("stack", "core".into()),
            ("core", hexapla::build_info().into()),
            ("faults", hexapla::build_faults().into_iter().collect()),
            ("capabilities", capabilities.collect()),
        ],
    );
    events.send("done", []);
}

pub fn abi(events: &Events) {
    let types = testing::types().into_iter().map(|layout| {
        let place = |offset: usize, size: usize| [offset, size].into_iter().collect::<Value>();
        let fields = layout.fields.iter().map(|(name, offset, size)| (*name, place(*offset, *size)));
        let described = [("size", layout.size.into()), ("align", layout.align.into()), ("fields", object(fields))];
        (layout.name, object(described))
    });
    let constants = testing::constants().into_iter().map(|(name, value)| (name, value.into()));
    events.send(
        "abi",
        [
            ("abi_version", i64::from(testing::abi_version()).into()),
            ("types", object(types)),
            ("constants", object(constants)),
        ],
    );
    events.send("done", []);
}
