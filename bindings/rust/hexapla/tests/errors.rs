//! Errors carry core's status and text, each its own, and a hook that panics harms nobody.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hexapla::{Context, Dtype, Options, Status, Tape, Tensor, ops};

fn context(options: &Options) -> Context {
    Context::new("cpu:0", options).expect("cpu:0 is always there")
}

#[test]
fn statuses_and_texts_are_those_of_core() {
    let context = context(&Options::default());
    let refused = Tensor::zeros(&context, &[2, -5]).expect_err("a negative size");
    assert_eq!(refused.status(), Status::InvalidArgument);
    assert!(refused.message().contains("-5"), "{refused}");
    assert_eq!(refused.to_string(), format!("HXP_INVALID_ARGUMENT: {}", refused.message()));
    let refused = Tensor::new(&context, Dtype::Bf16, &[1]).expect_err("stored only");
    assert_eq!(refused.status(), Status::Unsupported);
    let one = Tensor::zeros(&context, &[1]).expect("made");
    let tape = Tape::new(&context).expect("made");
    assert_eq!(tape.backward(&one, None).expect_err("nothing recorded").status(), Status::NoGradient);
    assert_eq!(one.write(&[1.0, 2.0]).expect_err("too many").status(), Status::InvalidArgument);
}

#[test]
fn lists_of_different_lengths_never_reach_core() {
    let context = context(&Options::default());
    let h = Tensor::zeros(&context, &[2, 2]).expect("made");
    let refused = ops::linear_cross_entropy(None, &h, &h, &[0, 1], &[0]).expect_err("a target is missing");
    assert_eq!(refused.status(), Status::InvalidArgument);
    assert!(ops::as_strided(None, &h, &[2, 2], &[1], 0).is_err());
    assert!(Context::new("cpu:0\0", &Options::default()).is_err());
}

#[test]
fn each_thread_reads_its_own_text() {
    let context = context(&Options::default());
    std::thread::scope(|scope| {
        for worker in 0..4_i64 {
            let context = &context;
            scope.spawn(move || {
                for call in 0..200 {
                    let size = 1000 * worker + call + 1;
                    let refused = Tensor::zeros(context, &[-size]).expect_err("a negative size");
                    assert!(refused.message().contains(&format!("-{size} ")), "{refused}");
                }
            });
        }
    });
}

#[test]
fn the_pressure_hook_is_called_and_may_rescue() {
    let held = Arc::new(std::sync::Mutex::new(None::<Tensor>));
    let (calls, freed) = (Arc::new(AtomicU64::new(0)), Arc::clone(&held));
    let counted = Arc::clone(&calls);
    let options = Options::default().memory_limit(1 << 20).pressure_hook(move |pressure| {
        counted.fetch_add(1, Ordering::Relaxed);
        assert_eq!((pressure.need_bytes, pressure.limit_bytes), (1 << 20, 1 << 20));
        freed.lock().expect("not poisoned").take().is_some()
    });
    let context = context(&options);
    *held.lock().expect("not poisoned") = Some(Tensor::zeros(&context, &[1 << 18]).expect("fits"));
    let rescued = Tensor::zeros(&context, &[1 << 18]).expect("the hook made room");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    let refused = Tensor::zeros(&context, &[1 << 18]).expect_err("no room is left");
    assert_eq!(refused.status(), Status::OutOfMemory);
    assert!(refused.hook_panic().is_none());
    drop(rescued);
    assert_eq!(context.memory().expect("a memory account").pressure_rescues, 1);
}

#[test]
fn a_panic_in_the_hook_surfaces_after_the_call() {
    let options = Options::default().memory_limit(1 << 10).pressure_hook(|_| panic!("the hook's own {}", "fault"));
    let context = context(&options);
    let refused = Tensor::zeros(&context, &[1 << 10]).expect_err("over the limit");
    assert_eq!(refused.status(), Status::OutOfMemory);
    let source = refused.source().expect("the panic is the source").to_string();
    assert!(source.contains("the hook's own fault"), "{source}");
    // It belongs to that one call, and the context lives on.
    assert!(Tensor::zeros(&context, &[-1]).expect_err("a negative size").source().is_none());
    Tensor::zeros(&context, &[16]).expect("alive");
}

#[test]
fn an_owner_context_refuses_other_threads() {
    let context = context(&Options::default().owner_thread(true));
    let refused = std::thread::scope(|scope| {
        let task = scope.spawn(|| Tensor::zeros(&context, &[1]).map(drop));
        task.join().expect("no panic").expect_err("another thread")
    });
    assert_eq!(refused.status(), Status::WrongThread);
}

#[test]
fn injected_failures_leave_the_context_usable() {
    let context = context(&Options::default());
    context.fail_allocation(1, false).expect("armed");
    assert_eq!(Tensor::zeros(&context, &[1]).expect_err("injected").status(), Status::OutOfMemory);
    context.fail_next(Status::Internal).expect("armed");
    assert_eq!(Tensor::zeros(&context, &[1]).expect_err("injected").message(), "injected HXP_INTERNAL");
    Tensor::zeros(&context, &[1]).expect("alive");
    assert_eq!(context.memory().expect("a memory account").injected_failures, 2);
}
