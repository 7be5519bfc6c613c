//! Sets of tensors: what must be there against what is. Separate because models, adapters and optimizer files are
//! refused alike.

use std::collections::BTreeMap;
use std::path::Path;

use hexapla::{Checkpoint, Context, Entry, Tensor};

use crate::failure::{At, Failure, Outcome};

/// A tensor that must be there.
pub type Named = (String, Vec<i64>);

/// Refuse another set of names or shapes, with counts and first names. The answer holds each expected tensor's index.
pub fn matched(expected: &[Named], entries: &[Entry], path: &Path) -> Outcome<Vec<u64>> {
    let stored: BTreeMap<&str, usize> = entries.iter().enumerate().map(|(i, entry)| (&*entry.name, i)).collect();
    let wanted: BTreeMap<&str, &[i64]> = expected.iter().map(|(name, shape)| (&**name, &**shape)).collect();
    let missing = expected.iter().map(|(name, _)| name.clone()).filter(|name| !stored.contains_key(&**name));
    let unexpected = entries.iter().map(|entry| entry.name.clone()).filter(|name| !wanted.contains_key(&**name));
    let other = entries.iter().filter_map(|entry| match wanted.get(&*entry.name) {
        Some(shape) if *shape != entry.shape => Some(format!("{} {:?} for {shape:?}", entry.name, entry.shape)),
        _ => None,
    });
    let lists = [
        ("missing", missing.collect::<Vec<_>>()),
        ("unexpected", unexpected.collect()),
        ("other shape", other.collect()),
    ];
    let found = lists.iter().filter(|(_, names)| !names.is_empty());
    let texts: Vec<String> =
        found.map(|(what, names)| format!("{what} {} ({}{})", names.len(), first(names), more(names))).collect();
    if texts.is_empty() {
        return Ok(expected.iter().map(|(name, _)| stored[&**name] as u64).collect());
    }
    let place = path.display().to_string();
    Err(Failure::new("checkpoint", format!("{place}: {}", texts.join("; ")), place))
}

const NAMED: usize = 3;

fn first(names: &[String]) -> String {
    names[..names.len().min(NAMED)].join(", ")
}

fn more(names: &[String]) -> &'static str {
    if names.len() > NAMED { ", …" } else { "" }
}

/// Open a checkpoint and read exactly the expected tensors, in their order.
pub fn read(path: &Path, expected: &[Named], context: &Context) -> Outcome<(Checkpoint, Vec<Tensor>)> {
    let place = path.display().to_string();
    let checkpoint = Checkpoint::open(path).at(&*place)?;
    let indices = matched(expected, &checkpoint.entries().at(&*place)?, path)?;
    let tensors = indices.iter().zip(expected).map(|(index, (name, _))| checkpoint.read(*index, context).at(&**name));
    let tensors = tensors.collect::<Outcome<Vec<Tensor>>>()?;
    Ok((checkpoint, tensors))
}
