//! The training specification: every key required, every range checked, no default. Separate because nothing else may
//! decide what a run is.

use std::f64::consts::PI;

use crate::failure::Outcome;
use crate::fields::Fields;

/// The projections that an adapter can sit on, in adapter order.
pub const PROJECTIONS: [&str; 7] = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    Qwen3,
    Chatml,
}

impl Template {
    /// Read a template's name.
    pub fn take(fields: &mut Fields, key: &str) -> Outcome<Template> {
        Ok(if fields.word(key, &["qwen3", "chatml"])? == "qwen3" { Template::Qwen3 } else { Template::Chatml })
    }
}

#[derive(Clone, Debug)]
pub struct Spec {
    pub seed: u64,
    pub updates: u64,
    pub batch: usize,
    pub micro_batch: usize,
    pub length: usize,
    pub learning_rate: f64,
    pub warmup_updates: u64,
    /// Cosine; else linear.
    pub cosine: bool,
    pub decay_floor: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    pub weight_decay: f64,
    pub clip_norm: f64,
    pub rank: i64,
    pub alpha: f64,
    /// By [`PROJECTIONS`].
    pub targets: [bool; 7],
    pub evaluate_every: u64,
    pub save_every: u64,
    pub template: Template,
}

impl Spec {
    /// Read a spec. A missing, unknown or out-of-range key is named.
    pub fn take(mut fields: Fields) -> Outcome<Spec> {
        let from = &mut fields;
        let updates = from.count("updates", 1)?;
        let batch = from.count("batch", 1)?;
        let micro_batch = from.integer("micro_batch", 1, batch as i64)? as usize;
        let positive = |fields: &mut Fields, key: &str| fields.number_in(key, "above 0", |value| value > 0.0);
        let beta = |fields: &mut Fields, key: &str| {
            fields.number_in(key, "at least 0 and below 1", |value| (0.0..1.0).contains(&value))
        };
        let spec = Spec {
            seed: from.integer("seed", 0, i64::from(i32::MAX))? as u64,
            updates,
            batch: batch as usize,
            micro_batch,
            length: from.count("length", 2)? as usize,
            learning_rate: positive(from, "learning_rate")?,
            warmup_updates: from.integer("warmup_updates", 0, updates as i64)? as u64,
            cosine: from.word("decay", &["cosine", "linear"])? == "cosine",
            decay_floor: from.number_in("decay_floor", "0 … 1", |value| (0.0..=1.0).contains(&value))?,
            beta1: beta(from, "beta1")?,
            beta2: beta(from, "beta2")?,
            epsilon: positive(from, "epsilon")?,
            weight_decay: from.number_in("weight_decay", "at least 0", |value| value >= 0.0)?,
            clip_norm: positive(from, "clip_norm")?,
            rank: from.count("rank", 1)? as i64,
            alpha: positive(from, "alpha")?,
            targets: targets(from)?,
            evaluate_every: from.count("evaluate_every", 1)?,
            save_every: from.count("save_every", 1)?,
            template: Template::take(from, "template")?,
        };
        from.word("precision", &["f32"])?;
        fields.finish()?;
        Ok(spec)
    }

    /// η(k): f64 all the way, then rounded to f32.
    pub fn learning_rate_at(&self, k: u64) -> f32 {
        let (warmup, floor) = (self.warmup_updates, self.decay_floor);
        let factor = if k <= warmup {
            k as f64 / warmup as f64
        } else {
            let (past, span) = ((k - warmup) as f64, (self.updates - warmup) as f64);
            if self.cosine {
                floor + (1.0 - floor) * (1.0 + (PI * past / span).cos()) / 2.0
            } else {
                floor + (1.0 - floor) * (self.updates - k) as f64 / span
            }
        };
        (self.learning_rate * factor) as f32
    }

    pub fn evaluates_at(&self, k: u64) -> bool {
        k % self.evaluate_every == 0 || k == self.updates
    }

    pub fn saves_at(&self, k: u64, stop_after: Option<u64>) -> bool {
        k % self.save_every == 0 || k == self.updates || Some(k) == stop_after
    }
}

fn targets(fields: &mut Fields) -> Outcome<[bool; 7]> {
    let mut found = [false; 7];
    let names = fields.texts("targets")?;
    if names.is_empty() {
        return Err(fields.wrong("targets", "is empty, must name a projection"));
    }
    for name in names {
        match PROJECTIONS.iter().position(|projection| *projection == name) {
            Some(index) if !found[index] => found[index] = true,
            Some(_) => return Err(fields.wrong("targets", &format!("names {name:?} twice"))),
            None => {
                let message = format!("names {name:?}, must be among {}", PROJECTIONS.join(", "));
                return Err(fields.wrong("targets", &message));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
pub mod tests {
    use super::Spec;
    use crate::fields::Fields;
    use crate::json_reader::read;

    const TINY: &str = r#"{"seed":1,"updates":60,"batch":16,"micro_batch":4,"length":256,"learning_rate":0.002,
        "warmup_updates":2,"decay":"cosine","decay_floor":0.1,"beta1":0.9,"beta2":0.999,"epsilon":1e-8,"weight_decay":0.01,
        "clip_norm":1.0,"rank":8,"alpha":16,"targets":["q_proj"],"evaluate_every":10,"save_every":20,"template":"qwen3",
        "precision":"f32"}"#;

    fn spec(text: &str) -> crate::failure::Outcome<Spec> {
        Spec::take(Fields::new(read(text.as_bytes()).expect("valid JSON"), "spec", "spec.")?)
    }

    #[test]
    fn learning_rates_have_the_bits_of_the_check_values() {
        let tiny = spec(TINY).expect("a whole spec");
        let bits = |spec: &Spec, k| f64::from(spec.learning_rate_at(k)).to_bits();
        assert_eq!(bits(&tiny, 1), 0x3f50_624d_e000_0000);
        assert_eq!(bits(&tiny, 3), 0x3f60_5f89_4000_0000);
        assert_eq!(bits(&tiny, 31), 0x3f52_05bc_0000_0000);
        assert_eq!(bits(&tiny, 60), 0x3f2a_36e2_e000_0000);
        let full = Spec { updates: 10536, warmup_updates: 317, learning_rate: 2e-4, ..tiny };
        assert_eq!(bits(&full, 5000), 0x3f1f_eba1_8000_0000);
    }

    #[test]
    fn a_wrong_key_is_named() {
        let cases = [
            ("\"rank\":8,", "", "spec.rank: missing"),
            ("\"rank\":8", "\"rank\":8,\"dropout\":0", "spec.dropout: unknown key"),
            ("\"micro_batch\":4", "\"micro_batch\":17", "spec.micro_batch: is 17, must be 1 … 16"),
            ("\"beta1\":0.9", "\"beta1\":1", "spec.beta1: is 1, must be"),
            ("[\"q_proj\"]", "[\"q_proj\",\"q_proj\"]", "spec.targets: names \"q_proj\" twice"),
            ("\"seed\":1", "\"seed\":1.0", "spec.seed: is 1.0, must be an integer"),
        ];
        for (old, new, message) in cases {
            let failure = spec(&TINY.replace(old, new)).expect_err("must be refused");
            assert_eq!(failure.status, "spec");
            assert!(failure.message.starts_with(message), "{}", failure.message);
        }
    }
}
