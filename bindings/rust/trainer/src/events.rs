//! Events: one JSON object a line on stdout, flushed. Separate because nothing else may write there.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;
use crate::json::Value;

/// The events of one request. Any thread may send; lines never mix.
pub struct Events {
    id: String,
    failed: AtomicBool,
}

impl Events {
    pub fn new(id: &str) -> Events {
        Events { id: id.to_string(), failed: AtomicBool::new(false) }
    }

    /// Send one event.
    pub fn send<'a>(&self, event: &'a str, pairs: impl IntoIterator<Item = (&'a str, Value)>) {
        let head = [("id", Value::from(self.id.as_str())), ("event", event.into())];
        let message = crate::json::object(head.into_iter().chain(pairs));
        let mut line = String::new();
        message.write(&mut line);
        line.push('\n');
        let mut out = std::io::stdout().lock();
        if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
            // Nobody listens any more: what is left to do has no reader.
            self.failed.store(true, Ordering::Relaxed);
        }
    }

    pub fn error(&self, failure: &Failure) {
        self.send(
            "error",
            [
                ("status", failure.status.as_str().into()),
                ("message", failure.message.as_str().into()),
                ("where", failure.place.as_str().into()),
            ],
        );
    }

    pub fn skipped(&self, reason: &str) {
        self.send("skipped", [("reason", reason.into())]);
    }

    /// Whether stdout is closed.
    pub fn unheard(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

/// `X_bits` beside a number X.
pub fn bits(value: f64) -> Value {
    format!("0x{:016x}", value.to_bits()).into()
}
