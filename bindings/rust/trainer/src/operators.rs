//! The `operators` request: one op a case, on tensors from a file, with gradients where asked. A case that fails says
//! so and the next one runs.

use std::collections::BTreeSet;

use hexapla::checkpoint::write;
use hexapla::optimizer::{AdamW, adamw_step, gradient_clip, gradient_norm};
use hexapla::{Checkpoint, Context, Result, Tape, Tensor, ops};

use crate::events::Events;
use crate::failure::{At, Failure, Outcome};
use crate::fields::Fields;
use crate::json::Value;
use crate::requests::OperatorsRequest;

type Results = Vec<(String, Tensor)>;

pub fn answer(request: OperatorsRequest, events: &Events) -> Outcome<()> {
    let cases = request.cases.into_iter().map(Case::take).collect::<Outcome<Vec<Case>>>()?;
    let count = cases.len();
    let place = request.file.display().to_string();
    let context = request.context.open()?;
    let file = Checkpoint::open(&request.file).at(place)?;
    let mut results: Results = Vec::new();
    for mut case in cases {
        let name = case.name.clone();
        let outcome = case.run(&file, &context);
        let message = outcome.as_ref().err().map_or("", |failure| &failure.message);
        let ok = outcome.is_ok();
        events.send("case", [("case", name.as_str().into()), ("ok", ok.into()), ("message", message.into())]);
        let named =
            outcome.unwrap_or_default().into_iter().map(|(result, tensor)| (format!("{name}.{result}"), tensor));
        results.extend(named);
    }
    let written = results.iter().map(|(name, tensor)| (name.as_str(), tensor));
    write(&request.output, written, &[]).at(request.output.display().to_string())?;
    drop((results, file, context));
    events.send("done", [("cases", count.into())]);
    Ok(())
}

struct Case {
    name: String,
    op: String,
    attributes: Fields,
    inputs: Vec<String>,
    gradients: Vec<String>,
}

/// A tensor of the file, and what the op sees of it.
struct Input {
    stored: Tensor,
    view: Option<Tensor>,
}

impl Input {
    fn seen(&self) -> &Tensor {
        self.view.as_ref().unwrap_or(&self.stored)
    }
}

/// A strided view as `attributes` describes it.
struct View {
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
}

impl Case {
    fn take(value: Value) -> Outcome<Case> {
        let mut fields = Fields::new(value, "request", "cases.")?;
        let case = Case {
            name: fields.text("case")?,
            op: fields.text("op")?,
            attributes: fields.object("attributes", "request")?,
            inputs: fields.texts("inputs")?,
            gradients: fields.texts("gradients")?,
        };
        fields.finish()?;
        Ok(case)
    }

    fn run(&mut self, file: &Checkpoint, context: &Context) -> Outcome<Results> {
        match self.op.as_str() {
            "gradient_norm" => {
                let gradients = self.plain_inputs(file, context)?;
                Ok(vec![("output".to_string(), one(context, gradient_norm(&gradients)?)?)])
            }
            "clip" => self.clip(file, context),
            "adamw" => self.adamw(file, context),
            _ => self.recorded(file, context),
        }
    }

    fn stored(&self, name: &str, file: &Checkpoint, context: &Context) -> Result<Tensor> {
        file.read(file.find(&format!("{}.{name}", self.name))?, context)
    }

    fn plain_inputs(&self, file: &Checkpoint, context: &Context) -> Outcome<Vec<Tensor>> {
        self.inputs.iter().map(|name| self.stored(name, file, context).at(&**name)).collect()
    }

    fn clip(&mut self, file: &Checkpoint, context: &Context) -> Outcome<Results> {
        let gradients = self.plain_inputs(file, context)?;
        let norm = gradient_norm(&gradients)?;
        gradient_clip(&gradients, norm, self.attributes.number("clip_norm")?)?;
        let clipped = self.inputs.iter().map(|name| format!("output.{name}")).zip(gradients);
        Ok([("output.norm".to_string(), one(context, norm)?)].into_iter().chain(clipped).collect())
    }

    fn adamw(&mut self, file: &Checkpoint, context: &Context) -> Outcome<Results> {
        let inputs = self.plain_inputs(file, context)?;
        let [p, g, m, v] = inputs.as_slice() else {
            return Err(Failure::new("request", "adamw takes p, g, m, v", self.name.as_str()));
        };
        let attributes = &mut self.attributes;
        let numbers = AdamW {
            step: attributes.count("step", 0)?,
            learning_rate: attributes.number("learning_rate")?,
            beta1: attributes.number("beta1")?,
            beta2: attributes.number("beta2")?,
            epsilon: attributes.number("epsilon")?,
            weight_decay: attributes.number("weight_decay")?,
        };
        let [p, g, m, v] = [p, g, m, v].map(|tensor| [tensor.clone()]);
        adamw_step(&numbers, &p, &g, &m, &v)?;
        let named = ["output.p", "output.m", "output.v"].into_iter().zip([p, m, v]);
        Ok(named.map(|(name, [tensor])| (name.to_string(), tensor)).collect())
    }

