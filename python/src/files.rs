//! The files of a partitioned graph, which any process can read.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use sar::formats::dgl::{
    Feature, FeatureSet, Partition, PartitionConfig, open_edge_features, open_node_features,
};

use crate::errors::exception;
use crate::memory::Place;

/// An array of a partition: key, number of its type, element type and shape.
type Described = (String, usize, &'static str, Vec<u64>);

/// The partitions of a graph.
#[pyclass(unsendable, module = "sar_single._engine")]
pub(crate) struct Files {
    partitions: PartitionConfig,
    /// By partition: features of its nodes, once something reads them.
    node_features: Vec<OnceCell<FeatureSet>>,
    /// By partition: features of its edges.
    edge_features: Vec<OnceCell<FeatureSet>>,
}

impl Files {
    fn new(partitions: PartitionConfig) -> Self {
        let unread = vec![OnceCell::new(); partitions.book().num_parts()];
        Files { partitions, node_features: unread.clone(), edge_features: unread }
    }

    /// The files of all partitions, of which one is open.
    pub(crate) fn around(partitions: PartitionConfig, open: &Partition) -> Self {
        let mut files = Files::new(partitions);
        files.node_features[open.part()] = open.node_features().clone().into();
        files.edge_features[open.part()] = open.edge_features().clone().into();
        files
    }

    fn part(&self, part: usize) -> PyResult<usize> {
        let parts = self.num_parts();
        let unknown =
            || PyIndexError::new_err(format!("partition {part} of a graph that has {parts}"));
        (part < parts).then_some(part).ok_or_else(unknown)
    }

    /// The features that a partition has of nodes or edges.
    fn features(&self, table: &str, part: usize) -> PyResult<&FeatureSet> {
        let part = self.part(part)?;
        let known = match table {
            "node" => &self.node_features[part],
            _ => &self.edge_features[part],
        };
        if let Some(features) = known.get() {
            return Ok(features);
        }
        let opened = match table {
            "node" => open_node_features(&self.partitions, part),
            _ => open_edge_features(&self.partitions, part),
        };
        let opened = opened.map_err(exception)?;
        Ok(known.get_or_init(|| opened))
    }
}

#[pymethods]
impl Files {
    /// The partitions that a JSON file names.
    #[staticmethod]
    fn open(part_json: PathBuf) -> PyResult<Self> {
        Ok(Files::new(PartitionConfig::open(&part_json).map_err(exception)?))
    }

    /// The JSON file.
    #[getter]
    fn path(&self) -> &Path {
        self.partitions.path()
    }

    #[getter]
    fn num_parts(&self) -> usize {
        self.partitions.book().num_parts()
    }

    /// Names of the node types, by number.
    #[getter]
    fn ntypes(&self) -> Vec<String> {
        self.partitions.book().ntypes().to_vec()
    }

    /// Names of the edge types, by number.
    #[getter]
    fn etypes(&self) -> Vec<String> {
        self.partitions.book().etypes().iter().map(ToString::to_string).collect()
    }

    /// The first node (edge) of each partition, and the end of the last one.
    fn firsts(&self, table: &str) -> Vec<u64> {
        let book = self.partitions.book();
        let (range, end): (&dyn Fn(usize) -> _, _) = match table {
            "node" => (&|part| book.node_range(part), book.num_nodes()),
            _ => (&|part| book.edge_range(part), book.num_edges()),
        };
        (0..book.num_parts()).map(|part| range(part).start).chain([end]).collect()
    }

    /// The ids of the nodes (edges) that a partition has of a type: the first one, the partition and the type, for all of them by
    /// their ids, and the end after the last one.
    fn ranges(&self, table: &str) -> (Vec<(u64, usize, usize)>, u64) {
        let book = self.partitions.book();
        let (types, end) = match table {
            "node" => (book.ntypes().len(), book.num_nodes()),
            _ => (book.etypes().len(), book.num_edges()),
        };
        let range = |part, ty| match table {
            "node" => book.node_type_range(part, ty),
            _ => book.edge_type_range(part, ty),
        };
        let all = (0..book.num_parts()).flat_map(|part| (0..types).map(move |ty| (part, ty)));
        let ranges = all.map(|(part, ty)| (range(part, ty), part, ty));
        let some = ranges.filter(|(range, ..)| !range.is_empty());
        let mut firsts: Vec<_> = some.map(|(range, part, ty)| (range.start, part, ty)).collect();
        firsts.sort_unstable();
        (firsts, end)
    }

    /// Key, type, element type and shape of each array that a partition has of nodes (edges).
    fn arrays(&self, table: &str, part: usize) -> PyResult<Vec<Described>> {
        let described = |feature: &Feature| {
            let array = feature.array();
            (feature.key().to_owned(), feature.ty(), array.dtype().name(), array.shape().to_vec())
        };
        Ok(self.features(table, part)?.features().iter().map(described).collect())
    }

    /// The indexes of the arrays of a partition that a key means, one per type or none, as on the command line.
    fn lookup(&self, table: &str, part: usize, key: &str) -> PyResult<Vec<Option<usize>>> {
        let features = self.features(table, part)?;
        let found = features.lookup(key).map_err(exception)?;
        let index = |key: &str| features.features().iter().position(|f| f.key() == key);
        Ok(found.iter().map(|feature| feature.and_then(|f| index(f.key()))).collect())
    }

    /// Reads all rows of an array of a partition.
    fn read_array(&self, table: &str, part: usize, index: usize, out: Place) -> PyResult<()> {
        let unknown = || PyIndexError::new_err(format!("there is no array {index}"));
        let feature = self.features(table, part)?.features().get(index).ok_or_else(unknown)?;
        let rows = 0..feature.array().num_rows();
        feature.array().read_rows(rows, out.slice_mut()).map_err(exception)
    }

    /// Reads rows of a feature of any partition, by its key there; `rows` are ascending numbers of rows (int64).
    fn read_rows(
        &self,
        table: &str,
        part: usize,
        key: &str,
        rows: Place,
        out: Place,
    ) -> PyResult<()> {
        let features = self.features(table, part)?.features();
        let unknown = || PyKeyError::new_err(format!("partition {part} has no array {key}"));
        let feature = features.iter().find(|feature| feature.key() == key).ok_or_else(unknown)?;
        let (rows, out) = (rows.slice::<i64>(), out.slice_mut::<u8>());
        let width = out.len().checked_div(rows.len()).unwrap_or(0);
        let mut begin = 0;
        for run in rows.chunk_by(|a, b| a + 1 == *b) {
            let out = &mut out[begin * width..(begin + run.len()) * width];
            let rows = run[0] as u64..run[0] as u64 + run.len() as u64;
            feature.array().read_rows(rows, out).map_err(exception)?;
            begin += run.len();
        }
        Ok(())
    }

    /// Reads the edges that end in a partition, in the order of the file: ids of sources and destinations, types and ids, int64 each.
    fn edges(
        &self,
        part: usize,
        sources: Place,
        destinations: Place,
        types: Place,
        ids: Place,
    ) -> PyResult<()> {
        let part = self.part(part)?;
        let read = || {
            let partition = Partition::open(&self.partitions, part)?;
            let columns = [sources, destinations, types, ids];
            let [sources, destinations, types, ids] = columns.map(Place::slice_mut::<i64>);
            let mut at = 0;
            partition.each_edge(|edge| {
                sources[at] = edge.src as i64;
                destinations[at] = edge.dst as i64;
                types[at] = edge.etype as i64;
                ids[at] = edge.id as i64;
                at += 1;
                Ok(())
            })
        };
        read().map_err(exception)
    }
}
