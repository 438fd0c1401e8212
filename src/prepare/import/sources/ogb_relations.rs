//! Heterogeneous data sets of the Open Graph Benchmark, such as ogbn-mag.

use std::path::Path;

use super::ogb_folder::{ONE_GRAPH, PLAIN, names, only_split, read_count, split_lists, tables};
use crate::graph::CanonicalEtype;
use crate::prepare::import::files::{EdgeFile, GraphFiles};
use crate::prepare::import::readers::{Ask, CellValue, FileRows, TextRules, Wants, shown};
use crate::words::error::{Error, Result};

/// The files of a heterogeneous data set: relations from `raw/triplet-type-list.csv.gz`, numbers of nodes from
/// `raw/num-node-dict.csv.gz`, tables by node type in `raw/node-feat/` and `raw/node-label/`, lists of nodes in
/// `split/`.
pub(super) fn relations(folder: &Path) -> Result<GraphFiles> {
    let raw = folder.join("raw");
    let mut files = GraphFiles { layout_nodes: counts(&raw)?, ..GraphFiles::default() };
    for etype in triplets(&raw.join("triplet-type-list.csv.gz"), &files.layout_nodes)? {
        let name = format!("{}___{}___{}", etype.src, etype.rel, etype.dst);
        let relation = raw.join("relations").join(name);
        files.edge_data.extend(tables(&relation, "edge", &etype)?);
        if let Some(count) = read_count(&relation.join("num-edge-list.csv.gz"))? {
            files.num_edges.push((etype.clone(), count));
        }
        files.edges.push(EdgeFile { etype, path: relation.join("edge.csv.gz") });
    }
    let split = only_split(&folder.join("split"))?;
    for (ntype, _) in &files.layout_nodes {
        for table in names(&raw)?.iter().filter(|name| name.starts_with("node")) {
            files.node_data.extend(tables(&raw.join(table).join(ntype), "node", ntype)?);
        }
        if let Some(split) = &split {
            files.splits.extend(split_lists(&split.join(ntype), ntype));
        }
    }
    Ok(files)
}

/// Numbers of nodes: a line of types and a line of numbers.
fn counts(raw: &Path) -> Result<Vec<(String, u64)>> {
    let mut rows = open(&raw.join("num-node-dict.csv.gz"), true)?;
    let mut counts = Vec::new();
    let has_counts = rows.advance()?;
    for (at, column) in rows.columns().iter().enumerate().filter(|_| has_counts) {
        if let CellValue::Whole(count @ 0..) = rows.value(at).parsed() {
            counts.push((column.name.clone(), count as u64));
        }
    }
    if counts.len() != rows.columns().len() {
        return Err(rows.fail_first("must hold a number of nodes for each node type"));
    }
    if rows.advance()? {
        return Err(rows.fail("announces a second graph").with_hint(ONE_GRAPH));
    }
    Ok(counts)
}

/// Relations: source, name and destination on each line.
fn triplets(path: &Path, ntypes: &[(String, u64)]) -> Result<Vec<CanonicalEtype>> {
    let mut rows = open(path, false)?;
    let width = rows.columns().len();
    if width != 3 {
        return Err(rows.fail_first(format!("has {width} columns, not 3")));
    }
    let mut found = Vec::new();
    while rows.advance()? {
        let [src, rel, dst] = [0, 1, 2].map(|at| match rows.value(at) {
            CellValue::Text(word) => String::from_utf8_lossy(word).into_owned(),
            _ => String::new(),
        });
        let is_known = |ty: &String| ntypes.iter().any(|(known, _)| known == ty);
        if let Some(unknown) = [&src, &dst].into_iter().find(|ty| !is_known(ty)) {
            let name = shown(unknown.as_bytes());
            return Err(rows.fail(format!("{name} is not a node type of num-node-dict.csv.gz")));
        }
        found.push(CanonicalEtype::new(&src, &rel, &dst));
    }
    if found.is_empty() {
        return Err(Error::input(path, "", "lists no relations"));
    }
    Ok(found)
}

/// Opens a table and selects all columns.
fn open(path: &Path, header: bool) -> Result<FileRows> {
    let folder = std::env::temp_dir();
    let rules = TextRules { header: Some(header), ..PLAIN };
    let mut rows = FileRows::open(path, &Ask { rules, ..Ask::new(Wants::Table, &folder) })?;
    rows.select(0..rows.columns().len())?;
    Ok(rows)
}
