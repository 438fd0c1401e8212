//! Report of `partition` on its result.

use std::fmt::Write;

use super::table::TextTable;
use crate::event::{number, size};
use crate::prepare::partition::Partitioned;

/// Sizes and quality of the partitions.
pub(in crate::cli) fn report(done: &Partitioned, hidden: &[u64]) -> String {
    let report = &done.report;
    let mut table = TextTable::new(&[
        ">partition",
        ">nodes",
        ">edges",
        ">train nodes",
        ">halo nodes",
        ">cut edges",
    ]);
    // A table of many partitions does not help.
    if report.sizes.len() <= MOST {
        for (part, sizes) in report.sizes.iter().enumerate() {
            let counts =
                [sizes.nodes, sizes.edges, sizes.train_nodes, sizes.halo_nodes, sizes.cut_edges];
            let mut cells = vec![part.to_string()];
            cells.extend(counts.map(number));
            table.row(cells);
        }
    }
    let counts = [
        report.sum(|size| size.nodes),
        report.sum(|size| size.edges),
        report.sum(|size| size.train_nodes),
        report.sum(|size| size.halo_nodes),
        report.sum(|size| size.cut_edges),
    ];
    let mut cells = vec!["all".to_owned()];
    cells.extend(counts.map(number));
    table.row(cells);
    let mut text = table.to_string();
    let cut = report.cut_edges();
    let share = if done.edges == 0 { 0.0 } else { 100.0 * cut as f64 / done.edges as f64 };
    let balance = [
        report.balance(|size| size.nodes),
        report.balance(|size| size.edges),
        report.balance(|size| size.train_nodes),
    ];
    let mut lines = vec![
        format!(
            "edge cut {share:.2} % of the edges, replication factor {:.3}",
            report.replication()
        ),
        format!(
            "largest partition over mean: {:.3} of nodes, {:.3} of edges, {:.3} of training nodes",
            balance[0], balance[1], balance[2]
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
