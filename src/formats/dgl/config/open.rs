//! Opens the JSON file of a partition directory.

use super::canonical;
use super::field::Field;
use super::id_maps::{self, OriginalMaps};
use super::part_files::{Finder, PartFiles};
use super::partition_config::PartitionConfig;
use super::types::Types;
use crate::formats::dgl::magic;
use crate::formats::dgl::npy::open_npy;
use crate::graph::{CanonicalEtype, MAX_IDS, PartitionBook};
use crate::io::BYTE_ORDER_MARK;
use crate::words::error::{Error, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum size of the JSON file in bytes; a few numbers per partition and type take far less.
const MAX_BYTES: u64 = 256 << 20;

impl PartitionConfig {
    /// Reads the JSON file of a partition directory written by any DGL since 0.5.
    ///
    /// In directories written with `reshuffle=False`, nodes and edges have original ids in the files; here they get new
    /// ids, partition by partition and by ascending original id. Edge types without node types (DGL 0.6 to 0.9) get
    /// these from edges, for which structure files are read.
    ///
    /// # Errors
    /// If the file cannot be read, is not JSON, does not describe a partitioned graph, or contradicts itself.
    pub fn open(path: &Path) -> Result<Self> {
        let json = read_json(path)?;
        let root = Field::root(path, &json);
        check_kind(&root)?;
        let graph_name = root.require("graph_name")?.text()?.to_owned();
        let folder = folder_of(path, &root);
        let mut finder = Finder::new(&folder);
        let parts = part_files(&root, &mut finder)?;
        let types = Types::read(&root)?;
        let canonical = types.canonical(&root)?;
        let (original, counts) = id_counts(&root, &types, parts.len(), &mut finder)?;
        check_map_dtypes(&root)?;
        let book = |etypes: Vec<CanonicalEtype>| {
            let book = PartitionBook::new(types.ntypes.clone(), etypes, &counts.0, &counts.1);
            book.map(Arc::new).map_err(|e| root.fail(e.to_string()))
        };
        let stand_ins = canonical::stand_ins(&types, &canonical);
        let text = |name| root.get(name).map(|f| f.text().map(str::to_owned)).transpose();
        let mut config = PartitionConfig {
            path: path.to_owned(),
            folder: folder.clone(),
            graph_name,
            part_method: text("part_method")?,
            node_order: text("node_order")?,
            halo_hops: root.get("halo_hops").map(|f| f.number()).transpose()?,
            book: book(stand_ins)?,
            parts: parts.into(),
            original,
            given_ids: Arc::new([]),
            notes: finder.into_notes(),
        };
        if canonical.iter().any(Option::is_none) {
            config.book = book(canonical::infer(&config, canonical)?)?;
            config.notes.push("node types of relations were taken from the edges".to_owned());
        }
        Ok(config)
    }
}

/// The folder in which files are searched: that of the JSON file or, if this is a link to a file and its folder has no
/// partitions, that of the linked file.
fn folder_of(path: &Path, root: &Field<'_>) -> PathBuf {
    let beside = path.parent().unwrap_or(Path::new(""));
    let target = if path.is_symlink() { std::fs::canonicalize(path).ok() } else { None };
    let Some(target) = target.as_deref().and_then(Path::parent) else { return beside.to_owned() };
    let mut finder = Finder::new(beside);
    let parts = (0_u64..).map_while(|part| root.get(&format!("part-{part}")));
    let mut files = parts.filter_map(|part| part.get("node_feats"));
    let is_beside = files.any(|file| finder.find(&file, 2).is_ok_and(|found| found.exists()));
    if is_beside { beside.to_owned() } else { target.to_owned() }
}

fn read_json(path: &Path) -> Result<Value> {
    let info = std::fs::metadata(path).map_err(|e| Error::unreadable(path, &e))?;
    if info.is_dir() {
        return Err(Error::input(path, "", "is a folder")
            .with_hint("name the JSON file in it, such as <graph name>.json"));
    }
    if !info.is_file() {
        return Err(Error::input(path, "", "is not a regular file"));
    }
    if info.len() > MAX_BYTES {
        return Err(Error::input(path, "", "is too large to describe partitions"));
    }
    let bytes = std::fs::read(path).map_err(|e| Error::unreadable(path, &e))?;
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    if let Some(kind) = magic::kind_of(bytes) {
        return Err(Error::input(path, "", format!("this is {kind}, not a partition's JSON file")));
    }
    serde_json::from_slice(bytes)
        .map_err(|e| Error::input(path, "", format!("is not valid JSON: {e}")))
}

/// Returns an error for other JSON files of DGL's tools; it names their kind.
fn check_kind(root: &Field<'_>) -> Result<()> {
    root.object()?;
    let chunked = root.get("num_nodes_per_chunk").or(root.get("num_nodes_per_type"));
    if chunked.is_some() && root.get("num_parts").is_none() {
        return Err(root
            .fail("describes the chunks of a graph that is not partitioned yet")
            .with_hint("name the metadata.json that dispatch_data.py wrote"));
    }
    Ok(())
}

fn part_files(root: &Field<'_>, finder: &mut Finder<'_>) -> Result<Vec<PartFiles>> {
    let count = root.require("num_parts")?.number()?;
    if count == 0 {
        return Err(root.require("num_parts")?.fail("must be at least 1"));
    }
    // No memory is allocated for partitions that are announced but not described.
    let mut parts = Vec::new();
    for part in 0..count {
        parts.push(finder.part(&root.require(&format!("part-{part}"))?)?);
    }
    Ok(parts)
}

type Counts = (Vec<Vec<u64>>, Vec<Vec<u64>>);

/// Number of nodes and of edges per partition and type; and the maps of original ids, if the directory has them.
fn id_counts(
    root: &Field<'_>,
    types: &Types,
    parts: usize,
    finder: &mut Finder<'_>,
) -> Result<(Option<OriginalMaps>, Counts)> {
    let (nodes, edges) = (root.require("node_map")?, root.require("edge_map")?);
    let totals = (root.require("num_nodes")?, root.require("num_edges")?);
    if nodes.value().is_string() && edges.value().is_string() {
        if types.ntypes.len() != 1 || types.etype_keys.len() != 1 {
            return Err(
                nodes.fail("map files are supported for one node type and one edge type only")
            );
        }
        let maps = OriginalMaps {
            nodes: open_npy(&finder.find(&nodes, 1)?)?,
            edges: open_npy(&finder.find(&edges, 1)?)?,
        };
        let counts = (
            id_maps::original_counts(&maps.nodes, totals.0.number()?, parts)?,
            id_maps::original_counts(&maps.edges, totals.1.number()?, parts)?,
        );
        return Ok((Some(maps), counts));
    }
    let counts = (
        id_maps::counts(&nodes, &types.ntypes, parts)?,
        id_maps::counts(&edges, &types.etype_keys, parts)?,
    );
    for (total, counts) in [(totals.0, &counts.0), (totals.1, &counts.1)] {
        // The ranges tile [0, last end), so the sum cannot overflow.
        let sum: u64 = counts.iter().flatten().sum();
        if sum > MAX_IDS {
            return Err(total.fail(format!("the ranges hold {sum}; at most 2^40 are possible")));
        }
        if total.number()? != sum {
            return Err(total.fail(format!("is {}, but the ranges hold {sum}", total.number()?)));
        }
    }
    Ok((None, counts))
}

fn check_map_dtypes(root: &Field<'_>) -> Result<()> {
    for field in ["node_map_dtype", "edge_map_dtype"].iter().filter_map(|key| root.get(key)) {
        if !matches!(field.text()?, "int32" | "int64") {
            return Err(field.fail("must be int32 or int64"));
        }
    }
    Ok(())
}
