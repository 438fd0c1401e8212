//! GraphBolt's graphs (DGL 2.0 and later): `fused_csc_sampling_graph.pt`.

use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::arrays::pickle::Pickle;
use crate::formats::dgl::arrays::pickle_value::{Class, Value};
use crate::formats::dgl::arrays::torch_archive;
use crate::formats::dgl::arrays::torch_archive::TorchArchive;
use crate::formats::dgl::file::InputFile;
use crate::words::error::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const SCRIPT_CLASS: &str = "__torch__.torch.classes.graphbolt.FusedCSCSamplingGraph";
/// The number that GraphBolt writes instead of a version.
const VERSION: u64 = 6199;

/// Names and arrays of one dictionary of the file.
pub type Arrays = BTreeMap<String, ArrayRef>;

/// The arrays of a GraphBolt graph, by name, without their values.
///
/// Row `i` of the adjacency holds the in-edges of node `i`; entries of `edge_attributes` are in the same order.
#[derive(Clone, Debug)]
pub struct FusedCsc {
    path: PathBuf,
    /// Start of each node's in-edges, and the number of edges at the end.
    pub indptr: ArrayRef,
    /// Source node of each edge.
    pub indices: ArrayRef,
    /// First node of each type, in graphs whose nodes are sorted by type.
    pub node_type_offset: Option<ArrayRef>,
    /// Edge type of each edge.
    pub type_per_edge: Option<ArrayRef>,
    /// Ids of the node types; empty for a homogeneous graph.
    pub node_type_to_id: BTreeMap<String, u64>,
    /// Ids of the edge types (`src:rel:dst`); empty for a homogeneous graph.
    pub edge_type_to_id: BTreeMap<String, u64>,
    /// Columns with a row per node.
    pub node_attributes: Arrays,
    /// Columns with a row per edge.
    pub edge_attributes: Arrays,
}

impl FusedCsc {
    /// Reads the directory of the file at `path`, but no arrays.
    ///
    /// # Errors
    /// If the file cannot be read, is not a GraphBolt graph, names classes that GraphBolt does not use, is cut short, or
    /// contradicts itself.
    pub fn open(path: &Path) -> Result<Self> {
        let archive = TorchArchive::open(path)?;
        let pickle = archive.pickle()?;
        let state = Reader { archive: &archive, pickle: &pickle };
        let graph = state.graph()?;
        graph.check(archive.file())?;
        Ok(graph)
    }

    /// Compares every array and the directory's other members with their checksums, reading the whole file.
    ///
    /// # Errors
    /// If a member differs from its checksum.
    pub fn verify_checksums(&self) -> Result<()> {
        torch_archive::verify_checksums(&self.path)
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check(&self, file: &InputFile) -> Result<()> {
        let vectors = [Some(&self.indptr), Some(&self.indices), self.type_per_edge.as_ref()];
        for array in vectors.into_iter().flatten() {
            array.integers()?;
        }
        let Some(nodes) = self.indptr.num_rows().checked_sub(1) else {
            return Err(self.indptr.fail("is empty"));
        };
        let edges = self.indices.num_rows();
        let types = self.type_per_edge.iter().map(|array| (array, edges));
        let columns = self.node_attributes.values().map(|array| (array, nodes));
        let columns = columns.chain(self.edge_attributes.values().map(|array| (array, edges)));
        for (array, rows) in columns.chain(types) {
            if array.shape().first() != Some(&rows) {
                return Err(file.fail(
                    array.name(),
                    format!("has shape {:?}, but must have {rows} rows", array.shape()),
                ));
            }
        }
        Ok(())
    }
}

struct Reader<'a> {
    archive: &'a TorchArchive,
    pickle: &'a Pickle<'a>,
}

impl<'a> Reader<'a> {
    fn graph(&self) -> Result<FusedCsc> {
        let state = self.state().ok_or_else(|| {
            self.archive.file().fail("data.pkl", "does not hold a FusedCSCSamplingGraph")
        })?;
        let mut independent = self.arrays(state, "independent_tensors")?;
        let mut required = |name: &str| {
            let array = independent.remove(name);
            array.ok_or_else(|| self.archive.file().fail(name, "is missing"))
        };
        let version = number(&required("version_number")?)?;
        if version != VERSION {
            let problem = format!("version {version} is not supported, only {VERSION}");
            return Err(self.archive.file().fail("version_number", problem));
        }
        Ok(FusedCsc {
            path: self.archive.file().path().to_owned(),
            indptr: required("indptr")?,
            indices: required("indices")?,
            node_type_offset: independent.remove("node_type_offset"),
            type_per_edge: independent.remove("type_per_edge"),
            node_type_to_id: self.ids(state, "node_type_to_id")?,
            edge_type_to_id: self.ids(state, "edge_type_to_id")?,
            node_attributes: self.arrays(state, "node_attributes")?,
            edge_attributes: self.arrays(state, "edge_attributes")?,
        })
    }

    /// The state, found via graph object -> `_c_csc_graph` -> script object -> (dictionary of dictionaries, class
    /// name).
    fn state(&self) -> Option<&'a Value<'a>> {
        let graph = self.state_of(self.pickle.root(), Class::FusedCsc)?;
        let script = self.pickle.entry(graph, "_c_csc_graph")?;
        let Value::Tuple(parts) = self.state_of(script, Class::ScriptObject)? else { return None };
        let [state, class] = parts[..] else { return None };
        let known = matches!(self.pickle.value(class), Value::Text(name) if *name == SCRIPT_CLASS);
        known.then(|| self.pickle.value(state))
    }

    fn state_of(&self, object: &'a Value<'a>, wanted: Class) -> Option<&'a Value<'a>> {
        match object {
            Value::Object { class, state: Some(state) } if *class == wanted => {
                Some(self.pickle.value(*state))
            }
            _ => None,
        }
    }

    /// The tensors of one dictionary; empty if the dictionary is missing.
    fn arrays(&self, state: &'a Value<'a>, dict: &str) -> Result<Arrays> {
        let file = self.archive.file();
        let entries = match self.pickle.entry(state, dict) {
            None => return Ok(Arrays::new()),
            Some(Value::Dict(entries)) => entries,
            Some(_) => return Err(file.fail(dict, "is not a dictionary")),
        };
        let mut arrays = Arrays::new();
        for &(key, value) in entries {
            let (Value::Text(key), Value::Tensor(tensor)) =
                (self.pickle.value(key), self.pickle.value(value))
            else {
                return Err(file.fail(dict, "is not a dictionary of tensors"));
            };
            let name = format!("{dict} {key}");
            if arrays.insert((*key).to_owned(), self.archive.array(&name, tensor)?).is_some() {
                return Err(file.fail(&name, "occurs twice"));
            }
        }
        Ok(arrays)
    }

    /// The numbers of a dictionary, each stored as a tensor without dimensions.
    fn ids(&self, state: &'a Value<'a>, dict: &str) -> Result<BTreeMap<String, u64>> {
        let arrays = self.arrays(state, dict)?.into_iter();
        arrays.map(|(name, array)| Ok((name, number(&array)?))).collect()
    }
}

/// The only element of an array.
fn number(array: &ArrayRef) -> Result<u64> {
    if array.num_rows() != 1 || array.row_len() != 1 {
        return Err(array.fail("is not a single number"));
    }
    let mut value = [0];
    array.read_u64(0..1, &mut value)?;
    Ok(value[0])
}
