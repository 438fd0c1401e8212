//! Folders of the Open Graph Benchmark (Hu et al. 2020), as its downloads unpack them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::ogb_folder::{ONE_GRAPH, names, only_split, read_count, split_lists, tables};
use super::ogb_relations::relations;
use crate::prepare::import::files::{DataFile, EdgeFile, GraphFiles, NODE, edge};
use crate::prepare::import::readers::{ArchiveArrays, listed};
use crate::words::error::{Error, Result};

/// Names of the folders of data sets whose edges OGB's loader stores in both directions, though the files do not. They may
/// follow `ogbn_` or `ogbl_`.
const INVERSE: [&str; 6] = ["products", "proteins", "ppa", "ppassoc", "collab", "ddi"];

/// Files that say what others hold.
const LISTS: [&str; 5] =
    ["num-node-list", "num-edge-list", "num-node-dict", "triplet-type-list", "nodetype-has-"];

impl GraphFiles {
    /// The files of a data set of one graph: `raw/edge.csv.gz` or `raw/data.npz`, the tables next to it, and the lists
    /// of nodes in `split/`. Heterogeneous data sets have a folder per relation and per node type. A note lists the other
    /// files.
    ///
    /// # Errors
    /// If the folder is not a data set of OGB, or has several graphs or splits.
    pub fn of_ogb(folder: &Path) -> Result<Self> {
        let raw = folder.join("raw");
        let is_typed =
            raw.join("triplet-type-list.csv.gz").exists() || raw.join("relations").exists();
        let mut files = if is_typed { relations(folder)? } else { Self::of_one_type(folder)? };
        files.layout = Some(folder.to_owned());
        let note = files.left_out(folder)?;
        files.notes.extend(note);
        Ok(files)
    }

    /// The files of a data set of one node type.
    fn of_one_type(folder: &Path) -> Result<Self> {
        let raw = folder.join("raw");
        let mut files = GraphFiles::default();
        let (edges, arrays) = (raw.join("edge.csv.gz"), raw.join("data.npz"));
        if edges.exists() {
            files.edges.push(EdgeFile { etype: edge(), path: edges });
        } else if arrays.exists() {
            files.add_arrays(&arrays)?;
        } else if raw.join("edge_index_dict.npz").exists() {
            let problem = "holds edges of several types in edge_index_dict.npz, which is not read";
            return Err(Error::input(&raw, "", problem).with_hint(
                "save each array in Python: numpy.save(\"x.npy\", numpy.load(\"edge_index_dict.npz\")[\"a___r___b\"]), and pass it \
                 as ‹edges=a:r:b=x.npy›",
            ));
        } else {
            return Err(Error::input(folder, "", "holds neither raw/edge.csv.gz nor raw/data.npz")
                .with_hint("name the folder of an unpacked OGB data set"));
        }
        files.node_data.extend(tables(&raw, "node", &NODE.to_owned())?);
        files.edge_data.extend(tables(&raw, "edge", &edge())?);
        if let Some(count) = read_count(&raw.join("num-node-list.csv.gz"))? {
            files.layout_nodes.push((NODE.to_owned(), count));
        }
        if let Some(count) = read_count(&raw.join("num-edge-list.csv.gz"))? {
            files.num_edges.push((edge(), count));
        }
        if let Some(split) = only_split(&folder.join("split"))? {
            files.splits = split_lists(&split, NODE).collect();
        }
        let name = folder.canonicalize().unwrap_or_default();
        let name = name.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let bare = name.strip_prefix("ogbn_").or(name.strip_prefix("ogbl_")).unwrap_or(name);
        if INVERSE.contains(&bare) {
            let problem = "OGB's loader adds the reverse of each edge of this data set";
            files.notes.push(format!("{}: {problem}: pass ‹undirected›", folder.display()));
        }
        Ok(files)
    }

    /// Adds the arrays of `raw/data.npz`: edges, their number and that of nodes, and data of either.
    fn add_arrays(&mut self, path: &Path) -> Result<()> {
        let arrays = ArchiveArrays::open(path)?;
        let count = |name| arrays.number(name).map_err(|error| error.with_hint(ONE_GRAPH));
        self.edges.push(EdgeFile { etype: edge(), path: path.to_owned() });
        for name in arrays.names() {
            let array = Some(name.to_owned());
            match name.split_once('_') {
                Some(("num", "nodes_list")) => {
                    self.layout_nodes.push((NODE.to_owned(), count(name)?));
                }
                Some(("num", "edges_list")) => self.num_edges.push((edge(), count(name)?)),
                Some(("node", data)) => {
                    let file = DataFile::new(NODE.to_owned(), data, path);
                    self.node_data.push(DataFile { array, ..file });
                }
                Some(("edge", data)) if data != "index" => {
                    let file = DataFile::new(edge(), data, path);
                    self.edge_data.push(DataFile { array, ..file });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A note on the files of a data set that are not read.
    fn left_out(&self, folder: &Path) -> Result<Option<String>> {
        let of_nodes = [&self.node_data, &self.splits].into_iter().flatten().map(|file| &file.path);
        let edges = self.edges.iter().map(|file| &file.path);
        let used: BTreeSet<&PathBuf> =
            of_nodes.chain(edges).chain(self.edge_data.iter().map(|file| &file.path)).collect();
        let mut left = Vec::new();
        let mut folders = vec![PathBuf::from("split"), PathBuf::from("raw")];
        while let Some(place) = folders.pop() {
            for name in names(&folder.join(&place))? {
                let path = place.join(&name);
                if folder.join(&path).is_dir() {
                    folders.push(path);
                } else if !used.contains(&folder.join(&path))
                    && !LISTS.iter().any(|list| name.starts_with(list))
                {
                    left.push(path.display().to_string());
                }
            }
        }
        let is_pickle = |name: &String| Path::new(name).extension().is_some_and(|end| end == "pt");
        let why = if left.iter().any(is_pickle) {
            "; pickles (.pt), which can run any code, are not read"
        } else {
            ""
        };
        let list = listed(&left);
        Ok((!left.is_empty()).then(|| format!("{}: left out: {list}{why}", folder.display())))
    }
}
