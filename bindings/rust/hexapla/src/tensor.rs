//! Tensors: device memory with a shape.

use std::ffi::c_void;

use hexapla_sys as sys;

use crate::context::Context;
use crate::error::{Result, check, made};
use crate::handle::{Id, shared_handle};
use crate::text::until_nul;

/// What a tensor's elements are. Core computes in `F32`; the others are stored only, and widened on load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs)] // The names are the field's own.
pub enum Dtype {
    F32 = sys::HXP_DTYPE_F32,
    F16 = sys::HXP_DTYPE_F16,
    Bf16 = sys::HXP_DTYPE_BF16,
}

/// A tensor's shape and place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Sizes, one an axis.
    pub shape: Vec<i64>,
    /// In elements, one an axis.
    pub strides: Vec<i64>,
    /// Of the first element in its storage, in elements.
    pub offset: i64,
    /// Row-major without gaps.
    pub contiguous: bool,
    /// How many elements there are.
    pub elements: u64,
    /// What a copy of them takes.
    pub bytes: u64,
}

/// A share of a device tensor. Cloning takes another share of the same values; dropping gives this one back.
pub struct Tensor(pub(crate) Id);

// SAFETY: hexapla.h, "Threads": "Any thread may make any call"; tensor.h says of release: "any thread, at process
// exit too".
unsafe impl Send for Tensor {}
// SAFETY: hexapla.h, "Threads": "A context runs its calls one at a time": reads and in-place writes through shared
// references, from any threads, never overlap. The values behind a handle are core's, no Rust reference points to
// them.
unsafe impl Sync for Tensor {}

shared_handle!(Tensor, sys::hxp_tensor_retain, sys::hxp_tensor_release);

impl Tensor {
    /// A tensor of zeros, f32.
    ///
    /// # Errors
    /// `InvalidArgument` (rank 1 … 8, sizes ≥ 0), `OutOfMemory`.
    pub fn zeros(context: &Context, shape: &[i64]) -> Result<Tensor> {
        Tensor::new(context, Dtype::F32, shape)
    }

    /// A tensor of zeros.
    ///
    /// # Errors
    /// As [`Tensor::zeros`], and `Unsupported` for every dtype but `F32`.
    pub fn new(context: &Context, dtype: Dtype, shape: &[i64]) -> Result<Tensor> {
        let value = made(|out, error| {
            // SAFETY: shape has the length that is passed with it; out and error point to locals of this call chain.
            unsafe { sys::hxp_tensor_create(context.0.value, dtype as i32, rank(shape), shape.as_ptr(), out, error) }
        })?;
        Ok(Tensor(Id::new(value, context.0.hook.clone())))
    }

    /// A tensor that holds `values`, row-major.
    ///
    /// # Errors
    /// As [`Tensor::zeros`] and [`Tensor::write`].
    pub fn from_values(context: &Context, shape: &[i64], values: &[f32]) -> Result<Tensor> {
        let tensor = Tensor::zeros(context, shape)?;
        tensor.write(values)?;
        Ok(tensor)
    }

    /// Another tensor of the context that this one lives in, made by a call of core's.
    pub(crate) fn sibling(&self, value: u64) -> Tensor {
        Tensor(Id::new(value, self.0.hook.clone()))
    }

    /// Shape, strides and sizes.
    ///
    /// # Errors
    /// None on a live tensor.
    pub fn info(&self) -> Result<TensorInfo> {
        info_of(self.0.value)
    }

    /// The context that the tensor lives in: another owner of it.
    ///
    /// # Errors
    /// `WrongThread`, `Busy`.
    pub fn context(&self) -> Result<Context> {
        // SAFETY: out and error point to locals of this call chain.
        let value = made(|out, error| unsafe { sys::hxp_tensor_context(self.0.value, out, error) })?;
        Ok(Context(Id::new(value, self.0.hook.clone())))
    }

