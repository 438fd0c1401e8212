//! Reads nodes that are added to a partitioned graph.

use std::path::Path;

use crate::formats::dgl::ArrayRef;
use crate::formats::dgl::array_file::ArrayFile;
use crate::prepare::import::graph::NodeType;
use crate::prepare::import::ids::{NamesMemory, NodeNames};
use crate::prepare::import::readers::{
    Ask, CellValue, FileRows, Wants, is_index, is_usual_id, parse_id, shown,
};
use crate::prepare::import::tables::{Table, TableEncoding, bytes_of, storable};
use crate::words::error::{Error, Result};

const ADD_EDGES: &str = "new edges of known nodes need no row here";

/// The nodes of one type before nodes are added.
pub(crate) struct KnownNodes<'a> {
    /// The nodes.
    pub(crate) ntype: &'a NodeType,
    /// Features, if the type has any.
    pub(crate) features: Option<&'a Table>,
    /// How a table became these features, if it is known.
    pub(crate) encoding: Option<&'a TableEncoding>,
}

/// Nodes of one type that are added, and the names of all nodes.
#[derive(Debug)]
pub(crate) struct NewNodes {
    /// Number of new nodes.
    pub(crate) count: u64,
    /// Features, if the type has any.
    pub(crate) features: Option<ArrayRef>,
    /// Names of the known and the new nodes, if nodes have names.
    pub(crate) names: Option<NodeNames>,
}

impl KnownNodes<'_> {
    /// Reads new nodes from a file, if there is one. Features take space in `folder`.
    pub(crate) fn read(
        &self,
        path: Option<&Path>,
        folder: &Path,
        memory: &NamesMemory,
    ) -> Result<NewNodes> {
        let names = self.ntype.names_file.as_deref();
        let names = names.map(|names| NodeNames::of_file(names, memory));
        let mut new = NewNodes { count: 0, features: None, names: names.transpose()? };
        if let Some(path) = path {
            self.add(path, folder, &mut new)?;
        }
        Ok(new)
    }

    fn add(&self, path: &Path, folder: &Path, new: &mut NewNodes) -> Result<()> {
        let names: Vec<&str> = self.encoding.iter().flat_map(|own| own.names()).collect();
        let ask = Ask { names: &names, ..Ask::new(Wants::Table, folder) };
        let mut rows = FileRows::open(path, &ask)?;
        let id = self.id_column(&rows)?;
        let parts = self.parts(&rows, id)?;
        rows.select([id].into_iter().chain(parts.iter().copied()))?;
        let id_name = rows.name(id);
        let mut file = ArrayFile::create(folder)?;
        let mut row = Vec::new();
        while rows.advance()? {
            let fail = |problem: String| rows.fail(format!("column {id_name}: {problem}"));
            self.take_id(rows.value(0), new)
                .and_then(|taken| taken.map_err(|problem| fail(problem).with_hint(ADD_EDGES)))?;
            new.count += 1;
            row.clear();
            match (self.encoding, self.features) {
                (Some(encoding), _) => encoding.append(&rows, 1, &mut row)?,
                (None, Some(features)) => append_numbers(&rows, &parts, features, &mut row)?,
                (None, None) => {}
            }
            file.write(&row)?;
        }
        if new.count == 0 {
            return Err(Error::input(path, "", "has no rows").with_hint("every new node has a row"));
        }
        if let Some(features) = self.features {
            let shape = [&[new.count], features.row_shape()].concat();
            new.features = Some(file.finish(path, features.dtype(), shape)?);
        }
        Ok(())
    }

    /// The column of ids: that of the table from which the graph was made, or one with a usual name.
    fn id_column(&self, rows: &FileRows) -> Result<usize> {
        let columns = rows.columns();
        let known = self.encoding.map(TableEncoding::id);
        let known = columns.iter().position(|column| Some(column.name.as_str()) == known);
        let mut usual = (0..columns.len()).filter(|at| is_usual_id(&columns[*at].name));
        match (known, usual.next(), usual.next()) {
            (Some(at), ..) | (None, Some(at), None) => rows.plain(at),
            _ => {
                let name = self.encoding.map_or("id", TableEncoding::id);
                Err(Error::input(rows.path(), "", "has no column of ids").with_hint(format!(
                    "the first line names the columns; call that of ids {name}"
                )))
            }
        }
    }

    /// The columns from which features are made.
    fn parts(&self, rows: &FileRows, id: usize) -> Result<Vec<usize>> {
        let Some(features) = self.features else { return Ok(Vec::new()) };
        let width: u64 = features.row_shape().iter().product();
        if let Some(encoding) = self.encoding {
            return encoding.select(rows);
        }
        let columns = rows.columns();
        let others = (0..columns.len()).filter(|at| *at != id && !is_index(&columns[*at].name));
        let others: Vec<usize> = others.collect();
        let found: usize = others.iter().map(|at| columns[*at].width.unwrap_or(1)).sum();
        if found as u64 == width {
            return Ok(others);
        }
        let problem = format!(
            "holds {found} numbers for each node in addition to its id, but nodes have {width} features"
        );
        Err(Error::input(rows.path(), "", problem).with_hint(
            "give the columns of features in their order, and leave out others, such as labels",
        ))
    }

    /// Takes the id of a new node; the inner `Err` describes a mistake.
    fn take_id(&self, value: CellValue<'_>, new: &mut NewNodes) -> Result<Result<(), String>> {
        let next = self.ntype.count + new.count;
        let Some(word) = value.name() else { return Ok(Err("the id is missing".to_owned())) };
        let Some(names) = &mut new.names else {
            return Ok(match parse_id(&word) {
                Some(id) if id == next => Ok(()),
                Some(id) if id < next => Err(format!("there is a node {id} already")),
                _ => Err(format!(
                    "{} does not continue the numbers of the graph's nodes; {next} does",
                    shown(&word)
                )),
            });
        };
        if names.known(&word).is_some() {
            return Ok(Err(format!("there is a node {} already", shown(&word))));
        }
        if word.contains(&b'\n') {
            return Ok(Err(format!("the id {} holds a line break", shown(&word))));
        }
        names.add(&word).map(|_| Ok(()))
    }
}

/// Appends numbers of the current row, in the type of the graph's features.
fn append_numbers(
    rows: &FileRows,
    parts: &[usize],
    features: &Table,
    out: &mut Vec<u8>,
) -> Result<()> {
    for (at, column) in (1..).zip(parts) {
        for element in 0..rows.columns()[*column].width.unwrap_or(1) {
            let fail = |problem| {
                rows.fail(format!("column {}: {problem}", rows.name(*column))).with_hint(
                    "the features of the graph are numbers that were not made of a table",
                )
            };
            let value = storable(rows.element(at, element)).map_err(fail)?;
            let dtype = features.dtype();
            let (bytes, size) = bytes_of(value, dtype)
                .ok_or_else(|| fail(format!("{} cannot be stored as {dtype}", value.shown())))?;
            out.extend(&bytes[..size]);
        }
    }
    Ok(())
}
