//! Reads a graph from files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::files::{
    BadRowRule, BadRows, DataFile, GraphFiles, ListedLabels, NodeIds, unknown_etype,
};
use super::graph::{EdgeType, NodeType, RawEdgeWriter, RawEdges, RawGraph};
use super::ids::{IdSpace, NamesMemory};
use super::readers::{Ask, BadRowList, CellValue, TextRules, Wants};
use super::spool::{EdgeProgress, EdgesOfType};
use super::tables::{
    ClassNames, ConvertedArray, EmbeddedColumn, NodeCount, ScannedTable, Table, TableScan,
    check_mask, choose_split, class_numbers, has_several_splits, id_spaces, listed_labels,
    mask_name, open_arrays, other_mask, read_split, refuse_signs, remarks, space_of, unlabelled,
};
use crate::graph::CanonicalEtype;
use crate::load::LABEL_NAMES;
use crate::words::error::{Error, Result};

/// Tables of nodes or edges by type and name.
pub(super) type Tables<T> = BTreeMap<T, BTreeMap<String, Table>>;

/// Finds the nodes that data of a type are for.
type FindNodes<T> = for<'s> fn(&'s [IdSpace], &T) -> Option<&'s IdSpace>;

/// Reads the files of a graph. Unnamed temporary files take space in `folder`. `memory` limits the memory for node
/// names; all other data are streamed. `tell` is called with the number of bytes read so far and the total.
///
/// # Errors
/// If a file is missing or malformed, or files contradict each other; the message names file and line.
pub fn import(
    files: &GraphFiles,
    folder: &Path,
    memory: u64,
    tell: &mut dyn FnMut(u64, u64) -> Result<()>,
) -> Result<RawGraph> {
    let (mut files, mut notes) = files.with_types()?;
    files.check()?;
    let others = files.splits.iter().filter_map(|split| other_mask(&split.name));
    notes.extend(others.collect::<BTreeSet<String>>());
    let ask = Ask { rules: files.text, ..Ask::new(Wants::Table, folder) };
    let edge_splits = files.take_edge_splits(&ask)?;
    let keep_names = files.node_ids == NodeIds::String;
    let list = |rule: &BadRowRule| Rc::new(BadRowList::new(&rule.list, folder));
    let bad_rows = files.bad_rows.as_ref().map(list);
    let keeps_bad_ids = files.bad_rows.as_ref().is_some_and(|rule| rule.rows == BadRows::Error);
    let names = &NamesMemory::new(memory);
    let of_tables = Ask { bad_rows: bad_rows.as_ref(), ..ask };
    let files = &files;
    let tables = &files.node_tables;
    let scan = TableScan { tables, ask: of_tables, keeps_bad_ids, keep_names, names };
    let mut scanned = scan.read_all()?;
    let spaces = id_spaces(files, &mut scanned, &ask, names, &mut notes)?;
    let both_directions = BTreeMap::new();
    let mut import = Import {
        files,
        edge_splits,
        ask,
        memory,
        scanned,
        spaces,
        bad_rows: bad_rows.as_ref(),
        both_directions,
        orders: BTreeMap::new(),
        notes,
    };
    let node_data = import.open_tables(&files.node_data, |spaces, ty| {
        spaces.iter().find(|space| space.name == *ty)
    })?;
    import.check_split_index(&node_data)?;
    let (mut waiting, node_data): (Tables<String>, Tables<String>) =
        node_data.into_iter().partition(|(ty, tables)| import.waits_for_edges(ty, tables));
    let mut node_tables = import.node_tables(node_data)?;
    let (mut etypes, edges) = import.edges(tell)?;
    import.choose_splits(&mut waiting)?;
    import.check_node_data(&waiting)?;
    node_tables.extend(waiting);
    import.settle(&etypes, &edges)?;
    import.heed_bad_rows()?;
    import.splits(&mut node_tables)?;
    for split in &files.drawn_splits {
        import.draw(split, &mut node_tables, &mut etypes, &edges)?;
    }
    for (ntype, tables) in &node_tables {
        import.notes.extend(remarks(ntype, tables)?);
    }
    let Import { scanned, spaces, notes, .. } = import;
    let ntypes = spaces.into_iter().map(|space| NodeType {
        name: space.name.clone(),
        count: space.count(),
        data: node_tables.remove(&space.name).unwrap_or_default().into_iter().collect(),
        originals: Vec::new(),
        names: space.into_names(),
        names_file: None,
    });
    let ntypes = ntypes.collect();
    let class_names = class_names(&scanned);
    let feature_scale = ScannedTable::feature_scale(&scanned);
    let feature_encoding = ScannedTable::feature_encoding(scanned);
    let graph =
        RawGraph { ntypes, etypes, edges, class_names, feature_scale, feature_encoding, notes };
    if graph.num_nodes() == 0 {
        return Err(Error::config("edges", "the graph has no nodes: the files hold no rows")
            .with_hint("state the number of isolated nodes with ‹num_nodes=N›"));
    }
    Ok(graph)
}

