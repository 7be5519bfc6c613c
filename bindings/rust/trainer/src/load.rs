//! The `load` request: every tensor of a model, with its digest after widening. Reads one at a time.

use hexapla::Tensor;

use crate::events::Events;
use crate::failure::{At, Outcome};
use crate::model::Files;
use crate::requests::LoadRequest;

pub fn answer(request: &LoadRequest, events: &Events) -> Outcome<()> {
    let context = request.context.open()?;
    let files = Files::open(&request.model, &context)?;
    let mut parameters = 0;
    for (index, entry) in &files.entries {
        let tensor = files.checkpoint.read(*index, &context).at(&*entry.name)?;
        parameters += entry.elements;
        events.send(
            "tensor",
            [
                ("name", entry.name.as_str().into()),
                ("shape", entry.shape.iter().copied().collect()),
                ("dtype", entry.dtype.as_str().into()),
                ("digest", Tensor::digest([&tensor]).at(&*entry.name)?.into()),
            ],
        );
    }
    let tensors = files.entries.len();
    drop((files, context));
    events.send("done", [("tensors", tensors.into()), ("parameters", parameters.into())]);
    Ok(())
}
