//! Data sets of GraphBolt (`OnDiskDataset`).

use std::path::Path;

use super::exported_arrays::ExportedArrays;
use super::order::NodeOrder;
use crate::formats::graphbolt::{
    Data, EdgeEntry, GraphEntry, Metadata, NUMPY, NodeEntry, SEEDS, SET_LABELS, Set, Task,
};
use crate::graph::{Bitmap, RankedBitmap};
use crate::io::{OutputFolder, check_space};
use crate::load::{LABEL_NAMES, MASKS};
use crate::prepare::import::{NODE, NodeType, RawGraph, Table, edge, import_partitions};
use crate::prepare::partition::{Meter, Observer, StepProgress, left_of};
use crate::words::error::Result;

/// Size of an edge in bytes.
const EDGE: u64 = 16;

/// Name of the array with original ids that do not number the nodes.
const ORIGINAL: &str = "original_id";

/// Writes the graph in the partition directory of `json` to `out`, a new or empty folder, as
/// `dgl.graphbolt.OnDiskDataset` reads it. Nodes are in the order of their original ids, if these number them from 0.
/// Masks become the sets of tasks; all other data become features. `memory` limits the memory, of which each node takes
/// 9 bytes. Returns notes for the user.
///
/// # Errors
/// If the directory cannot be read, `out` is not empty or not writable, the disk is full, the memory is too little, or
/// `observer` fails. No file is left behind in any case.
pub fn write_data_set(
    json: &Path,
    out: &Path,
    memory: u64,
    observer: &mut Observer<'_>,
) -> Result<Vec<String>> {
    let folder = OutputFolder::create(out)?;
    let staging = folder.staging();
    let graph = import_partitions(json, staging, left_of(memory, 0)?, &mut |done, total| {
        observer(StepProgress { step: "reading edges", done, total })
    })?;
    let memory = left_of(memory, NodeOrder::BYTES * graph.num_nodes())?;
    let edges: u64 = (0..graph.etypes.len()).map(|etype| graph.edges.num_edges(etype)).sum();
    let bytes = graph.table_bytes() + EDGE * edges;
    check_space("the data set", bytes, out)?;
    // Labels are read for each set, too.
    let labels = graph.ntypes.iter().filter_map(labels_of);
    let read = bytes + MASKS.len() as u64 * labels.map(Table::bytes).sum::<u64>();
    let meter = Meter::new(observer, "writing arrays", read)?;
    let mut set = DataSet {
        graph: &graph,
        orders: graph.ntypes.iter().map(NodeOrder::of).collect::<Result<_>>()?,
        arrays: ExportedArrays::create(staging, memory, meter)?,
        features: Vec::new(),
        of_nodes: Task::default(),
        of_edges: Task::default(),
        notes: Vec::new(),
    };
    let nodes = (0..graph.ntypes.len()).map(|ty| set.nodes(ty)).collect::<Result<_>>()?;
    let edges = (0..graph.etypes.len()).map(|ty| set.edges(ty)).collect::<Result<_>>()?;
    let DataSet { features, of_nodes, of_edges, mut notes, .. } = set;
    let kind =
        if of_nodes.num_classes.is_some() { "node_classification" } else { "node_prediction" };
    let tasks = [(kind, of_nodes), ("link_prediction", of_edges)].into_iter();
    let tasks = tasks.map(|(name, task)| Task { name: Some(name.to_owned()), ..task });
    let name = json.file_stem().unwrap_or_default().to_string_lossy();
    let metadata = Metadata {
        dataset_name: name.into_owned(),
        graph: Some(GraphEntry { nodes, edges }),
        feature_data: features,
        tasks: tasks.filter(Task::has_sets).collect(),
        ..Metadata::default()
    };
    metadata.write(&staging.join(Metadata::FILE))?;
    let has_names = |ntype: &NodeType| ntype.names_file.is_some();
    if graph.ntypes.iter().any(has_names) || !graph.class_names.is_empty() {
        notes.push("names of nodes or classes are left out: data sets hold numbers".to_owned());
    }
    folder.commit(Metadata::FILE)?;
    Ok(notes)
}

/// A data set that is being written.
struct DataSet<'a, 'm, 'o> {
    graph: &'a RawGraph,
    /// The order of the nodes of each type.
    orders: Vec<NodeOrder>,
    arrays: ExportedArrays<'a, 'm, 'o>,
    features: Vec<Data>,
    of_nodes: Task,
    of_edges: Task,
    notes: Vec<String>,
}

