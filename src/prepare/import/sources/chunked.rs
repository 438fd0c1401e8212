//! The input of DGL's chunked pipeline: a `metadata.json` that names files.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::graph::CanonicalEtype;
use crate::io::read_input;
use crate::prepare::import::files::{DataFile, EdgeFile, GraphFiles};
use crate::words::error::{Error, Result};

/// The file's content, in both forms: DGL 1.0 with numbers per chunk, later versions with numbers per type.
#[derive(Deserialize)]
struct Metadata {
    node_type: Vec<String>,
    edge_type: Vec<String>,
    num_nodes_per_chunk: Option<Vec<Vec<u64>>>,
    num_nodes_per_type: Option<Vec<u64>>,
    num_edges_per_chunk: Option<Vec<Vec<u64>>>,
    num_edges_per_type: Option<Vec<u64>>,
    edges: BTreeMap<String, Files>,
    #[serde(default)]
    node_data: BTreeMap<String, BTreeMap<String, Files>>,
    #[serde(default)]
    edge_data: BTreeMap<String, BTreeMap<String, Files>>,
}

#[derive(Deserialize)]
struct Files {
    data: Vec<String>,
}

impl GraphFiles {
    /// Reads which files a `metadata.json` of chunks names, or a GraphBolt `metadata.yaml`. Their formats are
    /// recognised by content.
    ///
    /// # Errors
    /// If the file cannot be read, is not a JSON file of this format, or contradicts itself.
    pub fn of_chunks(json: &Path) -> Result<Self> {
        if json.extension().is_some_and(|end| end == "yaml" || end == "yml") {
            return Self::of_on_disk_dataset(json);
        }
        let text = read_input(json).map_err(|e| Error::unreadable(json, &e))?;
        let wrong = |e: serde_json::Error| {
            Error::input(json, "", format!("is not the metadata of a chunked graph: {e}"))
        };
        // By way of a value, so that messages name missing fields rather than places.
        let value: Value = serde_json::from_str(&text).map_err(wrong)?;
        let metadata = Metadata::deserialize(value).map_err(wrong)?;
        let folder = json.parent().unwrap_or(Path::new(""));
        let mut files = GraphFiles { layout: Some(folder.to_owned()), ..GraphFiles::default() };
        let (per_chunk, per_type) =
            (metadata.num_nodes_per_chunk.as_ref(), metadata.num_nodes_per_type.as_ref());
        let counts = counts(json, "num_nodes", metadata.node_type.len(), per_chunk, per_type)?;
        let counts = counts.ok_or_else(|| {
            Error::input(json, "", "has neither num_nodes_per_type nor num_nodes_per_chunk")
        })?;
        files.layout_nodes = metadata.node_type.iter().cloned().zip(counts).collect();
        let known = |ty: &str| metadata.node_type.iter().any(|name| name == ty);
        let etype = |name: &str| {
            let etype = CanonicalEtype::parse(name).filter(|e| known(&e.src) && known(&e.dst));
            etype.ok_or_else(|| {
                Error::input(json, name, "is not an edge type between types of node_type")
            })
        };
        for name in &metadata.edge_type {
            let listed = metadata.edges.get(name);
            let listed =
                listed.ok_or_else(|| Error::input(json, "edges", format!("lacks {name}")))?;
            for path in &listed.data {
                files.edges.push(EdgeFile { etype: etype(name)?, path: folder.join(path) });
            }
        }
        if let Some(name) = metadata.edges.keys().find(|name| !metadata.edge_type.contains(name)) {
            return Err(Error::input(json, "edges", format!("{name} is not in edge_type")));
        }
        let (per_chunk, per_type) =
            (metadata.num_edges_per_chunk.as_ref(), metadata.num_edges_per_type.as_ref());
        let types = metadata.edge_type.len();
        if let Some(counts) = self::counts(json, "num_edges", types, per_chunk, per_type)? {
            for (name, count) in metadata.edge_type.iter().zip(counts) {
                files.num_edges.push((etype(name)?, count));
            }
        }
        for Listed { ty, name, path } in listed(&metadata.node_data) {
            if !known(ty) {
                return Err(Error::input(json, "node_data", format!("unknown node type {ty}")));
            }
            files.node_data.push(DataFile::new(ty.to_owned(), name, &folder.join(path)));
        }
        for Listed { ty, name, path } in listed(&metadata.edge_data) {
            files.edge_data.push(DataFile::new(etype(ty)?, name, &folder.join(path)));
        }
        Ok(files)
    }
}

/// A file of a table, as listed.
struct Listed<'m> {
    ty: &'m str,
    name: &'m str,
    path: &'m str,
}

fn listed(tables: &BTreeMap<String, BTreeMap<String, Files>>) -> impl Iterator<Item = Listed<'_>> {
    tables.iter().flat_map(|(ty, tables)| {
        tables.iter().flat_map(move |(name, files)| {
            files.data.iter().map(move |path| Listed { ty, name, path })
        })
    })
}

/// Counts by type, from whichever form exists; if both do, they must agree.
fn counts(
    json: &Path,
    field: &str,
    types: usize,
    per_chunk: Option<&Vec<Vec<u64>>>,
    per_type: Option<&Vec<u64>>,
) -> Result<Option<Vec<u64>>> {
    let sum = |chunk: &Vec<u64>| chunk.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
    let sums = per_chunk.map(|chunks| chunks.iter().map(sum).collect::<Option<Vec<u64>>>());
    let problem = match (sums, per_type.cloned()) {
        (Some(None), _) => format!("{field}_per_chunk add up to more than 2^64"),
        (Some(Some(sums)), Some(counts)) if sums != counts => {
            format!("{field}_per_chunk and {field}_per_type contradict each other")
        }
        (_, Some(counts)) | (Some(Some(counts)), None) if counts.len() != types => {
            format!("{field} has {} types, but there are {types}", counts.len())
        }
        (sums, counts) => return Ok(counts.or(sums.flatten())),
    };
    Err(Error::input(json, field, problem))
}
