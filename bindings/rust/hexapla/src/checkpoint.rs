//! Checkpoints on disk: safetensors files, single or sharded, read and written.

use std::ffi::CString;
use std::path::Path;

use hexapla_sys as sys;

use crate::context::Context;
use crate::error::{Result, Status, check, made};
use crate::handle::{Id, shared_handle};
use crate::library::ensure_abi;
use crate::tensor::{Tensor, ids};
use crate::text::{c_path, c_text, copied, until_nul};

/// The longest metadata value looked for: no safetensors header is longer.
const METADATA_BYTES_MAX: usize = 128 << 20;

/// One tensor of a checkpoint, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The tensor's name.
    pub name: String,
    /// Sizes, one an axis.
    pub shape: Vec<i64>,
    /// "F32", "F16", "BF16"; others are listed, but [`Checkpoint::read`] refuses them.
    pub dtype: String,
    /// How many elements there are.
    pub elements: u64,
    /// As stored.
    pub bytes: u64,
}

/// A share of a reader of one checkpoint. It belongs to no context.
pub struct Checkpoint(pub(crate) Id);

// SAFETY: hexapla.h, "Threads": "Any thread may make any call".
unsafe impl Send for Checkpoint {}
// SAFETY: a reader is never changed by a call (checkpoint.h: "A checkpoint handle is a reader"), and any thread may
// call.
unsafe impl Sync for Checkpoint {}

shared_handle!(Checkpoint, sys::hxp_checkpoint_retain, sys::hxp_checkpoint_release);

impl Checkpoint {
    /// Open a .safetensors file, or a folder that holds model.safetensors or model.safetensors.index.json.
    ///
    /// # Errors
    /// `Io`, `Format`.
    pub fn open(path: &Path) -> Result<Checkpoint> {
        ensure_abi()?;
        let path = c_path(path)?;
        // SAFETY: path lives to the end of this function; out and error point to locals of this call chain.
        let value = made(|out, error| unsafe { sys::hxp_checkpoint_open(path.as_ptr(), out, error) })?;
        Ok(Checkpoint(Id::new(value, None)))
    }

    /// All entries, sorted by the bytes of their names: the i-th is the one that [`Checkpoint::read`] calls i.
    ///
    /// # Errors
    /// None on a live checkpoint.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let mut count = 0;
        // SAFETY: count and error point to locals of this call chain.
        check(|error| unsafe { sys::hxp_checkpoint_count(self.0.value, &mut count, error) })?;
        (0..count).map(|index| self.entry(index)).collect()
    }

    fn entry(&self, index: u64) -> Result<Entry> {
        let mut raw = std::mem::MaybeUninit::uninit();
        // SAFETY: init sets every field of the struct that it is given (checkpoint.h: "Set an entry's size and zero
        // the rest").
        unsafe { sys::hxp_checkpoint_entry_init(raw.as_mut_ptr()) };
        // SAFETY: initialised by the line above.
        let mut raw: sys::hxp_checkpoint_entry = unsafe { raw.assume_init() };
        // SAFETY: raw and error point to initialised structs on the stack.
        check(|error| unsafe { sys::hxp_checkpoint_describe(self.0.value, index, &mut raw, error) })?;
        Ok(Entry {
            // SAFETY: checkpoint.h: name is a "view: dies with the checkpoint", and self keeps that alive.
            name: unsafe { copied(raw.name) },
            shape: raw.shape[..raw.rank as usize].to_vec(),
            dtype: until_nul(&raw.dtype),
            elements: raw.elements,
            bytes: raw.bytes,
        })
    }

    /// The index of a name.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn find(&self, name: &str) -> Result<u64> {
        let name = c_text(name)?;
        made(|out, error| {
            // SAFETY: name lives to the end of this function; out and error point to locals of this call chain.
            unsafe { sys::hxp_checkpoint_find(self.0.value, name.as_ptr(), out, error) }
        })
    }

    /// Read one tensor to a device, widened to f32. A scalar of shape () becomes shape (1).
    ///
    /// # Errors
    /// `InvalidArgument` (index), `Unsupported` (dtype), `Io`, `OutOfMemory`.
    pub fn read(&self, index: u64, context: &Context) -> Result<Tensor> {
        let value = made(|out, error| {
            // SAFETY: out and error point to locals of this call chain.
            unsafe { sys::hxp_checkpoint_read(self.0.value, index, context.0.value, out, error) }
        })?;
        Ok(Tensor(Id::new(value, context.0.hook.clone())))
    }

    /// A value of the file's `__metadata__`.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn metadata(&self, key: &str) -> Result<String> {
        let key = c_text(key)?;
        let mut value = vec![0; 1024];
        loop {
            let outcome = check(|error| {
                // SAFETY: value has the length that is passed with it; key lives to the end of this function.
                unsafe {
                    let (out, out_bytes) = (value.as_mut_ptr(), value.len() as u64);
                    sys::hxp_checkpoint_metadata(self.0.value, key.as_ptr(), out, out_bytes, error)
                }
            });
            match outcome {
                Ok(()) => return Ok(until_nul(&value)),
                // The text was longer; core never cuts one.
                Err(error) if error.status() == Status::InvalidArgument && value.len() < METADATA_BYTES_MAX => {
                    value.resize(value.len() * 8, 0);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Write tensors to one safetensors file (F32, in the order given), all or nothing: an existing file is replaced only
/// by the complete new one.
///
/// # Errors
/// `InvalidArgument` (a name twice), `Io` (nothing left behind).
pub fn write<'a>(
    path: &Path,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
    metadata: &[(&str, &str)],
) -> Result<()> {
    let path = c_path(path)?;
    let (names, tensors): (Vec<&str>, Vec<&Tensor>) = tensors.into_iter().unzip();
    let (keys, values): (Vec<&str>, Vec<&str>) = metadata.iter().copied().unzip();
    let (names, keys, values) = (c_texts(&names)?, c_texts(&keys)?, c_texts(&values)?);
    let [name_list, key_list, value_list] = [&names, &keys, &values].map(|texts| pointers(texts));
    let ids = ids(tensors.iter().copied());
    check(|error| {
        // SAFETY: each list has the length that is passed with it, its texts live to the end of this function, and
        // the tensors are borrowed as long.
        unsafe {
            sys::hxp_checkpoint_write(
                path.as_ptr(),
                name_list.as_ptr(),
                ids.as_ptr(),
                ids.len() as u64,
                key_list.as_ptr(),
                value_list.as_ptr(),
                key_list.len() as u64,
                error,
            )
        }
    })
}

/// Make a folder of finished files final: sync, rename, sync the parent.
///
/// # Errors
/// `Io`, also when `final_path` exists.
pub fn commit(partial: &Path, final_path: &Path) -> Result<()> {
    let (partial, final_path) = (c_path(partial)?, c_path(final_path)?);
    // SAFETY: both paths live to the end of this function; error points to a live struct.
    check(|error| unsafe { sys::hxp_checkpoint_commit(partial.as_ptr(), final_path.as_ptr(), error) })
}

fn c_texts(texts: &[&str]) -> Result<Vec<CString>> {
    texts.iter().map(|text| c_text(text)).collect()
}

fn pointers(texts: &[CString]) -> Vec<*const std::ffi::c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}
