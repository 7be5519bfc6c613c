//! The trainer as a process: which lines it refuses, how requests end, and its exit status. What it computes is the
//! harness's question.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Lines of stdout and the exit status after these lines of stdin.
fn ask(input: &[u8]) -> (Vec<String>, i32) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trainer"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the trainer starts");
    child.stdin.take().expect("piped").write_all(input).expect("the trainer reads");
    let output = child.wait_with_output().expect("the trainer ends");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    (text.lines().map(str::to_string).collect(), output.status.code().expect("no signal"))
}

const HELLO: &str = r#"{"protocol":1,"id":"h","request":"hello"}"#;

#[test]
fn hello_and_bye_end_well() {
    let (lines, status) = ask(format!("{HELLO}\r\n{}", r#"{"protocol":1,"id":"b","request":"bye"}"#).as_bytes());
    assert_eq!(status, 0);
    assert!(lines[0].contains(r#""implementation":"rust""#));
    assert_eq!(
        lines[1..],
        [r#"{"id":"h","event":"done"}"#, r#"{"id":"b","event":"bye","handles_live":0,"bytes_live":0}"#]
    );
}

#[test]
fn a_line_that_cannot_be_read_is_named_and_the_next_is_answered() {
    for bad in [&b"\xff"[..], b"", b"[]", b"{}", br#"{"id":"x","id":"y"}"#, br#"{"id":"\ud800"}"#] {
        let (lines, status) = ask(&[bad, b"\n", HELLO.as_bytes(), b"\n"].concat());
        assert_eq!(status, 2);
        assert!(
            lines[0].starts_with(r#"{"id":"","event":"error","status":"request","message":"line 1: "#),
            "{}",
            lines[0]
        );
        assert!(lines[0].ends_with(r#""where":"stdin:1"}"#), "{}", lines[0]);
        assert_eq!(lines[2], r#"{"id":"h","event":"done"}"#);
    }
}

#[test]
fn a_wrong_request_is_an_error_and_an_unknown_one_is_skipped() {
    let wrong = r#"{"protocol":1,"id":"w","request":"hello","extra":1}"#;
    let (lines, status) = ask(wrong.as_bytes());
    assert_eq!(status, 1);
    assert!(lines[0].contains("extra: unknown key"), "{}", lines[0]);
    let (lines, status) = ask(br#"{"protocol":1,"id":"u","request":"dance","with":"whom"}"#);
    assert_eq!(status, 0);
    assert!(lines[0].starts_with(r#"{"id":"u","event":"skipped""#), "{}", lines[0]);
}

#[test]
fn the_embedded_model_loads_and_a_missing_one_does_not() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../harness/hexapla/data/embedded/model");
    let model = model.canonicalize().expect("the embedded model");
    let request = |path: &str| {
        let context = r#"{"device":"cpu:0","threads":1,"memory_limit":0,"spill":false,"ledger":null}"#;
        format!("{{\"protocol\":1,\"id\":\"l\",\"request\":\"load\",\"context\":{context},\"model\":\"{path}\"}}\n")
    };
    let (lines, status) = ask(request(model.to_str().expect("UTF-8")).as_bytes());
    assert_eq!(status, 0);
    assert_eq!(lines.len(), 58 + 1);
    assert!(
        lines[0].contains(r#""name":"model.embed_tokens.weight","shape":[768,128],"dtype":"BF16""#),
        "{}",
        lines[0]
    );
    let (lines, status) = ask(request("/nonexistent").as_bytes());
    assert_eq!(status, 1);
    assert!(lines[0].contains(r#""status":"io""#), "{}", lines[0]);
}

#[test]
fn records_are_rendered_rejected_or_refused_by_line() {
    let tokenizer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../harness/hexapla/data/embedded/tokenizer");
    let tokenizer = tokenizer.canonicalize().expect("the embedded tokenizer");
    let path = std::env::temp_dir().join(format!("hexapla-test-records-{}.jsonl", std::process::id()));
    let render = |records: &str| {
        std::fs::write(&path, records).expect("a temporary file");
        let (tokenizer, records) = (tokenizer.display(), path.display());
        let how = r#""template":"qwen3","length":256"#;
        let request = format!(
            r#"{{"protocol":1,"id":"r","request":"render","tokenizer":"{tokenizer}","records":"{records}",{how}}}"#
        );
        let outcome = ask(request.as_bytes());
        std::fs::remove_file(&path).expect("the file is ours");
        outcome
    };
    let (lines, status) = render(
        "{\"id\":\"a\",\"question\":\"q\",\"answer\":\"\\n\",\"other\":[1]}\r\n\
         {\"id\":\"b\",\"question\":\"q\",\"answer\":\"x\"}",
    );
    assert_eq!(status, 0);
    assert_eq!(lines[0], r#"{"id":"r","event":"record","record":"a","rejected":"empty"}"#);
    assert!(lines[1].contains(r#""record":"b","ids":["#) && lines[1].ends_with(r#"110"}"#), "{}", lines[1]);
    assert_eq!(lines[2], r#"{"id":"r","event":"done","accepted":1,"rejected":{"empty":1},"markers":0}"#);
    let (lines, status) = render("{\"id\":\"a\",\"question\":\"q\",\"answer\":\"x\"}\n\n");
    assert_eq!(status, 1);
    assert!(lines[0].contains(r#""status":"record","message":"line 2: empty line""#), "{}", lines[0]);
    let (lines, status) = render("{\"id\":\"a\",\"question\":\"q\",\"answer\":\"\"}");
    assert_eq!(status, 0);
    assert_eq!(lines[1], r#"{"id":"r","event":"done","accepted":0,"rejected":{"empty":1},"markers":0}"#);
}
