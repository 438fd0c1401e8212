//! Heterogeneous data sets of the Open Graph Benchmark, such as ogbn-mag.

use std::path::Path;

use super::files::{DataFile, EdgeFile, GraphFiles};
use super::ogb::{EDGE_TABLES, NODE_TABLES, only_split, split_lists, table};
use super::records::Records;
use super::text::parse_id;
use crate::error::{Error, Result};
use crate::graph::CanonicalEtype;

/// The files of a heterogeneous data set: the relations that `raw/triplet-type-list.csv.gz` lists, numbers of nodes in
/// `raw/num-node-dict.csv.gz`, tables by node type in `raw/node-feat/` and `raw/node-label/`, and lists of nodes in `split/`.
pub(super) fn relations(folder: &Path) -> Result<GraphFiles> {
    let raw = folder.join("raw");
    let mut files = GraphFiles { num_nodes: counts(&raw)?, ..GraphFiles::default() };
    for etype in triplets(&raw.join("triplet-type-list.csv.gz"), &files.num_nodes)? {
        let name = format!("{}___{}___{}", etype.src, etype.rel, etype.dst);
        let relation = raw.join("relations").join(name);
        for (file, name) in EDGE_TABLES {
            if let Some(path) = table(&relation, file) {
                files.edge_data.push(DataFile::new(etype.clone(), name, &path));
            }
        }
        files.edges.push(EdgeFile { etype, path: relation.join("edge.csv.gz") });
    }
    let split = only_split(&folder.join("split"))?;
    for (ntype, _) in &files.num_nodes {
        for (file, name) in NODE_TABLES {
            let folders = ["node-feat", "node-label"].map(|tables| raw.join(tables).join(ntype));
            if let Some(path) = folders.iter().find_map(|folder| table(folder, file)) {
                files.node_data.push(DataFile::new(ntype.clone(), name, &path));
            }
        }
        if let Some(split) = &split {
            files.splits.extend(split_lists(&split.join(ntype), ntype));
        }
    }
    Ok(files)
}

/// The numbers of nodes: a line of types and a line of numbers.
fn counts(raw: &Path) -> Result<Vec<(String, u64)>> {
    let mut records = Records::open(&raw.join("num-node-dict.csv.gz"))?;
    if !records.advance()? {
        return Err(records.fail("must name the node types"));
    }
    let names: Vec<String> = strings(&records);
    let has_counts = records.advance()?;
    let counts: Option<Vec<u64>> = records.fields().map(|field| parse_id(&field)).collect();
    let counts = counts.filter(|counts| has_counts && counts.len() == names.len());
    let counts =
        counts.ok_or_else(|| records.fail("must hold a number of nodes for each node type"))?;
    if records.advance()? {
        return Err(records.fail("announces a second graph; a data set of one graph is needed"));
    }
    Ok(names.into_iter().zip(counts).collect())
}

/// The relations: source, name and destination on each line.
fn triplets(path: &Path, ntypes: &[(String, u64)]) -> Result<Vec<CanonicalEtype>> {
    let mut records = Records::open(path)?;
    let mut found = Vec::new();
    while records.advance()? {
        let fields = strings(&records);
        let [src, rel, dst] = &fields[..] else {
            return Err(records.fail(format!("has {} columns, not 3", fields.len())));
        };
        if let Some(unknown) =
            [src, dst].into_iter().find(|ty| !ntypes.iter().any(|(known, _)| known == *ty))
        {
            let problem = format!("{unknown:?} is not a node type of num-node-dict.csv.gz");
            return Err(records.fail(problem));
        }
        found.push(CanonicalEtype::new(src, rel, dst));
    }
    if found.is_empty() {
        return Err(Error::input(path, "", "lists no relations"));
    }
    Ok(found)
}

fn strings(records: &Records) -> Vec<String> {
    records.fields().map(|field| String::from_utf8_lossy(&field).into_owned()).collect()
}
