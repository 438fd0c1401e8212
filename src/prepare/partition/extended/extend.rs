//! From a partition directory, and files, to a partition directory of the whole.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::additions::GraphAdditions;
use super::more_edges::{MoreEdges, kept_data};
use super::more_nodes::MoreNodes;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::writer::graph_folder;
use crate::load::KeptArrays;
use crate::prepare::import::OpenedPartitions;
use crate::prepare::partition::memory::{left_of, with_memory};
use crate::prepare::partition::partition_graph::write_partitions;
use crate::prepare::partition::progress::{Observer, StepProgress};
use crate::prepare::partition::request::{EdgeRules, LocalOrder, Method, PartitionRequest};
use crate::words::error::Result;

/// A partition directory with further nodes and edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtendedPartitions {
    /// Path of its JSON file.
    pub json: PathBuf,
    /// Number of new nodes of each type.
    pub nodes: Vec<u64>,
    /// Number of new edges, with those that were made, such as reverses.
    pub edges: u64,
    /// Notes on the files.
    pub notes: Vec<String>,
}

/// Writes a partitioned graph with further nodes and edges to `out`, a new or empty folder. Known nodes keep their partitions and their
/// order; a new node comes to the partition of most of its neighbours. Edges are changed by the rules by which the graph was made, and
/// new nodes continue the original ids of their type. Takes up to `memory` bytes of memory.
///
/// # Errors
/// If a file is wrong, a new node exists already, an end of an edge is unknown, features cannot be made, the disk is full, or
/// `observer` fails. No file is left behind.
pub fn extend_partitions(
    config: &PartitionConfig,
    additions: &GraphAdditions,
    kept: &KeptArrays,
    out: &Path,
    memory: u64,
    observer: &mut Observer<'_>,
) -> Result<ExtendedPartitions> {
    let book = config.book();
    let additions = additions.of_types(book)?;
    let name = "g";
    let folder = graph_folder(out, name)?;
    let staging = folder.staging();
    let opened = OpenedPartitions::open(config.clone())?;
    let rules = EdgeRules::recorded(config.folder())?;
    let share = left_of(memory, 8 * book.num_nodes())? / 2;
    let nodes = MoreNodes::read(config, &opened, &additions, kept, staging, share);
    let mut nodes = nodes.map_err(|error| with_memory(error, memory))?;
    let mut tell = |done, total| observer(StepProgress { step: "reading", done, total });
    let data = kept_data(&opened, kept)?;
    let mut edges = MoreEdges::read(&mut nodes, &additions, data, rules, book, staging, &mut tell)?;
    let mut more = |etype, writer: &mut _| edges.write(etype, &nodes, writer);
    let mut graph = opened.import(staging, share, &mut more, &mut tell)?;
    edges.add_to(&mut graph);
    let counts = nodes.new.iter().map(|new| new.count).collect();
    nodes.add_to(&mut graph, kept, edges.new.names, staging)?;
    let request = PartitionRequest {
        name: name.to_owned(),
        num_parts: book.num_parts(),
        method: Method::File,
        assignment: Vec::new(),
        balance_ntypes: None,
        node_order: LocalOrder::Input,
        rules: EdgeRules { dedup: rules.dedup, ..EdgeRules::default() },
        memory,
        seed: 0,
    };
    let parts = edges.votes.into_parts(book);
    let notes = edges.new.notes;
    let count = edges.count;
    let unchanged = EdgeRules::default();
    let written = write_partitions(graph, &request, unchanged, |_, _| Ok(parts), folder, observer)?;
    Ok(ExtendedPartitions { json: written.json, nodes: counts, edges: count, notes })
}
