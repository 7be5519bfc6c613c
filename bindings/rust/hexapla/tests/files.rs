//! Checkpoints written and read back, and the project's embedded tokenizer.

use std::path::PathBuf;

use hexapla::checkpoint::{commit, write};
use hexapla::{Checkpoint, Context, Options, Result, Status, Tensor, Tokenizer};

/// A folder of this test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("hexapla-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("the folder is ours");
    }
}

#[test]
fn what_is_written_reads_back() -> Result<()> {
    let folder = Folder::new("checkpoint");
    let context = Context::new("cpu:0", &Options::default())?;
    let b = Tensor::from_values(&context, &[2, 1], &[1.0, -0.0])?;
    let a = Tensor::from_values(&context, &[1], &[f32::MIN_POSITIVE])?;
    let path = folder.0.join("two.safetensors");
    let long = "x".repeat(5000);
    write(&path, [("b", &b), ("a", &a)], &[("update", "12"), ("long", &long)])?;
    let checkpoint = Checkpoint::open(&path)?;
    let entries = checkpoint.entries()?;
    assert_eq!(entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((entries[1].shape.as_slice(), entries[1].dtype.as_str()), (&[2, 1][..], "F32"));
    let read = checkpoint.read(checkpoint.find("b")?, &context)?;
    assert_eq!(Tensor::digest([&read, &a])?, Tensor::digest([&b, &a])?);
    assert_eq!(checkpoint.metadata("update")?, "12");
    assert_eq!(checkpoint.metadata("long")?, long);
    assert_eq!(checkpoint.metadata("none").expect_err("no such key").status(), Status::NotFound);
    assert_eq!(checkpoint.find("c").expect_err("no such tensor").status(), Status::NotFound);
    Ok(())
}

#[test]
fn a_folder_becomes_final_once() -> Result<()> {
    let folder = Folder::new("commit");
    let [partial, done] = ["one.partial", "one"].map(|name| folder.0.join(name));
    std::fs::create_dir(&partial).expect("a fresh folder");
    commit(&partial, &done)?;
    assert!(done.is_dir() && !partial.exists());
    std::fs::create_dir(&partial).expect("a fresh folder");
    assert_eq!(commit(&partial, &done).expect_err("it exists").status(), Status::Io);
    assert_eq!(Checkpoint::open(&done).expect_err("it is empty").status(), Status::Io);
    Ok(())
}

#[test]
fn the_embedded_tokenizer_encodes() -> Result<()> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../harness/hexapla/data/embedded/tokenizer");
    let tokenizer = Tokenizer::open(&folder)?;
    let added = tokenizer.added_tokens()?;
    let end = added.iter().find(|token| token.text == "<|im_end|>").expect("a chat model's tokenizer");
    assert_eq!(tokenizer.id("<|im_end|>")?, end.id);
    assert!(!tokenizer.encode("a <|im_end|> b")?.contains(&end.id));
    assert_eq!(tokenizer.encode("")?, []);
    assert_eq!(tokenizer.encode("M\u{e9}ni\u{e8}re\0")?, tokenizer.encode("Me\u{301}nie\u{300}re\0")?);
    // NFC makes three code points of this one, six bytes of three: the first buffer is too small.
    assert_eq!(tokenizer.encode("\u{fb2c}")?, tokenizer.encode("\u{5e9}\u{5bc}\u{5c1}")?);
    Ok(())
}
