//! Files with the original ids of a partitioned graph's nodes.

use std::path::{Path, PathBuf};

use super::arrays::open_array;
use crate::formats::dgl::ArrayRef;
use crate::formats::dgl::saved_tensors::open_saved_tensors;
use crate::graph::PartitionBook;
use crate::prepare::import::readers::{Ask, Wants, member_names};
use crate::words::error::{Error, Result};

/// A file of original ids, for one node type or for several by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginalIdsFile {
    /// The node type, if the user names it.
    pub ntype: Option<String>,
    /// The file.
    pub path: PathBuf,
}

/// Original ids from files, by node type: for each node, by its id within its type, the id before the graph was cut.
/// Compressed arrays are unpacked into unnamed files in `folder`.
///
/// # Errors
/// If a file cannot be read or names a type that the graph does not have, or a type is given twice.
pub fn read_original_ids(
    files: &[OriginalIdsFile],
    book: &PartitionBook,
    folder: &Path,
) -> Result<Vec<Option<ArrayRef>>> {
    let mut ids: Vec<Option<ArrayRef>> = vec![None; book.ntypes().len()];
    for OriginalIdsFile { ntype, path } in files {
        let arrays = arrays(path, folder)?;
        let one = arrays.len() == 1 && (ntype.is_some() || ids.len() == 1);
        for (name, array) in arrays {
            let name = match ntype {
                Some(ntype) => ntype,
                None if one => &book.ntypes()[0],
                None => &name,
            };
            let unknown = || {
                let problem = match (&name[..], ntype.is_some()) {
                    ("", _) => "holds ids of one node type, but the graph has several".to_owned(),
                    (_, true) => format!("unknown node type {name:?}"),
                    (_, false) => format!("holds an array {name:?}, which is not a node type"),
                };
                Error::input(path, "", problem).with_hint(format!(
                    "the graph has {}; pass ‹orig_ids=TYPE=FILE›, or a file with an array for each type",
                    book.ntypes().join(", ")
                ))
            };
            let at = book.ntype_id(name).ok_or_else(unknown)?;
            if ids[at].replace(array).is_some() {
                let problem = format!("holds ids of node type {name:?}, which are given already");
                return Err(Error::input(path, "", problem));
            }
        }
    }
    Ok(ids)
}

/// Arrays of a file by name; a single array may have an empty name.
fn arrays(path: &Path, folder: &Path) -> Result<Vec<(String, ArrayRef)>> {
    let ask = Ask::new(Wants::Table, folder);
    let names = member_names(path)?;
    if names.iter().any(|name| name.ends_with("data.pkl")) {
        return open_saved_tensors(path);
    }
    if names.is_empty() {
        return Ok(vec![(String::new(), open_array(path, "", &ask)?)]);
    }
    let arrays = names.into_iter().map(|name| {
        let array = open_array(path, "", &Ask { array: Some(&name), ..ask })?;
        Ok((name, array))
    });
    arrays.collect()
}
