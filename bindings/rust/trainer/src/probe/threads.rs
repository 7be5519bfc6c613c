//! Scenarios of the threads axis. A task is an OS thread.

use std::thread;

use hexapla::{Context, Gate, Tensor};

use super::{Seen, joined, train_request};
use crate::failure::Outcome;
use crate::fields::Fields;
use crate::requests::{ContextRequest, TrainRequest};
use crate::run::{Data, Loaded};

/// Opens its gate on every way out: a scope waits for the threads behind it.
struct OpenAtEnd(Gate);

impl Drop for OpenAtEnd {
    fn drop(&mut self) {
        self.0.open().expect("a live gate opens");
    }
}

pub fn device_of_context(request: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let workers = parameters.count("workers", 0)?;
    let rounds = parameters.count("rounds", 0)?;
    let blocked = parameters.count("blocked", 0)?;
    let gate = OpenAtEnd(Gate::new()?);
    let [right, wrong, errors] = thread::scope(|scope| {
        let opener = OpenAtEnd(gate.0.clone());
        for _ in 0..blocked {
            let gate = &gate.0;
            scope.spawn(move || gate.wait());
        }
        let tasks: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    let device = format!("cpu:{}", worker % 2);
                    let mut counts = [0_u64; 3];
                    for _ in 0..rounds {
                        counts[match device_of_new_tensor(request, &device) {
                            Ok(found) if found == device => 0,
                            Ok(_) => 1,
                            Err(_) => 2,
                        }] += 1;
                    }
                    counts
                })
            })
            .collect();
        let mut sums = [0; 3];
        for task in tasks {
            for (sum, count) in sums.iter_mut().zip(joined(task.join())?) {
                *sum += count;
            }
        }
        drop(opener);
        Outcome::Ok(sums)
    })?;
    Ok(vec![("right", right.into()), ("wrong", wrong.into()), ("errors", errors.into())])
}

fn device_of_new_tensor(request: &ContextRequest, device: &str) -> hexapla::Result<String> {
    let context = Context::new(device, &request.options())?;
    thread::yield_now();
    let tensor = Tensor::zeros(&context, &[16])?;
    thread::yield_now();
    let found = tensor.device()?;
    tensor.close()?;
    context.close()?;
    Ok(found)
}

pub fn error_text(request: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let workers = parameters.count("workers", 0)?;
    let calls = parameters.count("calls", 0)?;
    let context = request.open()?;
    let [own, foreign, empty] = thread::scope(|scope| {
        let context = &context;
        let count = |worker: u64| {
            let mut counts = [0_u64; 3];
            for call in 0..calls {
                let number = 1000 * worker + call + 1;
                let outcome = Tensor::zeros(context, &[-(number as i64)]);
                thread::yield_now();
                let text = outcome.as_ref().err().map_or("", |error| error.message());
                counts[if text.is_empty() {
                    2
                } else if holds_number(text, number) {
                    0
                } else {
                    1
                }] += 1;
            }
            counts
        };
        let tasks: Vec<_> = (0..workers).map(|worker| scope.spawn(move || count(worker))).collect();
        let mut sums = [0; 3];
        for task in tasks {
            for (sum, count) in sums.iter_mut().zip(joined(task.join())?) {
                *sum += count;
            }
        }
        Outcome::Ok(sums)
    })?;
    Ok(vec![("own", own.into()), ("foreign", foreign.into()), ("empty", empty.into())])
}

/// Whether the text holds the number, not as a part of a longer one.
fn holds_number(text: &str, number: u64) -> bool {
    let number = number.to_string();
    text.split(|character: char| !character.is_ascii_digit()).any(|digits| digits == number)
}

/// Bits of every loss and norm, and the adapter's digest at the end.
#[derive(PartialEq)]
struct Trace(Vec<(u64, u64)>, String);

fn trace(request: &TrainRequest, context: &ContextRequest, updates: u64) -> Outcome<Trace> {
    let loaded = Loaded::new(request, Data::read(request)?, context.open()?)?;
    let trainable = loaded.initial()?;
    let mut order = loaded.order();
    let mut bits = Vec::new();
    for k in 1..=updates {
        let (_, _, update) = loaded.update(&trainable, &mut order, k)?;
        bits.push((update.loss.to_bits(), update.gradient_norm.to_bits()));
    }
    Ok(Trace(bits, trainable.adapter.digest()?))
}

pub fn two_contexts(context: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let request = train_request(parameters)?;
    let updates = parameters.integer("updates", 1, request.spec.updates as i64)? as u64;
    let alone = trace(&request, context, updates)?;
    let [one, other] = thread::scope(|scope| {
        let tasks = [(); 2].map(|()| scope.spawn(|| trace(&request, context, updates)));
        tasks.map(|task| joined(task.join()).and_then(|outcome| outcome))
    });
    let equal = alone == one? && alone == other?;
    Ok(vec![("equal", i64::from(equal).into())])
}
