//! DGL's graph files: `graph.dgl` of a partition, and any file of `dgl.save_graphs`.

use super::graph_record;
use super::graph_record::{CONTENT, Content, GraphRecord, read_labels};
use super::graph_v1;
use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::file::InputFile;
use crate::formats::dgl::header::HeaderReader;
use crate::formats::dgl::magic;
use crate::words::error::Result;
use std::path::Path;

/// Size in bytes of the smallest graph record: magic, metagraph, five vectors.
const MIN_GRAPH: u64 = 8 + 24 + 5 * 8;

/// The headers of a graph file, version 2 (DGL 0.5 and later) or 1 (DGL 0.3 and 0.4).
#[derive(Clone, Debug)]
pub struct GraphFile {
    version: u64,
    labels: Vec<(String, ArrayRef)>,
    graphs: Vec<GraphRecord>,
}

impl GraphFile {
    /// Reads the headers of the file at `path`, but no columns or structure.
    ///
    /// # Errors
    /// If the file cannot be read, is not a graph file, has another version, is cut short or inconsistent, or has bytes left
    /// over.
    pub fn open(path: &Path) -> Result<Self> {
        let file = InputFile::open(path)?;
        let mut reader = HeaderReader::new(&file);
        magic::expect_file(&mut reader, magic::GRAPH_FILE, "a DGL graph file")?;
        reader.enter("header");
        let version = reader.u64()?;
        let (labels, graphs) = match version {
            1 => graph_v1::read(&mut reader)?,
            2 => read_v2(&mut reader)?,
            _ => {
                let problem = format!("version {version} is not supported, only 1 and 2");
                return Err(reader.fail(problem));
            }
        };
        Ok(GraphFile { version, labels, graphs })
    }

    /// Version of the format, 1 or 2.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Arrays with one row per graph.
    pub fn labels(&self) -> &[(String, ArrayRef)] {
        &self.labels
    }

    /// The graphs in file order.
    pub fn graphs(&self) -> &[GraphRecord] {
        &self.graphs
    }
}

fn read_v2(reader: &mut HeaderReader<'_>) -> Result<Content> {
    let kind = reader.u64()?;
    if kind != 2 {
        return Err(reader.fail(format!("graph kind {kind} is not supported, only 2")));
    }
    let count = reader.count(MIN_GRAPH)?;
    let (offsets, trailer) = read_offsets(reader, count)?;
    reader.enter("header");
    // DGL writes uninitialised memory into bytes 32 to 4095.
    reader.seek(CONTENT)?;
    let first = reader.u64()?;
    let labels = read_labels(reader)?;
    reader.enter("header");
    if first != reader.pos() {
        return Err(reader.fail(format!("the first graph is at {}, not at {first}", reader.pos())));
    }
    let mut graphs = Vec::with_capacity(count);
    for (index, &offset) in offsets.iter().enumerate() {
        reader.enter("table of graph offsets");
        if offset != reader.pos() {
            return Err(
                reader.fail(format!("graph {index} is at {}, not at {offset}", reader.pos()))
            );
        }
        graphs.push(graph_record::read(reader, &format!("graph {index}"))?);
    }
    if reader.pos() != trailer {
        reader.enter("table of graph offsets");
        return Err(
            reader.fail(format!("graphs end at {}, but the table is at {trailer}", reader.pos()))
        );
    }
    Ok((labels, graphs))
}

/// Reads the table at the end of the file: length, count, offsets, length again. Returns the offsets and the table's
/// offset.
fn read_offsets(reader: &mut HeaderReader<'_>, count: usize) -> Result<(Vec<u64>, u64)> {
    let size = reader.pos() + reader.remaining();
    let blob = 8 + 8 * count as u64;
    reader.enter("table of graph offsets");
    let start = size.checked_sub(blob + 16).filter(|&start| start >= CONTENT);
    let start = start.ok_or_else(|| reader.fail("the file ends early"))?;
    reader.seek(start)?;
    let before = reader.u64()?;
    let listed = reader.u64()?;
    let mut offsets = Vec::with_capacity(count);
    for _ in 0..count {
        offsets.push(reader.u64()?);
    }
    let after = reader.u64()?;
    if (before, listed, after) != (blob, count as u64, blob) {
        return Err(reader.fail(format!(
            "the end holds no table of {count} offsets: the file was cut or has bytes left over"
        )));
    }
    Ok((offsets, start))
}
