//! Graphs that are made for a test, with `generate` and `partition`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::program;

/// How a graph is divided among workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Division {
    /// All partitions have about as many nodes.
    Even,
    /// The first of at least two partitions has a hundredth of the nodes.
    Skewed,
    /// Nodes have types, and edges have relations.
    Types,
}

/// The JSON file of a graph, which is made if the folder does not exist. `sizes` are flags of `generate`; a graph with types ignores
/// them.
pub(crate) fn divided(out: &Path, division: Division, sizes: &[&str], parts: usize) -> String {
    match division {
        Division::Even => made_graph(out, sizes, parts),
        Division::Skewed if parts > 1 => skewed(out, sizes, parts),
        Division::Skewed => made_graph(out, sizes, 1),
        Division::Types => with_types(out, parts),
    }
}

/// The JSON file of a generated graph, which is made if the folder does not exist.
pub(crate) fn made_graph(out: &Path, sizes: &[&str], parts: usize) -> String {
    let mut command = program();
    command.arg("generate").args(sizes).args(["--num-parts", &parts.to_string()]);
    made(command, out)
}

/// Number of papers.
const PAPERS: usize = 16_000;

/// The JSON file of a graph of papers with features and of authors without, with this number of edges between them. Numbers of papers and
/// authors must have no common divisor.
pub(crate) fn with_learned_rows(
    out: &Path,
    parts: usize,
    authors: usize,
    written: usize,
) -> String {
    let tables = out.with_extension("tables");
    fs::create_dir_all(&tables).unwrap();
    let [edges, papers] = ["writes.csv", "paper.csv"].map(|name| tables.join(name));
    // Steps that have no divisor in common with the numbers of nodes reach every node.
    let text = (0..written).fold("source,target\n".to_owned(), |mut text, edge| {
        writeln!(text, "{},{}", edge * 7919 % authors, edge * 104_729 % PAPERS).unwrap();
        text
    });
    fs::write(&edges, text).unwrap();
    let text = (0..PAPERS).fold("id,label,x0,x1\n".to_owned(), |mut text, node| {
        writeln!(text, "{node},c{},0.{},0.{}", node % 8, node % 997, node * 31 % 991).unwrap();
        text
    });
    fs::write(&papers, text).unwrap();
    let mut command = program();
    command.args(["partition", "--reverse-edges", "--split", "paper=random:0.6,0.2,0.2"]);
    command.args(["--name", "g", "--num-parts", &parts.to_string(), "--label", "paper=label"]);
    command.args(["--method", "random", "--num-nodes", &format!("author={authors}"), "--edges"]);
    command.arg(format!("author:writes:paper={}", edges.display()));
    command.arg("--node-table").arg(format!("paper={}", papers.display()));
    made(command, out)
}

fn made(mut command: Command, out: &Path) -> String {
    if !out.exists() {
        let made = command.arg("--out").arg(out).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    out.join("g.json").to_str().unwrap().to_owned()
}

fn skewed(out: &Path, sizes: &[&str], parts: usize) -> String {
    let whole = made_graph(&out.with_extension("whole"), sizes, 1);
    let nodes = sizes.iter().skip_while(|flag| **flag != "--nodes").nth(1).unwrap();
    let others = parts - 1;
    let part = |node: usize| if node.is_multiple_of(100) { 0 } else { 1 + node % others };
    let lines: Vec<String> =
        (0..nodes.parse().unwrap()).map(|node: usize| format!("{}\n", part(node))).collect();
    let assignment = out.with_extension("assignment");
    fs::write(&assignment, lines.concat()).unwrap();
    let mut command = program();
    command.args(["partition", "--part-json", &whole, "--method", "file", "--assignment"]);
    command.arg(&assignment).args(["--num-parts", &parts.to_string()]);
    made(command, out)
}

/// Numbers of papers, authors and fields; a paper has one of 40 labels.
const NODES: [(&str, usize); 3] = [("paper", 20_000), ("author", 8_000), ("field", 300)];
const COLUMNS: usize = 32;

/// Relations between types of nodes, each with a number of edges.
const RELATIONS: [(&str, &str, &str, usize); 3] = [
    ("paper", "cites", "paper", 100_000),
    ("author", "writes", "paper", 80_000),
    ("paper", "has", "field", 40_000),
];

fn with_types(out: &Path, parts: usize) -> String {
    let tables = out.with_extension("tables");
    fs::create_dir_all(&tables).unwrap();
    let mut command = program();
    command.args(["partition", "--reverse-edges", "--split", "paper=random:0.6,0.2,0.2"]);
    command.args(["--name", "g", "--num-parts", &parts.to_string(), "--label", "paper=label"]);
    // Steps that have no divisor in common with the numbers of nodes reach every node.
    let count = |name: &str| NODES.iter().find(|(other, _)| *other == name).unwrap().1;
    for (source, relation, destination, edges) in RELATIONS {
        let ends = |edge: usize| (edge * 7919 % count(source), edge * 104_729 % count(destination));
        let text = (0..edges).fold("source,target\n".to_owned(), |mut text, edge| {
            let (from, to) = ends(edge);
            writeln!(text, "{from},{to}").unwrap();
            text
        });
        let file = tables.join(format!("{relation}.csv"));
        fs::write(&file, text).unwrap();
        command.arg("--edges");
        command.arg(format!("{source}:{relation}:{destination}={}", file.display()));
    }
    for (name, nodes) in NODES {
        let mut text = "id,label".to_owned();
        (0..COLUMNS).for_each(|column| write!(text, ",x{column}").unwrap());
        for node in 0..nodes {
            write!(text, "\n{node},c{}", node % 40).unwrap();
            (0..COLUMNS)
                .for_each(|column| write!(text, ",0.{}", (node * 31 + column * 17) % 997).unwrap());
        }
        let file = tables.join(format!("{name}.csv"));
        fs::write(&file, text + "\n").unwrap();
        command.arg("--node-table").arg(format!("{name}={}", file.display()));
        if name != "paper" {
            command.args(["--drop", &format!("{name}=label")]);
        }
    }
    made(command, out)
}
