//! From a user's files to a partition directory.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::balance::Balance;
use super::communities::find_communities;
use super::edge_rules::RuledEdges;
use super::edge_tables::write_edge_tables;
use super::final_edges::{FinalEdges, NewIds};
use super::memory::{left_of, with_memory};
use super::metis::metis_parts;
use super::node_map::{NodeMap, node_counts};
use super::node_tables::write_node_tables;
use super::partitioner::PartitionTask;
use super::progress::{Meter, Observer, StepProgress};
use super::report::PartitionReport;
use super::request::{EdgeRules, LocalOrder, Method, PartitionRequest, check_num_parts};
use super::simple::{file_parts, random_parts, range_parts};
use super::space::check_room;
use super::stream::stream_parts;
use super::train_nodes::train_nodes;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::writer::{Halo, PartitionWriter, graph_folder, write_structure};
use crate::graph::{Bitmap, IdRanges, PartitionBook};
use crate::io::OutputFolder;
use crate::prepare::import::{
    FEATURE_ENCODING, FEATURE_SCALE, ImportSource, NODE_NAMES, NodeType, RawGraph, names_file,
    write_class_names,
};
use crate::words::choice::Choice;
use crate::words::error::{Error, Result};

/// Result of partitioning a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioned {
    /// Path of the partition directory's JSON file.
    pub json: PathBuf,
    /// Number of nodes of the graph.
    pub nodes: u64,
    /// Number of edges of the graph.
    pub edges: u64,
    /// Sizes and quality of the partitions.
    pub report: PartitionReport,
    /// Notes for the user: use of node tables, and likely mistakes.
    pub notes: Vec<String>,
}

/// Reads a graph, assigns its nodes to partitions, and writes a partition directory to `out`, a new or empty folder.
/// Besides the output of DGL's `partition_graph`, the directory has `orig_nids.dgl` and `orig_eids.dgl` as DGL's
/// chunked pipeline writes them. The same source and request give the same bytes.
///
/// `observer` is called now and then; an error that it returns ends the work. Sorting runs on rayon's current thread
/// pool. Unnamed temporary files take their space in `out`.
///
/// # Errors
/// If the input is wrong, `out` is not empty or not writable, the disk is full, the memory is too little, or `observer`
/// fails. No file is left behind in any case.
pub fn partition_graph(
    source: &ImportSource,
    request: &PartitionRequest,
    out: &Path,
    observer: &mut Observer<'_>,
) -> Result<Partitioned> {
    partition_graph_into(source, request, &mut |_, _| Ok(request.num_parts), out, observer)
}

/// As [`partition_graph`], with the number of partitions that `choose` returns for the graph and its number of edges,
/// in place of the request's.
///
/// # Errors
/// As for [`partition_graph`], and the error of `choose`.
pub fn partition_graph_into(
    source: &ImportSource,
    request: &PartitionRequest,
    choose: &mut dyn FnMut(&RawGraph, u64) -> Result<usize>,
    out: &Path,
    observer: &mut Observer<'_>,
) -> Result<Partitioned> {
    request.check()?;
    let folder = graph_folder(out, &request.name)?;
    let staging = folder.staging();
    let graph = source.read(staging, left_of(request.memory, 0)? / 2, &mut |done, total| {
        observer(StepProgress { step: "reading", done, total })
    });
    let graph = graph.map_err(|error| with_memory(error, request.memory))?;
    let reverses = request.rules.reverse_relations;
    let graph = if reverses { graph.with_reverse_relations()? } else { graph };
    let edges = RuledEdges::new(&graph, request.rules)?;
    let num_edges = (0..graph.etypes.len()).map(|etype| edges.most(etype)).sum();
    let num_parts = choose(&graph, num_edges)?;
    check_num_parts(num_parts)?;
    let request = &PartitionRequest { num_parts, ..request.clone() };
    let num_nodes = graph.num_nodes();
    if num_parts as u64 > num_nodes {
        let problem = format!("is {num_parts}, but there are {num_nodes} nodes");
        return Err(Error::config("num_parts", problem)
            .with_hint(format!("pass ‹num_parts={num_nodes}› or less")));
    }
    let earlier = match source {
        ImportSource::Partitions(json) => {
            EdgeRules::recorded(PartitionConfig::open(json)?.folder())?
        }
        ImportSource::Files(_) => EdgeRules::default(),
    };
    let recorded = earlier.then(request.rules);
    write_partitions(
        graph,
        request,
        recorded,
        |task, observer| assigned(request, task, observer),
        folder,
        observer,
    )
}

