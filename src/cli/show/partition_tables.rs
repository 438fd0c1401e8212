//! The tables of a partition directory.

use std::collections::BTreeMap;

use super::table::TextTable;
use crate::event::printable;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{Feature, PartitionSummary};
use crate::words::error::Result;
use crate::words::size::{number, size};

/// The graph as a whole.
pub(in crate::cli) fn header(config: &PartitionConfig) -> String {
    let book = config.book();
    let mut lines = vec![
        ("graph", printable(config.graph_name())),
        ("method", printable(config.part_method().unwrap_or("unknown"))),
        ("partitions", number(book.num_parts() as u64)),
        ("nodes", number(book.num_nodes())),
        ("edges", number(book.num_edges())),
    ];
    if let Some(order) = config.node_order() {
        lines.push(("node order", printable(order)));
    }
    if let Some(hops) = config.halo_hops() {
        lines.push(("halo hops", number(hops)));
    }
    let lines: Vec<String> =
        lines.iter().map(|(name, value)| format!("{name:11} {value}")).collect();
    lines.join("\n") + "\n"
}

/// Numbers of nodes and edges of each type.
pub(in crate::cli) fn types(config: &PartitionConfig) -> String {
    let book = config.book();
    let mut nodes = TextTable::new(&["node type", ">nodes"]);
    for (ntype, name) in book.ntypes().iter().enumerate() {
        nodes.row([name, &number(book.num_nodes_of_type(ntype))]);
    }
    let mut edges = TextTable::new(&["edge type", ">edges"]);
    for (etype, name) in book.etypes().iter().enumerate() {
        edges.row([name.to_string(), number(book.num_edges_of_type(etype))]);
    }
    format!("{nodes}\n{edges}")
}

/// Sizes of each partition, and their sums.
pub(in crate::cli) fn partitions(opened: &[Result<PartitionSummary>]) -> String {
    let mut table = TextTable::new(&[
        ">partition",
        ">inner nodes",
        ">halo nodes",
        ">inner edges",
        ">halo edges",
        ">on disk",
    ]);
    let mut sums = [0; 5];
    for (part, summary) in opened.iter().enumerate() {
        let Ok(summary) = summary else {
            table.row([&part.to_string(), "?", "?", "?", "?", "?"]);
            continue;
        };
        let counts = [
            summary.num_inner_nodes,
            summary.num_halo_nodes,
            summary.num_inner_edges,
            summary.num_halo_edges,
            summary.bytes,
        ];
        table.row(cells(part.to_string(), counts));
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    if opened.len() > 1 && opened.iter().all(Result::is_ok) {
        table.row(cells("all".to_owned(), sums));
    }
    table.to_string()
}

fn cells(name: String, [nodes, halo_nodes, edges, halo_edges, bytes]: [u64; 5]) -> [String; 6] {
    [name, number(nodes), number(halo_nodes), number(edges), number(halo_edges), size(bytes)]
}

/// Features of nodes, then of edges. If some partitions lack a feature, or have another form of it, the last column
/// lists the partitions that have it.
pub(in crate::cli) fn features(
    config: &PartitionConfig,
    opened: &[Result<PartitionSummary>],
) -> String {
    let opened: Vec<&PartitionSummary> = opened.iter().flatten().collect();
    let mut found: BTreeMap<Form, Vec<String>> = BTreeMap::new();
    for summary in &opened {
        let sides = [(Side::Nodes, &summary.node_features), (Side::Edges, &summary.edge_features)];
        for (side, set) in sides {
            for feature in set.features() {
                let key = (side, feature.ty(), feature.key(), rows_of(feature));
                found.entry(key).or_default().push(summary.part.to_string());
            }
        }
    }
    if found.is_empty() {
        return "no features\n".to_owned();
    }
    let book = config.book();
    let mut table = TextTable::new(&["features of", "key", "dtype", "row shape", "in partitions"]);
    for ((side, ty, key, (dtype, shape)), parts) in &found {
        let name = match side {
            Side::Nodes => book.ntypes().get(*ty).cloned(),
            Side::Edges => book.etypes().get(*ty).map(ToString::to_string),
        };
        let parts = if parts.len() == opened.len() { "all".to_owned() } else { parts.join(", ") };
        table.row([name.as_deref().unwrap_or(""), key, dtype, shape, &parts]);
    }
    table.to_string()
}

/// A form of a feature: side, type, key, and the result of [`rows_of`].
type Form<'a> = (Side, usize, &'a str, (&'static str, String));

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Nodes,
    Edges,
}

/// Element type, and dimensions of a row.
fn rows_of(feature: &Feature) -> (&'static str, String) {
    let array = feature.array();
    (array.dtype().name(), format!("{:?}", array.row_shape()))
}
