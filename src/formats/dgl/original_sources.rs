//! The files and columns with a partition's original ids.

use super::array::ArrayRef;
use super::blocks;
use super::edges::edge_ids::EdgeIds;
use super::edges::edge_numbers::are_consecutive;
use super::feature::Feature;
use super::feature_set::FeatureSet;
use super::nodes::original_ids::OriginalIds;
use super::topology::Topology;
use crate::graph::TypeNodes;
use crate::words::error::Result;
use std::ops::Range;

/// Name of node data with original ids.
const NODE_DATA: &str = "orig_id";

/// Original ids of the inner nodes of a type: those that the user has passed, from `orig_nids.dgl`, from the structure
/// file, or node data that the user has named `orig_id`.
pub(crate) fn of_nodes(
    topology: &Topology,
    node_data: &FeatureSet,
    ntype: usize,
) -> Result<Option<OriginalIds>> {
    let (config, part, columns) = (topology.config(), topology.part(), &topology.graph().nodes);
    let book = config.book();
    let Some(name) = book.ntypes().get(ntype) else { return Ok(None) };
    let range = book.node_type_range(part, ntype);
    if let Some(given) = config.given_ids(ntype) {
        let TypeNodes { first, own, .. } = book.type_nodes(part, ntype);
        return Ok(Some(OriginalIds::column(given, first, own as u64)));
    }
    if let Some(path) = &config.parts()[part].orig_nids {
        return OriginalIds::from_file(path, name, range.end - range.start).map(Some);
    }
    let kept = config.keeps_original_ids().then_some(&columns.id);
    let Some(originals) = kept.or(columns.orig.as_ref()) else {
        let data = node_data.features().iter().find(|data| data.is_of(ntype, NODE_DATA));
        let ids = data.map(Feature::array);
        let ids = ids.filter(|ids| ids.row_len() == 1 && ids.dtype().is_integer());
        return Ok(ids.map(|ids| OriginalIds::column(ids, 0, range.end - range.start)));
    };
    if topology.is_inner_first() {
        let first = range.start - book.node_range(part).start;
        return Ok(Some(OriginalIds::column(originals, first, range.end - range.start)));
    }
    let inner = Inner::new(kept, columns.inner.as_ref(), &columns.id, range);
    OriginalIds::pick(originals, |rows| inner.rows(rows)).map(Some)
}

/// The original ids of the inner edges of a type, by feature row.
pub(crate) fn of_edges(topology: &Topology, etype: usize) -> Result<Option<OriginalIds>> {
    let (config, part, graph) = (topology.config(), topology.part(), topology.graph());
    let book = config.book();
    let Some(name) = book.etypes().get(etype) else { return Ok(None) };
    let range = book.edge_type_range(part, etype);
    if let Some(path) = &config.parts()[part].orig_eids {
        let key = name.to_string();
        return OriginalIds::from_file(path, &key, range.end - range.start).map(Some);
    }
    let Some(ids) = &graph.edges.id else { return Ok(None) };
    let kept = config.keeps_original_ids().then_some(ids);
    let Some(originals) = kept.or(graph.edges.orig.as_ref()) else { return Ok(None) };
    if kept.is_none() && are_consecutive(graph, &EdgeIds::load(config, part, graph)?)? {
        let first = range.start - book.edge_range(part).start;
        return Ok(Some(OriginalIds::column(originals, first, range.end - range.start)));
    }
    let inner = Inner::new(kept, graph.edges.inner.as_ref(), ids, range);
    OriginalIds::pick(originals, |rows| inner.rows(rows)).map(Some)
}

/// How inner rows of a type are recognised.
enum Inner<'a> {
    /// By a mask; if ids are original, there is only one type.
    Marked(&'a ArrayRef),
    /// By ids in the partition's range of the type.
    Owned(&'a ArrayRef, Range<u64>),
}

impl<'a> Inner<'a> {
    fn new(
        kept: Option<&ArrayRef>,
        mask: Option<&'a ArrayRef>,
        ids: &'a ArrayRef,
        range: Range<u64>,
    ) -> Self {
        match mask.filter(|_| kept.is_some()) {
            Some(mask) => Inner::Marked(mask),
            None => Inner::Owned(ids, range),
        }
    }

    fn rows(&self, rows: Range<u64>) -> Result<Vec<bool>> {
        let mut values = Vec::new();
        match self {
            Inner::Marked(mask) => {
                blocks::read(mask, rows.clone(), &mut values)?;
                values
                    .iter()
                    .zip(rows)
                    .map(|(&value, row)| blocks::truth(mask, row, value))
                    .collect()
            }
            Inner::Owned(ids, range) => {
                blocks::read(ids, rows, &mut values)?;
                Ok(values.iter().map(|id| range.contains(id)).collect())
            }
        }
    }
}
