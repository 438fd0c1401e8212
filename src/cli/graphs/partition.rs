//! `partition`: from a user's files to a partition directory.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use crate::cli::flags::choice::choice;
use crate::cli::flags::fields::with_flags;
use crate::cli::flags::free_folder::{claim_folder, name_of};
use crate::cli::flags::future_run::FutureRunArgs;
use crate::cli::flags::node_tables::{NodeTableArgs, OTHER_SOURCES};
use crate::cli::flags::num_parts::{Choose, NumParts, Uncut, choice as parts_choice};
use crate::cli::flags::text_rules::TextArgs;
use crate::cli::show::output::print_path;
use crate::cli::show::partition_report::report;
use crate::cli::show::shell_word::shell_word;
use crate::cli::signals::interruptible;
use crate::event::{StepBar, file_name, printable, show_status};
use crate::formats::dgl::config::PartitionConfig;
use crate::io::MadeFolders;
use crate::platform::signals::{self, Unfinished};
use crate::prepare::import::{
    BadRowRule, BadRows, DataFile, DrawnSplit, GraphFiles, ImportSource, NodeIds, RawGraph,
};
use crate::prepare::partition::{
    EdgeRules, LocalOrder, Method, PartitionRequest, PartitionSpace, SelfLoops, default_memory,
    partition_graph_into, peak_memory,
};
use crate::words::choice::Choice;
use crate::words::error::{Error, Result};
use crate::words::size::{parse_size, size};

/// Smallest disk space in bytes that `partition` reports.
const MUCH_SPACE: u64 = 1 << 30;

/// Either way of naming files of edges.
const EDGE_FILES: &str = "edge_files";

