//! Completes relations that DGL 0.6 to 0.9 name without their node types.

use super::partition_config::PartitionConfig;
use super::types::Types;
use crate::formats::dgl::edge_reader::InnerEdge;
use crate::formats::dgl::topology::Topology;
use crate::graph::CanonicalEtype;
use crate::words::error::{Error, Result};

const BLOCK: usize = 16 << 10;

/// Placeholder names for types that are not yet known.
pub(super) fn stand_ins(types: &Types, known: &[Option<CanonicalEtype>]) -> Vec<CanonicalEtype> {
    let end = types.ntypes.first().map_or("", String::as_str);
    let names = known.iter().zip(&types.etype_keys);
    let stand_in = |rel: &str| CanonicalEtype::new(end, rel, end);
    names.map(|(etype, rel)| etype.clone().unwrap_or_else(|| stand_in(rel))).collect()
}

/// Completes `etypes`: each relation gets the node types at the ends of one of its edges. Edges are read until all
/// relations have occurred.
pub(super) fn infer(
    config: &PartitionConfig,
    mut etypes: Vec<Option<CanonicalEtype>>,
) -> Result<Vec<CanonicalEtype>> {
    let mut block = Vec::new();
    for part in 0..config.parts().len() {
        if etypes.iter().all(Option::is_some) {
            break;
        }
        let topology = Topology::open(config, part)?;
        let mut edges = topology.edges(BLOCK)?;
        while etypes.iter().any(Option::is_none) && edges.next_block(&mut block)? {
            learn(config, &block, &mut etypes);
        }
    }
    let book = config.book();
    let found = etypes.into_iter().zip(book.etypes()).map(|(found, stand_in)| {
        found.ok_or_else(|| {
            let problem = format!("{:?} has no edge that would show its node types", stand_in.rel);
            Error::input(config.path(), "etypes", problem)
                .with_hint("name it `src:rel:dst` there and in edge_map")
        })
    });
    found.collect()
}

fn learn(config: &PartitionConfig, block: &[InnerEdge], etypes: &mut [Option<CanonicalEtype>]) {
    let book = config.book();
    let name = |node: u64| book.node_type(node).map_or("", |t| book.ntypes()[t].as_str());
    for &InnerEdge { src, dst, etype, .. } in block {
        let slot = &mut etypes[etype];
        if slot.is_none() {
            let rel = &book.etypes()[etype].rel;
            *slot = Some(CanonicalEtype::new(name(src), rel, name(dst)));
        }
    }
}