/// Has the nodes of a graph assigned to partitions, writes them to `folder`, and records the rules by which edges were changed.
pub(super) fn write_partitions(
    graph: RawGraph,
    request: &PartitionRequest,
    recorded: EdgeRules,
    assign: impl FnOnce(&PartitionTask<'_>, &mut Observer<'_>) -> Result<Vec<u16>>,
    folder: OutputFolder,
    observer: &mut Observer<'_>,
) -> Result<Partitioned> {
    let staging = folder.staging();
    let num_nodes = graph.num_nodes();
    let edges = RuledEdges::new(&graph, request.rules)?;
    // Partitions and new ids of all nodes, and a few bits.
    let classes = u64::from(request.balance_ntypes.is_some());
    let maps = if request.node_order == LocalOrder::Input { 1 } else { 2 };
    let per_node = 2 + maps * NodeMap::bytes_per_node(num_nodes) + classes;
    let memory = left_of(request.memory, num_nodes * per_node + num_nodes / 2)?;
    let out = folder.path().to_owned();
    check_room(&graph, &edges, request.num_parts, &out)?;
    let train = train_nodes(&graph)?;
    let balance = Balance::new(&graph, request.balance_ntypes.as_deref(), train.as_ref())?;
    let adjacency = OnceCell::new();
    let task = PartitionTask {
        graph: &graph,
        edges: &edges,
        balance: &balance,
        num_parts: request.num_parts,
        seed: request.seed,
        memory,
        folder: staging,
        adjacency: &adjacency,
    };
    let parts = assign(&task, observer)?;
    let communities = match request.node_order {
        LocalOrder::Input => None,
        LocalOrder::Community => Some(find_communities(&task, observer)?),
    };
    drop((balance, adjacency));
    let node_counts = node_counts(&graph, &parts, request.num_parts);
    let ranges = IdRanges::from_counts(&node_counts)
        .ok_or_else(|| Error::internal("partitions have different numbers of types"))?;
    let map = NodeMap::new(&graph, &parts, &ranges, communities);
    let ids = NewIds { map: &map, parts: &parts, ranges: &ranges };
    let rows: u64 = (0..graph.etypes.len()).map(|etype| graph.edges.num_edges(etype)).sum();
    let mut meter = Meter::new(observer, "sorting edges", 2 * rows)?;
    let dedup = request.rules.dedup;
    let (sorted, edge_rows) =
        FinalEdges::sort(&graph, &edges, &ids, dedup, staging, memory, &mut meter)?;
    let train_counts = train_counts(&parts, train.as_ref(), request.num_parts);
    drop(parts);
    let ntypes = graph.ntypes.iter().map(|ntype| ntype.name.clone()).collect();
    let etypes = graph.etypes.iter().map(|etype| etype.name.clone()).collect();
    let book = Arc::new(PartitionBook::new(ntypes, etypes, &node_counts, &sorted.counts)?);
    let method = request.method.name().unwrap_or_default();
    let order = Some(request.node_order).filter(|order| *order != LocalOrder::Input);
    let writer = PartitionWriter::new(staging, &request.name, method, 1, Arc::clone(&book))
        .node_order(order.and_then(Choice::name));
    let halos = write_structures(&writer, &book, &sorted, observer)?;
    let mut meter = Meter::new(observer, "moving tables", graph.table_bytes())?;
    write_edge_tables(&writer, &graph, &sorted, edge_rows, &book, staging, memory, &mut meter)?;
    drop(sorted);
    write_node_tables(&writer, &graph, &map, &book, staging, memory, &mut meter)?;
    write_descriptions(&graph, staging)?;
    recorded.record(staging)?;
    writer.finish()?;
    let json = format!("{}.json", request.name);
    folder.commit(&json)?;
    let report = PartitionReport::new(&book, &halos, &train_counts, feature_values(&graph));
    let (nodes, edges) = (book.num_nodes(), book.num_edges());
    Ok(Partitioned { json: out.join(json), nodes, edges, report, notes: graph.notes })
}

