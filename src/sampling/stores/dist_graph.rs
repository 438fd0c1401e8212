//! The whole graph, read directly from its partitions' files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;

use super::dist_tensor::{DistElement, DistTensor};
use super::draws::SampleKey;
use super::graph_source::GraphSource;
use super::index_writer::{out_degrees, write_index};
use super::neighbor_index::{IndexConfig, NeighborIndex};
use super::partition_policy::PartitionPolicy;
use super::sample::Sampling;
use super::sorted::Sorted;
use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;
use crate::graph::{CanonicalEtype, InEdges, PartitionBook};
use crate::io::{DiskStorage, IoCounters, Storage};
use crate::load::{EdgeFeatures, NodeColumn};
use crate::words::error::Result;

/// A partitioned graph as one whole: DGL's `DistGraph`, with files in place of servers. Only the partition book is in
/// memory. It can be shared by threads.
pub struct DistGraph {
    config: PartitionConfig,
    indexes: Vec<NeighborIndex>,
    counters: IoCounters,
    /// Node data that the program has assigned, by name.
    assigned_nodes: RwLock<BTreeMap<String, NodeColumn>>,
    /// Edge data that the program has assigned, by name and edge type.
    assigned_edges: RwLock<BTreeMap<String, BTreeMap<usize, EdgeFeatures>>>,
}

impl DistGraph {
    /// Writes the index of every partition into `folder` (8 bytes per edge, 12 per node) and opens the graph. The caller
    /// removes the folder.
    ///
    /// # Errors
    /// As for [`write_index`] and [`open`](Self::open).
    pub fn create(config: &PartitionConfig, keys: &IndexConfig, folder: &Path) -> Result<Self> {
        let (storage, counters) = (DiskStorage::default(), IoCounters::default());
        let parts = 0..config.parts().len();
        let partitions = parts.map(|part| Partition::open(config, part));
        let partitions = partitions.collect::<Result<Vec<_>>>()?;
        let degrees = out_degrees(&partitions, config.book().num_nodes())?;
        for partition in &partitions {
            let nodes = config.book().node_range(partition.part());
            let degrees = &degrees[nodes.start as usize..nodes.end as usize];
            write_index(partition, degrees, keys, None, folder, &storage, &counters)?;
        }
        Self::open(config, keys, folder, &storage, counters)
    }

    /// Opens the graph with the indexes that [`write_index`] wrote into `folder`, one per partition.
    ///
    /// # Errors
    /// If an index is missing or its length does not match its partition.
    pub fn open(
        config: &PartitionConfig,
        keys: &IndexConfig,
        folder: &Path,
        storage: &dyn Storage,
        counters: IoCounters,
    ) -> Result<Self> {
        let open = |part| {
            NeighborIndex::open(config.book(), part, keys, folder, storage, counters.clone())
        };
        let indexes = (0..config.parts().len()).map(open).collect::<Result<_>>()?;
        Ok(DistGraph {
            config: config.clone(),
            indexes,
            counters,
            assigned_nodes: RwLock::default(),
            assigned_edges: RwLock::default(),
        })
    }

    /// The owners of nodes and edges: DGL's `get_partition_book`.
    pub fn book(&self) -> &Arc<PartitionBook> {
        self.config.book()
    }

    /// The partition directory.
    pub fn config(&self) -> &PartitionConfig {
        &self.config
    }

    /// Counters of the bytes that have been read.
    pub fn counters(&self) -> &IoCounters {
        &self.counters
    }

    /// Number of nodes of a type, or of all types.
    ///
    /// # Errors
    /// If the type does not exist (`Config`).
    pub fn num_nodes(&self, ntype: Option<&str>) -> Result<u64> {
        let book = self.book();
        let of_type = |name| Ok(book.num_nodes_of_type(book.get_ntype_id(name)?));
        ntype.map_or_else(|| Ok(book.num_nodes()), of_type)
    }

