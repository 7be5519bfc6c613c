//! The tokenizer: a tokenizer.json of byte-level BPE with NFC.

use std::path::Path;

use hexapla_sys as sys;

use crate::error::{Result, Status, check, made};
use crate::handle::{Id, shared_handle};
use crate::library::ensure_abi;
use crate::text::{c_path, c_text, copied};

/// A token that stands outside the BPE vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedToken {
    /// Its id.
    pub id: i32,
    /// Flagged special in the file.
    pub special: bool,
    /// Its text.
    pub text: String,
}

/// A share of a tokenizer. It belongs to no context.
pub struct Tokenizer(pub(crate) Id);

// SAFETY: hexapla.h, "Threads": "Any thread may make any call".
unsafe impl Send for Tokenizer {}
// SAFETY: tokenizer.h: "any number of threads may encode at once".
unsafe impl Sync for Tokenizer {}

shared_handle!(Tokenizer, sys::hxp_tokenizer_retain, sys::hxp_tokenizer_release);

impl Tokenizer {
    /// Open the tokenizer.json of a folder.
    ///
    /// # Errors
    /// `Io`, `Format`, `Unsupported` (another model, normalizer or split pattern).
    pub fn open(folder: &Path) -> Result<Tokenizer> {
        ensure_abi()?;
        let folder = c_path(folder)?;
        // SAFETY: folder lives to the end of this function; out and error point to locals of this call chain.
        let value = made(|out, error| unsafe { sys::hxp_tokenizer_open(folder.as_ptr(), out, error) })?;
        Ok(Tokenizer(Id::new(value, None)))
    }

    /// NFC, split pattern, BPE; no added token is recognised inside the text.
    ///
    /// # Errors
    /// None on a live tokenizer.
    pub fn encode(&self, text: &str) -> Result<Vec<i32>> {
        // Enough for every text in NFC; another may need more, and says how many.
        let mut ids = vec![0; text.len()];
        let mut count = 0;
        match self.encode_into(text, &mut ids, &mut count) {
            Err(error) if error.status() == Status::InvalidArgument && count as usize > ids.len() => {
                ids.resize(count as usize, 0);
                self.encode_into(text, &mut ids, &mut count)?;
            }
            outcome => outcome?,
        }
        ids.truncate(count as usize);
        Ok(ids)
    }

    fn encode_into(&self, text: &str, ids: &mut [i32], count: &mut u64) -> Result<()> {
        check(|error| {
            let (bytes, capacity) = (text.len() as u64, ids.len() as u64);
            // SAFETY: text and ids have the lengths that are passed with them; a str is UTF-8, and zero bytes are
            // data there.
            unsafe {
                sys::hxp_tokenizer_encode(
                    self.0.value,
                    text.as_ptr().cast(),
                    bytes,
                    ids.as_mut_ptr(),
                    capacity,
                    count,
                    error,
                )
            }
        })
    }

    /// The id of an added token by its text.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn id(&self, text: &str) -> Result<i32> {
        let text = c_text(text)?;
        let mut id = 0;
        // SAFETY: text lives to the end of this function; id and error point to locals of this call chain.
        check(|error| unsafe { sys::hxp_tokenizer_id(self.0.value, text.as_ptr(), &mut id, error) })?;
        Ok(id)
    }

    /// The added tokens, in the file's order.
    ///
    /// # Errors
    /// None on a live tokenizer.
    pub fn added_tokens(&self) -> Result<Vec<AddedToken>> {
        let mut count = 0;
        // SAFETY: count and error point to locals of this call chain.
        check(|error| unsafe { sys::hxp_tokenizer_added_count(self.0.value, &mut count, error) })?;
        (0..count).map(|index| self.added_token(index)).collect()
    }

    fn added_token(&self, index: u64) -> Result<AddedToken> {
        let mut raw = std::mem::MaybeUninit::uninit();
        // SAFETY: init sets every field of the struct that it is given (tokenizer.h: "Set an added token's size and
        // zero the rest").
        unsafe { sys::hxp_added_token_init(raw.as_mut_ptr()) };
        // SAFETY: initialised by the line above.
        let mut raw: sys::hxp_added_token = unsafe { raw.assume_init() };
        // SAFETY: raw and error point to initialised structs on the stack.
        check(|error| unsafe { sys::hxp_tokenizer_added(self.0.value, index, &mut raw, error) })?;
        Ok(AddedToken {
            id: raw.id,
            special: raw.special != 0,
            // SAFETY: tokenizer.h: text is a "view: dies with the tokenizer", and self keeps that alive.
            text: unsafe { copied(raw.text) },
        })
    }
}
