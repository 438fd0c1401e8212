//! From files to a graph.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::column_of::ColumnOf;
use super::edge_files::EdgeSink;
use super::files::{DataFile, GraphFiles, NodeIds};
use super::graph::{EdgeType, NodeType, RawGraph};
use super::id_space::IdSpace;
use super::id_spaces::{id_spaces, space_of};
use super::node_tables::EmbeddedColumn;
use super::numbers::NumberTable;
use super::raw_edges::{RawEdgeWriter, RawEdges};
use super::scanned_table::ScannedTable;
use super::splits::{mask_name, read_split};
use super::table::Table;
use super::tables::open_array;
use crate::error::{Error, Result};
use crate::graph::CanonicalEtype;

/// Tables of nodes or edges by type and name.
type Tables<T> = BTreeMap<T, BTreeMap<String, Table>>;

/// Reads the files of a graph. Unnamed temporary files take their space in `folder`. `memory` bounds the memory for names of
/// nodes; all other data are streamed. `tell` is called with the bytes read so far and the total.
///
/// # Errors
/// If a file is missing or malformed, or files contradict each other; the message names file and line.
pub fn import(
    files: &GraphFiles,
    folder: &Path,
    memory: u64,
    tell: &mut dyn FnMut(u64, u64) -> Result<()>,
) -> Result<RawGraph> {
    check_columns(files)?;
    check_end_columns(files)?;
    let keep_names = files.node_ids == NodeIds::String;
    let mut scanned = ScannedTable::scan_all(&files.node_tables, keep_names, memory)?;
    let mut spaces = id_spaces(files, &mut scanned, memory)?;
    let mut node_tables = open_tables(&files.node_data, folder)?;
    for (ty, tables) in &node_tables {
        let space = space_of(&mut spaces, ty, "node_data")?;
        for (name, table) in tables {
            if space.is_named() && !space.is_known() {
                return Err(Error::config(
                    "node_data",
                    format!(
                        "the rows of {name} cannot be assigned to nodes, because nodes have names"
                    ),
                )
                .with_hint("list the names in the order of the rows: ‹node_names=FILE›"));
            }
            space.tell(table.num_rows(), format!("node_data={name}"))?;
        }
    }
    for table in &scanned {
        let tables = node_tables.entry(table.file.ty.clone()).or_default();
        for (name, data) in table.convert(folder)? {
            if tables.insert(name.clone(), data).is_some() {
                let problem = format!("{name} is also made of {}", table.file.path.display());
                return Err(Error::config("node_data", problem).with_hint("use another name"));
            }
        }
    }
    let edge_tables = open_tables(&files.edge_data, folder)?;
    let mut notes: Vec<String> = scanned.iter().map(ScannedTable::summary).collect();
    let (etypes, edges) =
        read_edges(files, folder, &mut spaces, edge_tables, &scanned, &mut notes, tell)?;
    let total = (0..etypes.len()).map(|etype| edges.num_edges(etype)).sum();
    spaces.iter().try_for_each(|space| space.check_largest(total))?;
    spaces.iter_mut().for_each(IdSpace::settle);
    for ((ty, name), files) in grouped(&files.splits) {
        let paths: Vec<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        let space = space_of(&mut spaces, ty, "split")?;
        let table = read_split(&paths, space, folder)?;
        let mask = mask_name(name);
        if node_tables.entry(ty.clone()).or_default().insert(mask.clone(), table).is_some() {
            return Err(Error::config("split", format!("{mask} is given twice")));
        }
    }
    let ntypes = spaces.into_iter().map(|space| NodeType {
        name: space.name.clone(),
        count: space.count(),
        data: node_tables.remove(&space.name).unwrap_or_default().into_iter().collect(),
        originals: Vec::new(),
        names: space.into_names(),
        names_file: None,
    });
    let graph = RawGraph {
        ntypes: ntypes.collect(),
        etypes,
        edges,
        class_names: class_names(&scanned)?,
        notes,
    };
    if graph.num_nodes() == 0 {
        return Err(Error::config("edges", "the graph has no nodes")
            .with_hint("state the number of isolated nodes with ‹num_nodes=N›"));
    }
    Ok(graph)
}

/// The names of the classes of the only table whose labels are names.
fn class_names(tables: &[ScannedTable]) -> Result<Vec<String>> {
    let mut named = tables.iter().filter_map(|table| Some((table, table.class_names()?)));
    let Some((first, names)) = named.next() else { return Ok(Vec::new()) };
    match named.next() {
        None => Ok(names),
        Some((second, _)) => {
            let (first, second) = (&first.file.ty, &second.file.ty);
            let problem = format!("the labels of {first} and those of {second} are names");
            Err(Error::config("label", problem).with_hint(
                "one node type is predicted: leave out the labels of the others with ‹drop›",
            ))
        }
    }
}

fn check_columns(files: &GraphFiles) -> Result<()> {
    let mut seen = BTreeSet::new();
    let twice = files.edge_columns.iter().find(|name| !seen.insert(name.as_str()));
    match twice {
        Some(name) => Err(Error::config("edge_columns", format!("{name:?} is given twice"))),
        None => Ok(()),
    }
}

