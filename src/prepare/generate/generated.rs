//! Generates a partition directory from a configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::config::{GeneratorConfig, GraphKind};
use super::even_cut::EvenCut;
use super::model::RandomGraph;
use super::pairs::spool_edges;
use super::rmat::Rmat;
use super::sbm::Sbm;
use super::space::check_space;
use super::tables::write_tables;
use super::topology::write_topology;
use crate::formats::dgl::writer::{PartitionWriter, graph_folder};
use crate::graph::PartitionBook;
use crate::prepare::import::{NODE, edge};
use crate::prepare::partition::Observer;
use crate::words::error::{Error, Result};

/// The result of generating a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Path of the partition directory's JSON file.
    pub json: PathBuf,
    /// Number of edges whose ends are in different partitions.
    pub cut_edges: u64,
    /// Size of all files in bytes.
    pub bytes: u64,
}

/// Generates the graph of `config` as a partition directory in `out`, a new or empty folder. The same configuration gives the
/// same bytes on every machine.
///
/// `progress` is called from time to time; an error that it returns ends the work, which is done on rayon's current
/// thread pool. Memory: one bit per node and some buffers, for any number of edges and features. Disk: the result, and
/// temporarily 16 bytes per edge.
///
/// # Errors
/// If the configuration is invalid (see [`GeneratorConfig::check`]), `out` is not empty or cannot be written to, the
/// disk is full, or `progress` fails. All files are then removed.
pub fn generate(
    config: &GeneratorConfig,
    out: &Path,
    progress: &mut Observer<'_>,
) -> Result<Generated> {
    config.check()?;
    check_space(config, out)?;
    let folder = graph_folder(out, &config.name)?;
    let model = graph_model(config);
    let cut = EvenCut::new(config.nodes, config.num_parts);
    let spool = spool_edges(config, &*model, cut, folder.staging(), progress)?;
    let edge_counts: Vec<u64> = (0..spool.num_buckets()).map(|p| spool.num_records(p)).collect();
    let book = Arc::new(partition_book(config, cut, &edge_counts)?);
    let writer =
        PartitionWriter::new(folder.staging(), &config.name, "range", 1, Arc::clone(&book));
    let cut_edges = write_topology(&writer, &book, &spool, progress)?;
    drop(spool);
    write_tables(config, &*model, &writer, &book, progress)?;
    writer.finish()?;
    let bytes = size_of(folder.staging())?;
    let json = format!("{}.json", config.name);
    folder.commit(&json)?;
    Ok(Generated { json: out.join(json), cut_edges, bytes })
}

/// The graph that a configuration describes.
fn graph_model(config: &GeneratorConfig) -> Box<dyn RandomGraph> {
    match config.kind {
        GraphKind::Sbm => Box::new(Sbm::new(config)),
        GraphKind::Rmat => Box::new(Rmat::new(config)),
    }
}

fn partition_book(
    config: &GeneratorConfig,
    cut: EvenCut,
    edge_counts: &[u64],
) -> Result<PartitionBook> {
    let ranges = (0..config.num_parts).map(|part| cut.range(part));
    let nodes: Vec<Vec<u64>> = ranges.map(|range| vec![range.end - range.start]).collect();
    let edges: Vec<Vec<u64>> = edge_counts.iter().map(|&count| vec![count]).collect();
    PartitionBook::new(vec![NODE.to_owned()], vec![edge()], &nodes, &edges)
}

/// Size of all files below a folder, in bytes.
fn size_of(folder: &Path) -> Result<u64> {
    let failed = |e| Error::io("read", folder, e);
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let info = entry.metadata().map_err(failed)?;
        bytes += if info.is_dir() { size_of(&entry.path())? } else { info.len() };
    }
    Ok(bytes)
}
