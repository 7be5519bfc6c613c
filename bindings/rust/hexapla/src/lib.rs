//! Hexapla's core for Rust: tensors on a device, operations, a tape, an optimizer, checkpoints and a tokenizer.
//!
//! This is the safe layer over [`hexapla_sys`]: every handle is a type of its own, every failing call a [`Result`].
//!
//! * **Ownership.** A value of one of these types is one owner. `Clone` asks core for a *new* id for the same object, as
//!   `dup(2)` does; `Drop` gives it back. Clones of a tensor share its storage. Any drop order is legal, on any thread.
//! * **Threads.** Core takes any call from any thread and runs a context's calls one at a time, so all types are `Send`
//!   and `Sync`. Kernels run on the context's own workers.
//! * **Errors.** An [`Error`] carries core's status and core's text, unchanged; what core cannot be asked (a zero byte in
//!   a text, two lists of different lengths) is `InvalidArgument` with a text of this crate's.
//! * **Tests** that must do what Rust forbids (use after release, races) find raw ids in [`testing`].
//!
//! ```
//! use hexapla::{Context, Options, Tensor, ops};
//!
//! let context = Context::new("cpu:0", &Options::default())?;
//! let x = Tensor::from_values(&context, &[2, 2], &[1.0, 2.0, 3.0, 4.0])?;
//! assert_eq!(ops::add(None, &x, &x)?.read()?, [2.0, 4.0, 6.0, 8.0]);
//! # Ok::<(), hexapla::Error>(())
//! ```
#![deny(missing_docs)]

pub mod checkpoint;
mod context;
mod error;
mod gate;
mod handle;
mod library;
mod memory;
pub mod ops;
pub mod optimizer;
mod pressure;
mod tape;
mod tensor;
pub mod testing;
mod text;
mod tokenizer;

pub use checkpoint::{Checkpoint, Entry};
pub use context::{Context, Options};
pub use error::{Error, HookPanic, Result, Status};
pub use gate::Gate;
pub use library::{build_faults, build_info};
pub use memory::{Memory, process_memory};
pub use pressure::Pressure;
pub use tape::Tape;
pub use tensor::{Dtype, Tensor, TensorInfo};
pub use tokenizer::{AddedToken, Tokenizer};
