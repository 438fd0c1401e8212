//! Writes a whole partition directory.

use super::graph_writer::GraphWriter;
use super::output_file::OutputFile;
use super::partition_json::PartitionJson;
use super::tensor_writer::{TensorSpec, TensorWriter};
use crate::graph::PartitionBook;
use crate::io::Dtype;
use crate::words::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name, type and shape of a feature of one type of nodes or edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureSpec {
    /// Node type or edge type, by id.
    pub ty: usize,
    /// Name without the type.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Sizes of the dimensions of one row.
    pub row_shape: Vec<u64>,
}

/// A partition directory that is being written. Every partition needs a graph and two feature files, which may be
/// written in any order and in parallel; the JSON file is written last.
#[derive(Debug)]
pub struct PartitionWriter {
    folder: PathBuf,
    graph_name: String,
    part_method: String,
    node_order: Option<&'static str>,
    halo_hops: u64,
    book: Arc<PartitionBook>,
    durable: bool,
}

impl PartitionWriter {
    /// Creates a writer of `<graph_name>.json` and `part<k>/` in `folder`. `part_method` and `halo_hops` tell readers
    /// how the graph was partitioned and how far halo nodes reach.
    pub fn new(
        folder: &Path,
        graph_name: &str,
        part_method: &str,
        halo_hops: u64,
        book: Arc<PartitionBook>,
    ) -> Self {
        PartitionWriter {
            folder: folder.to_owned(),
            graph_name: graph_name.to_owned(),
            part_method: part_method.to_owned(),
            node_order: None,
            halo_hops,
            book,
            durable: true,
        }
    }

    /// The same writer for files that need not survive a crash of the machine, so that it does not wait for the disk.
    #[must_use]
    pub fn temporary(self) -> Self {
        PartitionWriter { durable: false, ..self }
    }

    /// The same writer for nodes that are in another order than that of the input; readers of the JSON file are told its name.
    #[must_use]
    pub fn node_order(self, node_order: Option<&'static str>) -> Self {
        PartitionWriter { node_order, ..self }
    }

    /// Starts the structure of a partition.
    ///
    /// # Errors
    /// If the partition does not exist, or the file cannot be written.
    pub fn graph(
        &self,
        part: usize,
        num_halo_nodes: u64,
        num_halo_edges: u64,
    ) -> Result<GraphWriter> {
        let path = self.file(part, "graph.dgl")?;
        let PartitionWriter { book, durable, .. } = self;
        GraphWriter::create(&path, book, part, num_halo_nodes, num_halo_edges, *durable)
    }

    /// Starts the features of a partition's inner nodes, each with a row per inner node of its type.
    ///
    /// # Errors
    /// If the partition or type does not exist, or the file cannot be written.
    pub fn node_features(&self, part: usize, features: &[FeatureSpec]) -> Result<TensorWriter> {
        let specs = features.iter().map(|feature| {
            let name = self.book.ntypes().get(feature.ty);
            tensor(feature, name, self.book.node_type_range(part, feature.ty))
        });
        let specs: Vec<TensorSpec> = specs.collect::<Result<_>>()?;
        self.tensors(part, "node_feat.dgl", &specs)
    }

    /// Starts the features of a partition's inner edges, each with a row per inner edge of its type.
    ///
    /// # Errors
    /// If the partition or type does not exist, or the file cannot be written.
    pub fn edge_features(&self, part: usize, features: &[FeatureSpec]) -> Result<TensorWriter> {
        let specs = features.iter().map(|feature| {
            let name = self.book.etypes().get(feature.ty);
            tensor(feature, name, self.book.edge_type_range(part, feature.ty))
        });
        let specs: Vec<TensorSpec> = specs.collect::<Result<_>>()?;
        self.tensors(part, "edge_feat.dgl", &specs)
    }

    /// Starts `orig_nids.dgl`, as the chunked pipeline writes it: per node type, an original type-wise id per inner node.
    ///
    /// # Errors
    /// If the partition does not exist, or the file cannot be written.
    pub fn original_node_ids(&self, part: usize) -> Result<TensorWriter> {
        let types = self.book.ntypes().iter().enumerate();
        let specs = types.map(|(ty, name)| ids(name, self.book.node_type_range(part, ty)));
        self.tensors(part, "orig_nids.dgl", &specs.collect::<Vec<_>>())
    }

    /// Starts `orig_eids.dgl`: per edge type, an original type-wise id per inner edge.
    ///
    /// # Errors
    /// If the partition does not exist, or the file cannot be written.
    pub fn original_edge_ids(&self, part: usize) -> Result<TensorWriter> {
        let types = self.book.etypes().iter().enumerate();
        let specs = types.map(|(ty, name)| ids(name, self.book.edge_type_range(part, ty)));
        self.tensors(part, "orig_eids.dgl", &specs.collect::<Vec<_>>())
    }

    /// Writes the JSON file and returns its path.
    ///
    /// # Errors
    /// If a partition's file is missing, or the file cannot be written.
    pub fn finish(self) -> Result<PathBuf> {
        for part in 0..self.book.num_parts() {
            for name in ["graph.dgl", "node_feat.dgl", "edge_feat.dgl"] {
                let path = self.file(part, name)?;
                if !path.try_exists().map_err(|e| Error::io("look for", &path, e))? {
                    return Err(Error::internal(format!("{} was not written", path.display())));
                }
            }
        }
        let json = PartitionJson {
            graph_name: &self.graph_name,
            part_method: &self.part_method,
            node_order: self.node_order,
            halo_hops: self.halo_hops,
            book: &self.book,
        };
        let path = self.folder.join(format!("{}.json", self.graph_name));
        let mut file = OutputFile::create(&path)?.durable(self.durable);
        file.put(json.to_text()?.as_bytes());
        file.finish()?;
        Ok(path)
    }

    fn tensors(&self, part: usize, name: &str, specs: &[TensorSpec]) -> Result<TensorWriter> {
        Ok(TensorWriter::create(&self.file(part, name)?, specs)?.durable(self.durable))
    }

    fn file(&self, part: usize, name: &str) -> Result<PathBuf> {
        if part >= self.book.num_parts() {
            return Err(Error::internal(format!("partition {part} does not exist")));
        }
        Ok(self.folder.join(format!("part{part}")).join(name))
    }
}

fn ids(type_name: &dyn std::fmt::Display, rows: std::ops::Range<u64>) -> TensorSpec {
    let shape = vec![rows.end - rows.start];
    TensorSpec { key: type_name.to_string(), dtype: Dtype::I64, shape }
}

fn tensor(
    feature: &FeatureSpec,
    type_name: Option<impl std::fmt::Display>,
    rows: std::ops::Range<u64>,
) -> Result<TensorSpec> {
    let Some(type_name) = type_name else {
        return Err(Error::internal(format!("{} is a feature of an unknown type", feature.name)));
    };
    let mut shape = vec![rows.end - rows.start];
    shape.extend(&feature.row_shape);
    Ok(TensorSpec { key: format!("{type_name}/{}", feature.name), dtype: feature.dtype, shape })
}