/// Refuses choices of columns for types that have no files of edges.
fn check_end_columns(files: &GraphFiles) -> Result<()> {
    let choices =
        [("source_column", &files.source_columns), ("target_column", &files.target_columns)];
    for (field, choices) in choices {
        let is_idle = |choice: &&ColumnOf<CanonicalEtype>| {
            !files.edges.iter().any(|file| choice.is_for(&file.etype))
        };
        if let Some(ColumnOf { ty: Some(ty), .. }) = choices.iter().find(is_idle) {
            return Err(Error::config(field, format!("the graph has no edges of type {ty}"))
                .with_hint("pass them as ‹edges=SRC:REL:DST=FILE›"));
        }
    }
    Ok(())
}

/// Groups files of one type and name, in the order in which they are given.
fn grouped<T: Ord>(files: &[DataFile<T>]) -> BTreeMap<(&T, &String), Vec<&DataFile<T>>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for file in files {
        groups.entry((&file.ty, &file.name)).or_default().push(file);
    }
    groups
}

fn open_tables<T: Ord + Clone>(files: &[DataFile<T>], folder: &Path) -> Result<Tables<T>> {
    let mut tables: Tables<T> = BTreeMap::new();
    for ((ty, name), files) in grouped(files) {
        let arrays = files
            .iter()
            .map(|file| open_array(&file.path, file.array.as_ref().unwrap_or(name), folder));
        let table = Table::new(arrays.collect::<Result<_>>()?)?;
        tables.entry(ty.clone()).or_default().insert(name.clone(), table);
    }
    Ok(tables)
}

fn read_edges(
    files: &GraphFiles,
    folder: &Path,
    spaces: &mut [IdSpace],
    mut tables: Tables<CanonicalEtype>,
    scanned: &[ScannedTable],
    notes: &mut Vec<String>,
    tell: &mut dyn FnMut(u64, u64) -> Result<()>,
) -> Result<(Vec<EdgeType>, RawEdges)> {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |info| info.len());
    let total = files.edges.iter().map(|file| size(&file.path)).sum();
    let mut embedded: BTreeMap<CanonicalEtype, (&ScannedTable, &EmbeddedColumn)> = BTreeMap::new();
    for table in scanned {
        let columns = table.embedded.iter();
        embedded.extend(columns.map(|column| (column.etype(&table.file.ty), (table, column))));
    }
    let names: BTreeSet<&CanonicalEtype> =
        files.edges.iter().map(|file| &file.etype).chain(embedded.keys()).collect();
    let mut writer = RawEdgeWriter::create(folder)?;
    let (mut etypes, mut done) = (Vec::new(), 0);
    for name in names {
        let end = |ty: &String| spaces.iter().position(|space| space.name == *ty).unwrap_or(0);
        let ends = [end(&name.src), end(&name.dst)];
        writer.start_type();
        if let Some((table, column)) = embedded.get(name) {
            let space = &mut spaces[ends[0]];
            table.read_values(column, |row, value| {
                if value.is_empty() {
                    return Ok(());
                }
                let fail = |problem| {
                    let problem = format!("column {}: {problem}", column.name);
                    Error::input(&table.file.path, "", problem)
                };
                let id = space.id_of(value)?.map_err(|refusal| refusal.error(fail))?;
                writer.push(id, row)
            })?;
            let name = name.clone();
            etypes.push(EdgeType { name, ends, data: Vec::new(), embeds: true });
            continue;
        }
        let mut data = tables.remove(name).unwrap_or_default();
        let mut columns = Vec::new();
        for file in files.edges.iter().filter(|file| file.etype == *name) {
            if columns.is_empty() {
                for _ in &files.edge_columns {
                    columns.push(NumberTable::create(&file.path, folder, 1)?);
                }
            }
            let mut sink = EdgeSink {
                files,
                folder,
                spaces,
                ends,
                by_name: files.end_columns(name)?,
                writer: &mut writer,
                columns: &mut columns,
                notes,
                tell: &mut |read| tell(done + read, total),
            };
            sink.read(&file.path)?;
            done += size(&file.path);
        }
        for (name, column) in files.edge_columns.iter().zip(columns) {
            if data.insert(name.clone(), Table::new(vec![column.finish()?])?).is_some() {
                return Err(Error::config(
                    "edge_columns",
                    format!("{name} is also given as edge data"),
                ));
            }
        }
        let rows = writer.of_type().end;
        if let Some((_, told)) =
            files.num_edges.iter().find(|(ty, told)| ty == name && *told != rows)
        {
            let problem = format!("{rows} edges of type {name} were read, but {told} are stated");
            return Err(Error::config("chunked", problem));
        }
        for (data_name, table) in &data {
            if table.num_rows() != rows {
                let problem = format!("has {} rows, but there are {rows} edges", table.num_rows());
                return Err(table.fail(problem).with_hint(format!(
                    "‹edge_data={data_name}› needs one row for each row of the edge files of {name}"
                )));
            }
        }
        etypes.push(EdgeType {
            name: name.clone(),
            ends,
            data: data.into_iter().collect(),
            embeds: false,
        });
    }
    if let Some((ty, _)) = tables.first_key_value() {
        return Err(Error::config("edge_data", format!("the graph has no edges of type {ty}"))
            .with_hint("pass them as ‹edges=SRC:REL:DST=FILE›"));
    }
    tell(total, total)?;
    Ok((etypes, writer.finish()?))
}
