//! Report of `partition` on its result.

use std::fmt::Write;
use std::iter;

use super::table::TextTable;
use crate::prepare::partition::{PartitionSize, Partitioned};
use crate::words::size::{number, size};

/// A number of a partition.
type Quantity = fn(&PartitionSize) -> u64;

/// Columns of the table, after the partition's number.
const COLUMNS: [(&str, Quantity); 5] = [
    (">nodes", |size| size.nodes),
    (">edges", |size| size.edges),
    (">train nodes", |size| size.train_nodes),
    (">halo nodes", |size| size.halo_nodes),
    (">cut edges", |size| size.cut_edges),
];

/// Sizes and quality of the partitions.
pub(in crate::cli) fn report(done: &Partitioned, hidden: &[u64]) -> String {
    let report = &done.report;
    let headings = iter::once(">partition").chain(COLUMNS.map(|(heading, _)| heading));
    let mut table = TextTable::new(&headings.collect::<Vec<_>>());
    let mut row = |name: String, count: &dyn Fn(Quantity) -> u64| {
        table.row(iter::once(name).chain(COLUMNS.map(|(_, of)| number(count(of)))));
    };
    // A table of many partitions does not help.
    if report.sizes.len() <= MOST {
        for (part, size) in report.sizes.iter().enumerate() {
            row(part.to_string(), &|of| of(size));
        }
    }
    row("all".to_owned(), &|of| report.sum(of));
    let mut text = table.to_string();
    let cut = report.cut_edges();
    let share = if done.edges == 0 { 0.0 } else { 100.0 * cut as f64 / done.edges as f64 };
    let [nodes, edges, training, ..] = COLUMNS.map(|(_, of)| report.balance(of));
    let mut lines = vec![
        format!(
            "edge cut {share:.2} % of the edges, replication factor {:.3}",
            report.replication()
        ),
        format!(
            "largest partition over mean: {nodes:.3} of nodes, {edges:.3} of edges, {training:.3} of training nodes"
        ),
    ];
    for &hidden in hidden {
        let (largest, bytes) = report.training_memory(hidden);
        lines.push(format!(
            "training with --hidden {hidden} takes about {} for partition {largest}, the largest",
            size(bytes)
        ));
    }
    for line in lines {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Largest number of partitions listed one by one.
const MOST: usize = 64;
