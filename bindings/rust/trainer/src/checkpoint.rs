//! Checkpoint folders: written beside their name, synced, renamed. Knows files, not training.

use std::path::{Path, PathBuf};

use hexapla::checkpoint::{commit, write};

use crate::failure::{At, Failure, Outcome};
use crate::update::Trainable;

/// `checkpoint-<update, 6 digits>`.
pub fn folder(output: &Path, update: u64) -> PathBuf {
    output.join(format!("checkpoint-{update:06}"))
}

/// Make the output folder, and refuse checkpoints that are about to be written and exist.
pub fn prepare(output: &Path, updates: impl Iterator<Item = u64>) -> Outcome<()> {
    std::fs::create_dir_all(output).map_err(|error| Failure::io(output, &error))?;
    for update in updates {
        let path = folder(output, update);
        if path.symlink_metadata().is_ok() {
            let message = format!("{} exists and would be written", path.display());
            return Err(Failure::new("io", message, path.display().to_string()));
        }
    }
    Ok(())
}

/// Save a checkpoint; its final path. What fails leaves no `.partial` behind.
pub fn save(
    output: &Path,
    update: u64,
    trainable: &Trainable,
    adapter_config: &[u8],
    spec_digest: &str,
) -> Outcome<PathBuf> {
    let path = folder(output, update);
    let partial = path.with_extension("partial");
    let saved = fill(&partial, update, trainable, adapter_config, spec_digest)
        .and_then(|()| commit(&partial, &path).at(path.display().to_string()));
    if let Err(failure) = saved {
        // The failure to report is the first one; the next run removes what this cannot.
        let _ = std::fs::remove_dir_all(&partial);
        return Err(failure);
    }
    Ok(path)
}

fn fill(partial: &Path, update: u64, trainable: &Trainable, adapter_config: &[u8], spec_digest: &str) -> Outcome<()> {
    if partial.symlink_metadata().is_ok() {
        std::fs::remove_dir_all(partial).map_err(|error| Failure::io(partial, &error))?;
    }
    std::fs::create_dir(partial).map_err(|error| Failure::io(partial, &error))?;
    let adapter = &trainable.adapter;
    let parameters = adapter.names.iter().map(|(name, _)| name.as_str()).zip(&adapter.parameters);
    write_file(partial, "adapter_model.safetensors", parameters, &[])?;
    let config = partial.join("adapter_config.json");
    std::fs::write(&config, adapter_config).map_err(|error| Failure::io(&config, &error))?;
    let moments = trainable.moments();
    let moments = moments.iter().map(|(name, tensor)| (name.as_str(), *tensor));
    let update = update.to_string();
    write_file(partial, "optimizer.safetensors", moments, &[("update", &update), ("spec_digest", spec_digest)])
}

fn write_file<'a>(
    folder: &Path,
    name: &str,
    tensors: impl IntoIterator<Item = (&'a str, &'a hexapla::Tensor)>,
    metadata: &[(&str, &str)],
) -> Outcome<()> {
    let path = folder.join(name);
    write(&path, tensors, metadata).at(path.display().to_string())
}
