//! Requests' lines, read on a thread of their own, so that a run learns of stdin's end while it trains. Knows bytes
//! only.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

/// The longest request line.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// A line with its number, or why it could not be taken.
pub type Line = (u64, Result<Vec<u8>, String>);

/// Lines of stdin, in order.
pub struct Input {
    pub lines: Receiver<Line>,
    /// True once stdin has ended, even if lines are still to be taken.
    pub ended: Arc<AtomicBool>,
}

impl Input {
    /// Start reading stdin.
    pub fn start() -> Input {
        let (sender, lines) = sync_channel(16);
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        std::thread::spawn(move || {
            let mut reader = BufReader::new(std::io::stdin());
            let mut number = 0;
            while let Some(line) = next_line(&mut reader) {
                number += 1;
                if sender.send((number, line)).is_err() {
                    return;
                }
            }
            flag.store(true, Ordering::Release);
        });
        Input { lines, ended }
    }
}

/// The next line without its `\n`; a read error ends the input like its end does.
fn next_line(reader: &mut impl BufRead) -> Option<Result<Vec<u8>, String>> {
    let mut line = Vec::new();
    reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).ok()?;
    if line.is_empty() {
        return None;
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 == LINE_BYTES_MAX {
        // Too long, or whole with its `\n` still to come: skip to the line's end and see.
        if skip_line(reader).ok()? > 0 {
            return Some(Err(format!("longer than {LINE_BYTES_MAX} bytes")));
        }
    }
    Some(Ok(line))
}

/// Skip to behind the next `\n`; the number of bytes before it.
fn skip_line(reader: &mut impl BufRead) -> std::io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(skipped);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(buffer.len());
        skipped += taken as u64;
        reader.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(skipped);
        }
    }
}
