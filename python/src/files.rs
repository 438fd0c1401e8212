//! The files of a partitioned graph, which any process can read.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use sar::formats::dgl::{
    FeatureSet, Partition, PartitionConfig, open_edge_features, open_node_features,
};

use crate::errors::exception;
use crate::memory::{Place, memory};

/// An array of a partition: key, number of its type, element type and shape.
pub(crate) type Described = (String, usize, &'static str, Vec<u64>);

/// The partitions of a graph.
#[pyclass(unsendable, module = "sar_single._engine")]
pub(crate) struct Files {
    partitions: PartitionConfig,
    /// Features of the nodes of all partitions, once they are asked for.
    node_features: RefCell<Vec<FeatureSet>>,
    /// Features of the edges of all partitions.
    edge_features: RefCell<Vec<FeatureSet>>,
}

impl Files {
    pub(crate) fn new(partitions: PartitionConfig) -> Self {
        Files { partitions, node_features: RefCell::default(), edge_features: RefCell::default() }
    }

    fn part(&self, part: usize) -> PyResult<usize> {
        let parts = self.num_parts();
        let unknown =
            || PyIndexError::new_err(format!("partition {part} of a graph that has {parts}"));
        (part < parts).then_some(part).ok_or_else(unknown)
    }

    /// Gives the features that a partition has of nodes or edges to `take`.
    fn with<T>(
        &self,
        table: &str,
        part: usize,
        take: impl FnOnce(&FeatureSet) -> PyResult<T>,
    ) -> PyResult<T> {
        let part = self.part(part)?;
        let mut all = match table {
            "node" => self.node_features.borrow_mut(),
            _ => self.edge_features.borrow_mut(),
        };
        for part in all.len()..self.num_parts() {
            let opened = match table {
                "node" => open_node_features(&self.partitions, part),
                _ => open_edge_features(&self.partitions, part),
            };
            all.push(opened.map_err(exception)?);
        }
        take(&all[part])
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

    /// The arrays that a partition has of nodes (edges).
    fn arrays(&self, table: &str, part: usize) -> PyResult<Vec<Described>> {
        self.with(table, part, |features| Ok(described(features)))
    }

    /// The indexes of the arrays of a partition that a key means, one per type or none, as on the command line.
    fn lookup(&self, table: &str, part: usize, key: &str) -> PyResult<Vec<Option<usize>>> {
        self.with(table, part, |features| found(features, key))
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
        self.with(table, part, |features| {
            let feature = features.features().iter().find(|feature| feature.key() == key);
            let array = feature
                .ok_or_else(|| PyKeyError::new_err(format!("partition {part} has no array {key}")))?
                .array();
            let (rows, out) = (memory(rows).slice::<i64>(), memory(out).slice_mut::<u8>());
            let width = out.len().checked_div(rows.len()).unwrap_or(0);
            let mut begin = 0;
            for run in rows.chunk_by(|a, b| a + 1 == *b) {
                let out = &mut out[begin * width..(begin + run.len()) * width];
                let first = run[0] as u64;
                array.read_rows(first..first + run.len() as u64, out).map_err(exception)?;
                begin += run.len();
            }
            Ok(())
        })
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
            let [sources, destinations, types, ids] =
                columns.map(|column| memory(column).slice_mut::<i64>());
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

/// Key, type, element type and shape of each array.
pub(crate) fn described(features: &FeatureSet) -> Vec<Described> {
    let describe = |feature: &sar::formats::dgl::Feature| {
        let array = feature.array();
        (feature.key().to_owned(), feature.ty(), array.dtype().name(), array.shape().to_vec())
    };
    features.features().iter().map(describe).collect()
}

/// The indexes of the arrays that a key means, one per type or none, as on the command line.
pub(crate) fn found(features: &FeatureSet, key: &str) -> PyResult<Vec<Option<usize>>> {
    let found = features.lookup(key).map_err(exception)?;
    let index = |key: &str| features.features().iter().position(|f| f.key() == key);
    Ok(found.iter().map(|feature| feature.and_then(|f| index(f.key()))).collect())
}
