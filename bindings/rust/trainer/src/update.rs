//! One update: forward, backward, norm, clip, AdamW; and what is trained. Knows nothing of events, evaluation or
//! files but those that the optimizer's state is read from.

use std::path::Path;

use hexapla::optimizer::{AdamW, adamw_step, gradient_clip, gradient_norm};
use hexapla::{Context, Tape, Tensor};

use crate::adapter::Adapter;
use crate::batch::{self, MicroBatch};
use crate::failure::{At, Failure, Outcome};
use crate::forward::Forward;
use crate::model::Model;
use crate::names::{self, Named};
use crate::render::Rendered;
use crate::spec::Spec;
use crate::temporaries::Temporaries;

/// The adapter with its gradients, its moments and the run's one tape.
pub struct Trainable {
    pub adapter: Adapter,
    gradients: Vec<Tensor>,
    exp_avgs: Vec<Tensor>,
    exp_avg_sqs: Vec<Tensor>,
    tape: Tape,
}

/// What an update says of itself.
pub struct Update {
    pub tokens: u64,
    pub labels: u64,
    pub loss: f64,
    pub gradient_norm: f64,
    pub clipped: bool,
    pub learning_rate: f64,
    pub batch_digest: String,
}

impl Trainable {
    /// Fresh moments.
    pub fn new(adapter: Adapter, context: &Context) -> Outcome<Trainable> {
        let [exp_avgs, exp_avg_sqs] = [zeros_like(&adapter, context), zeros_like(&adapter, context)];
        Trainable::with_moments(adapter, exp_avgs?, exp_avg_sqs?, context)
    }

    /// Moments, update and spec digest of a checkpoint's optimizer.safetensors.
    pub fn resume(adapter: Adapter, folder: &Path, spec_digest: &str, context: &Context) -> Outcome<(Trainable, u64)> {
        let path = folder.join("optimizer.safetensors");
        let place = path.display().to_string();
        let (checkpoint, tensors) = names::read(&path, &moment_names(&adapter), context)?;
        let refuse = |message: String| Failure::new("checkpoint", format!("{place}: {message}"), place.as_str());
        let metadata = |key: &str| {
            checkpoint.metadata(key).map_err(|error| refuse(format!("metadata {key}: {}", error.message())))
        };
        let stored = metadata("spec_digest")?;
        if stored != spec_digest {
            return Err(refuse(format!("made by spec {stored}, this run's is {spec_digest}")));
        }
        let text = metadata("update")?;
        let update = match text.parse::<u64>() {
            Ok(update) if update > 0 && text == update.to_string() => update,
            _ => return Err(refuse(format!("metadata update is {text:?}, must be a number from 1"))),
        };
        let mut moments = [Vec::new(), Vec::new()];
        for (index, tensor) in tensors.into_iter().enumerate() {
            moments[index % 2].push(tensor);
        }
        let [exp_avgs, exp_avg_sqs] = moments;
        Ok((Trainable::with_moments(adapter, exp_avgs, exp_avg_sqs, context)?, update))
    }

    fn with_moments(
        adapter: Adapter,
        exp_avgs: Vec<Tensor>,
        exp_avg_sqs: Vec<Tensor>,
        context: &Context,
    ) -> Outcome<Trainable> {
        let gradients = zeros_like(&adapter, context)?;
        let tape = Tape::new(context).at("tape")?;
        for ((name, _), (parameter, gradient)) in adapter.names.iter().zip(adapter.parameters.iter().zip(&gradients)) {
            tape.watch(parameter, Some(gradient)).at(&**name)?;
        }
        Ok(Trainable { adapter, gradients, exp_avgs, exp_avg_sqs, tape })
    }

    /// Names and moments, exp_avg then exp_avg_sq of each parameter.
    pub fn moments(&self) -> Vec<(String, &Tensor)> {
        let tensors = self.exp_avgs.iter().zip(&self.exp_avg_sqs).flat_map(|(avg, square)| [avg, square]);
        moment_names(&self.adapter).into_iter().map(|(name, _)| name).zip(tensors).collect()
    }

    pub fn optimizer_digest(&self) -> Outcome<String> {
        let moments = self.moments();
        Tensor::digest(moments.iter().map(|(_, tensor)| *tensor)).at("optimizer digest")
    }

