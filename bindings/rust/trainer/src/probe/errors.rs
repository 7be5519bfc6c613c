//! Scenarios of the errors axis: every status provoked, a hook that panics, allocations and writes that fail.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::{process, thread};

use hexapla::{Checkpoint, Context, Dtype, Error, Status, Tape, Tensor, testing};

use super::{Seen, joined, live_bytes, status_name, train_request};
use crate::adapter::config_bytes;
use crate::checkpoint;
use crate::failure::{Failure, Outcome};
use crate::fields::Fields;
use crate::names;
use crate::requests::ContextRequest;
use crate::run::{Data, Loaded};

const MEBIBYTE: u64 = 1 << 20;

pub fn status(request: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let name = parameters.text("status")?;
    let wanted = Status::ALL.into_iter().find(|status| status.name() == name);
    let wanted = wanted.ok_or_else(|| parameters.wrong("status", &format!("is {name:?}, which is no status")))?;
    let outcome = provoke(request, wanted)?;
    let message = outcome.as_ref().err().map_or("", Error::message);
    // What a program matches on: the variant of the library's own enum.
    let error_type = outcome.as_ref().err().map_or(String::new(), |error| {
        let status = error.status();
        format!("{}::{status:?}", std::any::type_name_of_val(&status))
    });
    Ok(vec![("status", status_name(&outcome).into()), ("message", message.into()), ("error_type", error_type.into())])
}

/// What the call that provokes a status answered; what fails around it is a failure of the request.
fn provoke(request: &ContextRequest, status: Status) -> Outcome<hexapla::Result<()>> {
    let limited = || request.options().memory_limit(MEBIBYTE);
    Ok(match status {
        Status::Ok => Tensor::zeros(&request.open()?, &[1])?.close(),
        Status::InvalidArgument => Tensor::zeros(&request.open()?, &[-1]).map(drop),
        Status::OutOfMemory => Tensor::zeros(&Context::new(&request.device, &limited())?, &[524_288]).map(drop),
        Status::StaleHandle => {
            let context = request.open()?;
            let id = testing::into_raw(Tensor::zeros(&context, &[1])?);
            testing::release_tensor(id)?;
            testing::read_tensor(id).map(drop)
        }
        Status::WrongKind => {
            let tensor = Tensor::zeros(&request.open()?, &[1])?;
            testing::context_device(testing::raw_id(&tensor)).map(drop)
        }
        Status::WrongThread => {
            let context = Context::new(&request.device, &request.options().owner_thread(true))?;
            joined(thread::scope(|scope| scope.spawn(|| Tensor::zeros(&context, &[1]).map(drop)).join()))?
        }
        Status::Busy => busy(request)?,
        Status::Device => Context::new("cuda:255", &request.options()).map(drop),
        Status::NoGradient => {
            let context = request.open()?;
            Tape::new(&context)?.backward(&Tensor::zeros(&context, &[1])?, None)
        }
        Status::Io => Checkpoint::open(&PathBuf::from("/nonexistent/hexapla")).map(drop),
        Status::Format => bad_file()?,
        Status::Unsupported => Tensor::new(&request.open()?, Dtype::F16, &[1]).map(drop),
        // A probe has no adapter at hand to look "absent" up in.
        Status::NotFound | Status::Internal => {
            let context = request.open()?;
            context.fail_next(status)?;
            Tensor::zeros(&context, &[1]).map(drop)
        }
    })
}

/// What the pressure hook is answered when it calls its own context.
fn busy(request: &ContextRequest) -> Outcome<hexapla::Result<()>> {
    // The context is lent to the hook for one call and taken back: a hook that owns its context is a cycle.
    let lent: Arc<Mutex<Option<Context>>> = Arc::default();
    let kept: Arc<Mutex<Option<hexapla::Result<()>>>> = Arc::default();
    let (hook_context, hook_kept) = (Arc::clone(&lent), Arc::clone(&kept));
    let options = request.options().memory_limit(MEBIBYTE).pressure_hook(move |_| {
        let context = hook_context.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = context.as_ref().map(|context| Tensor::zeros(context, &[1]).map(drop));
        *hook_kept.lock().unwrap_or_else(PoisonError::into_inner) = answer;
        false
    });
    let context = Context::new(&request.device, &options)?;
    *lent.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.clone());
    let refused = Tensor::zeros(&context, &[524_288]);
    lent.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(refused);
    let answer = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
    answer.ok_or_else(|| Failure::new("internal", "the pressure hook was not called", "HXP_BUSY"))
}