/// The names of the classes of each type whose labels are names.
fn class_names(tables: &[ScannedTable<'_>]) -> ClassNames {
    let named = |table: &ScannedTable<'_>| Some((table.file.ty.clone(), table.class_names()?));
    tables.iter().filter_map(named).collect()
}

/// Groups files by type and name, in the given order.
fn grouped<T: Ord>(files: &[DataFile<T>]) -> BTreeMap<(&T, &String), Vec<&DataFile<T>>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for file in files {
        groups.entry((&file.ty, &file.name)).or_default().push(file);
    }
    groups
}

/// A graph while its files are read.
pub(super) struct Import<'f> {
    pub(super) files: &'f GraphFiles,
    /// The splits that list edges.
    pub(super) edge_splits: Vec<DataFile<CanonicalEtype>>,
    pub(super) ask: Ask<'f>,
    /// Limit for the memory of node names and of edges in splits.
    pub(super) memory: u64,
    pub(super) scanned: Vec<ScannedTable<'f>>,
    pub(super) spaces: Vec<IdSpace>,
    /// The list of bad rows, if they are listed.
    pub(super) bad_rows: Option<&'f Rc<BadRowList>>,
    /// The files that hold each edge of a type in both directions.
    pub(super) both_directions: BTreeMap<CanonicalEtype, PathBuf>,
    /// First file of each type, whether it names its columns, and the columns that are read.
    pub(super) orders: BTreeMap<CanonicalEtype, (PathBuf, bool, Vec<usize>)>,
    pub(super) notes: Vec<String>,
}