    /// Forward of one micro-batch on the tape. The caller goes back or resets.
    pub fn forward<'a>(
        &'a self,
        model: &'a Model,
        batch: &MicroBatch,
        held: &'a Temporaries,
    ) -> hexapla::Result<Recorded<'a>> {
        let forward = Forward { model, adapter: Some(&self.adapter), tape: Some(&self.tape), held };
        Ok(Recorded { tape: &self.tape, nll: forward.nll(batch)? })
    }

    /// Drop what a failed forward or backward left on the tape.
    pub fn reset_tape(&self) -> Outcome<()> {
        self.tape.reset().at("tape")
    }

    /// Update k on `records`. Parameters are untouched when it fails before AdamW.
    pub fn update(&self, run: &Static<'_>, records: &[&Rendered], k: u64) -> Outcome<Update> {
        let outcome = self.try_update(run, records, k).at(format!("update {k}"));
        if outcome.is_err() {
            // The first failure is the one to report; a reset that fails too changes nothing about it.
            let _ = self.tape.reset();
        }
        outcome
    }

    fn try_update(&self, run: &Static<'_>, records: &[&Rendered], k: u64) -> Outcome<Update> {
        let spec = run.spec;
        run.context.mark(k)?;
        for gradient in &self.gradients {
            gradient.fill(0.0)?;
        }
        let labels = batch::labels(records);
        let weight = f64::from((1.0 / labels as f64) as f32);
        let mut total = 0.0;
        for records in records.chunks(spec.micro_batch) {
            self.micro_batch(run, &MicroBatch::new(records), weight, &mut total)?;
        }
        let loss = total / labels as f64;
        let norm = gradient_norm(&self.gradients)?;
        if !loss.is_finite() || !norm.is_finite() {
            let message = format!("update {k}: loss {loss:?}, gradient norm {norm:?}");
            return Err(Failure::new("non_finite", message, format!("update {k}")));
        }
        let clipped = gradient_clip(&self.gradients, norm, spec.clip_norm)?;
        let learning_rate = f64::from(spec.learning_rate_at(k));
        let numbers = AdamW {
            step: k,
            learning_rate,
            beta1: spec.beta1,
            beta2: spec.beta2,
            epsilon: spec.epsilon,
            weight_decay: spec.weight_decay,
        };
        adamw_step(&numbers, &self.adapter.parameters, &self.gradients, &self.exp_avgs, &self.exp_avg_sqs)?;
        Ok(Update {
            tokens: records.iter().map(|record| record.ids.len() as u64).sum(),
            labels,
            loss,
            gradient_norm: norm,
            clipped,
            learning_rate,
            batch_digest: batch::digest(records),
        })
    }

    /// Forward and backward; adds each record's NLL to `total`, and lets go of all that it made.
    fn micro_batch(&self, run: &Static<'_>, batch: &MicroBatch, weight: f64, total: &mut f64) -> hexapla::Result<()> {
        let held = Temporaries::new(run.leaks);
        let recorded = self.forward(run.model, batch, &held)?;
        let nll = recorded.nll.read()?;
        *total = batch.record_nlls(&nll).fold(*total, |sum, value| sum + value);
        let incoming = held.keep(Tensor::zeros(run.context, &[nll.len() as i64])?);
        incoming.fill(weight)?;
        recorded.backward(&incoming)
    }
}

/// What does not change during a run.
pub struct Static<'a> {
    pub context: &'a Context,
    pub spec: &'a Spec,
    pub model: &'a Model,
    pub leaks: bool,
}

/// A recorded micro-batch.
pub struct Recorded<'a> {
    tape: &'a Tape,
    pub nll: std::rc::Rc<Tensor>,
}

impl Recorded<'_> {
    /// Go back, each label with its weight.
    pub fn backward(&self, incoming: &Tensor) -> hexapla::Result<()> {
        self.tape.backward(&self.nll, Some(incoming))
    }
}

fn zeros_like(adapter: &Adapter, context: &Context) -> Outcome<Vec<Tensor>> {
    adapter.names.iter().map(|(name, shape)| Tensor::zeros(context, shape).at(&**name)).collect()
}

fn moment_names(adapter: &Adapter) -> Vec<Named> {
    let both = |(name, shape): &Named| ["exp_avg", "exp_avg_sq"].map(|kind| (format!("{kind}.{name}"), shape.clone()));
    adapter.names.iter().flat_map(both).collect()
}
