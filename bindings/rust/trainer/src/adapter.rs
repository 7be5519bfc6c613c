//! The adapter: the tensors that are trained, and where each sits. Separate from the optimizer's state, because
//! evaluation needs only this.

use std::path::Path;

use hexapla::{Context, Tensor};

use crate::config::{Config, read_file};
use crate::failure::{At, Failure, Outcome};
use crate::fields::{Fields, plain};
use crate::names::{self, Named};
use crate::spec::Spec;

pub struct Adapter {
    pub names: Vec<Named>,
    /// In adapter order.
    pub parameters: Vec<Tensor>,
    /// By layer and projection: the index of A; B follows.
    places: Vec<[Option<usize>; 7]>,
    /// alpha / rank.
    pub scale: f64,
}

impl Adapter {
    /// Read adapter_model.safetensors of a folder; its set of tensors must be the spec's.
    pub fn read(folder: &Path, config: &Config, spec: &Spec, context: &Context) -> Outcome<Adapter> {
        let names = config.adapter_tensors(spec);
        let (_, parameters) = names::read(&folder.join("adapter_model.safetensors"), &names, context)?;
        let mut next = (0..).step_by(2);
        let mut place = || spec.targets.map(|target| if target { next.next() } else { None });
        let places = (0..config.layers).map(|_| place()).collect();
        Ok(Adapter { names, parameters, places, scale: spec.alpha / spec.rank as f64 })
    }

    /// A and B of a projection, if it has any.
    pub fn factors(&self, layer: usize, projection: usize) -> Option<(&Tensor, &Tensor)> {
        let index = self.places[layer][projection]?;
        Some((&self.parameters[index], &self.parameters[index + 1]))
    }

    pub fn digest(&self) -> Outcome<String> {
        Tensor::digest(&self.parameters).at("adapter digest")
    }
}

/// adapter_config.json of a folder, byte for byte. Its r and lora_alpha must be the spec's.
pub fn config_bytes(folder: &Path, spec: &Spec) -> Outcome<Vec<u8>> {
    let path = folder.join("adapter_config.json");
    let bytes = std::fs::read(&path).map_err(|error| Failure::io(&path, &error))?;
    let mut fields = Fields::new(read_file(&path)?, "checkpoint", &format!("{}: ", path.display()))?;
    for (key, wanted) in [("r", spec.rank as f64), ("lora_alpha", spec.alpha)] {
        fields.number_in(key, &format!("{} as in the spec", plain(wanted)), |value| value == wanted)?;
    }
    Ok(bytes)
}