    /// An op that can be recorded: its output, then the gradients asked for.
    fn recorded(&mut self, file: &Checkpoint, context: &Context) -> Outcome<Results> {
        let views = self.views()?;
        let tape = if self.gradients.is_empty() { None } else { Some(Tape::new(context)?) };
        let tape = tape.as_ref();
        let mut watched = Vec::new();
        let mut inputs = Vec::new();
        for name in &self.inputs {
            let stored = self.stored(name, file, context).at(&**name)?;
            if let (Some(tape), true) = (tape, self.gradients.contains(name)) {
                tape.watch(&stored, None)?;
                watched.push((name.clone(), stored.clone()));
            }
            inputs.push(viewed(tape, stored, views.iter().find(|(input, _)| input == name))?);
        }
        let seen: Vec<&Tensor> = inputs.iter().map(Input::seen).collect();
        let output = self.operation(tape, &seen)?;
        let mut results = vec![("output".to_string(), contiguous(&output, context)?)];
        if let Some(tape) = tape {
            let name = "incoming";
            let incoming = match file.find(&format!("{}.{name}", self.name)) {
                Ok(index) => Some(file.read(index, context)?),
                Err(_) => None,
            };
            let view = views.iter().find(|(input, _)| input == name);
            let incoming = incoming.map(|stored| viewed(None, stored, view)).transpose()?;
            tape.backward(&output, incoming.as_ref().map(Input::seen))?;
            for name in &self.gradients {
                let found = watched.iter().find(|(input, _)| input == name);
                let (_, tensor) =
                    found.ok_or_else(|| Failure::new("request", format!("{name} is no input"), self.name.as_str()))?;
                results.push((format!("gradient.{name}"), tape.gradient(tensor)?));
            }
        }
        Ok(results)
    }

    /// `strides`, `view` and `offset` of the attributes, by input.
    fn views(&mut self) -> Outcome<Vec<(String, View)>> {
        let Some(strides) = self.attributes.take("strides") else {
            return Ok(Vec::new());
        };
        let names = match &strides {
            Value::Object(pairs) => pairs.iter().map(|(name, _)| name.clone()).collect(),
            _ => BTreeSet::new(),
        };
        let mut strides = Fields::new(strides, "request", "strides.")?;
        let mut shapes = self.attributes.object("view", "request")?;
        let mut offsets = self.attributes.take("offset").map(|value| Fields::new(value, "request", "offset."));
        let mut views = Vec::new();
        for name in names {
            let offset = match &mut offsets {
                Some(Ok(offsets)) => offsets.take(&name),
                Some(Err(failure)) => return Err(failure.clone()),
                None => None,
            };
            let offset = match offset {
                None => 0,
                Some(Value::Integer(offset)) => offset,
                Some(other) => return Err(strides.wrong(&name, &format!("has {} as its offset", other.kind()))),
            };
            let view = View { shape: shapes.integers(&name)?, strides: strides.integers(&name)?, offset };
            views.push((name, view));
        }
        Ok(views)
    }

    fn operation(&mut self, tape: Option<&Tape>, inputs: &[&Tensor]) -> Outcome<Tensor> {
        let attributes = &mut self.attributes;
        Ok(match (self.op.as_str(), inputs) {
            ("embedding", [table]) => ops::embedding(tape, table, &attributes.integers("ids")?)?,
            ("rms_norm", [x, gain]) => ops::rms_norm(tape, x, gain, attributes.number("epsilon")?)?,
            ("linear", [x, w]) => ops::linear(tape, x, w)?,
            ("lora_linear", [x, w, a, b]) => ops::lora_linear(tape, x, w, a, b, attributes.number("scale")?)?,
            ("rope", [x]) => ops::rope(tape, x, &attributes.integers("positions")?, attributes.number("theta")?)?,
            ("attention", [q, k, v]) => {
                ops::attention(tape, q, k, v, &attributes.integers("starts")?, attributes.flag("causal")?)?
            }
            ("swiglu", [g, u]) => ops::swiglu(tape, g, u)?,
            ("add", [a, b]) => ops::add(tape, a, b)?,
            ("scale", [x]) => ops::scale(tape, x, attributes.number("scale")?)?,
            ("linear_cross_entropy", [h, w]) => {
                let (rows, targets): (Vec<i32>, Vec<i32>) =
                    (attributes.integers("rows")?, attributes.integers("targets")?);
                ops::linear_cross_entropy(tape, h, w, &rows, &targets)?
            }
            ("matmul", [a, b]) => ops::matmul(tape, a, b)?,
            ("softmax", [x]) => ops::softmax(tape, x)?,
            ("transpose", [x]) => ops::transpose(tape, x)?,
            ("reshape", [x]) => ops::reshape(tape, x, &attributes.integers::<i64>("shape")?)?,
            ("reduce_sum", [x]) => {
                let axis = attributes.integer("axis", 0, i64::from(u32::MAX))?;
                ops::reduce_sum(tape, x, axis as u32)?
            }
            (op, inputs) => {
                let message = format!("no op {op:?} of {} inputs", inputs.len());
                return Err(Failure::new("request", message, self.name.as_str()));
            }
        })
    }
}

fn viewed(tape: Option<&Tape>, stored: Tensor, view: Option<&(String, View)>) -> Result<Input> {
    let view = match view {
        Some((_, view)) => Some(ops::as_strided(tape, &stored, &view.shape, &view.strides, view.offset)?),
        None => None,
    };
    Ok(Input { stored, view })
}

/// The same values without gaps: what a view shows is written in its own order.
fn contiguous(tensor: &Tensor, context: &Context) -> Result<Tensor> {
    let info = tensor.info()?;
    if info.contiguous { Ok(tensor.clone()) } else { Tensor::from_values(context, &info.shape, &tensor.read()?) }
}

/// A number as a tensor of shape (1).
fn one(context: &Context, value: f64) -> Result<Tensor> {
    Tensor::from_values(context, &[1], &[value as f32])
}
