//! A model's config.json, and the tensors that it calls for. Separate because nothing is derived or assumed here:
//! what changes the forward pass and is not understood is refused.

use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::fields::Fields;
use crate::json::Value;
use crate::json_reader;
use crate::names::Named;
use crate::spec::{PROJECTIONS, Spec};

pub const EMBEDDING: &str = "model.embed_tokens.weight";
pub const NORM: &str = "model.norm.weight";
pub const HEAD: &str = "lm_head.weight";

pub struct Config {
    /// Norms on queries and keys (qwen3); none in llama.
    pub head_norms: bool,
    pub tied: bool,
    pub layers: usize,
    pub vocabulary: i64,
    pub hidden: i64,
    pub intermediate: i64,
    pub heads: i64,
    pub kv_heads: i64,
    pub head_dim: i64,
    pub epsilon: f64,
    pub theta: f64,
}

impl Config {
    /// Read `folder`/config.json.
    pub fn read(folder: &Path) -> Outcome<Config> {
        let path = folder.join("config.json");
        let value = read_file(&path)?;
        let mut fields = Fields::new(value, "checkpoint", &format!("{}: ", path.display()))?;
        refuse(&mut fields)?;
        let size = |fields: &mut Fields, key: &str| fields.integer(key, 1, i64::from(i32::MAX));
        let config = Config {
            head_norms: fields.word("model_type", &["qwen3", "llama"])? == "qwen3",
            tied: fields.flag("tie_word_embeddings")?,
            layers: size(&mut fields, "num_hidden_layers")? as usize,
            vocabulary: size(&mut fields, "vocab_size")?,
            hidden: size(&mut fields, "hidden_size")?,
            intermediate: size(&mut fields, "intermediate_size")?,
            heads: size(&mut fields, "num_attention_heads")?,
            kv_heads: size(&mut fields, "num_key_value_heads")?,
            head_dim: size(&mut fields, "head_dim")?,
            epsilon: fields.number_in("rms_norm_eps", "at least 0", |value| value >= 0.0)?,
            theta: theta(&mut fields)?,
        };
        if config.heads % config.kv_heads != 0 {
            let message = format!("is {}, not a multiple of {} key heads", config.heads, config.kv_heads);
            return Err(fields.wrong("num_attention_heads", &message));
        }
        Ok(config)
    }

    /// (out, in) of a projection.
    pub fn projection(&self, index: usize) -> (i64, i64) {
        let (queries, keys) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        let sizes = [
            (queries, self.hidden),
            (keys, self.hidden),
            (keys, self.hidden),
            (self.hidden, queries),
            (self.intermediate, self.hidden),
            (self.intermediate, self.hidden),
            (self.hidden, self.intermediate),
        ];
        sizes[index]
    }

    /// Every tensor of the model, a tied head apart: embedding, norm, perhaps the head, then layer by layer as
    /// `Model` takes them.
    pub fn tensors(&self) -> Vec<Named> {
        let table = vec![self.vocabulary, self.hidden];
        let mut named = vec![(EMBEDDING.to_string(), table.clone()), (NORM.to_string(), vec![self.hidden])];
        if !self.tied {
            named.push((HEAD.to_string(), table));
        }
        for layer in 0..self.layers {
            let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
            named.push((name("input_layernorm"), vec![self.hidden]));
            named.push((name("post_attention_layernorm"), vec![self.hidden]));
            for (index, projection) in PROJECTIONS.iter().enumerate() {
                let (rows, columns) = self.projection(index);
                named.push((name(&format!("{}.{projection}", block(index))), vec![rows, columns]));
            }
            if self.head_norms {
                named.push((name("self_attn.q_norm"), vec![self.head_dim]));
                named.push((name("self_attn.k_norm"), vec![self.head_dim]));
            }
        }
        named
    }

    /// The adapter's tensors in adapter order: A, then B, of each target.
    pub fn adapter_tensors(&self, spec: &Spec) -> Vec<Named> {
        let mut named = Vec::new();
        for layer in 0..self.layers {
            for (index, projection) in PROJECTIONS.iter().enumerate().filter(|(index, _)| spec.targets[*index]) {
                let (rows, columns) = self.projection(index);
                let name = format!("base_model.model.model.layers.{layer}.{}.{projection}", block(index));
                named.push((format!("{name}.lora_A.weight"), vec![spec.rank, columns]));
                named.push((format!("{name}.lora_B.weight"), vec![rows, spec.rank]));
            }
        }
        named
    }
}

/// The block that a projection belongs to.
fn block(index: usize) -> &'static str {
    if index < 4 { "self_attn" } else { "mlp" }
}

/// A JSON file of a model or adapter.
pub fn read_file(path: &Path) -> Outcome<Value> {
    let bytes = std::fs::read(path).map_err(|error| Failure::io(path, &error))?;
    let place = path.display().to_string();
    json_reader::read(&bytes).map_err(|message| Failure::new("checkpoint", format!("{place}: {message}"), place))
}

/// What would change the forward pass and is not done here.
fn refuse(fields: &mut Fields) -> Outcome<()> {
    for key in ["quantization", "quantization_config", "rope_scaling"] {
        if !matches!(fields.take(key), None | Some(Value::Null)) {
            return Err(fields.wrong(key, "is given, but not supported"));
        }
    }
    for key in ["attention_bias", "mlp_bias", "use_sliding_window"] {
        if !matches!(fields.take(key), None | Some(Value::Null | Value::Bool(false))) {
            return Err(fields.wrong(key, "must be false or absent"));
        }
    }
    match fields.take("hidden_act") {
        None => Ok(()),
        Some(Value::Text(text)) if text == "silu" => Ok(()),
        Some(_) => Err(fields.wrong("hidden_act", "must be \"silu\"")),
    }
}

/// rope_theta, at the top or inside rope_parameters.
fn theta(fields: &mut Fields) -> Outcome<f64> {
    let above_0 = |fields: &mut Fields| fields.number_in("rope_theta", "above 0", |value| value > 0.0);
    let mut inner = match fields.take("rope_parameters") {
        None | Some(Value::Null) => return above_0(fields),
        Some(value) => Fields::new(value, "checkpoint", "rope_parameters.")?,
    };
    match inner.take("rope_type") {
        None => {}
        Some(Value::Text(text)) if text == "default" => {}
        Some(_) => return Err(inner.wrong("rope_type", "must be \"default\": rope scaling is not supported")),
    }
    let theta = above_0(&mut inner)?;
    inner.finish()?;
    match fields.take("rope_theta") {
        None => Ok(theta),
        Some(Value::Integer(top)) if top as f64 == theta => Ok(theta),
        Some(Value::Number(top)) if top == theta => Ok(theta),
        Some(_) => Err(fields.wrong("rope_theta", "differs from the one in rope_parameters")),
    }
}
