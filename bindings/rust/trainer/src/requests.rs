//! Requests, read strictly: every key shown in the protocol is required, another is refused. Separate so that no
//! stage sees JSON.

use std::path::PathBuf;

use hexapla::{Context, Options};

use crate::failure::{At, Failure, Outcome};
use crate::fields::{Fields, INTEGER_MAX};
use crate::json::Value;
use crate::spec::{Spec, Template};

const REQUEST: &str = "request";

/// The context that a request asks for.
#[derive(Clone)]
pub struct ContextRequest {
    pub device: String,
    pub threads: u32,
    pub memory_limit: u64,
    pub spill: bool,
    pub ledger: Option<PathBuf>,
}

impl ContextRequest {
    fn take(fields: &mut Fields) -> Outcome<ContextRequest> {
        let mut fields = fields.object("context", REQUEST)?;
        let context = ContextRequest {
            device: fields.text("device")?,
            threads: fields.integer("threads", 0, i64::from(u32::MAX))? as u32,
            memory_limit: fields.count("memory_limit", 0)?,
            spill: fields.flag("spill")?,
            ledger: fields.nullable("ledger", Fields::path)?,
        };
        fields.finish()?;
        Ok(context)
    }

    pub fn options(&self) -> Options {
        let options = Options::default().threads(self.threads).memory_limit(self.memory_limit);
        options.spill(self.spill).ledger(self.ledger.clone())
    }

    pub fn open(&self) -> Outcome<Context> {
        Context::new(&self.device, &self.options()).at(&*self.device)
    }
}

pub struct OperatorsRequest {
    pub context: ContextRequest,
    pub cases: Vec<Value>,
    pub file: PathBuf,
    pub output: PathBuf,
}

pub struct LoadRequest {
    pub context: ContextRequest,
    pub model: PathBuf,
}

pub struct RenderRequest {
    pub tokenizer: PathBuf,
    pub records: PathBuf,
    pub template: Template,
    pub length: usize,
}

pub struct EvaluateRequest {
    pub context: ContextRequest,
    pub spec: Spec,
    pub model: PathBuf,
    pub tokenizer: PathBuf,
    pub heldout: PathBuf,
    pub adapter: Option<PathBuf>,
}

#[derive(Clone)]
pub struct TrainRequest {
    pub spec: Spec,
    pub spec_digest: String,
    pub model: PathBuf,
    pub tokenizer: PathBuf,
    pub train: PathBuf,
    pub heldout: PathBuf,
    pub adapter: PathBuf,
    pub output: PathBuf,
    pub resume_from: Option<PathBuf>,
    pub stop_after: Option<u64>,
    pub migrating: bool,
    /// `release: collector`: temporaries leak.
    pub leaks: bool,
}

impl TrainRequest {
    /// The keys of a `train` request, context apart.
    pub fn take(fields: &mut Fields) -> Outcome<TrainRequest> {
        Ok(TrainRequest {
            spec: Spec::take(fields.object("spec", "spec")?)?,
            spec_digest: fields.text("spec_digest")?,
            model: fields.path("model")?,
            tokenizer: fields.path("tokenizer")?,
            train: fields.path("train")?,
            heldout: fields.path("heldout")?,
            adapter: fields.path("adapter")?,
            output: fields.path("output")?,
            resume_from: fields.nullable("resume_from", Fields::path)?,
            stop_after: fields
                .nullable("stop_after", |fields, key| fields.integer(key, -INTEGER_MAX, INTEGER_MAX))?
                // One below 1 is not above any starting update: 0 is refused for the same reason later.
                .map(|value| u64::try_from(value).unwrap_or(0)),
            migrating: fields.word("schedule", &["pinned", "migrating"])? == "migrating",
            leaks: fields.word("release", &["explicit", "collector"])? == "collector",
        })
    }
}

pub struct ProbeRequest {
    pub context: ContextRequest,
    pub scenario: String,
    pub parameters: Fields,
}

/// What a line asks for.
pub enum Request {
    Hello,
    Abi,
    Operators(OperatorsRequest),
    Load(LoadRequest),
    Render(RenderRequest),
    Evaluate(Box<EvaluateRequest>),
    Train(ContextRequest, Box<TrainRequest>),
    Probe(ProbeRequest),
    Bye,
    Unknown(String),
}

impl Request {
    /// Read what stands beside `id`.
    pub fn take(mut fields: Fields) -> Outcome<Request> {
        let protocol = fields.integer("protocol", -INTEGER_MAX, INTEGER_MAX)?;
        if protocol != 1 {
            return Err(Failure::new(REQUEST, format!("protocol: is {protocol}, this trainer speaks 1"), "protocol"));
        }
        let name = fields.text("request")?;
        let request = match name.as_str() {
            "hello" => Request::Hello,
            "abi" => Request::Abi,
            "operators" => Request::Operators(OperatorsRequest {
                context: ContextRequest::take(&mut fields)?,
                cases: fields.array("cases")?,
                file: fields.path("file")?,
                output: fields.path("output")?,
            }),
            "load" => {
                Request::Load(LoadRequest { context: ContextRequest::take(&mut fields)?, model: fields.path("model")? })
            }
            "render" => Request::Render(RenderRequest {
                tokenizer: fields.path("tokenizer")?,
                records: fields.path("records")?,
                template: Template::take(&mut fields, "template")?,
                length: fields.count("length", 2)? as usize,
            }),
            "evaluate" => Request::Evaluate(Box::new(EvaluateRequest {
                context: ContextRequest::take(&mut fields)?,
                spec: Spec::take(fields.object("spec", "spec")?)?,
                model: fields.path("model")?,
                tokenizer: fields.path("tokenizer")?,
                heldout: fields.path("heldout")?,
                adapter: fields.nullable("adapter", Fields::path)?,
            })),
            "train" => {
                let context = ContextRequest::take(&mut fields)?;
                Request::Train(context, Box::new(TrainRequest::take(&mut fields)?))
            }
            "probe" => Request::Probe(ProbeRequest {
                context: ContextRequest::take(&mut fields)?,
                scenario: fields.text("scenario")?,
                parameters: fields.object("parameters", REQUEST)?,
            }),
            "bye" => Request::Bye,
            _ => return Ok(Request::Unknown(name)),
        };
        fields.finish()?;
        Ok(request)
    }
}