    /// Number of edges of a type, or of all types.
    ///
    /// # Errors
    /// If the type does not exist (`Config`).
    pub fn num_edges(&self, etype: Option<&str>) -> Result<u64> {
        let book = self.book();
        let of_type = |name| Ok(book.num_edges_of_type(book.get_etype_id(name)?));
        etype.map_or_else(|| Ok(book.num_edges()), of_type)
    }

    /// Names of the node types, by id.
    pub fn ntypes(&self) -> &[String] {
        self.book().ntypes()
    }

    /// Edge types, by id: DGL's `canonical_etypes`.
    pub fn canonical_etypes(&self) -> &[CanonicalEtype] {
        self.book().etypes()
    }

    /// The edge type with a name, `rel` or `src:rel:dst`.
    ///
    /// # Errors
    /// If no type has the name, or several types have the short name.
    pub fn to_canonical_etype(&self, name: &str) -> Result<&CanonicalEtype> {
        Ok(&self.book().etypes()[self.book().get_etype_id(name)?])
    }

    /// The files of one partition: DGL's `local_partition`.
    ///
    /// # Errors
    /// If the partition does not exist, or one of its files is wrong (`Input`).
    pub fn local_partition(&self, part: usize) -> Result<Partition> {
        Partition::open(&self.config, part)
    }

    /// A node feature: DGL's `ndata[key]` and `nodes[ntype].data[key]`. Data that the program has
    /// [assigned](Self::set_ndata) hides data of the same name in the partitions' files.
    ///
    /// # Errors
    /// If there is no such feature, or its file cannot be read (`Input`).
    pub fn ndata(&self, key: &str) -> Result<NodeColumn> {
        let assigned = self.assigned_nodes.read().get(key).cloned();
        assigned.map_or_else(|| NodeColumn::named(&self.config, key, self.counters.clone()), Ok)
    }

    /// A feature of all edge types: DGL's `edata[key]`. Data that the program has [assigned](Self::set_edata) hides
    /// data of the same name in the partitions' files.
    ///
    /// # Errors
    /// If there is no such feature, edge types differ in its width or lack it, or its file cannot be read (`Input`).
    pub fn edata(&self, key: &str) -> Result<EdgeFeatures> {
        let assigned = self.assigned_edges.read().get(key).cloned();
        let mut of_types = assigned.iter().flat_map(BTreeMap::values);
        match of_types.next() {
            Some(first) => of_types.try_fold(first.clone(), |all, other| all.with_types(other)),
            None => EdgeFeatures::find(&self.config, key, self.counters.clone()),
        }
    }

    /// A feature of the edges of one type, `rel` or `src:rel:dst`: DGL's `edges[etype].data[key]`.
    ///
    /// # Errors
    /// If the type does not exist, has no such feature, or its file cannot be read (`Input`).
    pub fn edata_of_type(&self, etype: &str, key: &str) -> Result<EdgeFeatures> {
        let etype = self.book().get_etype_id(etype)?;
        let assigned = self.assigned_edges.read().get(key).and_then(|of| of.get(&etype).cloned());
        let found = || EdgeFeatures::of_type(&self.config, etype, key, self.counters.clone());
        assigned.map_or_else(found, Ok)
    }

    /// Assigns a tensor as node data `key` of its node type, like DGL's `g.ndata[key] = tensor` and
    /// `g.nodes[ntype].data[key] = tensor`. Handles to earlier data of that name stay valid. The graph does not keep
    /// the tensor's file, which is removed with the tensor's last handle.
    ///
    /// # Errors
    /// If the tensor belongs to edges, or `key` is assigned for other types of nodes with another width.
    pub fn set_ndata<T: DistElement>(&self, key: &str, tensor: &DistTensor<T>) -> Result<()> {
        let column = tensor.node_column(self.counters.clone())?;
        let mut assigned = self.assigned_nodes.write();
        let joined = match assigned.get(key) {
            Some(others) if self.ntypes().len() > 1 => others.with_type(&column)?,
            _ => column,
        };
        assigned.insert(key.to_owned(), joined);
        Ok(())
    }

