//! Saving and loading of embeddings with their optimizer's state.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::dist_tensor::DistTensor;
use super::sparse_optimizer::SparseOptimizer;
use super::sparse_rule::SparseRule;
use crate::io::AtomicFile;
use crate::words::error::{Error, Result};

const VERSION: u32 = 1;
const MANIFEST: &str = "optimizer.json";
/// Number of bytes copied at a time.
const CHUNK: usize = 1 << 20;

/// The content of a saved folder.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    version: u32,
    optimizer: String,
    constants: BTreeMap<String, f64>,
    /// The file of each tensor and its CRC-32.
    tensors: BTreeMap<String, (String, u32)>,
}

impl<R: SparseRule> SparseOptimizer<R> {
    /// Saves all embeddings and their state into a folder: one `.npy` file per tensor and a manifest with checksums. An
    /// interrupted save leaves the previous one intact. One rank calls this while no rank makes a step. A later run,
    /// with any number of ranks, can load it on one of them.
    ///
    /// # Errors
    /// If a file cannot be written (`Io`, `OutOfDisk`).
    pub fn save(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))?;
        let mut tensors = BTreeMap::new();
        for (name, tensor) in self.tensors() {
            tensors.insert(name.clone(), save_tensor(folder, &name, tensor)?);
        }
        let constants = self.rule().constants().into_iter();
        let constants = constants.map(|(name, value)| (name.to_owned(), value)).collect();
        let optimizer = R::NAME.to_owned();
        let manifest = Manifest { version: VERSION, optimizer, constants, tensors };
        let text = serde_json::to_string_pretty(&manifest)
            .map_err(|e| Error::internal(format!("cannot encode a manifest: {e}")))?;
        AtomicFile::write(&folder.join(MANIFEST), text.as_bytes())?;
        remove_others(folder, &manifest)
    }

    /// Loads the files of [`save`](Self::save). If one is missing or does not fit, nothing is changed. The optimizer
    /// keeps its constants. One rank calls this, before a barrier.
    ///
    /// # Errors
    /// If a file is missing, damaged, of another version or optimizer, or belongs to other embeddings.
    pub fn load(&self, folder: &Path) -> Result<()> {
        let path = folder.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(|e| Error::unreadable(&path, &e))?;
        let manifest: Manifest = serde_json::from_str(&text)
            .map_err(|e| Error::input(&path, "", format!("is not a manifest: {e}")))?;
        let Manifest { version, optimizer, mut tensors, .. } = manifest;
        if version != VERSION || optimizer != R::NAME {
            let problem =
                format!("is version {version} of {optimizer}, not {VERSION} of {}", R::NAME);
            return Err(Error::input(&path, "", problem));
        }
        let mut found = Vec::new();
        for (name, tensor) in self.tensors() {
            let (file, checksum) = tensors.remove(&name).ok_or_else(|| {
                Error::input(&path, &name, "is missing").with_hint("load with the same embeddings")
            })?;
            let file = folder.join(file);
            tensor.check_copy(&file)?;
            if crc32(&file, |_| Ok(()))? != checksum {
                return Err(Error::input(&file, "", "the checksum does not match the manifest"));
            }
            found.push((tensor, file));
        }
        if let Some(other) = tensors.keys().next() {
            return Err(Error::input(
                &path,
                other,
                "does not belong to any embedding of this optimizer",
            ));
        }
        found.into_iter().try_for_each(|(tensor, file)| {
            let mut at = 0;
            crc32(&file, |bytes| {
                tensor.write_bytes(at, bytes)?;
                at += bytes.len() as u64;
                Ok(())
            })
            .map(drop)
        })
    }

    /// Every tensor with its name.
    fn tensors(&self) -> impl Iterator<Item = (String, &DistTensor<f32>)> {
        self.embeddings().iter().enumerate().flat_map(|(i, embedding)| {
            let states = R::STATES.iter().zip(self.states(i));
            let states = states
                .map(|((suffix, _), state)| (format!("{}_{suffix}", embedding.name()), state));
            std::iter::once((embedding.name().to_owned(), embedding.weight())).chain(states)
        })
    }
}

/// Copies a tensor's file; returns the copy's name, which depends on the content, and its checksum.
fn save_tensor(folder: &Path, name: &str, tensor: &DistTensor<f32>) -> Result<(String, u32)> {
    // The name is only known after the content has been read.
    let checksum = crc32(tensor.path(), |_| Ok(()))?;
    let file_name = format!("{name}-{checksum:08x}.npy");
    let path = folder.join(&file_name);
    let copy = AtomicFile::create(&path)?;
    let copied = crc32(tensor.path(), |bytes| {
        copy.file().write_all(bytes).map_err(|e| Error::io("write", &path, e))
    })?;
    if copied != checksum {
        let problem = format!("{name} was changed while it was saved");
        return Err(Error::config("embeddings", problem));
    }
    copy.commit()?;
    Ok((file_name, checksum))
}

/// CRC-32 of a file; passes each part that was read to `visit`.
fn crc32(path: &Path, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<u32> {
    let mut file = File::open(path).map_err(|e| Error::unreadable(path, &e))?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        match file.read(&mut buffer).map_err(|e| Error::unreadable(path, &e))? {
            0 => return Ok(hasher.finalize()),
            len => {
                hasher.update(&buffer[..len]);
                visit(&buffer[..len])?;
            }
        }
    }
}

/// Removes the tensors of an earlier save.
fn remove_others(folder: &Path, manifest: &Manifest) -> Result<()> {
    let kept = |name: &str| manifest.tensors.values().any(|(file, _)| file == name);
    for name in manifest.tensors.keys() {
        for entry in fs::read_dir(folder).map_err(|e| Error::io("read", folder, e))?.flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let ours = file.strip_prefix(&format!("{name}-")).is_some_and(is_copy);
            if ours && !kept(&file) {
                let path = entry.path();
                fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
            }
        }
    }
    Ok(())
}

/// Whether the rest of a file's name marks a copy.
fn is_copy(rest: &str) -> bool {
    let checksum = rest.strip_suffix(".npy");
    checksum.is_some_and(|c| c.len() == 8 && c.bytes().all(|b| b.is_ascii_hexdigit()))
}
