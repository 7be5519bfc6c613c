//! Scenarios of the memory axis. What scope gives back, Rust gives back; what is lost without a release stays lost.

use hexapla::{Tensor, testing};

use super::{Seen, live_bytes, train_request};
use crate::batch::{self, MicroBatch};
use crate::failure::Outcome;
use crate::fields::Fields;
use crate::render::Rendered;
use crate::requests::ContextRequest;
use crate::run::{Data, Loaded};
use crate::temporaries::Temporaries;
use crate::update::Trainable;

const NOT_AVAILABLE: &str = "not available";

pub fn drop_in_loop(request: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let bytes = parameters.count("bytes", 4)?;
    let turns = parameters.count("turns", 0)?;
    let close = parameters.integer("close", 0, 1)? == 1;
    let context = request.open()?;
    let shape = [(bytes / size_of::<f32>() as u64) as i64];
    let mut aside = Vec::new();
    let mut done = 0;
    let mut failed_turn = 0;
    for turn in 1..=turns {
        let outcome = Tensor::zeros(&context, &shape).and_then(|tensor| {
            if close {
                return tensor.close();
            }
            aside.push(testing::into_raw(tensor));
            Ok(())
        });
        if outcome.is_err() {
            failed_turn = turn;
            break;
        }
        done = turn;
    }
    let pressure_calls = context.memory()?.pressure_calls;
    for id in aside {
        testing::release_tensor(id)?;
    }
    Ok(vec![
        ("turns", done.into()),
        ("failed_turn", failed_turn.into()),
        ("pressure_calls", pressure_calls.into()),
        ("collections", NOT_AVAILABLE.into()),
        ("collector_ms", NOT_AVAILABLE.into()),
    ])
}

pub fn caught_errors(context: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let request = train_request(parameters)?;
    let turns = parameters.count("turns", 0)?;
    let loaded = Loaded::new(&request, Data::read(&request)?, context.open()?)?;
    let trainable = loaded.initial()?;
    let mut order = loaded.order();
    let (_, numbers) = order.update(1);
    let records: Vec<&Rendered> = numbers.iter().map(|index| &loaded.data.train[*index]).collect();
    let weight = f64::from((1.0 / batch::labels(&records) as f64) as f32);
    let first = &records[..records.len().min(request.spec.micro_batch)];
    let before = live_bytes()?;
    let (mut failed_turn, mut difference) = (0, 0);
    for turn in 1..=turns {
        let caught = failing_backward(&loaded, &trainable, first, weight)?;
        if !caught && failed_turn == 0 {
            failed_turn = turn;
        }
        difference = farther(difference, live_bytes()? - before);
    }
    Ok(vec![("turns", turns.into()), ("failed_turn", failed_turn.into()), ("difference_bytes", difference.into())])
}

/// Forward, then a backward whose first allocation fails. Says whether it did; all that was made is released.
fn failing_backward(loaded: &Loaded, trainable: &Trainable, records: &[&Rendered], weight: f64) -> Outcome<bool> {
    let batch = MicroBatch::new(records);
    let held = Temporaries::new(false);
    let recorded = trainable.forward(&loaded.model, &batch, &held)?;
    let incoming = held.keep(Tensor::zeros(&loaded.context, &[batch.rows.len() as i64])?);
    incoming.fill(weight)?;
    loaded.context.fail_allocation(1, false)?;
    let outcome = recorded.backward(&incoming);
    loaded.context.fail_allocation(0, false)?;
    trainable.reset_tape()?;
    Ok(outcome.is_err())
}

pub fn scope(context: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let request = train_request(parameters)?;
    let turns = parameters.count("turns", 0)?;
    let loaded = Loaded::new(&request, Data::read(&request)?, context.open()?)?;
    let mut order = loaded.order();
    let before = live_bytes()?;
    let (mut done, mut failed_turn, mut difference) = (0, 0, 0);
    for turn in 1..=turns {
        let outcome = loaded.initial().and_then(|trainable| loaded.update(&trainable, &mut order, 1));
        difference = farther(difference, live_bytes()? - before);
        if outcome.is_err() {
            failed_turn = turn;
            break;
        }
        done = turn;
    }
    Ok(vec![("turns", done.into()), ("failed_turn", failed_turn.into()), ("difference_bytes", difference.into())])
}

/// The one that is farther from 0.
fn farther(one: i64, other: i64) -> i64 {
    if other.abs() > one.abs() { other } else { one }
}
