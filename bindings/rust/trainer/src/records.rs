//! Record files: JSON Lines, read as strictly as requests. Knows nothing of tokens.

use std::collections::HashSet;
use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::fields::Fields;
use crate::json::Value;
use crate::json_reader;

pub struct Record {
    pub id: String,
    pub system: Option<String>,
    pub question: String,
    pub answer: String,
}

/// All records of a file, in order. A wrong line is refused with its number.
pub fn read(path: &Path) -> Outcome<Vec<Record>> {
    let bytes = std::fs::read(path).map_err(|error| Failure::io(path, &error))?;
    let mut seen = HashSet::new();
    let mut records = Vec::new();
    // The last line needs no \n; one that ends the file opens no further line.
    let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    if bytes.is_empty() {
        return Ok(records);
    }
    for (index, line) in body.split(|byte| *byte == b'\n').enumerate() {
        let place = format!("{}:{}", path.display(), index + 1);
        let refuse = |message: &str| Failure::new("record", format!("line {}: {message}", index + 1), place.as_str());
        let value = json_reader::read(line).map_err(|message| refuse(&message))?;
        let record = record(value).map_err(|failure| refuse(&failure.message))?;
        if !seen.insert(record.id.clone()) {
            return Err(refuse(&format!("id {:?} occurs twice", record.id)));
        }
        records.push(record);
    }
    Ok(records)
}

fn record(value: Value) -> Outcome<Record> {
    let mut fields = Fields::new(value, "record", "")?;
    let id = fields.text("id")?;
    let system = fields.take("system");
    let system = system.map(|value| match value {
        Value::Text(text) => Ok(text),
        other => Err(fields.wrong("system", &format!("is {}, must be a string", other.kind()))),
    });
    Ok(Record { id, system: system.transpose()?, question: fields.text("question")?, answer: fields.text("answer")? })
}
