//! Reading an object key by key: each is taken once, with its type; what is left at the end is unknown. Separate
//! because requests, specs, records and configs all want the same messages.

use std::path::PathBuf;

use crate::failure::{Failure, Outcome};
use crate::json::Value;

/// Integers of the protocol stay below 2^53.
pub const INTEGER_MAX: i64 = (1 << 53) - 1;

/// An object that is being read. `status` is what a wrong key is reported as.
pub struct Fields {
    pairs: Vec<(String, Value)>,
    status: &'static str,
    /// Where the object is: "" or "spec." in front of a key, or a file.
    prefix: String,
}

impl Fields {
    pub fn new(value: Value, status: &'static str, prefix: &str) -> Outcome<Fields> {
        match value {
            Value::Object(pairs) => Ok(Fields { pairs, status, prefix: prefix.to_string() }),
            other => Err(Failure::new(
                status,
                format!("{} where an object must be", other.kind()),
                prefix.trim_end_matches('.'),
            )),
        }
    }

    /// A failure about one key.
    pub fn wrong(&self, key: &str, message: &str) -> Failure {
        Failure::new(self.status, format!("{}{key}: {message}", self.prefix), format!("{}{key}", self.prefix))
    }

    /// The value of a key that may be absent.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        let index = self.pairs.iter().position(|(name, _)| name == key)?;
        Some(self.pairs.swap_remove(index).1)
    }

    pub fn value(&mut self, key: &str) -> Outcome<Value> {
        self.take(key).ok_or_else(|| self.wrong(key, "missing"))
    }

    pub fn text(&mut self, key: &str) -> Outcome<String> {
        match self.value(key)? {
            Value::Text(text) => Ok(text),
            other => Err(self.wrong(key, &format!("is {}, must be a string", other.kind()))),
        }
    }

    /// One of several words.
    pub fn word(&mut self, key: &str, words: &[&'static str]) -> Outcome<&'static str> {
        let text = self.text(key)?;
        let known = words.iter().find(|word| **word == text).copied();
        known.ok_or_else(|| self.wrong(key, &format!("is {text:?}, must be one of {}", words.join(", "))))
    }

    pub fn path(&mut self, key: &str) -> Outcome<PathBuf> {
        let path = PathBuf::from(self.text(key)?);
        if path.is_absolute() { Ok(path) } else { Err(self.wrong(key, &format!("is {path:?}, must be absolute"))) }
    }

    pub fn flag(&mut self, key: &str) -> Outcome<bool> {
        match self.value(key)? {
            Value::Bool(flag) => Ok(flag),
            other => Err(self.wrong(key, &format!("is {}, must be true or false", other.kind()))),
        }
    }

    /// An integer in `least ..= most`.
    pub fn integer(&mut self, key: &str, least: i64, most: i64) -> Outcome<i64> {
        match self.value(key)? {
            Value::Integer(value) if (least..=most).contains(&value) => Ok(value),
            Value::Integer(value) => Err(self.wrong(key, &format!("is {value}, must be {least} … {most}"))),
            Value::Number(value) => Err(self.wrong(key, &format!("is {value:?}, must be an integer"))),
            other => Err(self.wrong(key, &format!("is {}, must be an integer", other.kind()))),
        }
    }

    /// An integer ≥ `least`, as a count.
    pub fn count(&mut self, key: &str, least: u64) -> Outcome<u64> {
        self.integer(key, least as i64, INTEGER_MAX).map(|value| value as u64)
    }

    pub fn number(&mut self, key: &str) -> Outcome<f64> {
        match self.value(key)? {
            Value::Integer(value) => Ok(value as f64),
            Value::Number(value) => Ok(value),
            other => Err(self.wrong(key, &format!("is {}, must be a number", other.kind()))),
        }
    }

    /// A number for which `holds`; `range` says what that is.
    pub fn number_in(&mut self, key: &str, range: &str, holds: impl Fn(f64) -> bool) -> Outcome<f64> {
        let value = self.number(key)?;
        if holds(value) { Ok(value) } else { Err(self.wrong(key, &format!("is {}, must be {range}", plain(value)))) }
    }

    pub fn array(&mut self, key: &str) -> Outcome<Vec<Value>> {
        match self.value(key)? {
            Value::Array(values) => Ok(values),
            other => Err(self.wrong(key, &format!("is {}, must be a list", other.kind()))),
        }
    }

    pub fn texts(&mut self, key: &str) -> Outcome<Vec<String>> {
        let values = self.array(key)?;
        let texts = values.into_iter().map(|value| match value {
            Value::Text(text) => Ok(text),
            other => Err(self.wrong(key, &format!("holds {}, must be a list of strings", other.kind()))),
        });
        texts.collect()
    }

    pub fn integers<T: TryFrom<i64>>(&mut self, key: &str) -> Outcome<Vec<T>> {
        let values = self.array(key)?;
        let integers = values.into_iter().map(|value| match value {
            Value::Integer(number) => {
                T::try_from(number).map_err(|_| self.wrong(key, &format!("holds {number}, which is out of range")))
            }
            other => Err(self.wrong(key, &format!("holds {}, must be a list of integers", other.kind()))),
        });
        integers.collect()
    }

    /// An object inside, with messages that name both keys.
    pub fn object(&mut self, key: &str, status: &'static str) -> Outcome<Fields> {
        let value = self.value(key)?;
        Fields::new(value, status, &format!("{}{key}.", self.prefix))
    }

    /// A key that must be there and may be null.
    pub fn nullable<T>(&mut self, key: &str, read: impl Fn(&mut Fields, &str) -> Outcome<T>) -> Outcome<Option<T>> {
        match self.pairs.iter().find(|(name, _)| name == key) {
            Some((_, Value::Null)) => {
                self.take(key);
                Ok(None)
            }
            _ => read(self, key).map(Some),
        }
    }

    /// Refuse what nobody took.
    pub fn finish(self) -> Outcome<()> {
        match self.pairs.first() {
            Some((key, _)) => Err(self.wrong(key, "unknown key")),
            None => Ok(()),
        }
    }
}

/// A number as a person would write it: 8, not 8.0; 1e-8, not eight zeros.
pub fn plain(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_string)
}
