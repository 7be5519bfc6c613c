//! JSON as strict as the protocol's "Lines": the values, and how they are written. The reader is in `json_reader.rs`.
//! Separate from everything that knows what a message means.

/// One JSON value. An object keeps its order; no key occurs twice.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// A number written without fraction and exponent that fits.
    Integer(i64),
    Number(f64),
    Text(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// What the value is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) | Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    /// Append the value, without white space.
    pub fn write(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Integer(value) => out.push_str(&value.to_string()),
            // `{:?}` is the shortest decimal that reads back to the same f64, and valid JSON for every finite one.
            Value::Number(value) => out.push_str(&format!("{value:?}")),
            Value::Text(text) => write_text(text, out),
            Value::Array(values) => write_list(values, out, '[', ']', |value, out| value.write(out)),
            Value::Object(pairs) => write_list(pairs, out, '{', '}', |(key, value), out| {
                write_text(key, out);
                out.push(':');
                value.write(out);
            }),
        }
    }
}

fn write_list<T>(items: &[T], out: &mut String, open: char, close: char, write: impl Fn(&T, &mut String)) {
    out.push(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(close);
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// An object from pairs.
pub fn object<K: Into<String>>(pairs: impl IntoIterator<Item = (K, Value)>) -> Value {
    Value::Object(pairs.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

impl From<f64> for Value {
    /// The protocol writes what is not finite as a string.
    fn from(value: f64) -> Value {
        if value.is_nan() {
            "NaN".into()
        } else if value.is_infinite() {
            if value > 0.0 { "Infinity".into() } else { "-Infinity".into() }
        } else {
            Value::Number(value)
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Integer(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Value {
        Value::Integer(value.into())
    }
}

impl From<u64> for Value {
    /// Counts of the protocol stay below 2^53.
    fn from(value: u64) -> Value {
        Value::Integer(value as i64)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Value {
        (value as u64).into()
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.to_string())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::Text(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Value {
        Value::Array(items.into_iter().map(Into::into).collect())
    }
}