/// Cut a graph from your own files into a partition directory
///
/// Reads edges, and data of nodes and edges, in bounded memory. Writes the files of dgl.distributed.partition_graph, and the
/// original ids of nodes and edges. Prints the path of the JSON file: pass it to --part-json to train, or to
/// dgl.distributed.load_partition.
///
/// Files are text (a row per line; fields separated by white space, comma, semicolon, tab or |; optionally compressed by gzip,
/// zstd or zip), Parquet, .npy, .npz, JSON or Matrix Market; edges may also be in METIS's .graph or networkx's .adjlist.
/// Columns are found by their names, or by their order in files without names. A note for each file shows how it was read. A
/// file called - is standard input.
#[allow(clippy::struct_excessive_bools)] // Each is a flag of its own.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true, next_help_heading = "Input")]
pub(in crate::cli) struct PartitionArgs {
    /// Files of edges: the same as --edges FILE for each
    #[arg(value_name = "[SRC:REL:DST=]FILE", group = EDGE_FILES)]
    files: Vec<String>,
    /// File of edges; may be repeated: files of one type continue each other
    #[arg(long, value_name = "[SRC:REL:DST=]FILE", group = EDGE_FILES)]
    edges: Vec<String>,
    /// Instead of files of edges: the JSON file of a partition directory, to be cut again
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = EDGE_FILES,
        required_unless_present_any = [EDGE_FILES, "ogb", "chunked", "npz"],
    )]
    part_json: Option<PathBuf>,
    /// Instead of files of edges: the folder of a data set of the Open Graph Benchmark, with raw/ and split/
    #[arg(long, value_name = "DIR", conflicts_with_all = [EDGE_FILES, "part_json"])]
    ogb: Option<PathBuf>,
    /// Instead of files of edges: metadata.json of a graph in DGL's chunked format, or metadata.yaml of a data set of GraphBolt
    #[arg(long, value_name = "FILE", conflicts_with_all = [EDGE_FILES, "part_json", "ogb"])]
    chunked: Option<PathBuf>,
    /// Archive of the arrays of a graph under usual names, such as edge_index, x, y and train_mask; its edges are left out if there
    /// are files of edges
    #[arg(long, value_name = "FILE", conflicts_with_all = OTHER_SOURCES)]
    npz: Option<PathBuf>,
    /// Number of nodes [default: rows of the node data, or one more than the largest id]
    #[arg(long, value_name = "[TYPE=]N", conflicts_with = "part_json")]
    num_nodes: Vec<String>,
    /// Features, labels or masks: a row per node
    #[arg(long, value_name = "[TYPE/]NAME=FILE", conflicts_with = "part_json")]
    node_data: Vec<String>,
    /// Weights or other data of edges: a row per row of the files of edges
    #[arg(long, value_name = "[SRC:REL:DST/]NAME=FILE", conflicts_with = "part_json")]
    edge_data: Vec<String>,
    /// List of nodes or edges that becomes a mask: train=FILE makes train_mask. Or the column of a node table whose values are
    /// train, val and test. Or random shares: random:0.6,0.2,0.2
    #[arg(
        long,
        value_name = "[TYPE/]NAME=FILE|[TYPE=]COLUMN|[TYPE=]random:SHARES",
        conflicts_with = "part_json"
    )]
    split: Vec<String>,
    /// The split to use, counted from 0, if masks hold several
    #[arg(long, value_name = "K", conflicts_with = "part_json")]
    split_index: Option<u64>,
    /// Column of numbers or dates that orders nodes or edges: the first are for training, the last for the test. The default
    /// shares of training, validation and test are 0.8,0.1,0.1
    #[arg(long, value_name = "[TYPE=]COLUMN[:SHARES]", conflicts_with = "part_json")]
    split_by: Vec<String>,
    /// Treatment of bad rows in files of edges and node tables: all are counted and listed in a file next to the output,
    /// DIR.bad_rows.txt [default: the first is an error]
    #[arg(
        long,
        value_parser = choice::<BadRows>(),
        requires = EDGE_FILES,
        conflicts_with_all = OTHER_SOURCES,
    )]
    bad_rows: Option<BadRows>,
    /// Further columns of files of edges, which become edge data: columns with these names; in files without names, the columns
    /// after source and destination
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "part_json")]
    edge_columns: Vec<String>,
    /// Column with the sources of edges, in files with column names [default: a usual name, such as source or from]
    #[arg(
        long,
        value_name = "[SRC:REL:DST=]NAME",
        requires = EDGE_FILES,
        conflicts_with_all = OTHER_SOURCES,
    )]
    source_column: Vec<String>,
    /// Column with the destinations of edges [default: a usual name, such as target or to]
    #[arg(
        long,
        value_name = "[SRC:REL:DST=]NAME",
        requires = EDGE_FILES,
        conflicts_with_all = OTHER_SOURCES,
    )]
    target_column: Vec<String>,
    /// Column with the type of each edge, in files of triples: its name, or its number from 1 if columns have no names
    #[arg(
        long,
        value_name = "NAME|N",
        requires = EDGE_FILES,
        conflicts_with_all = OTHER_SOURCES,
    )]
    relation_column: Option<String>,
    #[command(flatten)]
    text: TextArgs,
    /// How files identify nodes
    #[arg(long, value_parser = choice::<NodeIds>(), default_value = NodeIds::default().name(), conflicts_with = "part_json")]
    node_ids: NodeIds,
    /// Names of all nodes of a type, one per line, in the order of the rows of node data
    #[arg(long, value_name = "[TYPE=]FILE", conflicts_with = "part_json")]
    node_names: Vec<String>,
    #[command(flatten)]
    tables: NodeTableArgs,

    /// Store every edge in both directions
    #[arg(long, help_heading = "Edges")]
    undirected: bool,
    /// Give every relation x between different node types a reverse, rev_x, and store all other edges in both directions
    #[arg(long, conflicts_with = "undirected", help_heading = "Edges")]
    reverse_edges: bool,
    /// Treatment of edges from a node to itself
    #[arg(long, value_parser = choice::<SelfLoops>(), default_value = SelfLoops::default().name(), help_heading = "Edges")]
    self_loops: SelfLoops,
    /// Keep only the first of several edges with the same ends
    #[arg(long, help_heading = "Edges")]
    dedup: bool,

    /// Number of partitions; auto: the smallest tried number with which a training run fits into its --memory-budget. All flags of
    /// the run that change its memory are accepted, too, such as --layers 3 --mfg
    #[arg(long, value_name = "N|auto", default_value = "auto", help_heading = "Partitions")]
    num_parts: NumParts,
    /// How nodes are assigned to partitions
    #[arg(long, value_parser = choice::<Method>(), default_value = Method::default().name(), help_heading = "Partitions")]
    method: Method,
    /// Partition of each node, one per line, for --method file
    #[arg(long, value_name = "[TYPE=]FILE", help_heading = "Partitions")]
    assignment: Vec<String>,
    /// Node data with whole numbers; every partition gets about as many nodes with each number (DGL's balance_ntypes). Node
    /// types, edges and training nodes are balanced in any case
    #[arg(long, value_name = "NAME", help_heading = "Partitions")]
    balance_ntypes: Option<String>,
    /// Order of the nodes of a type within a partition. Rows of neighbours that are near each other stay in the processor's caches
    #[arg(long, value_parser = choice::<LocalOrder>(), default_value = LocalOrder::default().name(), help_heading = "Partitions")]
    node_order: LocalOrder,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Partitions")]
    seed: u64,
    /// Report the memory of training with hidden layers of these widths [default: 64,256]
    #[arg(long, value_name = "WIDTHS", value_delimiter = ',', help_heading = "Partitions")]
    hidden: Vec<u64>,

    /// Memory to use, such as 2GiB [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Output")]
    memory: Option<u64>,
    /// Name of the graph and of its JSON file [default: g; without --out, the name of the input]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    name: Option<String>,
    /// Folder to write to, new or empty, on a disk with room for temporary files as well [default: the first free
    /// graphs/NAME-N]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    // After all other flags, whose names it leaves out.
    #[command(flatten)]
    future: FutureRunArgs,
}

