//! Tables of edges with their ranks.

use std::collections::BTreeMap;
use std::path::Path;

use super::cells::{Cell, ColumnKind, OutputColumn};
use super::link_answers::StoredValues;
use super::name_index::NameIndex;
use super::node_space::NodeSpace;
use super::table_file::TableFile;
use crate::io::Destination;
use crate::run::rank::{PredictionFormat, RANKED_EDGE_BYTES, RankedEdge};
use crate::words::error::{Error, Result};

/// Ranked edges on their way into a file.
pub(super) struct RankedTable<'a> {
    /// The rows that the ranks have written.
    pub(super) rows: &'a Path,
    pub(super) space: &'a NodeSpace<'a>,
    /// Headings of the columns of nodes.
    pub(super) headings: [&'static str; 2],
    /// The folder for temporary files.
    pub(super) folder: &'a Path,
}

impl RankedTable<'_> {
    /// Writes the table in a format. Nodes are named, or counted within their type.
    pub(super) fn write(&self, place: &Destination, format: PredictionFormat) -> Result<()> {
        let book = self.space.book();
        let etypes = book.etypes();
        let bytes = std::fs::metadata(self.rows).map_err(|e| Error::io("read", self.rows, e))?;
        let count = bytes.len() / RANKED_EDGE_BYTES as u64;
        let mut names = BTreeMap::new();
        for ntype in 0..book.ntypes().len() {
            names.insert(
                &book.ntypes()[ntype],
                NameIndex::new(&self.space.of_type(ntype), self.folder)?,
            );
        }
        let named = names.values().all(Option::is_some);
        let label = |ntype: &String, place: u64| match names.get(ntype) {
            Some(Some(names)) if named => names.name(place),
            _ => Ok(place.to_string().into_bytes()),
        };
        let several = etypes.len() > 1;
        let mut columns = Vec::from(self.headings.map(|name| OutputColumn::of_nodes(name, named)));
        columns.extend(several.then(|| OutputColumn::new("edge_type", ColumnKind::Text)));
        let ranks = ["source_rank", "destination_rank"];
        columns.extend(ranks.map(|name| OutputColumn::new(name, ColumnKind::Float32)));
        let mut table = TableFile::open(place, format, "links", &columns)?;
        let mut edges = StoredValues::open(self.rows)?;
        for _ in 0..count {
            let bytes: [u8; RANKED_EDGE_BYTES] = edges.next()?;
            let RankedEdge { etype, places, ranks } = RankedEdge::from_bytes(&bytes);
            let types = &etypes[etype];
            let nodes = [label(&types.src, places[0])?, label(&types.dst, places[1])?];
            // Its name alone, if no other type has it.
            let name = || match book.get_etype_id(&types.rel) {
                Ok(_) => types.rel.clone(),
                Err(_) => types.to_string(),
            };
            let etype = several.then(|| Cell::Text(name().into_bytes()));
            table.row(
                nodes.map(Cell::Text).into_iter().chain(etype).chain(ranks.map(Cell::Float32)),
            )?;
        }
        table.finish()
    }
}
