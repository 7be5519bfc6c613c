//! Scenarios of the ownership axis: `Clone` and `Drop` where Rust allows it, raw ids where it does not.

use std::sync::Barrier;
use std::thread;

use hexapla::{Context, Result, Tape, Tensor, ops, process_memory, testing};

use super::{Seen, Statuses, joined, status_name};
use crate::failure::Outcome;
use crate::fields::Fields;
use crate::order::shuffled;
use crate::requests::ContextRequest;

const VALUES: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

/// Numbers as the protocol writes them: `1 2 3 4`.
fn written(values: &[f32]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// An owner that hands out owners.
struct Parent(Tensor);

impl Parent {
    fn get(&self) -> Result<Tensor> {
        self.0.try_clone()
    }
}

pub fn accessors(request: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let repeats = parameters.count("repeats", 1)?;
    let context = request.open()?;
    let expected = written(&VALUES);
    let mut statuses = Statuses::default();
    let mut value = String::new();
    let mut differs = false;
    let mut see = |values: Vec<f32>| {
        if !differs {
            value = written(&values);
            differs = value != expected;
        }
    };
    for _ in 0..repeats {
        let parent = Parent(Tensor::from_values(&context, &[4], &VALUES)?);
        let (a, b) = (parent.get()?, parent.get()?);
        statuses.add(&a.close());
        statuses.add(&b.close());
        see(parent.0.read()?);
        let c = ops::reshape(None, &parent.0, &[2, 2])?;
        statuses.add(&c.close());
        see(parent.0.read()?);
        statuses.add(&parent.0.close());
    }
    Ok(vec![("value", value.into()), ("statuses", statuses.text())])
}

pub fn copies(request: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let repeats = parameters.count("repeats", 1)?;
    let context = request.open()?;
    let mut statuses = Statuses::default();
    let mut value = String::new();
    for _ in 0..repeats {
        let a = Tensor::from_values(&context, &[4], &VALUES)?;
        let (c, b) = (a.clone(), a.clone());
        statuses.add(&a.close());
        let total = ops::reduce_sum(None, &b, 0)?;
        let sum = total.read()?[0];
        statuses.add(&total.close());
        b.add_in_place(1.0)?;
        value = if sum == 10.0 { written(&c.read()?) } else { format!("sum {sum}") };
        statuses.add(&b.close());
        statuses.add(&c.close());
        if value != "2 3 4 5" {
            break;
        }
    }
    Ok(vec![("value", value.into()), ("statuses", statuses.text())])
}

/// A release that is still to come.
type Release = Box<dyn FnOnce() -> Result<()>>;

pub fn drop_orders(request: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let seed = parameters.count("seed", 0)?;
    let orders = parameters.count("orders", 0)?;
    let mut failed = 0_u64;
    for epoch in 0..orders {
        let before = process_memory()?;
        let releases = five_handles(request)?;
        let mut releases = releases.map(Some);
        let mut well = true;
        for index in shuffled(releases.len(), seed, epoch) {
            let release = releases[index].take().expect("an order names each once");
            well &= release().is_ok();
        }
        let after = process_memory()?;
        well &= (after.live_handles, after.live_bytes) == (before.live_handles, before.live_bytes);
        failed += u64::from(!well);
    }
    Ok(vec![("orders", orders.into()), ("failed", failed.into())])
}

/// A context, a tensor, a second owner of it, a tape that watches it, a view recorded there.
fn five_handles(request: &ContextRequest) -> Outcome<[Release; 5]> {
    let context = request.open()?;
    let tensor = Tensor::from_values(&context, &[4], &VALUES)?;
    let second = tensor.try_clone()?;
    let tape = Tape::new(&context)?;
    tape.watch(&tensor, None)?;
    let view = ops::reshape(Some(&tape), &tensor, &[2, 2])?;
    Ok([
        Box::new(move || context.close()),
        Box::new(move || tensor.close()),
        Box::new(move || second.close()),
        Box::new(move || tape.close()),
        Box::new(move || view.close()),
    ])
}

pub fn double_release(request: &ContextRequest, _: &mut Fields) -> Outcome<Seen> {
    let context = request.open()?;
    let id = testing::into_raw(Tensor::zeros(&context, &[1])?);
    testing::release_tensor(id)?;
    Ok(vec![("status", status_name(&testing::release_tensor(id)).into())])
}

pub fn use_after_release(request: &ContextRequest, _: &mut Fields) -> Outcome<Seen> {
    let context = request.open()?;
    let id = testing::into_raw(Tensor::zeros(&context, &[1])?);
    testing::release_tensor(id)?;
    Ok(vec![("status", status_name(&testing::read_tensor(id)).into())])
}

pub fn release_elsewhere(request: &ContextRequest, _: &mut Fields) -> Outcome<Seen> {
    let context = request.open()?;
    let tensor = Tensor::zeros(&context, &[1])?;
    let outcome = joined(thread::spawn(move || tensor.close()).join())?;
    Ok(vec![("status", status_name(&outcome).into())])
}

/// The borrow checker refuses to close what another thread reads; raw ids show what core makes of it.
pub fn close_race(request: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let rounds = parameters.count("rounds", 0)?;
    let context = request.open()?;
    let mut statuses = Statuses::default();
    let mut wrong = 0_u64;
    for _ in 0..rounds {
        let read = raced_read(&context)?;
        statuses.add(&read);
        let allowed = match &read {
            Ok(values) => values.len() == 1024 && values.iter().all(|value| *value == 1.0),
            Err(error) => error.status() == hexapla::Status::StaleHandle,
        };
        wrong += u64::from(!allowed);
    }
    Ok(vec![("rounds", rounds.into()), ("wrong", wrong.into()), ("statuses", statuses.text())])
}

/// One read of 1,024 ones while another thread releases them.
fn raced_read(context: &Context) -> Outcome<Result<Vec<f32>>> {
    let tensor = Tensor::zeros(context, &[1024])?;
    tensor.fill(1.0)?;
    let id = testing::into_raw(tensor);
    let start = Barrier::new(2);
    let (read, released) = thread::scope(|scope| {
        let release = scope.spawn(|| {
            start.wait();
            testing::release_tensor(id)
        });
        start.wait();
        let read = testing::read_tensor(id);
        (read, joined(release.join()))
    });
    released??;
    Ok(read)
}
