//! Files of scores of pairs, and of partners.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use super::link_table::{LinkHeadings, LinkRow, LinkTable};
use super::name_index::NameIndex;
use super::node_space::{NodePairs, NodeSpace};
use crate::error::{Error, Result};
use crate::io::{ArraySpec, Destination, Dtype, npy_header, safetensors_header};
use crate::platform::signals;
use crate::run::rank::{PARTNER_BYTES, Partner, PredictionFormat};

/// Number of values between two looks at signals.
const VALUES: u64 = 1 << 14;

/// A table of pairs, as the user has named them, and their scores.
pub(super) struct PairTable<'a> {
    /// The scores that the ranks have written.
    pub(super) rows: &'a Path,
    pub(super) pairs: &'a NodePairs,
    /// Whether the nodes at each end have names.
    pub(super) named: [bool; 2],
    /// Headings of the columns of nodes.
    pub(super) headings: [&'static str; 2],
}

impl PairTable<'_> {
    /// Writes the table in a format.
    pub(super) fn write(&self, place: &Destination, format: PredictionFormat) -> Result<()> {
        let mut scores = StoredValues::open(self.rows)?;
        let nodes = self.headings;
        let numbers = &["score"];
        let headings = LinkHeadings { nodes, types: None, rank: None, etype: None, numbers };
        let mut table = LinkTable::open(place, format, headings, self.named)?;
        for pair in 0..self.pairs.places.len() {
            let nodes = [0, 1].map(|end| self.pairs.words.get(2 * pair + end).to_vec());
            let numbers = vec![f32::from_le_bytes(scores.next()?)];
            table.row(LinkRow { nodes, types: None, rank: None, etype: None, numbers })?;
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
    pub(super) places: Option<Vec<u64>>,
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
        let nodes = self.headings;
        let typed = self.ends[0].has_types();
        let types = typed.then_some(["node_type", "partner_type"]);
        let numbers = &["score"];
        let headings = LinkHeadings { nodes, types, rank: Some("rank"), etype: None, numbers };
        let named = self.names.each_ref().map(Option::is_some);
        let mut table = LinkTable::open(place, format, headings, named)?;
        self.visit(|place, rank, partner| {
            if partner.place == u64::MAX {
                return Ok(());
            }
            let [(node, of_node), (other, of_other)] =
                [self.node(0, place)?, self.node(1, partner.place)?];
            let types = typed.then_some([of_node, of_other]);
            let (nodes, rank) = ([node, other], Some(rank as i32));
            let numbers = vec![partner.score];
            table.row(LinkRow { nodes, types, rank, etype: None, numbers })
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
            let place = self.places.as_ref().map_or(row, |places| places[row as usize]);
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
