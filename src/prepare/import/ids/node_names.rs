//! Nodes identified by strings.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::prepare::import::readers::{Ask, CellValue, FileRows, nearest};
use crate::words::error::{Error, Result};
use crate::words::size::size;

/// The folder of the nodes' names in a partition directory.
pub(crate) const NODE_NAMES: &str = "node_names";

/// The file with the names of the nodes of a type, in a partition directory.
pub(crate) fn names_file(folder: &Path, ntype: &str) -> PathBuf {
    folder.join(NODE_NAMES).join(format!("{}.txt", ntype.replace('/', "_")))
}

/// Memory per name in addition to its bytes: overhead of an allocation, and entries of the map while it moves to twice the room.
const PER_NAME: u64 = 112;

/// Maximum number of names that are compared with an unknown one.
const COMPARED: usize = 10_000;

/// Memory that a name takes, in bytes.
fn memory_of(name: &[u8]) -> u64 {
    PER_NAME + name.len() as u64
}

/// Memory for the names in the rest of a file, in bytes; they are in the first selected column.
pub(super) fn memory_of_rest(rows: &mut FileRows) -> Result<u64> {
    let mut memory = 0;
    while rows.advance()? {
        memory += rows.value(0).name().map_or(0, |name| memory_of(&name));
    }
    Ok(memory)
}

/// Memory that the names of all types share.
#[derive(Debug)]
pub(crate) struct NamesMemory(Arc<NameTotals>);

#[derive(Debug, Default)]
struct NameTotals {
    /// Bytes that all names may take.
    limit: u64,
    taken: AtomicU64,
    /// Number of names.
    names: AtomicU64,
    /// Bytes of complete lists.
    complete: AtomicU64,
}

impl NamesMemory {
    /// Memory of `limit` bytes.
    pub(crate) fn new(limit: u64) -> Self {
        NamesMemory(Arc::new(NameTotals { limit, ..NameTotals::default() }))
    }
}

impl NameTotals {
    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

/// The names of the nodes of one type; a node's id is the index of its name.
#[derive(Debug)]
pub struct NodeNames {
    ids: HashMap<Box<[u8]>, u64>,
    /// Whether unknown names become new nodes.
    open: bool,
    /// Bytes that these names take.
    own: u64,
    memory: Arc<NameTotals>,
}

impl NodeNames {
    /// An empty list of names; nodes are numbered in the order of their first occurrence.
    pub(crate) fn new(memory: &NamesMemory) -> Self {
        NodeNames { ids: HashMap::new(), open: true, own: 0, memory: memory.0.clone() }
    }

    /// The names that a file lists, a row for each, and a note on how it was read.
    pub(crate) fn read(path: &Path, ask: &Ask<'_>, memory: &NamesMemory) -> Result<(Self, String)> {
        let mut names = NodeNames::new(memory);
        let mut rows = FileRows::open_list(path, &Ask { ids_are_names: true, ..*ask })?;
        while rows.advance()? {
            let due = names.ids.len() as u64;
            let id = match rows.value(0) {
                CellValue::Text(name) if !name.contains(&b'\n') => names.id(name),
                CellValue::Whole(number) => names.id(number.to_string().as_bytes()),
                other => return Err(rows.fail(format!("{} is not a name", other.shown()))),
            };
            match id {
                Ok(id) if id == Some(due) => {}
                Ok(_) => {
                    let problem = format!("names {} a second time", rows.value(0).shown());
                    return Err(rows.fail(problem));
                }
                Err(_) => {
                    let more = memory_of_rest(&mut rows)?;
                    return Err(names.too_many(more));
                }
            }
        }
        names.close();
        let note = rows.note(&format!("; {} names", names.len()));
        Ok((names, note))
    }

    /// The names in a partition directory's [file](names_file).
    pub(crate) fn of_file(path: &Path, memory: &NamesMemory) -> Result<Self> {
        let unreadable = |e| Error::unreadable(path, &e);
        let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
        let (mut names, mut line) = (NodeNames::new(memory), Vec::new());
        while file.read_until(b'\n', &mut line).map_err(unreadable)? > 0 {
            names.add(line.strip_suffix(b"\n").unwrap_or(&line))?;
            line.clear();
        }
        names.close();
        Ok(names)
    }

