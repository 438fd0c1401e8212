//! The files from which a graph is read.

use std::path::{Path, PathBuf};

use super::bad_rows::BadRowRule;
use super::column_of::ColumnOf;
use super::drawn_split::DrawnSplit;
use super::listed_labels::ListedLabels;
use super::node_tables::NodeTables;
use crate::graph::CanonicalEtype;
use crate::prepare::import::readers::{EdgeShape, TextRules};
use crate::words::choice::choices;
use crate::words::error::{Error, Result};

/// DGL's name for the only type of nodes, if types have no names.
pub(crate) const NODE: &str = "_N";

/// The only type of edges, if types have no names.
pub(crate) fn edge() -> CanonicalEtype {
    CanonicalEtype::new(NODE, "_E", NODE)
}

choices! {
    /// How files identify nodes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum NodeIds {
        /// Numbers from 0 on
        @default Integer = "integer",
        /// Strings, which are numbered in the order in which they occur; the names are saved
        String = "string",
    }
}

/// A file of edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeFile {
    /// Type of the edges.
    pub etype: CanonicalEtype,
    /// Path of the file. Files of one type continue each other.
    pub path: PathBuf,
}

/// A file with data about each node or edge of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile<T> {
    /// Type of the nodes or edges.
    pub ty: T,
    /// Name of the data, such as `feat`.
    pub name: String,
    /// Path of the file. Files of one type and name continue each other.
    pub path: PathBuf,
    /// Name of the array in an archive of several, if it differs from `name`.
    pub array: Option<String>,
}

impl<T> DataFile<T> {
    /// A file whose array, if it has a name, is called `name`.
    pub fn new(ty: T, name: &str, path: &Path) -> Self {
        DataFile { ty, name: name.to_owned(), path: path.to_owned(), array: None }
    }
}

/// All files of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphFiles {
    /// Edges; the order of their rows numbers the edges of a type.
    pub edges: Vec<EdgeFile>,
    /// Numbers of nodes by type, where they are given.
    pub num_nodes: Vec<(String, u64)>,
    /// Numbers of nodes by type that the data set of `layout` states.
    pub layout_nodes: Vec<(String, u64)>,
    /// Numbers of edges by type, where they are given.
    pub num_edges: Vec<(CanonicalEtype, u64)>,
    /// Features, labels and masks: a row per node.
    pub node_data: Vec<DataFile<String>>,
    /// Weights and other data of edges: a row per edge.
    pub edge_data: Vec<DataFile<CanonicalEtype>>,
    /// Labels of the nodes that files list.
    pub listed_labels: Vec<ListedLabels>,
    /// Lists of nodes or of edges, each of which becomes a mask.
    pub splits: Vec<DataFile<String>>,
    /// The split to use if masks hold several, counted from 0.
    pub split_index: Option<u64>,
    /// Splits of nodes or edges by shares.
    pub drawn_splits: Vec<DrawnSplit>,
    /// How the files identify nodes.
    pub node_ids: NodeIds,
    /// Files with the names of a type's nodes, one per line, in the order of node data. Nodes of these types are
    /// identified by strings.
    pub node_names: Vec<(String, PathBuf)>,
    /// Treatment of bad rows in edge files; without it, the first one is an error.
    pub bad_rows: Option<BadRowRule>,
    /// Rules for reading text files that replace automatic detection.
    pub text: TextRules,
    /// Names of further columns of edge files, which become edge data: columns with these names or, in files without
    /// names, the columns after source and destination.
    pub edge_columns: Vec<String>,
    /// The column with each edge's type: its name, or its number from 1 in files without names.
    pub relation_column: Option<String>,
    /// Whether splits list undirected edges.
    pub undirected: bool,
    /// Tables of nodes with columns of ids.
    pub node_tables: NodeTables,
    /// Columns with the sources of edges, in files whose columns have names.
    pub source_columns: Vec<ColumnOf<CanonicalEtype>>,
    /// Columns with the destinations of edges.
    pub target_columns: Vec<ColumnOf<CanonicalEtype>>,
    /// Folder of a data set whose layout defines the content of its files, which then get no notes.
    pub layout: Option<PathBuf>,
    /// Shape of arrays of edges, if the layout defines it.
    pub edge_shape: Option<EdgeShape>,
    /// Shape of arrays of edges in splits, if the layout defines it.
    pub split_shape: Option<EdgeShape>,
    /// Notes on files that are left out.
    pub notes: Vec<String>,
}

/// Names of the columns of sources and destinations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndColumns<'f> {
    pub(crate) source: &'f str,
    pub(crate) target: &'f str,
}

impl GraphFiles {
    /// Parses `FILE` or `src:rel:dst=FILE`.
    ///
    /// # Errors
    /// If the name of the file is missing.
    pub fn parse_edges(field: &str, text: &str) -> Result<EdgeFile> {
        let typed = text.split_once('=').and_then(|(name, path)| {
            Some((CanonicalEtype::parse(name).filter(|etype| !has_empty(etype))?, path))
        });
        let (etype, path) = typed.unwrap_or_else(|| (edge(), text));
        if path.is_empty() {
            return Err(Error::config(field, format!("{text:?} does not name a file"))
                .with_hint(format!("pass ‹{field}=FILE› or ‹{field}=SRC:REL:DST=FILE›")));
        }
        Ok(EdgeFile { etype, path: path.into() })
    }

