//! One owner, one id: `Clone` takes a new id for the same object, `Drop` gives one back, in any order and on any
//! thread. Counts are read from each test's own context, since tests of one process run at once.

use hexapla::{Context, Options, Status, Tape, Tensor, ops, testing};

fn context() -> Context {
    Context::new("cpu:0", &Options::default()).expect("cpu:0 is always there")
}

#[test]
fn a_clone_is_a_new_id_that_shares_the_values() {
    let context = context();
    let a = Tensor::from_values(&context, &[4], &[1.0, 2.0, 3.0, 4.0]).expect("made");
    let b = a.clone();
    assert_ne!(testing::raw_id(&a), testing::raw_id(&b));
    drop(a);
    b.add_in_place(1.0).expect("still there");
    assert_eq!(b.clone().read().expect("still there"), [2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn dropping_gives_handles_and_bytes_back() {
    let context = context();
    let before = context.memory().expect("a memory account");
    {
        let tensor = Tensor::zeros(&context, &[256]).expect("made");
        let tape = Tape::new(&context).expect("made");
        tape.watch(&tensor, None).expect("watched");
        let _view = ops::reshape(Some(&tape), &tensor, &[16, 16]).expect("a view");
        let _sibling = tensor.context().expect("another owner");
        let during = context.memory().expect("a memory account");
        assert_eq!(during.live_handles, before.live_handles + 4);
        assert!(during.live_bytes >= before.live_bytes + 1024);
    }
    let after = context.memory().expect("a memory account");
    assert_eq!((after.live_handles, after.live_bytes), (before.live_handles, before.live_bytes));
}

#[test]
fn children_outlive_their_context() {
    let context = context();
    let tensor = Tensor::from_values(&context, &[1], &[7.0]).expect("made");
    drop(context);
    assert_eq!(tensor.read().expect("the tensor holds its context"), [7.0]);
}

#[test]
fn any_thread_may_release_and_close_says_how_it_went() {
    let context = context();
    let tensor = Tensor::zeros(&context, &[1]).expect("made");
    let outcome = std::thread::spawn(move || tensor.close()).join().expect("no panic");
    assert!(outcome.is_ok());
    assert_eq!(context.memory().expect("a memory account").live_handles, 1);
}

#[test]
fn what_rust_forbids_is_answered_not_executed() {
    let context = context();
    let id = testing::into_raw(Tensor::zeros(&context, &[1]).expect("made"));
    testing::release_tensor(id).expect("the first release");
    let second = testing::release_tensor(id).expect_err("the second release");
    assert_eq!(second.status(), Status::StaleHandle);
    assert_eq!(testing::read_tensor(id).expect_err("a released id").status(), Status::StaleHandle);
    let tensor = Tensor::zeros(&context, &[1]).expect("made");
    let wrong = testing::context_device(testing::raw_id(&tensor)).expect_err("a tensor is no context");
    assert_eq!(wrong.status(), Status::WrongKind);
}
