//! The C ABI of the Hexapla core, declared: one module a header of `core/include/hexapla`, names and order as there.
//!
//! Separate because it is the one place that repeats the C headers, and it holds nothing else: no logic, no wrapper.
//! What a call promises stands in the header; the safe crate `hexapla` is what programs use. The `abi` request of the
//! trainer holds every size, offset and number below against C.
#![allow(non_camel_case_types)]
#![allow(missing_docs)] // The header of the same name documents each item; a second text would go stale.

mod checkpoint;
mod context;
mod gate;
mod ledger;
mod ops;
mod optimizer;
pub mod posix;
mod status;
mod tape;
mod tensor;
mod tokenizer;

pub use checkpoint::*;
pub use context::*;
pub use gate::*;
pub use ledger::*;
pub use ops::*;
pub use optimizer::*;
pub use status::*;
pub use tape::*;
pub use tensor::*;
pub use tokenizer::*;