/// The partition of each node, by homogeneous id.
fn assigned(
    request: &PartitionRequest,
    task: &PartitionTask<'_>,
    observer: &mut Observer<'_>,
) -> Result<Vec<u16>> {
    match request.method {
        Method::File => file_parts(&request.assignment, task),
        _ if request.num_parts == 1 => Ok(range_parts(task)),
        Method::Stream => stream_parts(task, observer),
        Method::Metis => metis_parts(task, observer),
        Method::Random => Ok(random_parts(task)),
        Method::Range => Ok(range_parts(task)),
    }
}

fn train_counts(parts: &[u16], train: Option<&Bitmap>, num_parts: usize) -> Vec<u64> {
    let mut counts = vec![0; num_parts];
    let trained = |node: &(u64, &u16)| train.is_some_and(|train| train.contains(node.0));
    (0..).zip(parts).filter(trained).for_each(|(_, &part)| counts[usize::from(part)] += 1);
    counts
}

fn write_structures(
    writer: &PartitionWriter,
    book: &PartitionBook,
    edges: &FinalEdges,
    observer: &mut Observer<'_>,
) -> Result<Vec<Halo>> {
    let total = book.num_edges();
    let parts = 0..book.num_parts();
    let structures = parts.map(|part| {
        let first = book.edge_range(part).start;
        let mut tell =
            |done| observer(StepProgress { step: "writing edges", done: first + done, total });
        write_structure(writer, book, part, edges, &mut tell)
    });
    structures.collect()
}

/// Number of values per row of the widest table of floating-point numbers, most likely the features.
fn feature_values(graph: &RawGraph) -> u64 {
    let tables = graph.ntypes.iter().flat_map(|ntype| &ntype.data);
    let values = tables.map(|(_, table)| table.row_shape().iter().product());
    values.max().unwrap_or(0)
}

/// Writes the names of nodes and classes, and how features were made.
fn write_descriptions(graph: &RawGraph, staging: &Path) -> Result<()> {
    write_names(graph, staging)?;
    write_class_names(staging, &graph.class_names)?;
    let texts =
        [(FEATURE_SCALE, &graph.feature_scale), (FEATURE_ENCODING, &graph.feature_encoding)];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        let path = staging.join(name);
        fs::write(&path, text).map_err(|e| Error::io("write", &path, e))?;
    }
    Ok(())
}

/// Writes the nodes' names, if the input identifies nodes by strings.
fn write_names(graph: &RawGraph, staging: &Path) -> Result<()> {
    let is_named = |ntype: &&NodeType| ntype.names.is_some() || ntype.names_file.is_some();
    let folder = staging.join(NODE_NAMES);
    for ntype in graph.ntypes.iter().filter(is_named) {
        fs::create_dir_all(&folder).map_err(|e| Error::io("create", &folder, e))?;
        let path = names_file(staging, &ntype.name);
        if let Some(names) = &ntype.names {
            names.write(&path)?;
        }
        // The file's lines are in the order of original ids, which do not change.
        if let Some(known) = &ntype.names_file {
            fs::copy(known, &path).map_err(|e| Error::io("write", &path, e))?;
        }
    }
    Ok(())
}
