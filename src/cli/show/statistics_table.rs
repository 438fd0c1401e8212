//! Statistics of a graph, as tables for people.

use std::fmt::Write;

use super::table::TextTable;
use crate::prepare::statistics::GraphStatistics;
use crate::words::size::{number, size};

/// Largest number of classes listed.
const MOST_CLASSES: usize = 20;

/// Tables of degrees, classes, masks and values.
pub(in crate::cli) fn statistics(found: &GraphStatistics) -> String {
    let mut text = degrees(found);
    for (key, counts) in &found.classes {
        let mut table = TextTable::new(&[key, ">nodes"]);
        // Names belong to a single label.
        let names = if found.classes.len() == 1 { &found.class_names[..] } else { &[] };
        for (class, nodes) in counts.nodes.iter().take(MOST_CLASSES) {
            let name = usize::try_from(*class).ok().and_then(|class| names.get(class));
            table
                .row([name.map_or_else(|| format!("class {class}"), Clone::clone), number(*nodes)]);
        }
        let rest: u64 = counts.nodes.values().skip(MOST_CLASSES).sum();
        let classes = counts.nodes.len();
        if rest + counts.further > 0 {
            let others = format!("{} more", classes.saturating_sub(MOST_CLASSES));
            table.row([others, number(rest + counts.further)]);
        }
        if counts.unlabelled > 0 {
            table.row(["no label".to_owned(), number(counts.unlabelled)]);
        }
        let _ = write!(text, "\n{table}");
    }
    if !found.masks.is_empty() {
        let mut table = TextTable::new(&["mask", ">nodes", ">share"]);
        for (key, mask) in &found.masks {
            let share = 100.0 * mask.members as f64 / mask.rows.max(1) as f64;
            table.row([key.clone(), number(mask.members), format!("{share:.2} %")]);
        }
        let _ = write!(text, "\n{table}");
    }
    if !found.values.is_empty() {
        let mut table = TextTable::new(&["numbers of", ">values", ">NaN", ">infinite"]);
        for (key, counts) in &found.values {
            let counts = [counts.values, counts.nan, counts.infinite].map(number);
            table.row(std::iter::once(key.clone()).chain(counts));
        }
        let _ = write!(text, "\n{table}");
    }
    let mut table = TextTable::new(&["training with", ">a worker takes about"]);
    for (hidden, bytes) in &found.training_bytes {
        table.row([format!("--hidden {hidden}"), size(*bytes)]);
    }
    let _ = write!(text, "\n{table}");
    text
}

fn degrees(found: &GraphStatistics) -> String {
    let degrees = &found.degrees;
    let mut headings = vec!["in-degree".to_owned(), ">mean".to_owned()];
    headings.extend(degrees.percentiles.keys().map(|percent| match percent {
        0 => ">least".to_owned(),
        100 => ">most".to_owned(),
        percent => format!(">{percent} %"),
    }));
    let mut table = TextTable::new(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    let cells = degrees.percentiles.values().map(|degree| number(*degree));
    table.row([String::new(), format!("{:.2}", degrees.mean)].into_iter().chain(cells));
    let edges: u64 = found.edges.values().sum();
    let share = 100.0 * found.cut_edges as f64 / edges.max(1) as f64;
    let [nodes, of_edges] = found.balance;
    format!(
        "{table}{} nodes have no in-edges, {} of them no edges at all\n\
         edge cut {share:.2} % of the edges, replication factor {:.3}\n\
         largest partition over mean: {nodes:.3} of nodes, {of_edges:.3} of edges\n",
        number(degrees.without_in_edges),
        number(degrees.isolated),
        found.replication
    )
}
