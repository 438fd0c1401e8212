//! Archives of a whole graph, in arrays with usual names.

use std::path::Path;

use crate::prepare::import::files::{DataFile, EdgeFile, GraphFiles, NODE, edge};
use crate::prepare::import::readers::{ArchiveArrays, USUAL_EDGES, USUAL_LISTS, listed};
use crate::words::error::{Error, Result};

/// Node data, and the usual names of its arrays in PyTorch Geometric, DGL, OGB, gnn-benchmark and others.
const NODE_ARRAYS: [(&str, &[&str]); 5] = [
    (
        "feat",
        &["x", "feat", "features", "feature", "node_feat", "node_features", "attr", "attr_matrix"],
    ),
    ("label", &["y", "label", "labels", "node_label", "node_labels", "target"]),
    ("train_mask", &["train_mask", "train_masks"]),
    ("val_mask", &["val_mask", "val_masks", "valid_mask", "valid_masks"]),
    ("test_mask", &["test_mask", "test_masks"]),
];

/// Edge data, and the usual names of its arrays.
const EDGE_ARRAYS: [(&str, &[&str]); 2] = [
    ("feat", &["edge_attr", "edge_feat", "edge_features"]),
    ("weight", &["edge_weight", "edge_weights"]),
];

/// Arrays with the number of nodes.
const COUNTS: [&str; 1] = ["num_nodes"];

impl GraphFiles {
    /// The arrays of an archive, found by usual names; a note says how each is used. With `has_edges`, edges and their
    /// data come from other files.
    ///
    /// # Errors
    /// If the file is not an archive of arrays, or lacks edges that are needed.
    pub fn of_npz(path: &Path, has_edges: bool) -> Result<Self> {
        let mut taken = Taken { arrays: ArchiveArrays::open(path)?, said: Vec::new() };
        let mut files = GraphFiles { layout: Some(path.to_owned()), ..GraphFiles::default() };
        if !has_edges {
            let sparse = taken.arrays.sparse_edges();
            files.edges.push(taken.edges(path)?);
            files.notes.extend(sparse.map(|_| {
                format!("{}: ‹edge_columns=NAME› keeps the values of the edges", path.display())
            }));
        }
        files.node_data = taken.data(path, &NODE_ARRAYS, &NODE.to_owned());
        if !has_edges {
            files.edge_data = taken.data(path, &EDGE_ARRAYS, &edge());
        }
        files.splits = taken.data(path, &USUAL_LISTS, &NODE.to_owned());
        if let Some(name) = taken.find(&COUNTS) {
            files.layout_nodes.push((NODE.to_owned(), taken.arrays.number(name)?));
            taken.take("the number of nodes", name);
        }
        let left = taken.arrays.names();
        let left =
            if left.is_empty() { String::new() } else { format!("; left out: {}", listed(&left)) };
        files.notes.push(format!("{}: {}{left}", path.display(), taken.said.join("; ")));
        Ok(files)
    }
}

/// An archive's unused arrays, and notes on the others.
struct Taken {
    arrays: ArchiveArrays,
    said: Vec<String>,
}

impl Taken {
    /// The first of `names` that an array or a sparse matrix has.
    fn find<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.arrays.has(name))
    }

    fn edges(&mut self, path: &Path) -> Result<EdgeFile> {
        let edges = self.arrays.sparse_edges().or_else(|| self.find(&USUAL_EDGES));
        let Some(edges) = edges else {
            let problem = format!("holds no array named {}", USUAL_EDGES.join(" or "));
            return Err(Error::input(path, "", problem).with_hint(format!(
                "it holds {}; name the files of edges with ‹edges›",
                listed(&self.arrays.names())
            )));
        };
        self.take("edges", edges);
        Ok(EdgeFile { etype: edge(), path: path.to_owned() })
    }

    fn take(&mut self, what: &str, name: &str) {
        self.arrays.remove(name);
        let are = if what == "edges" { "are" } else { "is" };
        let name = if name.is_empty() { "a sparse matrix" } else { name };
        self.said.push(format!("{what} {are} {name}"));
    }

    /// The data that the archive has arrays for.
    fn data<T: Clone>(
        &mut self,
        path: &Path,
        usual: &[(&str, &'static [&'static str])],
        ty: &T,
    ) -> Vec<DataFile<T>> {
        let mut found = Vec::new();
        for (name, arrays) in usual {
            let Some(array) = self.find(arrays) else { continue };
            self.take(name, array);
            let file = DataFile::new(ty.clone(), name, path);
            found.push(DataFile { array: Some(array.to_owned()), ..file });
        }
        found
    }
}
