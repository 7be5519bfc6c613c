//! Operations, the tape and the optimizer, on numbers that can be checked by hand; and one run of a layer on several
//! threads.

use hexapla::optimizer::{AdamW, adamw_step, gradient_clip, gradient_norm};
use hexapla::{Context, Gate, Options, Result, Tape, Tensor, ops};

#[test]
fn a_linear_layer_goes_forward_and_back() -> Result<()> {
    let context = Context::new("cpu:0", &Options::default())?;
    let x = Tensor::from_values(&context, &[1, 2], &[1.0, 2.0])?;
    let w = Tensor::from_values(&context, &[2, 2], &[1.0, 0.0, 0.0, 1.0])?;
    let a = Tensor::from_values(&context, &[2, 2], &[1.0, 1.0, 0.0, 1.0])?;
    let b = Tensor::from_values(&context, &[2, 2], &[1.0, 0.0, 2.0, 1.0])?;
    let gradient = Tensor::zeros(&context, &[2, 2])?;
    let tape = Tape::new(&context)?;
    tape.watch(&b, Some(&gradient))?;
    let y = ops::lora_linear(Some(&tape), &x, &w, &a, &b, 3.0)?;
    assert_eq!(y.read()?, [10.0, 26.0]);
    let incoming = Tensor::from_values(&context, &[1, 2], &[1.0, 2.0])?;
    tape.backward(&y, Some(&incoming))?;
    // scale · gᵀ (x aᵀ), with x aᵀ = [3, 2].
    assert_eq!(gradient.read()?, [9.0, 6.0, 18.0, 12.0]);
    assert_eq!(tape.gradient(&b)?.read()?, gradient.read()?);
    Ok(())
}

#[test]
fn views_share_storage_and_say_so() -> Result<()> {
    let context = Context::new("cpu:1", &Options::default())?;
    assert_eq!(context.device()?, "cpu:1");
    let x = Tensor::from_values(&context, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let t = ops::transpose(None, &x)?;
    let info = t.info()?;
    assert_eq!((info.shape, info.strides, info.contiguous), (vec![3, 2], vec![1, 3], false));
    x.fill(2.0)?;
    assert_eq!(t.read()?, [2.0; 6]);
    let column = ops::as_strided(None, &x, &[2], &[3], 1)?;
    column.add_in_place(1.0)?;
    assert_eq!(x.read()?, [2.0, 3.0, 2.0, 2.0, 3.0, 2.0]);
    Ok(())
}

#[test]
fn gradients_are_measured_clipped_and_used() -> Result<()> {
    let context = Context::new("cpu:0", &Options::default())?;
    let gradients =
        [Tensor::from_values(&context, &[2], &[3.0, 0.0])?, Tensor::from_values(&context, &[2], &[0.0, 4.0])?];
    let norm = gradient_norm(&gradients)?;
    assert!((norm - 5.0).abs() < 1e-12);
    assert!(!gradient_clip(&gradients, norm, 5.0)?);
    assert!(gradient_clip(&gradients, norm, 1.0)?);
    assert!((gradients[1].read()?[1] - 0.8).abs() < 1e-7);
    let one = |value: f32| Tensor::from_values(&context, &[1], &[value]).map(|tensor| [tensor]);
    let (p, g, m, v) = (one(0.0)?, one(1.0)?, one(0.0)?, one(0.0)?);
    let numbers = AdamW { step: 1, learning_rate: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.0 };
    adamw_step(&numbers, &p, &g, &m, &v)?;
    assert!((p[0].read()?[0] + 0.01).abs() < 1e-7);
    assert!(adamw_step(&numbers, &p, &[], &m, &v).is_err());
    Ok(())
}

#[test]
fn threads_share_tensors_and_gates() -> Result<()> {
    let context = Context::new("cpu:0", &Options::default().threads(2))?;
    let x = Tensor::from_values(&context, &[1, 3], &[1.0, 2.0, 3.0])?;
    let gate = Gate::new()?;
    std::thread::scope(|scope| {
        let tasks: Vec<_> = (0..4)
            .map(|task| {
                let (x, gate) = (&x, gate.clone());
                scope.spawn(move || {
                    gate.wait()?;
                    ops::scale(None, x, f64::from(task))?.read()
                })
            })
            .collect();
        gate.open()?;
        for (task, values) in tasks.into_iter().enumerate() {
            let factor = task as f32;
            assert_eq!(values.join().expect("no panic")?, [factor, 2.0 * factor, 3.0 * factor]);
        }
        Ok(())
    })
}