    /// Parses `NAME=FILE` or `TYPE/NAME=FILE` of nodes.
    ///
    /// # Errors
    /// If the name, the type or the name of the file is missing.
    pub fn parse_node_data(field: &str, text: &str) -> Result<DataFile<String>> {
        let NamedFile { ty, name, path } = NamedFile::parse(field, text)?;
        Ok(DataFile::new(ty.unwrap_or(NODE).to_owned(), name, path))
    }

    /// Parses `NAME=FILE` or `SRC:REL:DST/NAME=FILE` of edges.
    ///
    /// # Errors
    /// If the name or the name of the file is missing, or the type is not a canonical edge type.
    pub fn parse_edge_data(field: &str, text: &str) -> Result<DataFile<CanonicalEtype>> {
        let NamedFile { ty, name, path } = NamedFile::parse(field, text)?;
        let ty = match ty {
            None => edge(),
            Some(ty) => {
                CanonicalEtype::parse(ty).filter(|etype| !has_empty(etype)).ok_or_else(|| {
                    Error::config(field, format!("{ty:?} is not an edge type"))
                        .with_hint(format!("pass ‹{field}=SRC:REL:DST/NAME=FILE›"))
                })?
            }
        };
        Ok(DataFile::new(ty, name, path))
    }

    /// Parses `COLUMN` or `SRC:REL:DST=COLUMN`.
    pub fn parse_edge_column(text: &str) -> ColumnOf<CanonicalEtype> {
        ColumnOf::parse(text, |ty| CanonicalEtype::parse(ty).filter(|etype| !has_empty(etype)))
    }

    /// The columns of sources and destinations of a type, if they are chosen by name.
    pub(crate) fn end_columns(&self, etype: &CanonicalEtype) -> Result<Option<EndColumns<'_>>> {
        let source = ColumnOf::one("source_column", &self.source_columns, etype)?;
        let target = ColumnOf::one("target_column", &self.target_columns, etype)?;
        match (source, target) {
            (Some(source), Some(target)) => Ok(Some(EndColumns { source, target })),
            (None, None) => Ok(None),
            (source, _) => {
                let (given, missing) = match source {
                    Some(_) => ("source_column", "target_column"),
                    None => ("target_column", "source_column"),
                };
                let problem = format!("needs ‹{missing}›, for edges of type {etype}");
                Err(Error::config(given, problem).with_hint(format!("add ‹{missing}=NAME›")))
            }
        }
    }

    /// Parses `VALUE` or `TYPE=VALUE` of nodes.
    pub fn parse_of_type(text: &str) -> (String, String) {
        let (ty, value) = text.split_once('=').unwrap_or((NODE, text));
        (ty.to_owned(), value.to_owned())
    }
}

fn has_empty(etype: &CanonicalEtype) -> bool {
    [&etype.src, &etype.rel, &etype.dst].into_iter().any(String::is_empty)
}

/// The parts of `NAME=FILE` or `TYPE/NAME=FILE`.
struct NamedFile<'t> {
    ty: Option<&'t str>,
    name: &'t str,
    path: &'t Path,
}

impl<'t> NamedFile<'t> {
    fn parse(field: &str, text: &'t str) -> Result<Self> {
        let parts = text.split_once('=').and_then(|(key, path)| {
            let (ty, name) =
                key.rsplit_once('/').map_or((None, key), |(ty, name)| (Some(ty), name));
            let complete = !name.is_empty() && !path.is_empty() && ty != Some("");
            complete.then(|| NamedFile { ty, name, path: Path::new(path) })
        });
        parts.ok_or_else(|| {
            Error::config(field, format!("{text:?} does not have the form NAME=FILE"))
                .with_hint(format!("pass ‹{field}=NAME=FILE›, or ‹{field}=TYPE/NAME=FILE›"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_stand_before_files_and_names() {
        let file = GraphFiles::parse_edges("edges", "a:r:b=x=1.csv").unwrap();
        assert_eq!((file.etype, file.path), (CanonicalEtype::new("a", "r", "b"), "x=1.csv".into()));
        let file = GraphFiles::parse_edges("edges", "x=1.csv").unwrap();
        assert_eq!((file.etype, file.path), (edge(), "x=1.csv".into()));
        let file = GraphFiles::parse_node_data("node_data", "paper/feat=f.npy").unwrap();
        assert_eq!((file.ty.as_str(), file.name.as_str()), ("paper", "feat"));
        let file = GraphFiles::parse_edge_data("edge_data", "a:r:b/w=f.npy").unwrap();
        assert_eq!((file.ty.rel.as_str(), file.name.as_str()), ("r", "w"));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for wrong in ["feat", "=x", "feat=", "/feat=x", "paper/=x"] {
            assert!(GraphFiles::parse_node_data("node_data", wrong).is_err(), "{wrong}");
        }
        assert!(GraphFiles::parse_edges("edges", "a:r:b=").is_err());
        assert!(GraphFiles::parse_edge_data("edge_data", "r/w=x").is_err());
    }
}
