//! Files of scores of pairs, and of partners.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use super::csv::field;
use super::name_index::NameIndex;
use super::node_space::NodePairs;
use crate::error::{Error, Result};
use crate::io::{ArraySpec, AtomicFile, Dtype, npy_header, safetensors_header};
use crate::platform::signals;
use crate::run::rank::{PARTNER_BYTES, Partner, PredictionFormat};

/// Number of rows between two looks at signals.
const ROWS: u64 = 1 << 14;

/// Makes a table of pairs, as the user has named them, and their scores.
pub(super) fn write_pairs(rows: &Path, output: &Path, pairs: &NodePairs) -> Result<()> {
    let mut scores = Scores::open(rows)?;
    let out = AtomicFile::create(output)?;
    let mut text = BufWriter::new(out.file());
    let failed = |e| Error::io("write", output, e);
    text.write_all(b"source,destination,score\n").map_err(failed)?;
    for (row, [source, destination]) in (0_u64..).zip(&pairs.words) {
        if row % ROWS == 0 {
            signals::check()?;
        }
        let mut line = Vec::new();
        field(&mut line, source);
        line.push(b',');
        field(&mut line, destination);
        let score = f32::from_le_bytes(scores.next()?);
        line.extend(format!(",{score}\n").into_bytes());
        text.write_all(&line).map_err(failed)?;
    }
    text.flush().map_err(failed)?;
    drop(text);
    out.commit()
}

/// Partners of nodes on their way into a file.
pub(super) struct PartnerTable<'a> {
    /// The rows that the ranks have written.
    pub(super) rows: &'a Path,
    /// Number of nodes.
    pub(super) num_rows: u64,
    /// Number of partners of each node.
    pub(super) count: usize,
    /// Places of the nodes, in the order of rows; `None` means all nodes.
    pub(super) places: Option<Vec<u64>>,
    /// Names of nodes, if they have names.
    pub(super) names: Option<NameIndex>,
}

impl PartnerTable<'_> {
    /// Writes the partners in a format.
    pub(super) fn write(&self, output: &Path, format: PredictionFormat) -> Result<()> {
        let out = AtomicFile::create(output)?;
        let shape = [self.num_rows, self.count as u64];
        let header = match format {
            PredictionFormat::Npy => npy_header(Dtype::I64, &shape)?,
            PredictionFormat::Safetensors => {
                let arrays = [
                    ArraySpec { name: "partners", dtype: Dtype::I64, shape: &shape },
                    ArraySpec { name: "scores", dtype: Dtype::F32, shape: &shape },
                ];
                safetensors_header(&arrays, &BTreeMap::new())?
            }
            _ => b"node,rank,partner,score\n".to_vec(),
        };
        let mut file = BufWriter::new(out.file());
        let failed = |e| Error::io("write", output, e);
        file.write_all(&header).map_err(failed)?;
        match format {
            PredictionFormat::Npy | PredictionFormat::Safetensors => {
                self.visit(|_, _, partner| {
                    let id = i64::try_from(partner.place).unwrap_or(-1);
                    file.write_all(&id.to_le_bytes()).map_err(failed)
                })?;
                if format == PredictionFormat::Safetensors {
                    self.visit(|_, _, p| file.write_all(&p.score.to_le_bytes()).map_err(failed))?;
                }
            }
            _ => self.visit(|place, rank, partner| {
                if partner.place == u64::MAX {
                    return Ok(());
                }
                let mut line = self.label(place)?;
                line.extend(format!(",{rank},").into_bytes());
                line.extend(self.label(partner.place)?);
                line.extend(format!(",{}\n", partner.score).into_bytes());
                file.write_all(&line).map_err(failed)
            })?,
        }
        file.flush().map_err(failed)?;
        drop(file);
        out.commit()
    }

    /// Calls `each` with the place of every node, and each of its partners and its rank, from 1.
    fn visit(&self, mut each: impl FnMut(u64, usize, Partner) -> Result<()>) -> Result<()> {
        let mut partners = Scores::open(self.rows)?;
        for row in 0..self.num_rows {
            if row % ROWS == 0 {
                signals::check()?;
            }
            let place = self.places.as_ref().map_or(row, |places| places[row as usize]);
            for rank in 1..=self.count {
                let bytes: [u8; PARTNER_BYTES] = partners.next()?;
                each(place, rank, Partner::from_bytes(&bytes))?;
            }
        }
        Ok(())
    }

    /// The name or the id of a node as a field.
    fn label(&self, place: u64) -> Result<Vec<u8>> {
        let mut label = Vec::new();
        match &self.names {
            Some(names) => field(&mut label, &names.name(place)?),
            None => label.extend(place.to_string().into_bytes()),
        }
        Ok(label)
    }
}

/// Values that ranks have written, one after the other.
struct Scores<'p> {
    path: &'p Path,
    file: BufReader<File>,
}

impl<'p> Scores<'p> {
    fn open(path: &'p Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
        Ok(Scores { path, file: BufReader::with_capacity(1 << 20, file) })
    }

    fn next<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut value = [0; N];
        self.file.read_exact(&mut value).map_err(|e| Error::io("read", self.path, e))?;
        Ok(value)
    }
}
