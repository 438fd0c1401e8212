//! Splits by shares: the nodes or edges to divide, and the masks.

use std::collections::BTreeMap;

use super::drawn_masks::DrawnMasks;
use super::split_rows::{DividedRows, RowOrder};
use crate::graph::CanonicalEtype;
use crate::load::LABEL_NAMES;
use crate::prepare::import::files::{DrawnSplit, SplitOrder, unknown_etype};
use crate::prepare::import::graph::{EdgeType, RawEdges};
use crate::prepare::import::ids::IdSpace;
use crate::prepare::import::import_graph::{Import, Tables};
use crate::prepare::import::readers::{FileRows, listed};
use crate::prepare::import::tables::{ScannedTable, Table, space_of};
use crate::words::error::Result;

impl Import<'_> {
    /// Columns of the edge files of a type that become edge data: columns that the user names, and columns by which
    /// edges are split.
    pub(in crate::prepare::import) fn edge_columns(&self, etype: &CanonicalEtype) -> Vec<String> {
        let mut columns = self.files.edge_columns.clone();
        for split in self.files.drawn_splits.iter().filter(|split| split.is_of_edges(etype)) {
            let Some(column) = split.column() else { continue };
            let is_data = self.files.edge_data.iter().any(|data| data.name == column);
            let is_of_nodes = split.ty.is_none() && self.is_column_of_nodes(column);
            if !is_data && !is_of_nodes && columns.iter().all(|name| name != column) {
                columns.push(column.to_owned());
            }
        }
        columns
    }

    /// Returns an error if a file of edges lacks the column of a split that may also divide nodes.
    pub(in crate::prepare::import) fn check_split_columns(
        &self,
        columns: &[String],
        rows: &FileRows,
    ) -> Result<()> {
        let of_tables = self.scanned.iter().flat_map(ScannedTable::numbers);
        let of_nodes: Vec<&str> =
            of_tables.chain(self.files.node_data.iter().map(|data| data.name.as_str())).collect();
        let ends = 2 + usize::from(self.files.relation_column.is_some());
        // Without names, the columns after the ends have the names that the user passes.
        if !rows.file.named && rows.columns().len() > ends {
            return Ok(());
        }
        for split in self.files.drawn_splits.iter().filter(|split| split.ty.is_none()) {
            if let Some(column) = columns.iter().find(|name| split.column() == Some(name)) {
                rows.column_or(column, &of_nodes)?;
            }
        }
        Ok(())
    }

    fn is_column_of_nodes(&self, column: &str) -> bool {
        self.files.node_data.iter().any(|data| data.name == column)
            || self.scanned.iter().any(|table| table.has_order(column))
    }

    /// Adds the masks of a split. All files have been read.
    pub(in crate::prepare::import) fn draw(
        &mut self,
        split: &DrawnSplit,
        node_tables: &mut Tables<String>,
        etypes: &mut [EdgeType],
        edges: &RawEdges,
    ) -> Result<()> {
        let types = self.split_types(split, node_tables, etypes)?;
        let of_nodes = types.ntypes.iter().map(|ntype| {
            let count = self.spaces.iter().find(|space| space.name == *ntype).map(IdSpace::count);
            rows_of_nodes(split, count.unwrap_or(0), &node_tables[ntype])
        });
        let of_edges = types.etypes.iter().map(|at| rows_of_edges(split, *at, etypes, edges));
        let rows: Vec<DividedRows<'_>> = of_nodes.chain(of_edges).collect::<Result<_>>()?;
        let masks = DrawnMasks::make(&rows, split, self.ask.folder)?;
        self.notes.push(masks.note(split, &types.describe(etypes)));
        let mut tables = masks.tables.into_iter();
        for (ntype, masks) in types.ntypes.iter().zip(&mut tables) {
            let data = node_tables.entry(ntype.clone()).or_default();
            for (name, mask) in masks {
                refuse_second(split, &name, data.contains_key(&name))?;
                data.insert(name, mask);
            }
        }
        for (at, masks) in types.etypes.iter().zip(tables) {
            let data = &mut etypes[*at].data;
            for (name, mask) in masks {
                refuse_second(split, &name, data.iter().any(|(known, _)| *known == name))?;
                data.push((name, mask));
            }
            data.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        Ok(())
    }

    /// The types of nodes or of edges that are split.
    fn split_types(
        &mut self,
        split: &DrawnSplit,
        node_tables: &mut Tables<String>,
        etypes: &[EdgeType],
    ) -> Result<SplitTypes> {
        let ntypes = self.split_ntypes(split, node_tables)?;
        let is_split = |etype: &EdgeType| match (split.column(), split.etype()) {
            (_, Some(ty)) => etype.name == ty,
            (Some(column), None) => split.ty.is_none() && find(&etype.data, column).is_some(),
            (None, None) => false,
        };
        let of_edges: Vec<usize> = (0..etypes.len()).filter(|at| is_split(&etypes[*at])).collect();
        match (ntypes.is_empty(), of_edges.is_empty(), split.etype()) {
            (false, false, _) => {
                let problem = "names a column of nodes and one of edges";
                Err(split.fail(problem).with_hint("name their type: ‹split_by=TYPE=COLUMN›"))
            }
            (true, true, Some(etype)) => {
                let known = etypes.iter().map(|known| &known.name);
                Err(unknown_etype(split.field(), &etype, known))
            }
            (true, true, None) => Err(split.missing_column()),
            _ => Ok(SplitTypes { ntypes, etypes: of_edges }),
        }
    }

    /// The node types that are split.
    fn split_ntypes(
        &mut self,
        split: &DrawnSplit,
        tables: &mut Tables<String>,
    ) -> Result<Vec<String>> {
        if split.etype().is_some() {
            return Ok(Vec::new());
        }
        for space in &self.spaces {
            tables.entry(space.name.clone()).or_default();
        }
        if let Some(ty) = &split.ty {
            return Ok(vec![space_of(&mut self.spaces, ty, split.field())?.name.clone()]);
        }
        let names = || self.spaces.iter().map(|space| space.name.as_str());
        if let Some(column) = split.column() {
            let with = names().filter(|name| tables[*name].contains_key(column));
            return Ok(with.map(str::to_owned).collect());
        }
        let is_labelled =
            |name: &&str| LABEL_NAMES.iter().any(|label| tables[*name].contains_key(*label));
        let labelled: Vec<&str> = names().filter(is_labelled).collect();
        let all: Vec<&str> = names().collect();
        match (&labelled[..], &all[..]) {
            ([only], _) | (_, [only]) => Ok(vec![(*only).to_owned()]),
            _ => Err(split
                .fail(format!("the graph has the node types {}", listed(&all)))
                .with_hint("name one: ‹split=TYPE=random:TRAIN,VAL,TEST›")),
        }
    }
}