    /// The name of the device that the buffer really lies on.
    ///
    /// # Errors
    /// None on a live tensor.
    pub fn device(&self) -> Result<String> {
        let mut name = [0; 32];
        check(|error| {
            // SAFETY: name has the length that is passed with it; "32 bytes are always enough".
            unsafe { sys::hxp_tensor_device(self.0.value, name.as_mut_ptr(), name.len() as u64, error) }
        })?;
        Ok(until_nul(&name))
    }

    /// Copy values into the tensor, row-major; it may be a view with gaps.
    ///
    /// # Errors
    /// `InvalidArgument` when their number is not the tensor's.
    pub fn write(&self, values: &[f32]) -> Result<()> {
        check(|error| {
            // SAFETY: values has the bytes that are passed with it.
            unsafe {
                sys::hxp_tensor_write(self.0.value, values.as_ptr().cast::<c_void>(), size_of_val(values) as u64, error)
            }
        })
    }

    /// Copy the values out, row-major.
    ///
    /// # Errors
    /// `Device`, `WrongThread`, `Busy`.
    pub fn read(&self) -> Result<Vec<f32>> {
        read_of(self.0.value)
    }

    /// Set every element, in place.
    ///
    /// # Errors
    /// `Device`, `WrongThread`, `Busy`.
    pub fn fill(&self, value: f64) -> Result<()> {
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_tensor_fill(self.0.value, value, error) })
    }

    /// Add a number to every element, in place; every owner and view sees it.
    ///
    /// # Errors
    /// `Device`, `WrongThread`, `Busy`.
    pub fn add_in_place(&self, value: f64) -> Result<()> {
        // SAFETY: error points to a live struct.
        check(|error| unsafe { sys::hxp_tensor_add_in_place(self.0.value, value, error) })
    }

    /// SHA-256, in hex, over the values of the tensors, one after the other: f32 little-endian, row-major.
    ///
    /// # Errors
    /// `InvalidArgument` when there is no tensor, or tensors of several contexts.
    pub fn digest<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<String> {
        let ids = ids(tensors);
        let mut digest = [0; 65];
        check(|error| {
            // SAFETY: both buffers have the lengths that are passed with them.
            unsafe {
                sys::hxp_tensor_digest(ids.as_ptr(), ids.len() as u64, digest.as_mut_ptr(), digest.len() as u64, error)
            }
        })?;
        Ok(until_nul(&digest))
    }
}

/// A shape's rank as core counts; what is too long for it is refused there.
pub(crate) fn rank(shape: &[i64]) -> u32 {
    u32::try_from(shape.len()).unwrap_or(u32::MAX)
}

/// The ids of several tensors, for one call. The caller keeps the tensors until it is over.
pub(crate) fn ids<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Vec<u64> {
    tensors.into_iter().map(|tensor| tensor.0.value).collect()
}

fn info_of(id: u64) -> Result<TensorInfo> {
    let mut raw = std::mem::MaybeUninit::uninit();
    // SAFETY: init sets every field of the struct that it is given (tensor.h: "Set an info's size and zero the rest").
    unsafe { sys::hxp_tensor_info_init(raw.as_mut_ptr()) };
    // SAFETY: initialised by the line above.
    let mut raw: sys::hxp_tensor_info = unsafe { raw.assume_init() };
    // SAFETY: raw and error point to initialised structs on the stack.
    check(|error| unsafe { sys::hxp_tensor_describe(id, &mut raw, error) })?;
    let rank = raw.rank as usize;
    Ok(TensorInfo {
        shape: raw.shape[..rank].to_vec(),
        strides: raw.strides[..rank].to_vec(),
        offset: raw.offset,
        contiguous: raw.contiguous != 0,
        elements: raw.elements,
        bytes: raw.bytes,
    })
}

/// The values behind a raw id.
pub(crate) fn read_of(id: u64) -> Result<Vec<f32>> {
    let info = info_of(id)?;
    let mut values = vec![0.0_f32; info.elements as usize];
    check(|error| {
        // SAFETY: values has the bytes that are passed with it; every bit pattern is an f32.
        unsafe {
            let bytes = size_of_val(values.as_slice()) as u64;
            sys::hxp_tensor_read(id, values.as_mut_ptr().cast::<c_void>(), bytes, error)
        }
    })?;
    Ok(values)
}