impl DataSet<'_, '_, '_> {
    /// Writes the data of a type's nodes.
    fn nodes(&mut self, ty: usize) -> Result<NodeEntry> {
        let (ntype, order) = (&self.graph.ntypes[ty], &self.orders[ty]);
        let name = self.name_of(ntype.name.clone());
        if !order.is_original() {
            let path =
                self.arrays.ids(ORIGINAL, &[ntype.count], |take| ntype.original_ids(take))?;
            let bytes = ntype.count * size_of::<u64>() as u64;
            self.features.push(feature("node", name.as_ref(), Data::array(ORIGINAL, path), bytes));
            self.notes.push(format!(
                "{}: original ids do not number the nodes from 0, and become the feature {ORIGINAL}",
                ntype.name
            ));
        }
        for (data, table) in ntype.data.iter().filter(|(name, table)| !is_set(name, table)) {
            let path = if order.is_original() {
                let place = |node| Some(order.place(node));
                self.arrays.moved_rows(data, table, ntype.count, place)?
            } else {
                self.arrays.rows(data, table)?
            };
            let array = Data::array(data, path);
            self.features.push(feature("node", name.as_ref(), array, table.bytes()));
        }
        let labels = labels_of(ntype);
        let mut has_set = false;
        for (mask, set) in MASKS.iter().zip(self.of_nodes.sets()) {
            let mask = ntype.data.iter().find(|(name, table)| name == mask && is_set(name, table));
            let Some((_, mask)) = mask else { continue };
            let data = write_set(&mut self.arrays, order, mask, labels)?;
            set.push(Set { r#type: name.clone(), data });
            has_set = true;
        }
        if let Some(labels) = labels.filter(|_| has_set) {
            self.of_nodes.num_classes = self.of_nodes.num_classes.max(num_classes(labels)?);
        }
        Ok(NodeEntry { r#type: name, num: ntype.count })
    }

    /// Writes a type's edges and their data.
    fn edges(&mut self, ty: usize) -> Result<EdgeEntry> {
        let etype = &self.graph.etypes[ty];
        let name = self.name_of(etype.name.to_string());
        let (edges, count) = (&self.graph.edges, self.graph.edges.num_edges(ty));
        let orders = etype.ends.map(|end| &self.orders[end]);
        let path = self.arrays.ids("edges", &[2, count], |take| {
            [0, 1].into_iter().try_for_each(|side| {
                edges.read(ty, |_, block| {
                    let ends = block.iter().map(|ends| orders[side].place(ends[side]));
                    take(&ends.collect::<Vec<u64>>())
                })
            })
        })?;
        for (data, table) in &etype.data {
            let array = Data::array(data, self.arrays.rows(data, table)?);
            self.features.push(feature("edge", name.as_ref(), array, table.bytes()));
        }
        for (mask, set) in MASKS.iter().zip(self.of_edges.sets()) {
            let mask = etype.data.iter().find(|(name, table)| name == mask && is_set(name, table));
            let Some((_, mask)) = mask else { continue };
            let members = members(mask, |edge| edge)?;
            let path = self.arrays.ids(SEEDS, &[members.len(), 2], |take| {
                edges.read(ty, |first, block| {
                    let rows =
                        (first..).zip(block).filter(|(edge, _)| members.rank(*edge).is_some());
                    let ends = rows
                        .flat_map(|(_, ends)| [0, 1].map(|side| orders[side].place(ends[side])));
                    take(&ends.collect::<Vec<u64>>())
                })
            })?;
            set.push(Set { r#type: name.clone(), data: vec![Data::array(SEEDS, path)] });
        }
        Ok(EdgeEntry { r#type: name, format: NUMPY, path })
    }

    /// The name of a type; `None` if nodes and edges have only DGL's names for a single type.
    fn name_of(&self, ty: String) -> Option<String> {
        let ntypes = self.graph.ntypes.iter().all(|ntype| ntype.name == NODE);
        let etypes = self.graph.etypes.iter().all(|etype| etype.name == edge());
        (!ntypes || !etypes).then_some(ty)
    }
}

/// An array of features, which stays on the disk: GraphBolt maps it. An empty array cannot be mapped.
fn feature(domain: &str, ty: Option<&String>, array: Data, bytes: u64) -> Data {
    let in_memory = (bytes > 0).then_some(false);
    Data { domain: Some(domain.to_owned()), r#type: ty.cloned(), in_memory, ..array }
}

/// The labels of a type's nodes.
fn labels_of(ntype: &NodeType) -> Option<&Table> {
    let find = |name: &&str| ntype.data.iter().find(|(data, _)| data == name);
    LABEL_NAMES.iter().find_map(find).map(|(_, labels)| labels)
}

/// The number of classes: one more than the largest class number, or the number of columns; `None` if labels are not
/// classes.
fn num_classes(labels: &Table) -> Result<Option<u64>> {
    match labels.row_shape() {
        [] | [1] if labels.dtype().is_integer() => {}
        [] | [1] => return Ok(None),
        shape => return Ok(Some(shape.iter().product())),
    }
    let mut classes = 0;
    labels.each_i64(|_, label| {
        classes = classes.max(label + 1);
        Ok(())
    })?;
    Ok(Some(classes.max(0).cast_unsigned()))
}

/// Whether data are a mask that becomes a set: one with a usual name and a value per row.
fn is_set(name: &str, table: &Table) -> bool {
    matches!(table.row_shape(), [] | [1]) && MASKS.contains(&name)
}

/// The places of the rows in a mask.
fn members(mask: &Table, place: impl Fn(u64) -> u64) -> Result<RankedBitmap> {
    let mut members = Bitmap::new(mask.num_rows());
    mask.members(|row| {
        members.insert(place(row));
    })?;
    Ok(RankedBitmap::new(members))
}

/// Writes the nodes in a mask, ascending, and their labels.
fn write_set(
    arrays: &mut ExportedArrays<'_, '_, '_>,
    order: &NodeOrder,
    mask: &Table,
    labels: Option<&Table>,
) -> Result<Vec<Data>> {
    let members = members(mask, |node| order.place(node))?;
    let count = members.len();
    let path =
        arrays.ids(SEEDS, &[count], |take| members.members().try_for_each(|node| take(&[node])))?;
    let mut data = vec![Data::array(SEEDS, path)];
    if let Some(labels) = labels {
        let place = |node| members.rank(order.place(node));
        let path = arrays.moved_rows(SET_LABELS, labels, count, place)?;
        data.push(Data::array(SET_LABELS, path));
    }
    Ok(data)
}
