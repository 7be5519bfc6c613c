//! The `probe` request: scenarios of docs/probes.md, one file an axis. They use the safe layer, and
//! `hexapla::testing` only for what Rust forbids.

mod errors;
mod memory;
mod ownership;
mod threads;

use crate::events::Events;
use crate::failure::{Failure, Outcome};
use crate::fields::Fields;
use crate::json::{Value, object};
use crate::requests::{ContextRequest, ProbeRequest, TrainRequest};

/// What this trainer plays.
pub const PLAYED: [&str; 17] = [
    "device_of_context",
    "error_text",
    "two_contexts",
    "drop_in_loop",
    "caught_errors",
    "scope",
    "accessors",
    "copies",
    "drop_orders",
    "double_release",
    "use_after_release",
    "release_elsewhere",
    "close_race",
    "status",
    "callback_throws",
    "fail_allocation",
    "write_fails",
];

/// What a scenario saw.
pub type Seen = Vec<(&'static str, Value)>;

pub fn answer(request: ProbeRequest, events: &Events) -> Outcome<()> {
    let ProbeRequest { context, scenario, mut parameters } = request;
    let (from, context) = (&mut parameters, &context);
    let played: fn(&ContextRequest, &mut Fields) -> Outcome<Seen> = match scenario.as_str() {
        "device_of_context" => threads::device_of_context,
        "error_text" => threads::error_text,
        "two_contexts" => threads::two_contexts,
        "drop_in_loop" => memory::drop_in_loop,
        "caught_errors" => memory::caught_errors,
        "scope" => memory::scope,
        "accessors" => ownership::accessors,
        "copies" => ownership::copies,
        "drop_orders" => ownership::drop_orders,
        "double_release" => ownership::double_release,
        "use_after_release" => ownership::use_after_release,
        "release_elsewhere" => ownership::release_elsewhere,
        "close_race" => ownership::close_race,
        "status" => errors::status,
        "callback_throws" => errors::callback_throws,
        "fail_allocation" => errors::fail_allocation,
        "write_fails" => errors::write_fails,
        "cycles" => {
            events.skipped("Rust has no tracing collector");
            return Ok(());
        }
        "finaliser_race" => {
            events.skipped("Rust has no finalisers: values drop where the compiler says");
            return Ok(());
        }
        other => {
            events.skipped(&format!("this trainer knows no scenario {other:?}"));
            return Ok(());
        }
    };
    let seen = played(context, from)?;
    parameters.finish()?;
    events.send("probe", [("scenario", scenario.into()), ("seen", object(seen))]);
    events.send("done", []);
    Ok(())
}

/// The train request inside a probe's parameters.
fn train_request(parameters: &mut Fields) -> Outcome<TrainRequest> {
    let mut fields = parameters.object("train", "request")?;
    let request = TrainRequest::take(&mut fields)?;
    fields.finish()?;
    Ok(request)
}

/// The name of what a call answered.
fn status_name<T>(outcome: &hexapla::Result<T>) -> &'static str {
    outcome.as_ref().map_or_else(|error| error.status().name(), |_| hexapla::Status::Ok.name())
}

/// Distinct status names, in order of first appearance.
#[derive(Default)]
struct Statuses(Vec<&'static str>);

impl Statuses {
    fn add<T>(&mut self, outcome: &hexapla::Result<T>) {
        let name = status_name(outcome);
        if !self.0.contains(&name) {
            self.0.push(name);
        }
    }

    fn text(&self) -> Value {
        self.0.join(",").into()
    }
}

/// Live bytes of the process.
fn live_bytes() -> Outcome<i64> {
    Ok(hexapla::process_memory()?.live_bytes)
}

/// What a thread of a scenario answered; a panic there is a fault of this trainer.
fn joined<T>(outcome: std::thread::Result<T>) -> Outcome<T> {
    outcome.map_err(|_| Failure::new("internal", "a thread of the scenario panicked", "probe"))
}
