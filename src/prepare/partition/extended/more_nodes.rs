//! All nodes of a graph to which nodes are added.

use std::path::Path;

use super::additions::GraphAdditions;
use crate::formats::dgl::array_file::ArrayFile;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{ArrayRef, OriginalIds, blocks};
use crate::io::Dtype;
use crate::load::{KeptArrays, check_original_order};
use crate::prepare::import::{
    AllNodes, FEATURE_SCALE, KnownNodes, NamesMemory, NewNodes, NodeNames, NodeType,
    OpenedPartitions, RawGraph, Table, TableEncoding, table_encodings,
};
use crate::words::error::{Error, Result};

/// The features that node tables make.
const OF_TABLES: &str = "feat";

/// Number of values written at a time.
const BLOCK: u64 = 1 << 14;

/// The nodes of all types: known ones, then new ones.
pub(super) struct MoreNodes {
    pub(super) known: Vec<NodeType>,
    pub(super) new: Vec<NewNodes>,
    /// For types whose original ids differ from their numbers: the number of each known node, by original id.
    numbers: Vec<Option<Vec<u64>>>,
}

impl MoreNodes {
    /// Reads the files of nodes. Names may take `memory` bytes.
    pub(super) fn read(
        config: &PartitionConfig,
        opened: &OpenedPartitions,
        additions: &GraphAdditions,
        kept: &KeptArrays,
        folder: &Path,
        memory: u64,
    ) -> Result<Self> {
        let known = opened.node_types()?;
        check_ids(config, &known)?;
        let encodings = table_encodings(config.folder())?;
        let is_scaled = config.folder().join(FEATURE_SCALE).exists();
        let (mut new, memory) = (Vec::new(), NamesMemory::new(memory));
        for (ntype, features) in known.iter().zip(&kept.features) {
            let file = additions.nodes.iter().find(|file| file.ty == ntype.name);
            let path = file.map(|file| file.path.as_path());
            let of_table = features.as_deref() == Some(OF_TABLES);
            let data = |name: &String| ntype.data.iter().find(|(other, _)| other == name);
            let features = features.as_ref().and_then(data).map(|(_, table)| table);
            let encoding = encodings.get(&ntype.name).filter(|_| of_table);
            if path.is_some() {
                let is_known = |own: &TableEncoding| {
                    features.is_none_or(|table| own.makes(table.dtype(), table.row_shape()))
                };
                if !encoding.map_or(!(of_table && is_scaled), is_known) {
                    return Err(unknown_encoding(config, ntype));
                }
                encoding.map_or(Ok(()), |encoding| refuse_embedded(encoding, ntype))?;
            }
            new.push(KnownNodes { ntype, features, encoding }.read(path, folder, &memory)?);
        }
        let numbers = known.iter().map(numbers).collect::<Result<_>>()?;
        Ok(MoreNodes { known, new, numbers })
    }

    /// The nodes, with their names, which are taken out.
    pub(super) fn take_all(&mut self) -> Vec<AllNodes> {
        let nodes = self.known.iter().zip(&mut self.new);
        let nodes = nodes.map(|(known, new)| AllNodes {
            ntype: known.name.clone(),
            count: known.count + new.count,
            names: new.names.take(),
        });
        nodes.collect()
    }

    /// The number of a node by its original id. New nodes have the numbers after those of the known ones.
    pub(super) fn number(&self, ntype: usize, original: u64) -> u64 {
        match &self.numbers[ntype] {
            Some(numbers) => numbers.get(original as usize).copied().unwrap_or(original),
            None => original,
        }
    }

    /// The place of a node among the new ones, if it is new.
    pub(super) fn place(&self, ntype: usize, number: u64) -> Option<u64> {
        number.checked_sub(self.known[ntype].count)
    }