/// Partitions a graph, reports the result on standard error, and prints the JSON file's path, which it returns.
pub(in crate::cli) fn partition(mut args: PartitionArgs) -> Result<PathBuf> {
    let num_parts = args.num_parts;
    let is_auto = num_parts == NumParts::Auto;
    if let Some(json) = args.files.iter().map(Path::new).find(|file| is_partitioned(file)) {
        return Err(Error::input(json, "", "describes partitions").with_hint(format!(
            "cut them again with --part-json {}",
            printable(&shell_word(json))
        )));
    }
    if is_auto && args.method == Method::File {
        return Err(Error::config(
            "--num-parts",
            "is auto, but --assignment sets the partition of each node",
        )
        .with_hint("pass the number of partitions in the file"));
    }
    // The width is also a flag of this command.
    let hidden = args.hidden.iter().max().filter(|_| is_auto);
    let future = std::mem::take(&mut args.future);
    let future = future.with(hidden.map(|hidden| format!("--hidden={hidden}")));
    let mut choose = parts_choice(num_parts, future)?;
    interruptible(|| cut(args, &mut choose))
}

fn cut(args: PartitionArgs, choose: &mut Choose) -> Result<PathBuf> {
    let input = || if args.out.is_some() { "g".to_owned() } else { input_name(&args) };
    let name = args.name.clone().unwrap_or_else(input);
    let (out, claimed) = match args.out.clone() {
        Some(out) => (out, None),
        None => claim_graph(&name)?,
    };
    let source = source(&args, &out)?;
    let request = PartitionRequest {
        name,
        num_parts: 1,
        method: args.method,
        assignment: typed_paths("assignment", &args.assignment)?,
        balance_ntypes: args.balance_ntypes.clone(),
        node_order: args.node_order,
        rules: EdgeRules {
            undirected: args.undirected,
            reverse_relations: args.reverse_edges,
            self_loops: args.self_loops,
            dedup: args.dedup,
        },
        memory: args.memory.unwrap_or_else(default_memory),
        seed: args.seed,
    };
    let start = Instant::now();
    let mut bar = StepBar::new();
    // Shown before the work and its bar begin.
    let remarks = RefCell::new(Vec::new());
    let mut choose = |graph: &RawGraph, edges| {
        let chosen = choose(&Uncut::Read(graph, edges))?;
        let space = PartitionSpace::of(graph, edges, chosen.parts)?;
        remarks.borrow_mut().extend(chosen.why.into_iter().chain(remark(space, &out)));
        Ok(chosen.parts)
    };
    let done = partition_graph_into(&source, &request, &mut choose, &out, &mut |progress| {
        signals::check()?;
        remarks.take().iter().for_each(|remark| bar.note(remark));
        bar.show(progress.step, progress.done, progress.total);
        Ok(())
    })?;
    drop((bar, claimed));
    done.notes
        .iter()
        .for_each(|note| show_status(&format!("note: {}", printable(&with_flags(note)))));
    let hidden = if args.hidden.is_empty() { vec![64, 256] } else { args.hidden };
    show_status(&report(&done, &hidden));
    let peak = peak_memory().map_or(String::new(), |peak| format!(", {} of memory", size(peak)));
    show_status(&format!("took {:.1} s{peak}", start.elapsed().as_secs_f64()));
    print_path(&done.json)?;
    Ok(done.json)
}

