//! Import of a graph that is already partitioned.

use std::collections::BTreeMap;
use std::path::Path;

use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{ArrayRef, FeatureSet, OriginalIds, Partition};
use crate::io::{ExternalSort, read_if_there};
use crate::prepare::import::graph::{EdgeType, NodeType, RawEdgeWriter, RawEdges, RawGraph};
use crate::prepare::import::ids::names_file;
use crate::prepare::import::tables::{FEATURE_ENCODING, FEATURE_SCALE, Table, all_class_names};
use crate::words::error::{Error, Result};

/// Number of edges read at a time.
const BLOCK: usize = 1 << 16;

/// Reads the partition directory of `json`. Nodes and edges keep their numbers, type by type, and nodes keep the
/// original ids that the directory holds. `memory` bounds the memory for sorting edges; `tell` gets the number of edges
/// read so far and the total.
///
/// # Errors
/// If a partition cannot be read, or lacks a table that others have.
pub fn import_partitions(
    json: &Path,
    folder: &Path,
    memory: u64,
    tell: &mut dyn FnMut(u64, u64) -> Result<()>,
) -> Result<RawGraph> {
    let partitions = OpenedPartitions::open(PartitionConfig::open(json)?)?;
    partitions.import(folder, memory, &mut |_, _| Ok(()), tell)
}

/// The partitions of a directory.
pub(crate) struct OpenedPartitions {
    config: PartitionConfig,
    partitions: Vec<Partition>,
}

impl OpenedPartitions {
    pub(crate) fn open(config: PartitionConfig) -> Result<Self> {
        let parts = 0..config.parts().len();
        let partitions = parts.map(|part| Partition::open(&config, part)).collect::<Result<_>>()?;
        Ok(OpenedPartitions { config, partitions })
    }

    /// The nodes of all types.
    pub(crate) fn node_types(&self) -> Result<Vec<NodeType>> {
        let book = self.config.book();
        let tables = tables(&self.sides(Partition::node_features), book.ntypes().len())?;
        let ntypes = book.ntypes().iter().zip(tables).enumerate().map(|(ty, (name, data))| {
            let names = names_file(self.config.folder(), name);
            Ok(NodeType {
                name: name.clone(),
                count: book.num_nodes_of_type(ty),
                data,
                originals: originals(&self.partitions, ty)?,
                names: None,
                names_file: Some(names).filter(|path| path.is_file()),
            })
        });
        ntypes.collect()
    }

    /// Tables of the edges of all types.
    pub(crate) fn edge_data(&self) -> Result<Vec<Vec<(String, Table)>>> {
        tables(&self.sides(Partition::edge_features), self.config.book().etypes().len())
    }

    fn sides(&self, side: fn(&Partition) -> &FeatureSet) -> Vec<&FeatureSet> {
        self.partitions.iter().map(side).collect()
    }

    /// Reads the graph; see [`import_partitions`]. `more` adds edges of a type after those of the partitions.
    pub(crate) fn import(
        &self,
        folder: &Path,
        memory: u64,
        more: &mut dyn FnMut(usize, &mut RawEdgeWriter) -> Result<()>,
        tell: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<RawGraph> {
        let (config, book) = (&self.config, self.config.book());
        let edges = self.edges(folder, memory, more, tell)?;
        let etypes = book.etypes().iter().zip(book.etype_ends()).zip(self.edge_data()?);
        let etypes = etypes.map(|((name, ends), data)| EdgeType {
            name: name.clone(),
            ends: *ends,
            data,
            embeds: false,
            both_directions: None,
        });
        let text = |name| read_if_there(&config.folder().join(name)).map(Option::unwrap_or_default);
        Ok(RawGraph {
            etypes: etypes.collect(),
            ntypes: self.node_types()?,
            edges,
            class_names: all_class_names(config.folder(), book.ntypes())?,
            feature_scale: text(FEATURE_SCALE)?,
            feature_encoding: text(FEATURE_ENCODING)?,
            notes: Vec::new(),
        })
    }

    /// Reads edges type by type, in the order of their ids.
    fn edges(
        &self,
        folder: &Path,
        memory: u64,
        more: &mut dyn FnMut(usize, &mut RawEdgeWriter) -> Result<()>,
        tell: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<RawEdges> {
        let book = self.config.book();
        let mut writer = RawEdgeWriter::create(folder)?;
        let (mut done, total) = (0, book.num_edges() * book.etypes().len() as u64);
        let nodes = book.num_nodes();
        for etype in 0..book.etypes().len() {
            writer.start_type();
            let limits = [book.num_edges_of_type(etype), nodes, nodes];
            let mut sort = ExternalSort::new(folder, limits, memory)?;
            for partition in &self.partitions {
                let (mut reader, mut block) = (partition.edges(BLOCK)?, Vec::new());
                while reader.next_block(&mut block)? {
                    tell(done, total)?;
                    done += block.len() as u64;
                    for edge in block.iter().filter(|edge| edge.etype == etype) {
                        let id = book.edge_to_per_type(edge.id);
                        let [src, dst] = [edge.src, edge.dst].map(|node| book.to_per_type(node));
                        let (Some((_, id)), Some((_, src)), Some((_, dst))) = (id, src, dst) else {
                            return Err(Error::internal("an edge is not in the book"));
                        };
                        sort.push([id, src, dst])?;
                    }
                }
            }
            let mut sorted = sort.finish()?;
            while let Some([_, src, dst]) = sorted.next()? {
                writer.push(src, dst)?;
            }
            more(etype, &mut writer)?;
        }
        tell(total, total)?;
        writer.finish()
    }
}

/// Tables of all partitions by type, one after the other.
fn tables(sets: &[&FeatureSet], types: usize) -> Result<Vec<Vec<(String, Table)>>> {
    let mut arrays = vec![BTreeMap::<&str, Vec<_>>::new(); types];
    for set in sets {
        for feature in set.features() {
            // Fails if the file lacks data needed to use them.
            set.lookup(feature.key())?;
            arrays[feature.ty()].entry(feature.name()).or_default().push(feature.array().clone());
        }
    }
    let table = |(name, arrays): (&str, Vec<ArrayRef>)| {
        if arrays.len() < sets.len() {
            let lacks = |set: &&&FeatureSet| !set.features().iter().any(|f| f.name() == name);
            let path = sets.iter().find(lacks).map_or(sets[0].path(), |set| set.path());
            return Err(Error::input(path, name, "is missing, but other partitions have it"));
        }
        Ok((name.to_owned(), Table::new(arrays)?))
    };
    arrays.into_iter().map(|arrays| arrays.into_iter().map(table).collect()).collect()
}

/// Original ids of a type's nodes by partition; empty unless all partitions hold them.
fn originals(partitions: &[Partition], ntype: usize) -> Result<Vec<OriginalIds>> {
    let ids = partitions.iter().map(|partition| partition.orig_node_ids(ntype));
    let ids: Option<Vec<_>> = ids.collect::<Result<Vec<_>>>()?.into_iter().collect();
    Ok(ids.unwrap_or_default())
}
