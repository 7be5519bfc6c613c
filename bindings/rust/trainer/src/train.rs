//! The `train` request: the loop over updates, on one thread or migrating, with its events, evaluations and
//! checkpoints.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use hexapla::Gate;

use crate::adapter::config_bytes;
use crate::checkpoint;
use crate::evaluate::{How, evaluate};
use crate::events::{Events, bits};
use crate::failure::{At, Failure, Outcome};
use crate::order::Order;
use crate::render::rejected_value;
use crate::requests::{ContextRequest, TrainRequest};
use crate::run::{Data, Loaded};
use crate::update::Trainable;

/// Update k's thread stays in native code until update k + 8 has begun.
const HELD_UPDATES: usize = 8;

/// A run that is under way.
struct Run<'a> {
    loaded: Loaded,
    trainable: Trainable,
    order: Order,
    adapter_config: Vec<u8>,
    /// The update that was done last.
    done: u64,
    /// The last update to do.
    last: u64,
    events: &'a Events,
}

/// Train as the request says; every handle is released before `done`.
pub fn answer(context: &ContextRequest, request: &TrainRequest, ended: &AtomicBool, events: &Events) -> Outcome<()> {
    let mut run = start(context, request, events)?;
    let stop = || ended.load(Ordering::Acquire) || events.unheard();
    if request.migrating {
        migrate(&mut run, &stop)?;
    } else {
        while run.done < run.last && !stop() {
            run.step()?;
        }
    }
    let (done, stopped) = (run.done, run.done < request.spec.updates);
    let peak = run.loaded.context.memory().at("done")?.peak_bytes;
    drop(run);
    let handles = hexapla::process_memory().at("done")?.live_handles;
    let end = [
        ("step", done.into()),
        ("stopped", stopped.into()),
        ("device_bytes_peak", peak.into()),
        ("handles_live", handles.into()),
    ];
    events.send("done", end);
    Ok(())
}

/// Everything before update 1: files checked and loaded, `data`, the evaluation of update 0.
fn start<'a>(context: &ContextRequest, request: &TrainRequest, events: &'a Events) -> Outcome<Run<'a>> {
    let spec = &request.spec;
    let adapter_config = config_bytes(&request.adapter, spec)?;
    let data = Data::read(request)?;
    let loaded = Loaded::new(request, data, context.open()?)?;
    let (trainable, done) = match &request.resume_from {
        Some(folder) => loaded.resumed(folder)?,
        None => (loaded.initial()?, 0),
    };
    let last = last_update(request, done)?;
    let saves = (done + 1..=last).filter(|k| spec.saves_at(*k, request.stop_after));
    checkpoint::prepare(&request.output, saves)?;
    let data = &loaded.data;
    events.send(
        "data",
        [
            ("train", data.train.len().into()),
            ("heldout", data.heldout.len().into()),
            ("rejected", rejected_value(&data.rejected)),
            ("markers", data.markers.into()),
        ],
    );
    let order = loaded.order();
    let run = Run { loaded, trainable, order, adapter_config, done, last, events };
    if request.resume_from.is_none() {
        run.evaluate(0)?;
    }
    Ok(run)
}

fn last_update(request: &TrainRequest, done: u64) -> Outcome<u64> {
    let updates = request.spec.updates;
    let refuse = |key: &str, message: String| Err(Failure::new("request", format!("{key}: {message}"), key));
    if done >= updates {
        return refuse("resume_from", format!("is at update {done} of {updates}: nothing is left to do"));
    }
    match request.stop_after {
        Some(k) if k <= done || k > updates => {
            refuse("stop_after", format!("is {k}, must be {} … {updates}", done + 1))
        }
        Some(k) => Ok(k),
        None => Ok(updates),
    }
}

impl Run<'_> {
    /// The next update, with what follows it.
    fn step(&mut self) -> Outcome<()> {
        let k = self.done + 1;
        let started = Instant::now();
        let (epoch, records, update) = self.loaded.update(&self.trainable, &mut self.order, k)?;
        let milliseconds = started.elapsed().as_secs_f64() * 1e3;
        self.events.send(
            "step",
            [
                ("step", k.into()),
                ("epoch", epoch.into()),
                ("records", records.into()),
                ("tokens", update.tokens.into()),
                ("labels", update.labels.into()),
                ("loss", update.loss.into()),
                ("loss_bits", bits(update.loss)),
                ("gradient_norm", update.gradient_norm.into()),
                ("gradient_norm_bits", bits(update.gradient_norm)),
                ("clipped", update.clipped.into()),
                ("learning_rate", update.learning_rate.into()),
                ("learning_rate_bits", bits(update.learning_rate)),
                ("batch_digest", update.batch_digest.into()),
                ("milliseconds", milliseconds.into()),
            ],
        );
        let request = &self.loaded.request;
        if request.spec.evaluates_at(k) {
            self.evaluate(k)?;
        }
        if request.spec.saves_at(k, request.stop_after) {
            self.save(k)?;
        }
        self.done = k;
        Ok(())
    }

    fn evaluate(&self, step: u64) -> Outcome<()> {
        let request = &self.loaded.request;
        let how = How { step, micro_batch: request.spec.micro_batch, leaks: request.leaks, events: self.events };
        evaluate(&self.loaded.model, Some(&self.trainable.adapter), &self.loaded.data.heldout, &how)
    }

    fn save(&self, k: u64) -> Outcome<()> {
        let request = &self.loaded.request;
        let path = checkpoint::save(&request.output, k, &self.trainable, &self.adapter_config, &request.spec_digest)?;
        self.events.send(
            "checkpoint",
            [
                ("step", k.into()),
                ("path", path.display().to_string().into()),
                ("adapter_digest", self.trainable.adapter.digest()?.into()),
                ("optimizer_digest", self.trainable.optimizer_digest()?.into()),
            ],
        );
        Ok(())
    }
}

/// Gates of updates whose threads still wait; opened on every way out, or the scope would wait for ever.
struct Gates(Vec<Gate>);

impl Drop for Gates {
    fn drop(&mut self) {
        for gate in &self.0 {
            // One that cannot be opened opens when its last id goes; a panic here could meet another.
            let _ = gate.open();
        }
    }
}

/// Each update on a thread of its own, which then blocks in `hxp_gate_wait` until update k + 8 has begun.
fn migrate(run: &mut Run<'_>, stop: &impl Fn() -> bool) -> Outcome<()> {
    let run = Mutex::new(run);
    std::thread::scope(|threads| {
        let mut gates = Gates(Vec::new());
        loop {
            {
                let run = run.lock().unwrap_or_else(PoisonError::into_inner);
                if run.done >= run.last || stop() {
                    return Ok(());
                }
            }
            let gate = Gate::new().at("gate")?;
            let (begin, begun) = std::sync::mpsc::channel();
            let (end, outcome) = std::sync::mpsc::channel();
            let (shared, waited) = (&run, gate.clone());
            threads.spawn(move || {
                let mut run = shared.lock().unwrap_or_else(PoisonError::into_inner);
                // A receiver that is gone has left the loop, and then nobody wants to hear.
                let _ = begin.send(());
                let outcome = run.step();
                drop(run);
                let _ = end.send(outcome);
                waited.wait().expect("a live gate can be waited at");
            });
            let panicked = |_| Failure::new("internal", "the update's thread panicked", "migrating");
            begun.recv().map_err(panicked)?;
            gates.0.push(gate);
            if gates.0.len() > HELD_UPDATES {
                gates.0.remove(0).open().at("gate")?;
            }
            outcome.recv().map_err(panicked)??;
        }
    })
}
