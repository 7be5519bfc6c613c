//! Held-out evaluation: nothing recorded, nothing changed.

use hexapla::Context;

use crate::adapter::{Adapter, config_bytes};
use crate::batch::MicroBatch;
use crate::events::{Events, bits};
use crate::failure::{At, Failure, Outcome};
use crate::forward::Forward;
use crate::model::Model;
use crate::render::{Rendered, Renderer};
use crate::requests::EvaluateRequest;
use crate::temporaries::Temporaries;

/// Evaluate all records in file order and send the event. A result that is not finite is sent, then fails.
pub fn evaluate(model: &Model, adapter: Option<&Adapter>, records: &[Rendered], how: &How<'_>) -> Outcome<()> {
    let step = how.step;
    let mut record_nll = Vec::with_capacity(records.len());
    let mut labels = 0;
    let all: Vec<&Rendered> = records.iter().collect();
    for records in all.chunks(how.micro_batch) {
        let batch = MicroBatch::new(records);
        let held = Temporaries::new(how.leaks);
        let forward = Forward { model, adapter, tape: None, held: &held };
        let nll = forward.nll(&batch).and_then(|nll| nll.read()).at(format!("evaluation of update {step}"))?;
        labels += nll.len();
        record_nll.extend(batch.record_nlls(&nll));
    }
    let total = record_nll.iter().fold(0.0, |sum, value| sum + value);
    let loss = total / labels as f64;
    how.events.send(
        "evaluation",
        [
            ("step", step.into()),
            ("adapter", adapter.is_some().into()),
            ("loss", loss.into()),
            ("loss_bits", bits(loss)),
            ("total", total.into()),
            ("total_bits", bits(total)),
            ("labels", labels.into()),
            ("record_nll", record_nll.into_iter().collect()),
            ("adapter_digest", adapter.map(Adapter::digest).transpose()?.into()),
        ],
    );
    if loss.is_finite() {
        return Ok(());
    }
    let place = format!("update {step}");
    Err(Failure::new("non_finite", format!("{place}: held-out loss {loss:?}"), place))
}

/// What an evaluation needs beside model, adapter and records.
pub struct How<'a> {
    pub step: u64,
    pub micro_batch: usize,
    pub leaks: bool,
    pub events: &'a Events,
}

/// The `evaluate` request.
pub fn answer(request: &EvaluateRequest, events: &Events) -> Outcome<()> {
    let spec = &request.spec;
    let renderer = Renderer::open(&request.tokenizer, spec.template, spec.length)?;
    let heldout = renderer.data(&request.heldout)?;
    let context: Context = request.context.open()?;
    let model = Model::read(&request.model, &context)?;
    let adapter = match &request.adapter {
        None => None,
        Some(folder) => {
            config_bytes(folder, spec)?;
            Some(Adapter::read(folder, &model.config, spec, &context)?)
        }
    };
    let how = How { step: 0, micro_batch: spec.micro_batch, leaks: false, events };
    evaluate(&model, adapter.as_ref(), &heldout.accepted, &how)?;
    drop((adapter, model, context));
    events.send("done", []);
    Ok(())
}
