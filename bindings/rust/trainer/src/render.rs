//! Rendering: a record's ids and the flags of those that are learned, or the reason why it is rejected. Knows the
//! tokenizer, not the model.

use std::collections::BTreeMap;
use std::path::Path;

use hexapla::Tokenizer;

use crate::events::Events;
use crate::failure::{At, Failure, Outcome};
use crate::json::{Value, object};
use crate::records::{self, Record};
use crate::requests::RenderRequest;
use crate::spec::Template;

/// An accepted record after the cut.
pub struct Rendered {
    pub ids: Vec<i32>,
    /// One an id: true if it is a label.
    pub flags: Vec<bool>,
}

/// A rendered file. `rejected` leaves out reasons with no record.
#[derive(Default)]
pub struct Rendering {
    pub accepted: Vec<Rendered>,
    pub rejected: BTreeMap<&'static str, u64>,
    pub markers: u64,
}

/// Ids that stand around every record, and the texts of added tokens.
pub struct Renderer {
    tokenizer: Tokenizer,
    length: usize,
    start: i32,
    end: i32,
    newline: Vec<i32>,
    /// Behind `<|im_start|>` of the answer, before its piece.
    opening: Vec<i32>,
    /// The text before an answer in its piece, and its ids alone.
    prefix: (&'static str, Vec<i32>),
    added: Vec<String>,
}

impl Renderer {
    pub fn open(folder: &Path, template: Template, length: usize) -> Outcome<Renderer> {
        let place = folder.display().to_string();
        let tokenizer = Tokenizer::open(folder).at(&*place)?;
        let id = |text: &str| tokenizer.id(text).at(text);
        let encode = |text: &str| tokenizer.encode(text).at(&*place);
        let (opening, prefix) = match template {
            Template::Qwen3 => {
                let mut opening = encode("assistant\n")?;
                opening.push(id("<think>")?);
                opening.extend(encode("\n\n")?);
                opening.push(id("</think>")?);
                (opening, "\n\n")
            }
            Template::Chatml => (Vec::new(), "assistant\n"),
        };
        Ok(Renderer {
            length,
            start: id("<|im_start|>")?,
            end: id("<|im_end|>")?,
            newline: encode("\n")?,
            opening,
            prefix: (prefix, encode(prefix)?),
            added: tokenizer.added_tokens().at(&*place)?.into_iter().map(|token| token.text).collect(),
            tokenizer,
        })
    }

    /// Ids and flags, or the first reason that applies.
    pub fn render(&self, record: &Record) -> Outcome<Result<Rendered, &'static str>> {
        if record.answer.contains("</think>") {
            return Ok(Err("think"));
        }
        let answer = record.answer.trim_start_matches('\n');
        if answer.is_empty() {
            return Ok(Err("empty"));
        }
        let encode = |text: String| self.tokenizer.encode(&text).at(&*record.id);
        let piece = encode(format!("{}{answer}", self.prefix.0))?;
        let Some(learned) = piece.strip_prefix(self.prefix.1.as_slice()) else {
            return Ok(Err("joined"));
        };
        let mut ids = Vec::new();
        for (role, text) in [("system", record.system.as_deref()), ("user", Some(record.question.as_str()))] {
            if let Some(text) = text {
                ids.push(self.start);
                ids.extend(encode(format!("{role}\n{text}"))?);
                ids.push(self.end);
                ids.extend(&self.newline);
            }
        }
        ids.push(self.start);
        ids.extend(&self.opening);
        ids.extend(&self.prefix.1);
        let first = ids.len();
        ids.extend(learned);
        ids.push(self.end);
        let behind = ids.len();
        ids.extend(&self.newline);
        ids.truncate(self.length);
        let flags: Vec<bool> = (0..ids.len()).map(|index| (first..behind).contains(&index)).collect();
        Ok(if flags.contains(&true) { Ok(Rendered { ids, flags }) } else { Err("no_label") })
    }

    /// Whether a raw text of the record contains the text of an added token.
    fn marked(&self, record: &Record) -> bool {
        let texts = [record.system.as_deref().unwrap_or(""), &record.question, &record.answer];
        self.added.iter().any(|token| texts.iter().any(|text| text.contains(token)))
    }

    /// Render a file; `each` hears of every record, in order.
    pub fn file(
        &self,
        path: &Path,
        mut each: impl FnMut(&Record, Result<&Rendered, &'static str>),
    ) -> Outcome<Rendering> {
        let mut rendering = Rendering::default();
        for record in records::read(path)? {
            rendering.markers += u64::from(self.marked(&record));
            let rendered = self.render(&record)?;
            each(&record, rendered.as_ref().map_err(|reason| *reason));
            match rendered {
                Ok(rendered) => rendering.accepted.push(rendered),
                Err(reason) => *rendering.rejected.entry(reason).or_default() += 1,
            }
        }
        Ok(rendering)
    }

    /// Render a file to train or evaluate on: one with no accepted record is refused.
    pub fn data(&self, path: &Path) -> Outcome<Rendering> {
        let rendering = self.file(path, |_, _| ())?;
        if rendering.accepted.is_empty() {
            let message = format!("{} has no accepted record", path.display());
            return Err(Failure::new("record", message, path.display().to_string()));
        }
        Ok(rendering)
    }
}

/// Counts by reason.
pub fn rejected_value(rejected: &BTreeMap<&'static str, u64>) -> Value {
    object(rejected.iter().map(|(reason, count)| (*reason, (*count).into())))
}

/// The `render` request.
pub fn answer(request: &RenderRequest, events: &Events) -> Outcome<()> {
    let renderer = Renderer::open(&request.tokenizer, request.template, request.length)?;
    let rendering = renderer.file(&request.records, |record, rendered| {
        let id = ("record", Value::from(record.id.as_str()));
        match rendered {
            Ok(rendered) => {
                let labels: String = rendered.flags.iter().map(|flag| if *flag { '1' } else { '0' }).collect();
                let ids = rendered.ids.iter().copied().collect();
                events.send("record", [id, ("ids", ids), ("labels", labels.into())]);
            }
            Err(reason) => events.send("record", [id, ("rejected", reason.into())]),
        }
    })?;
    events.send(
        "done",
        [
            ("accepted", rendering.accepted.len().into()),
            ("rejected", rejected_value(&rendering.rejected)),
            ("markers", rendering.markers.into()),
        ],
    );
    Ok(())
}