/// Types of nodes or edges that a split divides together.
struct SplitTypes {
    ntypes: Vec<String>,
    etypes: Vec<usize>,
}

impl SplitTypes {
    fn describe(&self, etypes: &[EdgeType]) -> String {
        let of_edges = self.etypes.iter().map(|at| etypes[*at].name.to_string());
        let names: Vec<String> = self.ntypes.iter().cloned().chain(of_edges).collect();
        let what = if self.ntypes.is_empty() { "edges" } else { "nodes" };
        format!("{what} of type {}", listed(&names))
    }
}

fn rows_of_nodes<'t>(
    split: &DrawnSplit,
    count: u64,
    tables: &'t BTreeMap<String, Table>,
) -> Result<DividedRows<'t>> {
    let label = LABEL_NAMES.iter().find_map(|name| tables.get(*name));
    let order = match &split.order {
        SplitOrder::Random { seed } => RowOrder::Nodes { seed: *seed },
        SplitOrder::Column(column) => RowOrder::Values(values(split, tables.get(column))?),
    };
    Ok(DividedRows { count, order, labels: label.filter(|table| has_one_value(table)) })
}

fn rows_of_edges<'t>(
    split: &DrawnSplit,
    etype: usize,
    etypes: &'t [EdgeType],
    edges: &'t RawEdges,
) -> Result<DividedRows<'t>> {
    let order = match &split.order {
        SplitOrder::Random { seed } => RowOrder::Edges { seed: *seed, edges, etype },
        SplitOrder::Column(column) => {
            RowOrder::Values(values(split, find(&etypes[etype].data, column))?)
        }
    };
    Ok(DividedRows { count: edges.num_edges(etype), order, labels: None })
}

fn find<'t>(data: &'t [(String, Table)], name: &str) -> Option<&'t Table> {
    data.iter().find(|(known, _)| known == name).map(|(_, table)| table)
}

/// Checks that a table has a value for each row to split.
fn values<'t>(split: &DrawnSplit, table: Option<&'t Table>) -> Result<&'t Table> {
    let table = table.ok_or_else(|| split.missing_column())?;
    if has_one_value(table) {
        return Ok(table);
    }
    Err(table.fail(format!("has rows of {:?}, not one value in each", table.row_shape())))
}

fn has_one_value(table: &Table) -> bool {
    matches!(table.row_shape(), [] | [1])
}

fn refuse_second(split: &DrawnSplit, mask: &str, is_second: bool) -> Result<()> {
    if is_second {
        let error = split.fail(format!("makes {mask}, which the graph has already"));
        return Err(error.with_hint("leave one of the two out"));
    }
    Ok(())
}
