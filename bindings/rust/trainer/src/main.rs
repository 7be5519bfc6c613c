//! The Rust trainer: requests on stdin, events on stdout, one JSON object a line (docs/protocol.md). This file reads
//! requests, hands each to its stage and keeps the exit status; it decides nothing about training.
#![forbid(unsafe_code)]

mod adapter;
mod batch;
mod checkpoint;
mod config;
mod evaluate;
mod events;
mod failure;
mod fields;
mod forward;
mod hello;
mod input;
mod json;
mod json_reader;
mod load;
mod model;
mod names;
mod operators;
mod order;
mod probe;
mod records;
mod render;
mod requests;
mod run;
mod spec;
mod temporaries;
mod train;
mod update;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use events::Events;
use failure::{Failure, Outcome};
use fields::Fields;
use input::Input;
use json::Value;
use requests::Request;

/// Exit statuses; the largest that applies is the process's.
const ERROR: u8 = 1;
const UNREADABLE: u8 = 2;
const HANDLES_LIVE: u8 = 3;

fn main() -> ExitCode {
    let input = Input::start();
    let mut status = 0;
    // EOF counts as `bye` with id "".
    let mut last_id = String::new();
    for (number, line) in &input.lines {
        let (id, fields) = match readable(line) {
            Ok(read) => read,
            Err(message) => {
                let place = format!("stdin:{number}");
                Events::new("").error(&Failure::new("request", format!("line {number}: {message}"), place));
                status = status.max(UNREADABLE);
                continue;
            }
        };
        let events = Events::new(&id);
        match Request::take(fields) {
            Ok(Request::Bye) => {
                last_id = id;
                break;
            }
            request => {
                if let Err(failure) = request.and_then(|request| guarded(request, &input.ended, &events)) {
                    events.error(&failure);
                    status = status.max(ERROR);
                }
            }
        }
    }
    ExitCode::from(status.max(bye(&Events::new(&last_id))))
}

/// The id and the other keys of a line; what has no id cannot be read.
fn readable(line: Result<Vec<u8>, String>) -> Result<(String, Fields), String> {
    let value = json_reader::read(&line?)?;
    let mut fields = Fields::new(value, "request", "").map_err(|failure| failure.message)?;
    let id = fields.text("id").map_err(|failure| failure.message)?;
    Ok((id, fields))
}

/// Answer a request; a panic is an `internal` error, and the trainer stays alive.
fn guarded(request: Request, ended: &AtomicBool, events: &Events) -> Outcome<()> {
    catch_unwind(AssertUnwindSafe(|| answer(request, ended, events))).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Err(Failure::new("internal", text.unwrap_or_else(|| "a panic without text".to_string()), "trainer"))
    })
}

fn answer(request: Request, ended: &AtomicBool, events: &Events) -> Outcome<()> {
    match request {
        Request::Hello => hello::hello(events),
        Request::Abi => hello::abi(events),
        Request::Operators(request) => operators::answer(request, events)?,
        Request::Load(request) => load::answer(&request, events)?,
        Request::Render(request) => render::answer(&request, events)?,
        Request::Evaluate(request) => evaluate::answer(&request, events)?,
        Request::Train(context, request) => train::answer(&context, &request, ended, events)?,
        Request::Probe(request) => probe::answer(request, events)?,
        Request::Unknown(name) => events.skipped(&format!("this trainer knows no request {name:?}")),
        Request::Bye => unreachable!("main ends at bye"),
    }
    Ok(())
}

/// Say what is still live; the status that follows from it.
fn bye(events: &Events) -> u8 {
    let memory = hexapla::process_memory().ok();
    let handles = memory.map_or(Value::Null, |memory| memory.live_handles.into());
    let bytes = memory.map_or(Value::Null, |memory| memory.live_bytes.into());
    events.send("bye", [("handles_live", handles), ("bytes_live", bytes)]);
    match memory {
        Some(memory) if memory.live_handles == 0 => 0,
        Some(_) => HANDLES_LIVE,
        None => ERROR,
    }
}
