//! Files of scores of pairs, and of partners.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use super::cells::{Cell, ColumnKind, OutputColumn};
use super::name_index::NameIndex;
use super::node_space::NodeSpace;
use super::table_file::TableFile;
use super::words::Words;
use crate::io::{ArraySpec, Destination, Dtype, npy_header, safetensors_header};
use crate::platform::signals;
use crate::run::rank::{PARTNER_BYTES, Partner, PredictionFormat};
use crate::words::error::{Error, Result};

/// Number of values between two looks at signals.
const VALUES: u64 = 1 << 14;

/// A table of pairs, as the user has named them, and their scores.
pub(super) struct PairTable<'a> {
    /// The scores that the ranks have written.
    pub(super) rows: &'a Path,
    /// Number of pairs.
    pub(super) count: usize,
    /// The words of the two nodes of each pair.
    pub(super) words: &'a Words,
    /// Whether the nodes at each end have names.
    pub(super) named: [bool; 2],
    /// Headings of the columns of nodes.
    pub(super) headings: [&'static str; 2],
}

impl PairTable<'_> {
    /// Writes the table in a format.
    pub(super) fn write(&self, place: &Destination, format: PredictionFormat) -> Result<()> {
        let mut scores = StoredValues::open(self.rows)?;
        let node = |end: usize| OutputColumn::of_nodes(self.headings[end], self.named[end]);
        let columns = [node(0), node(1), OutputColumn::new("score", ColumnKind::Float32)];
        let mut table = TableFile::open(place, format, "links", &columns)?;
        for pair in 0..self.count {
            let node = |end: usize| Cell::Text(self.words.get(2 * pair + end).to_vec());
            let score = f32::from_le_bytes(scores.next()?);
            table.row([node(0), node(1), Cell::Float32(score)])?;
        }
        table.finish()
    }
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
    pub(super) places: Option<&'a [u64]>,
    /// The nodes at each end.
    pub(super) ends: &'a [NodeSpace<'a>; 2],
    /// Names of these nodes, if they have names.
    pub(super) names: [Option<NameIndex>; 2],
    /// Headings of the columns of nodes.
    pub(super) headings: [&'static str; 2],
}

impl PartnerTable<'_> {
    /// Writes the partners in a format.
    pub(super) fn write(&self, place: &Destination, format: PredictionFormat) -> Result<()> {
        if format.is_table() {
            self.write_table(place, format)
        } else {
            self.write_arrays(place, format)
        }
    }

    fn write_table(&self, place: &Destination, format: PredictionFormat) -> Result<()> {
        let typed = self.ends[0].has_types();
        let node = |end: usize, ntype: &str| {
            let nodes = OutputColumn::of_nodes(self.headings[end], self.names[end].is_some());
            std::iter::once(nodes).chain(typed.then(|| OutputColumn::new(ntype, ColumnKind::Text)))
        };
        let mut columns: Vec<OutputColumn> = node(0, "node_type").collect();
        columns.push(OutputColumn::new("rank", ColumnKind::Int32));
        columns.extend(node(1, "partner_type"));
        columns.push(OutputColumn::new("score", ColumnKind::Float32));
        let mut table = TableFile::open(place, format, "links", &columns)?;
        self.visit(|place, rank, partner| {
            if partner.place == u64::MAX {
                return Ok(());
            }
            let node = |end: usize, place| {
                let (label, ntype) = self.node(end, place)?;
                let ntype = typed.then(|| Cell::Text(ntype.into_bytes()));
                Ok::<_, Error>(std::iter::once(Cell::Text(label)).chain(ntype))
            };
            let (rank, score) = (Cell::Int32(rank as i32), Cell::Float32(partner.score));
            let partner = node(1, partner.place)?;
            table.row(node(0, place)?.chain([rank]).chain(partner).chain([score]))
        })?;
        table.finish()
    }

    fn write_arrays(&self, place: &Destination, format: PredictionFormat) -> Result<()> {
        let mut file = place.open()?;
        let shape = [self.num_rows, self.count as u64];
        let with_scores = format == PredictionFormat::Safetensors;
        let header = if with_scores {
            let arrays = [
                ArraySpec { name: "partners", dtype: Dtype::I64, shape: &shape },
                ArraySpec { name: "scores", dtype: Dtype::F32, shape: &shape },
            ];
            safetensors_header(&arrays, &BTreeMap::new())?
        } else {
            npy_header(Dtype::I64, &shape)?
        };
        file.write_all(&header).map_err(|e| file.failed(e))?;
        self.visit(|_, _, partner| {
            let id = i64::try_from(partner.place).unwrap_or(-1);
            file.write_all(&id.to_le_bytes()).map_err(|e| file.failed(e))
        })?;
        if with_scores {
            self.visit(|_, _, partner| {
                file.write_all(&partner.score.to_le_bytes()).map_err(|e| file.failed(e))
            })?;
        }
        file.commit()
    }

    /// Calls `each` with the place of every node, and each of its partners and its rank, from 1.
    fn visit(&self, mut each: impl FnMut(u64, usize, Partner) -> Result<()>) -> Result<()> {
        let mut partners = StoredValues::open(self.rows)?;
        for row in 0..self.num_rows {
            let place = self.places.map_or(row, |places| places[row as usize]);
            for rank in 1..=self.count {
                let bytes: [u8; PARTNER_BYTES] = partners.next()?;
                each(place, rank, Partner::from_bytes(&bytes))?;
            }
        }
        Ok(())
    }

    /// The name of a node at one end, or its id within its type, and the type.
    fn node(&self, end: usize, place: u64) -> Result<(Vec<u8>, String)> {
        let space = &self.ends[end];
        let (ntype, id) = space.node_at(place)?;
        let label = match &self.names[end] {
            Some(names) => names.name(place)?,
            None => id.to_string().into_bytes(),
        };
        Ok((label, space.book().ntypes()[ntype].clone()))
    }
}

/// Values that ranks have written, one after the other.
pub(super) struct StoredValues<'p> {
    path: &'p Path,
    file: BufReader<File>,
    read: u64,
}

impl<'p> StoredValues<'p> {
    pub(super) fn open(path: &'p Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
        Ok(StoredValues { path, file: BufReader::with_capacity(1 << 20, file), read: 0 })
    }

    /// The next value.
    pub(super) fn next<const N: usize>(&mut self) -> Result<[u8; N]> {
        if self.read.is_multiple_of(VALUES) {
            signals::check()?;
        }
        self.read += 1;
        let mut value = [0; N];
        self.file.read_exact(&mut value).map_err(|e| Error::io("read", self.path, e))?;
        Ok(value)
    }
}
