//! What files a graph is read from.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::error::{Error, Result};
use crate::graph::CanonicalEtype;

/// The only type of nodes, as DGL names it, where types are not named.
pub(crate) const NODE: &str = "_N";

/// The only type of edges.
pub(crate) fn edge() -> CanonicalEtype {
    CanonicalEtype::new(NODE, "_E", NODE)
}

/// What files call nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum NodeIds {
    /// Numbers from 0 on
    #[default]
    Integer,
    /// Strings, which are numbered in the order in which they occur; the names are saved
    String,
}

/// A file of edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeFile {
    /// Their type.
    pub etype: CanonicalEtype,
    /// The file. Files of one type continue each other.
    pub path: PathBuf,
}

/// A file with something about each node or edge of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile<T> {
    /// The type.
    pub ty: T,
    /// What the file holds, such as `feat`.
    pub name: String,
    /// The file. Files of one type and name continue each other.
    pub path: PathBuf,
    /// The array that is meant, if it is called otherwise in an archive of several.
    pub array: Option<String>,
}

impl<T> DataFile<T> {
    /// A file whose array has the same name, if it has one.
    pub fn new(ty: T, name: &str, path: &Path) -> Self {
        DataFile { ty, name: name.to_owned(), path: path.to_owned(), array: None }
    }
}

/// All files of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphFiles {
    /// Edges; the order of their rows numbers the edges of a type.
    pub edges: Vec<EdgeFile>,
    /// Numbers of nodes by type, where they are told.
    pub num_nodes: Vec<(String, u64)>,
    /// Numbers of edges by type, where they are told.
    pub num_edges: Vec<(CanonicalEtype, u64)>,
    /// Features, labels and masks: a row per node.
    pub node_data: Vec<DataFile<String>>,
    /// Weights and other data of edges: a row per edge.
    pub edge_data: Vec<DataFile<CanonicalEtype>>,
    /// Lists of nodes, each of which becomes a mask.
    pub splits: Vec<DataFile<String>>,
    /// What the files call nodes.
    pub node_ids: NodeIds,
    /// Names of the nodes of a type, one a line, in the order of node data. Types with such a file are named by strings.
    pub node_names: Vec<(String, PathBuf)>,
    /// Text files of edges begin with a line of column names. Where nodes are numbered this is seen without being told.
    pub header: bool,
    /// Names of the columns that text files of edges have behind source and destination; they become edge data.
    pub edge_columns: Vec<String>,
}

impl GraphFiles {
    /// Reads `FILE` or `src:rel:dst=FILE`.
    ///
    /// # Errors
    /// There is no file's name.
    pub fn parse_edges(flag: &str, text: &str) -> Result<EdgeFile> {
        let typed = text.split_once('=').and_then(|(name, path)| {
            Some((CanonicalEtype::parse(name).filter(|etype| !has_empty(etype))?, path))
        });
        let (etype, path) = typed.unwrap_or_else(|| (edge(), text));
        if path.is_empty() {
            return Err(Error::config(flag, format!("{text:?} names no file"))
                .with_hint(format!("pass {flag} FILE or {flag} SRC:REL:DST=FILE")));
        }
        Ok(EdgeFile { etype, path: path.into() })
    }

    /// Reads `NAME=FILE` or `TYPE/NAME=FILE` of nodes.
    ///
    /// # Errors
    /// There is no name, no type or no file's name.
    pub fn parse_node_data(flag: &str, text: &str) -> Result<DataFile<String>> {
        let (ty, name, path) = split(flag, text)?;
        Ok(DataFile::new(ty.unwrap_or(NODE).to_owned(), &name, &path))
    }

    /// Reads `NAME=FILE` or `SRC:REL:DST/NAME=FILE` of edges.
    ///
    /// # Errors
    /// There is no name, no file's name, or the type is no canonical one.
    pub fn parse_edge_data(flag: &str, text: &str) -> Result<DataFile<CanonicalEtype>> {
        let (ty, name, path) = split(flag, text)?;
        let ty = match ty {
            None => edge(),
            Some(ty) => {
                CanonicalEtype::parse(ty).filter(|etype| !has_empty(etype)).ok_or_else(|| {
                    Error::config(flag, format!("{ty:?} is no edge type"))
                        .with_hint(format!("pass {flag} SRC:REL:DST/NAME=FILE"))
                })?
            }
        };
        Ok(DataFile::new(ty, &name, &path))
    }

    /// Reads `VALUE` or `TYPE=VALUE` of nodes.
    pub fn parse_of_type(text: &str) -> (String, String) {
        let (ty, value) = text.split_once('=').unwrap_or((NODE, text));
        (ty.to_owned(), value.to_owned())
    }
}

fn has_empty(etype: &CanonicalEtype) -> bool {
    [&etype.src, &etype.rel, &etype.dst].into_iter().any(String::is_empty)
}

fn split<'a>(flag: &str, text: &'a str) -> Result<(Option<&'a str>, String, PathBuf)> {
    let parts = text.split_once('=').and_then(|(key, path)| {
        let (ty, name) = key.split_once('/').map_or((None, key), |(ty, name)| (Some(ty), name));
        let complete = !name.is_empty() && !path.is_empty() && ty != Some("");
        complete.then(|| (ty, name.to_owned(), PathBuf::from(path)))
    });
    parts.ok_or_else(|| {
        Error::config(flag, format!("{text:?} is not of the form NAME=FILE"))
            .with_hint(format!("pass {flag} NAME=FILE, or {flag} TYPE/NAME=FILE"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_stand_before_files_and_names() {
        let file = GraphFiles::parse_edges("--edges", "a:r:b=x=1.csv").unwrap();
        assert_eq!((file.etype, file.path), (CanonicalEtype::new("a", "r", "b"), "x=1.csv".into()));
        let file = GraphFiles::parse_edges("--edges", "x=1.csv").unwrap();
        assert_eq!((file.etype, file.path), (edge(), "x=1.csv".into()));
        let file = GraphFiles::parse_node_data("--node-data", "paper/feat=f.npy").unwrap();
        assert_eq!((file.ty.as_str(), file.name.as_str()), ("paper", "feat"));
        let file = GraphFiles::parse_edge_data("--edge-data", "a:r:b/w=f.npy").unwrap();
        assert_eq!((file.ty.rel.as_str(), file.name.as_str()), ("r", "w"));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for wrong in ["feat", "=x", "feat=", "/feat=x", "paper/=x"] {
            assert!(GraphFiles::parse_node_data("--node-data", wrong).is_err(), "{wrong}");
        }
        assert!(GraphFiles::parse_edges("--edges", "a:r:b=").is_err());
        assert!(GraphFiles::parse_edge_data("--edge-data", "r/w=x").is_err());
    }
}