    /// Removes assigned node data of all types: `del g.ndata[key]` in DGL. Returns whether there was any.
    pub fn remove_ndata(&self, key: &str) -> bool {
        self.assigned_nodes.write().remove(key).is_some()
    }

    /// Assigns a tensor as edge data `key` of its edge type, like DGL's `g.edata[key] = tensor` and
    /// `g.edges[etype].data[key] = tensor`. Edge types may differ in width, but then [`edata`](Self::edata) fails.
    /// Handles to earlier data of that name stay valid. The graph does not keep the tensor's file, which is removed
    /// with the tensor's last handle.
    ///
    /// # Errors
    /// If the tensor belongs to nodes, or its file cannot be opened.
    pub fn set_edata<T: DistElement>(&self, key: &str, tensor: &DistTensor<T>) -> Result<()> {
        let features = tensor.edge_features(self.counters.clone())?;
        if let PartitionPolicy::Edges(etype) = tensor.policy() {
            self.assigned_edges.write().entry(key.to_owned()).or_default().insert(etype, features);
        }
        Ok(())
    }

    /// Removes assigned edge data of all types: `del g.edata[key]` in DGL. Returns whether there was any.
    pub fn remove_edata(&self, key: &str) -> bool {
        self.assigned_edges.write().remove(key).is_some()
    }

    fn sorted(&self, nodes: &[u64]) -> Result<Sorted> {
        Sorted::new(nodes, "node", self.book().num_nodes())
    }

    /// Passes each partition's nodes, counted inside the partition, and their original positions to `work`.
    fn each_part(
        &self,
        sorted: &Sorted,
        work: impl FnMut(usize, &[u64], &[u32]) -> Result<()>,
    ) -> Result<()> {
        sorted.each_part(self.book().num_parts(), |part| self.book().node_range(part), work)
    }

    /// One number per node; `of_part` returns those of a partition's nodes, counted inside the partition.
    fn degrees(
        &self,
        nodes: &[u64],
        of_part: impl Fn(&NeighborIndex, &[u64]) -> Result<Vec<u64>>,
    ) -> Result<Vec<u64>> {
        let mut degrees = vec![0; nodes.len()];
        self.each_part(&self.sorted(nodes)?, |part, local, places| {
            for (degree, place) in of_part(&self.indexes[part], local)?.into_iter().zip(places) {
                degrees[*place as usize] = degree;
            }
            Ok(())
        })?;
        Ok(degrees)
    }
}

impl GraphSource for DistGraph {
    fn book(&self) -> &Arc<PartitionBook> {
        self.config.book()
    }

    fn sample_neighbors(&self, nodes: &[u64], how: &Sampling, key: SampleKey) -> Result<InEdges> {
        let sorted = self.sorted(nodes)?;
        let mut parts = Vec::new();
        self.each_part(&sorted, |part, local, _| {
            let first = self.config.book().node_range(part).start;
            parts.push(self.indexes[part].sample(local, first, how, key)?);
            Ok(())
        })?;
        Ok(sorted.restore(&parts))
    }

    fn in_degrees(&self, nodes: &[u64]) -> Result<Vec<u64>> {
        self.degrees(nodes, NeighborIndex::in_degrees)
    }

    fn out_degrees(&self, nodes: &[u64]) -> Result<Vec<u64>> {
        self.degrees(nodes, NeighborIndex::out_degrees)
    }

    fn find_edges(&self, edges: &[u64]) -> Result<(Vec<u64>, Vec<u64>)> {
        let book = self.config.book();
        let sorted = Sorted::new(edges, "edge", book.num_edges())?;
        let (mut sources, mut destinations) = (vec![0; edges.len()], vec![0; edges.len()]);
        sorted.each_part(
            book.num_parts(),
            |part| book.edge_range(part),
            |part, local, places| {
                let first = book.node_range(part).start;
                self.indexes[part].ends(local, |i, [source, destination]| {
                    let place = places[i] as usize;
                    sources[place] = u64::from(source);
                    destinations[place] = first + u64::from(destination);
                })
            },
        )?;
        Ok((sources, destinations))
    }
}
