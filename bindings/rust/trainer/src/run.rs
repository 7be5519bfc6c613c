//! What a run is made of, and how it is loaded: shared by the `train` request and the probes that train.

use std::collections::BTreeMap;

use hexapla::Context;

use crate::adapter::{Adapter, config_bytes};
use crate::failure::Outcome;
use crate::model::Model;
use crate::order::Order;
use crate::render::{Rendered, Renderer};
use crate::requests::TrainRequest;
use crate::update::{Static, Trainable, Update};

/// Both rendered files.
pub struct Data {
    pub train: Vec<Rendered>,
    pub heldout: Vec<Rendered>,
    pub rejected: BTreeMap<&'static str, u64>,
    pub markers: u64,
}

impl Data {
    pub fn read(request: &TrainRequest) -> Outcome<Data> {
        let renderer = Renderer::open(&request.tokenizer, request.spec.template, request.spec.length)?;
        let train = renderer.data(&request.train)?;
        let heldout = renderer.data(&request.heldout)?;
        let mut rejected = train.rejected;
        for (reason, count) in heldout.rejected {
            *rejected.entry(reason).or_default() += count;
        }
        let markers = train.markers + heldout.markers;
        Ok(Data { train: train.accepted, heldout: heldout.accepted, rejected, markers })
    }
}

/// A base model on a context, with the data of its run.
pub struct Loaded {
    pub context: Context,
    pub model: Model,
    pub data: Data,
    pub request: TrainRequest,
}

impl Loaded {
    pub fn new(request: &TrainRequest, data: Data, context: Context) -> Outcome<Loaded> {
        let model = Model::read(&request.model, &context)?;
        Ok(Loaded { context, model, data, request: request.clone() })
    }

    /// The initial adapter with fresh moments.
    pub fn initial(&self) -> Outcome<Trainable> {
        let (folder, spec) = (&self.request.adapter, &self.request.spec);
        config_bytes(folder, spec)?;
        Trainable::new(Adapter::read(folder, &self.model.config, spec, &self.context)?, &self.context)
    }

    /// The checkpoint of `resume_from`, and its update.
    pub fn resumed(&self, folder: &std::path::Path) -> Outcome<(Trainable, u64)> {
        let adapter = Adapter::read(folder, &self.model.config, &self.request.spec, &self.context)?;
        Trainable::resume(adapter, folder, &self.request.spec_digest, &self.context)
    }

    pub fn order(&self) -> Order {
        Order::new(self.data.train.len(), self.request.spec.batch, self.request.spec.seed)
    }

    /// Update k: its epoch, how many records it took, and what it says.
    pub fn update(&self, trainable: &Trainable, order: &mut Order, k: u64) -> Outcome<(u64, usize, Update)> {
        let (epoch, records) = order.update(k);
        let records: Vec<&Rendered> = records.iter().map(|index| &self.data.train[*index]).collect();
        let run =
            Static { context: &self.context, spec: &self.request.spec, model: &self.model, leaks: self.request.leaks };
        Ok((epoch, records.len(), trainable.update(&run, &records, k)?))
    }
}