/// Open a checkpoint file of 7 zero bytes in a fresh folder.
fn bad_file() -> Outcome<hexapla::Result<()>> {
    let folder = std::env::temp_dir().join(format!("hexapla-rust-{}", process::id()));
    let path = folder.join("bad.safetensors");
    let made = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, [0; 7]));
    made.map_err(|error| Failure::io(&path, &error))?;
    let outcome = Checkpoint::open(&path).map(drop);
    std::fs::remove_dir_all(&folder).map_err(|error| Failure::io(&folder, &error))?;
    Ok(outcome)
}

pub fn callback_throws(request: &ContextRequest, _: &mut Fields) -> Outcome<Seen> {
    let thrown = "thrown by the pressure hook";
    let options = request.options().memory_limit(MEBIBYTE).pressure_hook(move |_| panic!("{thrown}"));
    let context = Context::new(&request.device, &options)?;
    let refused = Tensor::zeros(&context, &[524_288]);
    let panic = refused.as_ref().err().and_then(Error::hook_panic);
    let surfaced = panic.is_some_and(|panic| panic.to_string().contains(thrown));
    let alive = Tensor::zeros(&context, &[256]).is_ok();
    Ok(vec![
        ("status", status_name(&refused).into()),
        ("surfaced", i64::from(surfaced).into()),
        ("alive", i64::from(alive).into()),
    ])
}

pub fn fail_allocation(context: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let request = train_request(parameters)?;
    let nth = parameters.count("nth", 1)?;
    let persistent = parameters.integer("persistent", 0, 1)? == 1;
    let loaded = Loaded::new(&request, Data::read(&request)?, context.open()?)?;
    let trainable = loaded.initial()?;
    let mut order = loaded.order();
    let before = live_bytes()?;
    loaded.context.fail_allocation(nth, persistent)?;
    let outcome = loaded.update(&trainable, &mut order, 1);
    loaded.context.fail_allocation(0, false)?;
    let difference = live_bytes()? - before;
    let fired = loaded.context.memory()?.injected_failures;
    Ok(vec![("fired", fired.into()), ("status", ended_with(&outcome).into()), ("live_difference", difference.into())])
}

/// The status that a stage ended with.
fn ended_with<T>(outcome: &Outcome<T>) -> &str {
    outcome.as_ref().err().map_or(Status::Ok.name(), |failure| &failure.status)
}

pub fn write_fails(context: &ContextRequest, parameters: &mut Fields) -> Outcome<Seen> {
    let request = train_request(parameters)?;
    let limit_bytes = parameters.count("limit_bytes", 0)?;
    let adapter_config = config_bytes(&request.adapter, &request.spec)?;
    let loaded = Loaded::new(&request, Data::read(&request)?, context.open()?)?;
    let trainable = loaded.initial()?;
    let mut order = loaded.order();
    checkpoint::prepare(&request.output, 1..=2)?;
    let save = |k| checkpoint::save(&request.output, k, &trainable, &adapter_config, &request.spec_digest);
    loaded.update(&trainable, &mut order, 1)?;
    let first = save(1)?;
    let refused = |error| Failure::new("io", format!("RLIMIT_FSIZE: {error}"), "write_fails");
    let limit = testing::FileSizeLimit::lower(limit_bytes).map_err(refused)?;
    let second = loaded.update(&trainable, &mut order, 2).and_then(|_| save(2));
    drop(limit);
    let names = &trainable.adapter.names;
    let loads = names::read(&first.join("adapter_model.safetensors"), names, &loaded.context).is_ok()
        && loaded.resumed(&first).is_ok_and(|(_, update)| update == 1);
    Ok(vec![("status", ended_with(&second).into()), ("previous_loads", i64::from(loads).into())])
}