    /// Adds the new nodes to the graph, which keeps only some arrays.
    pub(super) fn add_to(
        self,
        graph: &mut RawGraph,
        kept: &KeptArrays,
        names: Vec<Option<NodeNames>>,
        folder: &Path,
    ) -> Result<()> {
        let all = graph.ntypes.iter_mut().zip(self.new).zip(names).enumerate();
        for (ty, ((ntype, new), names)) in all {
            let count = new.count;
            let mut data = Vec::new();
            for (name, mut table) in std::mem::take(&mut ntype.data) {
                let is = |other: &Option<String>| other.as_ref() == Some(&name);
                let more = if is(&kept.features[ty]) {
                    new.features.clone()
                } else if is(&kept.labels[ty]) {
                    if count > 0 && table.dtype().is_integer() {
                        table = as_floats(&table, folder)?;
                    }
                    Some(filled(&table, count, f32::NAN, folder)?)
                } else if kept.masks.contains(&name) {
                    Some(filled(&table, count, 0.0, folder)?)
                } else {
                    continue;
                };
                let more = more.filter(|_| count > 0);
                data.push((name, more.map_or(Ok(table.clone()), |more| table.followed_by(more))?));
            }
            ntype.data = data;
            if !ntype.originals.is_empty() && count > 0 {
                let ids = consecutive(ntype.count, count, folder)?;
                ntype.originals.push(OriginalIds::column(&ids, 0, count));
            }
            if names.is_some() {
                (ntype.names, ntype.names_file) = (names, None);
            }
            ntype.count += count;
        }
        Ok(())
    }
}

const CUT_AND_TRAIN: &str = "cut the graph with its new nodes, and train again";

fn unknown_encoding(config: &PartitionConfig, ntype: &NodeType) -> Error {
    let problem =
        format!("does not record how columns became the features of node type {}", ntype.name);
    Error::input(config.path(), "", problem)
        .with_hint("an earlier version cut the graph: cut it again, and train again")
}

fn refuse_embedded(encoding: &TableEncoding, ntype: &NodeType) -> Result<()> {
    let Some(column) = encoding.embedded.first() else { return Ok(()) };
    let problem = format!(
        "nodes of type {} have edges from learned rows, one for each value of column {column}",
        ntype.name
    );
    Err(Error::config("add_nodes", problem).with_hint(CUT_AND_TRAIN))
}

/// Checks that users know the ids of nodes.
fn check_ids(config: &PartitionConfig, known: &[NodeType]) -> Result<()> {
    let ntypes: Vec<usize> =
        (0..known.len()).filter(|ty| !known[*ty].originals.is_empty()).collect();
    if ntypes.len() < known.len() && !config.keeps_numbers() {
        let problem = "holds no original ids of nodes, so files cannot name its nodes";
        return Err(Error::input(config.path(), "", problem)
            .with_hint("pass ‹orig_ids=FILE› with the mapping that partition_graph(..., return_mapping=True) returns"));
    }
    check_original_order(config, &ntypes)
}

/// The number of each node by original id, unless the two are the same.
fn numbers(ntype: &NodeType) -> Result<Option<Vec<u64>>> {
    if ntype.originals.is_empty() {
        return Ok(None);
    }
    let mut numbers = vec![0; ntype.count as usize];
    let mut next = 0;
    ntype.original_ids(|ids| {
        for id in ids {
            numbers[*id as usize] = next;
            next += 1;
        }
        Ok(())
    })?;
    Ok(Some(numbers))
}

/// Labels as floating-point numbers, among which NaN stands for no label.
fn as_floats(table: &Table, folder: &Path) -> Result<Table> {
    let width: u64 = table.row_shape().iter().product();
    let (mut file, mut values) = (ArrayFile::create(folder)?, Vec::new());
    for rows in blocks::wide_ranges(table.num_rows(), width) {
        table.read_f64(rows, &mut values)?;
        for value in &values {
            file.write(&(*value as f32).to_le_bytes())?;
        }
    }
    let shape = [&[table.num_rows()], table.row_shape()].concat();
    Table::new(vec![file.finish(Path::new("labels"), Dtype::F32, shape)?])
}

/// Rows of one value, of a table's form.
fn filled(table: &Table, count: u64, value: f32, folder: &Path) -> Result<ArrayRef> {
    let dtype = table.dtype();
    let mut bytes = vec![0; dtype.size()];
    dtype.from_f32(&[value], &mut bytes);
    let width: u64 = table.row_shape().iter().product();
    let mut file = ArrayFile::create(folder)?;
    let total = count * width;
    for first in (0..total).step_by(BLOCK as usize) {
        file.write(&bytes.repeat(BLOCK.min(total - first) as usize))?;
    }
    file.finish(Path::new("new nodes"), dtype, [&[count], table.row_shape()].concat())
}

/// An array of consecutive ids.
fn consecutive(first: u64, count: u64, folder: &Path) -> Result<ArrayRef> {
    let mut file = ArrayFile::create(folder)?;
    (first..first + count).try_for_each(|id| file.write(&id.to_le_bytes()))?;
    file.finish(Path::new("new nodes"), Dtype::I64, vec![count])
}
