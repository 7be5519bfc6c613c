//! The base model's tensors. Separate because they are read once, widened to f32, and never changed.

use std::path::Path;

use hexapla::{Checkpoint, Context, Entry, Tensor};

use crate::config::{Config, EMBEDDING, HEAD};
use crate::failure::{At, Failure, Outcome};
use crate::names::matched;

pub struct Layer {
    pub input_norm: Tensor,
    pub post_norm: Tensor,
    /// By `spec::PROJECTIONS`.
    pub projections: [Tensor; 7],
    /// Of queries and keys.
    pub head_norms: Option<[Tensor; 2]>,
}

pub struct Model {
    pub config: Config,
    pub embedding: Tensor,
    pub norm: Tensor,
    /// None: the embedding is the head.
    pub head: Option<Tensor>,
    pub layers: Vec<Layer>,
}

/// A model's files, checked against its config: nothing is read yet, a tied head that is stored too apart.
pub struct Files {
    pub config: Config,
    pub checkpoint: Checkpoint,
    /// Without a tied head, sorted by name.
    pub entries: Vec<(u64, Entry)>,
    /// By `Config::tensors`.
    indices: Vec<u64>,
}

impl Files {
    pub fn open(folder: &Path, context: &Context) -> Outcome<Files> {
        let place = folder.display().to_string();
        let config = Config::read(folder)?;
        let checkpoint = Checkpoint::open(folder).at(&*place)?;
        let mut expected = config.tensors();
        let mut entries = checkpoint.entries().at(&*place)?;
        let doubled = config.tied && entries.iter().any(|entry| entry.name == HEAD);
        if doubled {
            expected.push((HEAD.to_string(), vec![config.vocabulary, config.hidden]));
        }
        let mut indices = matched(&expected, &entries, folder)?;
        if doubled {
            let [embedding, head] = [indices[0], indices.pop().expect("pushed above")].map(|index| {
                let tensor = checkpoint.read(index, context).at(&*entries[index as usize].name)?;
                Tensor::digest([&tensor]).at(HEAD)
            });
            if embedding? != head? {
                let message = format!("{place}: {HEAD} differs from {EMBEDDING}, which config.json ties it to");
                return Err(Failure::new("checkpoint", message, HEAD));
            }
        }
        let listed = entries.drain(..).enumerate().map(|(index, entry)| (index as u64, entry));
        let entries = listed.filter(|(_, entry)| !(config.tied && entry.name == HEAD)).collect();
        Ok(Files { config, checkpoint, entries, indices })
    }
}

impl Model {
    pub fn read(folder: &Path, context: &Context) -> Outcome<Model> {
        let Files { config, checkpoint, indices, .. } = Files::open(folder, context)?;
        let names = config.tensors();
        let mut wanted = indices.iter().zip(&names);
        let mut next = || {
            let (index, (name, _)) = wanted.next().expect("Config::tensors lists what is taken here");
            checkpoint.read(*index, context).at(&**name)
        };
        let embedding = next()?;
        let norm = next()?;
        let head = if config.tied { None } else { Some(next()?) };
        let mut layers = Vec::with_capacity(config.layers);
        for _ in 0..config.layers {
            layers.push(Layer {
                input_norm: next()?,
                post_norm: next()?,
                projections: [next()?, next()?, next()?, next()?, next()?, next()?, next()?],
                head_norms: if config.head_norms { Some([next()?, next()?]) } else { None },
            });
        }
        Ok(Model { config, embedding, norm, head, layers })
    }
}