/// Creates a folder for a graph. If it is still empty when the second value is dropped, it is removed; an interrupt
/// removes it in any case.
fn claim_graph(name: &str) -> Result<(PathBuf, Option<(MadeFolders, Unfinished)>)> {
    let (out, made) = claim_folder(&Path::new("graphs").join(file_name(name)))?;
    let unfinished = Unfinished::note(out.clone(), made.paths().to_vec());
    Ok((out, Some((made, unfinished))))
}

/// Whether a file of the user's describes partitions.
pub(in crate::cli) fn is_partitioned(file: &Path) -> bool {
    let is_json = file.extension().is_some_and(|extension| extension == "json");
    is_json && PartitionConfig::open(file).is_ok()
}

/// The name of the first file or folder of the input.
fn input_name(args: &PartitionArgs) -> String {
    let edges = args.files.first().or(args.edges.first()).map(AsRef::as_ref);
    // Metadata have the same name in all folders.
    let chunks = args.chunked.as_deref().and_then(Path::parent);
    let others = [args.npz.as_deref(), args.part_json.as_deref(), args.ogb.as_deref(), chunks];
    let others = others.into_iter().flatten().map(Path::as_os_str);
    edges.into_iter().chain(others).next().map_or_else(|| "g".to_owned(), name_of)
}

/// A line on disk space, for graphs that take much of it.
fn remark(space: PartitionSpace, out: &Path) -> Option<String> {
    let PartitionSpace { temporary, partitions } = space;
    (temporary + partitions >= MUCH_SPACE).then(|| {
        format!(
            "temporary files take up to {} in {}; the partitions take {}, and a second copy of the edges that join them",
            size(temporary),
            out.display(),
            size(partitions),
        )
    })
}

