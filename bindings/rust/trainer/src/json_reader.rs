//! The strict JSON reader. It refuses what the protocol refuses and ordinary readers let pass: bytes that are not
//! UTF-8, a byte-order mark, an empty text, text behind the value, a duplicate key, a lone surrogate, a number not
//! finite in f64, nesting past 64.

use crate::json::Value;

const DEPTH_MAX: usize = 64;

/// Read one value from a line or a whole file. The error is one line that says what is wrong and at which byte.
pub fn read(bytes: &[u8]) -> Result<Value, String> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err("byte-order mark".to_string());
    }
    let text = std::str::from_utf8(bytes).map_err(|error| format!("not UTF-8 at byte {}", error.valid_up_to()))?;
    let mut reader = Reader { text, at: 0, depth: 0 };
    reader.skip_space();
    if reader.peek().is_none() {
        return Err("empty line".to_string());
    }
    let value = reader.value()?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(format!("text behind the value at byte {}", reader.at)),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn unexpected<T>(&self) -> Result<T, String> {
        match self.text[self.at..].chars().next() {
            Some(found) => Err(format!("unexpected {found:?} at byte {}", self.at)),
            None => Err("the value is cut off".to_string()),
        }
    }

    /// Take one byte that must come now.
    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.peek() != Some(byte) {
            return self.unexpected();
        }
        self.at += 1;
        Ok(())
    }

    /// Take one byte if it comes now.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Result<Value, String> {
        match self.peek() {
            Some(b'{') => self.nested(Reader::object),
            Some(b'[') => self.nested(Reader::array),
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.unexpected(),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, String> {
        if !self.text[self.at..].starts_with(word) {
            return self.unexpected();
        }
        self.at += word.len();
        Ok(value)
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, String>) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("nesting past {DEPTH_MAX} at byte {}", self.at));
        }
        self.at += 1;
        self.skip_space();
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn array(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            self.skip_space();
            items.push(self.value()?);
            self.skip_space();
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            self.expect(b',')?;
        }
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut pairs: Vec<(String, Value)> = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(pairs));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return self.unexpected();
            }
            let key = self.string()?;
            self.skip_space();
            self.expect(b':')?;
            self.skip_space();
            pairs.push((key, self.value()?));
            self.skip_space();
            if self.take(b'}') {
                break;
            }
            self.expect(b',')?;
        }
        let mut keys: Vec<&str> = pairs.iter().map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        match keys.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("duplicate key {:?}", pair[0])),
            None => Ok(Value::Object(pairs)),
        }
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        let mut whole = true;
        if self.take(b'.') {
            whole = false;
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            whole = false;
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        let digits = &self.text[start..self.at];
        if let (true, Ok(integer)) = (whole, digits.parse::<i64>()) {
            return Ok(Value::Integer(integer));
        }
        match digits.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Number(number)),
            _ => Err(format!("the number at byte {start} is not finite in f64")),
        }
    }

    fn digits(&mut self) -> Result<(), String> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.unexpected();
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            out.push_str(&self.text[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return self.unexpected(),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let character = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return self.unexpected(),
        };
        self.at += 1;
        Ok(character)
    }

    /// Behind a backslash, at the `u`: one code unit, or two that make a pair.
    fn unicode(&mut self) -> Result<char, String> {
        let start = self.at;
        let lone = format!("lone surrogate at byte {start}");
        let first = self.code_unit()?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or(lone);
        }
        if first >= 0xdc00 || !self.take(b'\\') || self.peek() != Some(b'u') {
            return Err(lone);
        }
        let second = self.code_unit()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(lone);
        }
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or(lone)
    }

    fn code_unit(&mut self) -> Result<u32, String> {
        self.expect(b'u')?;
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.unexpected();
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::json::Value;

    #[test]
    fn what_the_protocol_refuses_is_refused_with_a_reason() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let cases: [(&[u8], &str); 14] = [
            (b"\xff", "not UTF-8"),
            (b"\xef\xbb\xbf{}", "byte-order mark"),
            (b" \r", "empty line"),
            (b"{} x", "behind the value"),
            (br#"{"a":1,"b":2,"a":3}"#, "duplicate key"),
            (br#""\ud800""#, "lone surrogate"),
            (br#""\udc00\ud800""#, "lone surrogate"),
            (b"1e999", "not finite"),
            (b"NaN", "unexpected"),
            (b"01", "behind the value"),
            (b"1.", "cut off"),
            (b"[1,]", "unexpected"),
            (b"\"a\x01\"", "unexpected"),
            (deep(65).leak().as_bytes(), "nesting past 64"),
        ];
        for (text, reason) in cases {
            let error = read(text).expect_err("must be refused");
            assert!(error.contains(reason), "{error:?} does not say {reason:?}");
        }
        assert!(read(deep(64).as_bytes()).is_ok());
    }

    #[test]
    fn what_is_data_stays_data() {
        let text = read("\"\\u0000\u{2028}\u{85}\\ud83d\\ude00 \\/\"\r".as_bytes());
        assert_eq!(text, Ok(Value::Text("\0\u{2028}\u{85}\u{1f600} /".to_string())));
        assert_eq!(read(b"-0"), Ok(Value::Integer(0)));
        assert_eq!(read(b"1e-8"), Ok(Value::Number(1e-8)));
        assert_eq!(read(b"123456789012345678901234567890"), Ok(Value::Number(123456789012345678901234567890.0)));
    }

    #[test]
    fn what_is_written_reads_back() {
        let text = r#"{"a":[1,-2.5e-300,"\"\\\n\u0007é"],"b":{},"c":null,"d":true}"#;
        let value = read(text.as_bytes()).expect("valid");
        let mut out = String::new();
        value.write(&mut out);
        assert_eq!(out, text);
        assert_eq!(Value::from(f64::NEG_INFINITY), Value::Text("-Infinity".to_string()));
    }
}