    /// Ends the list; later lookups add no names.
    pub(crate) fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.memory.complete.fetch_add(self.own, Ordering::Relaxed);
        }
    }

    /// Whether unknown names become new nodes.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// The id of a name that is known.
    pub(crate) fn known(&self, name: &[u8]) -> Option<u64> {
        self.ids.get(name).copied()
    }

    /// The name that was most likely meant by `name`, unless there are too many to compare.
    pub(super) fn nearest(&self, name: &[u8]) -> Option<&str> {
        let few = Some(&self.ids).filter(|ids| ids.len() <= COMPARED);
        let names = few.into_iter().flat_map(HashMap::keys);
        let name = std::str::from_utf8(name).ok()?;
        nearest(name, names.filter_map(|other| std::str::from_utf8(other).ok()))
    }

    /// The id of a name; `None` if no node has it.
    pub(crate) fn id(&mut self, name: &[u8]) -> Result<Option<u64>> {
        if let Some(&id) = self.ids.get(name) {
            return Ok(Some(id));
        }
        if self.open { self.add(name).map(Some) } else { Ok(None) }
    }

    /// Adds a name that no node has; returns its id.
    pub(crate) fn add(&mut self, name: &[u8]) -> Result<u64> {
        let more = memory_of(name);
        self.own += more;
        self.memory.taken.fetch_add(more, Ordering::Relaxed);
        if self.is_full() {
            return Err(self.too_many(0));
        }
        self.memory.names.fetch_add(1, Ordering::Relaxed);
        let id = self.ids.len() as u64;
        self.ids.insert(name.into(), id);
        Ok(id)
    }

    /// Whether a name has exceeded the limit.
    pub(crate) fn is_full(&self) -> bool {
        self.memory.taken() > self.memory.limit
    }

    /// The error for names that exceed the limit; all names take `more` bytes more than those read so far.
    pub(crate) fn too_many(&self, more: u64) -> Error {
        let (needed, limit) = (self.memory.taken() + more, self.memory.limit);
        let (count, left) = (self.memory.names.load(Ordering::Relaxed), size(limit));
        let problem = format!(
            "the names of nodes take {}, but {left} are left for them, enough for {count}",
            size(needed)
        );
        Error::config("memory", problem)
            .with_hint("allow more memory, or number the nodes in the input files")
            .missing_memory(needed - limit)
    }

    /// The error for names that exceed the limit after `read` of `total` bytes of their files.
    pub(crate) fn too_many_after(&self, read: u64, total: u64) -> Error {
        let rest = total.saturating_sub(read) as f64 / read.max(1) as f64;
        let growing = self.memory.taken() - self.memory.complete.load(Ordering::Relaxed);
        self.too_many(if read == 0 { 0 } else { (rest * growing as f64) as u64 })
    }

    /// Number of names.
    pub fn len(&self) -> u64 {
        self.ids.len() as u64
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Writes the names, one per line, in the order of ids.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut names: Vec<(&[u8], u64)> =
            self.ids.iter().map(|(name, id)| (&**name, *id)).collect();
        names.sort_unstable_by_key(|(_, id)| *id);
        let write = || {
            let mut file = BufWriter::new(File::create(path)?);
            for (name, _) in names {
                file.write_all(name)?;
                file.write_all(b"\n")?;
            }
            file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
        };
        write().map_err(|e| Error::io("write", path, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_numbered_as_they_come_until_memory_is_full() {
        let memory = NamesMemory::new(350);
        let mut others = NodeNames::new(&memory);
        assert_eq!(others.id(b"a").unwrap(), Some(0));
        let mut names = NodeNames::new(&memory);
        let mut id = |name: &str| names.id(name.as_bytes());
        assert_eq!(id("b").unwrap(), Some(0));
        assert_eq!(id("a").unwrap(), Some(1));
        assert_eq!(id("b").unwrap(), Some(0));
        let error = id("c").unwrap_err();
        assert!(error.to_string().contains("memory"), "{error}");
        assert_eq!(error.memory_missing(), Some(102));
    }
}
