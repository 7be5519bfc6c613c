//! One gradient step on a tiny linear layer: a context, a tape, an operation, the way back. The README shows this file.

use hexapla::{Context, Options, Result, Tape, Tensor, ops};

/// The whole program.
pub fn main() -> Result<()> {
    let context = Context::new("cpu:0", &Options::default().threads(2))?;
    let x = Tensor::from_values(&context, &[1, 2], &[1.0, 2.0])?;
    let w = Tensor::from_values(&context, &[2, 2], &[1.0, 0.0, 0.0, 1.0])?;

    let tape = Tape::new(&context)?;
    tape.watch(&w, None)?; // the tape makes a gradient of zeros
    let y = ops::linear(Some(&tape), &x, &w)?; // y = x wᵀ
    tape.backward(&y, None)?;

    println!("y  = {:?}", y.read()?); // [1.0, 2.0]
    println!("dw = {:?}", tape.gradient(&w)?.read()?); // [1.0, 2.0, 1.0, 2.0]
    let refused = Tensor::zeros(&context, &[-1]).expect_err("no tensor has a negative size");
    println!("{}: {}", refused.status(), refused.message());
    println!("{} device bytes live", context.memory()?.live_bytes);
    Ok(()) // every handle is given back here, in any order
}