impl Import<'_> {
    fn open_tables<T: Ord + Clone>(
        &mut self,
        files: &[DataFile<T>],
        find_nodes: FindNodes<T>,
    ) -> Result<Tables<T>> {
        let mut tables: Tables<T> = BTreeMap::new();
        for ((ty, name), files) in grouped(files) {
            let all = files.iter().map(|file| {
                let array = file.array.as_ref().unwrap_or(name);
                (file.path.as_path(), Some(array.as_str()))
            });
            let all: Vec<_> = all.collect();
            let is_of_layout = self.is_of_layout(&files[0].path);
            // Data sets do not name columns.
            let header = self.ask.rules.header.or(is_of_layout.then_some(false));
            let rules = TextRules { header, ..self.ask.rules };
            let nodes = find_nodes(&self.spaces, ty);
            let (arrays, notes) = open_arrays(&all, name, nodes, &Ask { rules, ..self.ask })?;
            if !is_of_layout {
                self.notes.extend(notes);
            }
            let table = Table::new(arrays)?;
            tables.entry(ty.clone()).or_default().insert(name.clone(), table);
        }
        Ok(tables)
    }

    /// Whether a file is part of a data set whose layout says what it holds.
    pub(super) fn is_of_layout(&self, path: &Path) -> bool {
        self.files.layout.as_ref().is_some_and(|folder| path.starts_with(folder))
    }

    /// Checks that data of nodes have a row for each.
    fn check_node_data(&mut self, node_tables: &Tables<String>) -> Result<()> {
        for (ty, tables) in node_tables {
            let space = space_of(&mut self.spaces, ty, "node_data")?;
            for (name, table) in tables {
                if space.is_named() && !space.is_known() {
                    let problem = format!(
                        "the rows of {name} cannot be assigned to nodes, because nodes have names"
                    );
                    return Err(Error::config("node_data", problem)
                        .with_hint("list the names in the order of the rows: ‹node_names=FILE›"));
                }
                self.notes.extend(check_mask(name, table)?);
                space.tell(table.num_rows(), format!("node_data={name}"))?;
            }
        }
        Ok(())
    }

    /// The tables of nodes, except for splits: node data, and what node tables hold.
    fn node_tables(&mut self, mut node_tables: Tables<String>) -> Result<Tables<String>> {
        self.choose_splits(&mut node_tables)?;
        self.check_node_data(&node_tables)?;
        let data = node_tables.values().flatten();
        data.filter(|(name, _)| LABEL_NAMES.contains(&name.as_str()))
            .try_for_each(|(_, table)| refuse_signs(table))?;
        for table in &self.scanned {
            let tables = node_tables.entry(table.file.ty.clone()).or_default();
            for (name, data) in table.convert()? {
                if tables.insert(name.clone(), data).is_some() {
                    let problem = format!("{name} is also made of {}", table.file.path.display());
                    return Err(Error::config("node_data", problem).with_hint("use another name"));
                }
            }
        }
        self.notes.extend(self.scanned.iter().map(ScannedTable::summary));
        for space in &self.spaces {
            let lists = self.files.listed_labels.iter().filter(|list| list.ty == space.name);
            let lists: Vec<&ListedLabels> = lists.collect();
            let tables = node_tables.entry(space.name.clone()).or_default();
            let stored = LABEL_NAMES.iter().find(|name| tables.contains_key(**name));
            match (lists.first(), stored) {
                (Some(list), Some(name)) => self.notes.push(format!(
                    "{}: labels of sets are left out, because all nodes have the data {name}",
                    list.labels.display()
                )),
                (Some(_), None) => {
                    let table = listed_labels(&lists, space.count(), self.memory, &self.ask)?;
                    tables.insert(LABEL_NAMES[0].to_owned(), table);
                }
                (None, _) => {}
            }
        }
        for (ty, tables) in &mut node_tables {
            let labels = tables.iter_mut().filter(|(name, _)| name.starts_with("label"));
            for (name, table) in labels {
                if let Some(numbers) = class_numbers(table, self.ask.folder)? {
                    let width = table.row_shape().iter().product::<u64>();
                    self.notes.push(format!(
                        "{name} has a 1 for one of {width} classes in each row: stored as class numbers"
                    ));
                    *table = numbers;
                }
                if LABEL_NAMES.contains(&name.as_str()) {
                    let note = unlabelled(table)?;
                    self.notes.extend(note.map(|note| format!("{ty}/{name}: {note}")));
                }
            }
        }
        Ok(node_tables)
    }

    /// Returns an error if a split is chosen but no mask holds several.
    fn check_split_index(&self, node_tables: &Tables<String>) -> Result<()> {
        let mut all = node_tables.values().flatten();
        let has_several = all.any(|(name, table)| has_several_splits(name, table));
        if self.files.split_index.is_some() && !has_several {
            let problem = "chooses a split, but no mask holds several";
            return Err(Error::config("split_index", problem).with_hint("leave it out"));
        }
        Ok(())
    }

    /// Whether only edges can show the number of nodes of a type, because all its data are masks of several splits.
    fn waits_for_edges(&self, ty: &String, tables: &BTreeMap<String, Table>) -> bool {
        let is_known = self.spaces.iter().any(|space| space.name == *ty && space.is_known());
        !is_known && tables.iter().all(|(name, table)| has_several_splits(name, table))
    }

    /// Chooses one of the splits that masks hold.
    fn choose_splits(&mut self, node_tables: &mut Tables<String>) -> Result<()> {
        for (ty, tables) in node_tables {
            let space = space_of(&mut self.spaces, ty, "node_data")?;
            let other = tables.iter().find(|(name, table)| !has_several_splits(name, table));
            let nodes = match other {
                _ if space.is_known() => NodeCount::Exactly(space.count()),
                Some((_, table)) => NodeCount::Exactly(table.num_rows()),
                None => NodeCount::AtLeast(space.end()),
            };
            for (name, table) in tables {
                if has_several_splits(name, table) {
                    let index = self.files.split_index;
                    *table = choose_split(name, table, nodes, index, self.ask.folder)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the masks that lists of nodes make. All edges have been read.
    fn splits(&mut self, node_tables: &mut Tables<String>) -> Result<()> {
        let ask = Ask { wants: Wants::List, ..self.ask };
        for ((ty, name), files) in grouped(&self.files.splits) {
            let is_known = self.is_of_layout(&files[0].path);
            let space = space_of(&mut self.spaces, ty, "split")?;
            let mask = mask_name(name);
            let (table, notes) = read_split(&files, &mask, is_known, space, &ask)?;
            if !is_known {
                self.notes.extend(notes);
            }
            if node_tables.entry(ty.clone()).or_default().insert(mask.clone(), table).is_some() {
                return Err(Error::config("split", format!("{mask} is given twice")));
            }
        }
        Ok(())
    }

    /// Reads the edges of all types.
    pub(super) fn edges(
        &mut self,
        tell: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<(Vec<EdgeType>, RawEdges)> {
        let mut tables = self.open_tables(&self.files.edge_data, |_, _| None)?;
        let paths = self.files.edges.iter().map(|file| file.path.as_path());
        let paths = paths.chain(self.edge_splits.iter().map(|file| file.path.as_path()));
        let mut progress = EdgeProgress::new(paths, tell);
        let mut embedded: BTreeMap<CanonicalEtype, (usize, EmbeddedColumn)> = BTreeMap::new();
        for (at, table) in self.scanned.iter().enumerate() {
            let columns = table.embedded.iter();
            let columns =
                columns.map(|column| (column.etype(&table.file.ty), (at, column.clone())));
            embedded.extend(columns);
        }
        let mut divided = self.divided_edges(&mut progress)?;
        let of_files = self.files.edges.iter().map(|file| file.etype.clone());
        let types = divided.as_ref().map_or_else(|| of_files.collect(), |all| all.types.clone());
        let names: BTreeSet<CanonicalEtype> =
            types.into_iter().chain(embedded.keys().cloned()).collect();
        let mut edges = RawEdgeWriter::create(self.ask.folder)?;
        let mut etypes = Vec::new();
        for name in names {
            edges.start_type();
            if let Some((table, column)) = embedded.get(&name) {
                etypes.push(self.embedded(name, *table, column, &mut edges)?);
                continue;
            }
            let data = tables.remove(&name).unwrap_or_default();
            let found = divided.as_mut().and_then(|all| Some((all.find(&name)?, all)));
            let own = match found {
                Some((at, all)) => {
                    let path = self.files.edges.first().map_or(self.ask.folder, |file| &file.path);
                    all.write(at, &mut edges, path)?
                }
                None => self.read_edges(&name, &mut edges, &mut progress)?,
            };
            etypes.push(self.edge_type(name, data, own, edges.of_type().end)?);
        }
        self.notes.extend(divided.and_then(|all| all.note()));
        if let Some((ty, _)) = tables.first_key_value() {
            return Err(unknown_etype("edge_data", ty, etypes.iter().map(|etype| &etype.name)));
        }
        (progress.tell)(progress.total, progress.total)?;
        Ok((etypes, edges.finish()?))
    }

    /// Ends the reading of edges: the nodes that have occurred are all nodes.
    pub(super) fn settle(&mut self, etypes: &[EdgeType], edges: &RawEdges) -> Result<()> {
        let count = (0..etypes.len()).map(|etype| edges.num_edges(etype)).sum();
        self.spaces.iter().try_for_each(|space| space.check_largest(count))?;
        self.note_gaps(etypes, edges)?;
        self.spaces.iter_mut().for_each(IdSpace::settle);
        Ok(())
    }

    pub(super) fn ends(&self, name: &CanonicalEtype) -> [usize; 2] {
        let end = |ty: &String| self.spaces.iter().position(|space| space.name == *ty).unwrap_or(0);
        [end(&name.src), end(&name.dst)]
    }

    /// Edges from the values of a column to the nodes that have them.
    fn embedded(
        &mut self,
        name: CanonicalEtype,
        table: usize,
        column: &EmbeddedColumn,
        edges: &mut RawEdgeWriter,
    ) -> Result<EdgeType> {
        let ends = self.ends(&name);
        let (table, space) = (&self.scanned[table], &mut self.spaces[ends[0]]);
        table.read_values(column, |row, value| {
            let fail = |problem: String| {
                let problem = format!("column {}: {problem}", column.name);
                Error::input(&table.file.path, "", problem)
            };
            let id = space.id_of(CellValue::Text(value), &fail)?;
            edges.push(id, row)
        })?;
        Ok(EdgeType { name, ends, data: Vec::new(), embeds: true, both_directions: None })
    }

    /// Reads the edge files of a type; returns their edge data.
    fn read_edges(
        &mut self,
        name: &CanonicalEtype,
        edges: &mut RawEdgeWriter,
        progress: &mut EdgeProgress<'_>,
    ) -> Result<Vec<(String, Table)>> {
        let (files, folder) = (self.files, self.ask.folder);
        let of_type = || files.edges.iter().filter(|file| file.etype == *name);
        let first = of_type().next().map_or(folder, |file| &file.path);
        let array = |_| ConvertedArray::create(first, folder, None);
        let columns = self.edge_columns(name);
        let mut arrays = columns.iter().map(array).collect::<Result<Vec<_>>>()?;
        for file in of_type() {
            let (names, arrays, values) = (&columns[..], &mut arrays[..], Vec::new());
            let out = &mut EdgesOfType { edges, names, arrays, values };
            self.read_file(&file.path, files.edge_shape, name, &columns, out, progress)?;
        }
        let finish = |(name, array): (&String, ConvertedArray)| {
            Ok((name.clone(), Table::new(vec![array.finish(&[])?])?))
        };
        columns.iter().zip(arrays).map(finish).collect()
    }

    /// The edge type whose edges have just been written, with its edge data; `own` are data from the edge files.
    fn edge_type(
        &mut self,
        name: CanonicalEtype,
        mut data: BTreeMap<String, Table>,
        own: Vec<(String, Table)>,
        rows: u64,
    ) -> Result<EdgeType> {
        let ends = self.ends(&name);
        let both_directions = self.both_directions.remove(&name);
        for (column, table) in own {
            if data.insert(column.clone(), table).is_some() {
                let problem = format!("{column} is also given as edge data");
                return Err(Error::config("edge_columns", problem));
            }
        }
        let stated = self.files.num_edges.iter().find(|(ty, _)| *ty == name);
        if let Some((_, told)) = stated.filter(|(_, told)| *told != rows) {
            let problem = format!("{rows} edges of type {name} were read, but {told} are stated");
            let mut of_type = self.files.edges.iter().filter(|file| file.etype == name);
            let path = of_type.next().map_or(self.ask.folder, |file| &file.path);
            return Err(Error::input(path, "", problem)
                .with_hint("files are incomplete, or the number is wrong"));
        }
        for (data_name, table) in &data {
            if table.num_rows() != rows {
                let problem = format!("has {} rows, but there are {rows} edges", table.num_rows());
                return Err(table.fail(problem).with_hint(format!(
                    "‹edge_data={data_name}› needs one row for each row of the edge files of {name}"
                )));
            }
        }
        let data = data.into_iter().collect();
        Ok(EdgeType { name, ends, data, embeds: false, both_directions })
    }
}
