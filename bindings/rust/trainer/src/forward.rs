//! The forward pass: exactly the calls of docs/spec.md, "Forward", in their order, since gradients add in reverse
//! order of recording. The same for training (a tape) and evaluation (none).

use std::rc::Rc;

use hexapla::{Result, Tape, Tensor, ops};

use crate::adapter::Adapter;
use crate::batch::MicroBatch;
use crate::model::Model;
use crate::temporaries::Temporaries;

// Places in spec::PROJECTIONS.
const Q: usize = 0;
const K: usize = 1;
const V: usize = 2;
const O: usize = 3;
const GATE: usize = 4;
const UP: usize = 5;
const DOWN: usize = 6;

pub struct Forward<'a> {
    pub model: &'a Model,
    pub adapter: Option<&'a Adapter>,
    pub tape: Option<&'a Tape>,
    pub held: &'a Temporaries,
}

impl Forward<'_> {
    /// NLL of each label, (labels).
    pub fn nll(&self, batch: &MicroBatch) -> Result<Rc<Tensor>> {
        let model = self.model;
        let mut x = self.keep(ops::embedding(self.tape, &model.embedding, &batch.ids))?; // (rows, hidden)
        for layer in 0..model.layers.len() {
            let a = self.attention(layer, &x, batch)?;
            x = self.keep(ops::add(self.tape, &x, &a))?;
            let d = self.mlp(layer, &x)?;
            x = self.keep(ops::add(self.tape, &x, &d))?;
        }
        let h = self.norm(&x, &model.norm)?;
        let head = model.head.as_ref().unwrap_or(&model.embedding);
        self.keep(ops::linear_cross_entropy(self.tape, &h, head, &batch.rows, &batch.targets))
    }

    /// (rows, hidden) → (rows, hidden)
    fn attention(&self, layer: usize, x: &Tensor, batch: &MicroBatch) -> Result<Rc<Tensor>> {
        let (weights, config) = (&self.model.layers[layer], &self.model.config);
        let (rows, heads, kv_heads) = (batch.ids.len() as i64, config.heads, config.kv_heads);
        let h = self.norm(x, &weights.input_norm)?;
        let q = self.linear(layer, Q, &h)?; // (rows, heads · head_dim)
        let k = self.linear(layer, K, &h)?; // (rows, kv_heads · head_dim)
        let v = self.linear(layer, V, &h)?;
        let mut q = self.reshape(&q, &[rows, heads, config.head_dim])?;
        let mut k = self.reshape(&k, &[rows, kv_heads, config.head_dim])?;
        let v = self.reshape(&v, &[rows, kv_heads, config.head_dim])?;
        if let Some([q_norm, k_norm]) = &weights.head_norms {
            q = self.norm(&q, q_norm)?;
            k = self.norm(&k, k_norm)?;
        }
        let q = self.keep(ops::rope(self.tape, &q, &batch.positions, config.theta))?;
        let k = self.keep(ops::rope(self.tape, &k, &batch.positions, config.theta))?;
        let a = self.keep(ops::attention(self.tape, &q, &k, &v, &batch.starts, true))?;
        let a = self.reshape(&a, &[rows, heads * config.head_dim])?;
        self.linear(layer, O, &a)
    }

    /// (rows, hidden) → (rows, hidden)
    fn mlp(&self, layer: usize, x: &Tensor) -> Result<Rc<Tensor>> {
        let h = self.norm(x, &self.model.layers[layer].post_norm)?;
        let g = self.linear(layer, GATE, &h)?; // (rows, intermediate)
        let u = self.linear(layer, UP, &h)?;
        let m = self.keep(ops::swiglu(self.tape, &g, &u))?;
        self.linear(layer, DOWN, &m)
    }

    /// A projection, with its adapter where it has one.
    fn linear(&self, layer: usize, projection: usize, x: &Tensor) -> Result<Rc<Tensor>> {
        let w = &self.model.layers[layer].projections[projection];
        let adapter = self.adapter.and_then(|adapter| Some((adapter.factors(layer, projection)?, adapter.scale)));
        self.keep(match adapter {
            Some(((a, b), scale)) => ops::lora_linear(self.tape, x, w, a, b, scale),
            None => ops::linear(self.tape, x, w),
        })
    }

    fn norm(&self, x: &Tensor, gain: &Tensor) -> Result<Rc<Tensor>> {
        self.keep(ops::rms_norm(self.tape, x, gain, self.model.config.epsilon))
    }

    fn reshape(&self, x: &Tensor, shape: &[i64]) -> Result<Rc<Tensor>> {
        self.keep(ops::reshape(self.tape, x, shape))
    }

    fn keep(&self, made: Result<Tensor>) -> Result<Rc<Tensor>> {
        Ok(self.held.keep(made?))
    }
}