fn source(args: &PartitionArgs, out: &Path) -> Result<ImportSource> {
    if let Some(json) = &args.part_json {
        return Ok(ImportSource::Partitions(json.clone()));
    }
    let edges = args.files.iter().chain(&args.edges);
    let edges =
        edges.map(|text| GraphFiles::parse_edges("edges", text)).collect::<Result<Vec<_>>>()?;
    let node_data = |flag: &'static str, list: &[String]| -> Result<Vec<_>> {
        list.iter().map(|text| GraphFiles::parse_node_data(flag, text)).collect()
    };
    let edge_data =
        args.edge_data.iter().map(|text| GraphFiles::parse_edge_data("edge_data", text));
    let num_nodes = args.num_nodes.iter().map(|text| {
        let (ty, count) = GraphFiles::parse_of_type(text);
        let count = count.parse();
        let count =
            count.map_err(|_| Error::config("--num-nodes", format!("{text:?} is not a number")))?;
        Ok((ty, count))
    });
    let mut files = match (&args.ogb, &args.chunked, &args.npz) {
        (Some(folder), _, _) => GraphFiles::of_ogb(folder)?,
        (_, Some(json), _) => GraphFiles::of_chunks(json)?,
        (_, _, Some(archive)) => GraphFiles::of_npz(archive, !edges.is_empty())?,
        (None, None, None) => GraphFiles::default(),
    };
    files.edges.extend(edges);
    files.num_nodes.extend(num_nodes.collect::<Result<Vec<_>>>()?);
    add_data("--node-data", &mut files.node_data, node_data("node_data", &args.node_data)?)?;
    add_data("--edge-data", &mut files.edge_data, edge_data.collect::<Result<Vec<_>>>()?)?;
    let is_type =
        |ty: &str| files.edges.iter().any(|file| file.etype.src == ty || file.etype.dst == ty);
    let by = args.split_by.iter().map(|text| DrawnSplit::parse_column(text, is_type));
    files.drawn_splits = by.collect::<Result<_>>()?;
    let mut splits = Vec::new();
    for text in &args.split {
        match DrawnSplit::parse_random(text, args.seed)? {
            Some(split) => files.drawn_splits.push(split),
            None => splits.push(text.clone()),
        }
    }
    let (columns_of_splits, files_of_splits) = args.tables.splits(&splits);
    add_data("--split", &mut files.splits, node_data("split", &files_of_splits)?)?;
    files.split_index = args.split_index;
    files.node_ids = args.node_ids;
    files.node_names = typed_paths("node_names", &args.node_names)?;
    files.text = args.text.rules()?;
    files.edge_columns.clone_from(&args.edge_columns);
    let columns =
        |list: &[String]| list.iter().map(|text| GraphFiles::parse_edge_column(text)).collect();
    files.node_tables = args.tables.node_tables(columns_of_splits, &files.drawn_splits);
    files.source_columns = columns(&args.source_column);
    files.target_columns = columns(&args.target_column);
    files.relation_column.clone_from(&args.relation_column);
    files.undirected = args.undirected;
    files.bad_rows = args.bad_rows.map(|rows| {
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push(".bad_rows.txt");
        BadRowRule { rows, list: out.with_file_name(name) }
    });
    Ok(ImportSource::Files(files))
}

/// Adds files from flags. Files with the same name would continue each other, which only DGL's chunked format intends.
fn add_data<T: PartialEq>(
    flag: &str,
    known: &mut Vec<DataFile<T>>,
    given: Vec<DataFile<T>>,
) -> Result<()> {
    for file in given {
        let same = |other: &&DataFile<T>| other.ty == file.ty && other.name == file.name;
        if let Some(other) = known.iter().find(same) {
            let problem = format!(
                "{} is given twice, by {} and {}",
                file.name,
                other.path.display(),
                file.path.display()
            );
            return Err(Error::config(flag, problem)
                .with_hint("pass one file with a row for each, or use another name"));
        }
        known.push(file);
    }
    Ok(())
}

/// Files of node types, at most one for each.
fn typed_paths(field: &str, list: &[String]) -> Result<Vec<(String, PathBuf)>> {
    let mut typed: Vec<(String, PathBuf)> = Vec::new();
    for text in list {
        let (ty, path) = GraphFiles::parse_of_type(text);
        if let Some((_, other)) = typed.iter().find(|(known, _)| *known == ty) {
            let problem = format!("node type {ty} has two files, {} and {path}", other.display());
            return Err(Error::config(field, problem).with_hint("pass one file per node type"));
        }
        typed.push((ty, path.into()));
    }
    Ok(typed)
}
