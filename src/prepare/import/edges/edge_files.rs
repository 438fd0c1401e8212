//! Reads edge files.

use std::path::Path;

use crate::graph::CanonicalEtype;
use crate::prepare::import::files::EdgeFileColumns;
use crate::prepare::import::import_graph::Import;
use crate::prepare::import::readers::{Ask, CellValue, EdgeShape, FileRows, Wants, shown};
use crate::prepare::import::spool::{EdgeDestination, EdgeProgress};
use crate::words::error::{Error, Result};

const HEADER: &str = "if the first line holds the names of columns, pass ‹header›";

/// Number of lines up to which nodes that occur only once are not suspicious.
const FEW: u64 = 2;

/// An error for a file with directed and undirected edges.
fn mixed(rows: &FileRows, kind: usize) -> Error {
    let kind = rows.value(kind).shown();
    rows.fail(format!("the edge is {kind}, unlike those before it")).with_hint(
        "give directed and undirected edges in files of their own, or leave out the column of types",
    )
}

/// The reading of a file of edges.
struct EdgeReading<'a, 'f> {
    import: &'a mut Import<'f>,
    etype: &'a CanonicalEtype,
    /// Names of the columns that become edge data.
    columns: &'a [String],
    /// Shape of the file, if it is an array and its shape is known.
    shape: Option<EdgeShape>,
    /// The node types of sources and destinations.
    ends: [usize; 2],
    out: &'a mut dyn EdgeDestination,
}

impl Import<'_> {
    /// Reads a file of edges of a type into `out`, with edge data from some columns. `shape` is that of an array, if
    /// it is known.
    pub(in crate::prepare::import) fn read_file(
        &mut self,
        path: &Path,
        shape: Option<EdgeShape>,
        etype: &CanonicalEtype,
        columns: &[String],
        out: &mut dyn EdgeDestination,
        progress: &mut EdgeProgress<'_>,
    ) -> Result<()> {
        let ends = self.ends(etype);
        let mut read = progress.done;
        let mut tell = |of_file| {
            read = progress.done + of_file;
            (progress.tell)(read, progress.total)
        };
        let mut reading = EdgeReading { import: self, etype, columns, shape, ends, out };
        if let Err(error) = reading.read(path, &mut tell) {
            let full = self.spaces.iter().find_map(|space| space.too_many(read, progress.total));
            return Err(full.unwrap_or(error));
        }
        progress.add(path);
        Ok(())
    }
}

impl EdgeReading<'_, '_> {
    /// Opens the file, and determines the roles of its columns.
    fn open(&self, path: &Path) -> Result<(FileRows, EdgeFileColumns)> {
        let files = self.import.files;
        let chosen = files.end_columns(self.etype)?;
        let chosen = chosen.iter().flat_map(|ends| [ends.source, ends.target]);
        let mut names: Vec<&str> = chosen.chain(self.columns.iter().map(String::as_str)).collect();
        // A column without a name is chosen by its number.
        let relation = files.relation_column.as_deref();
        names.extend(relation.filter(|name| name.parse::<usize>().is_err()));
        let known = self.ends.map(|ntype| &self.import.spaces[ntype]);
        let ask = Ask {
            names: &names,
            wants: Wants::Edges,
            ids_are_names: known.iter().any(|space| space.is_named()),
            has_relations: relation.is_some(),
            types: Some([self.etype.src.as_str(), self.etype.dst.as_str()]),
            edge_shape: self.shape,
            is_node: Some(&|word| known.iter().any(|space| space.listed(word).is_some())),
            has_others: files.edges.len() > 1,
            bad_rows: self.import.bad_rows,
            ..self.import.ask
        };
        let rows = FileRows::open(path, &ask)?;
        self.import.check_split_columns(self.columns, &rows)?;
        let columns = EdgeFileColumns::of(files, self.etype, self.columns, &rows)?;
        Ok((rows, columns))
    }

    /// Reads the file. `tell` is called with the number of bytes that have been read.
    fn read(&mut self, path: &Path, tell: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let before = self.ends.map(|ntype| self.import.spaces[ntype].end());
        let (mut rows, columns) = self.open(path)?;
        self.check_order(&rows, &columns)?;
        let said = self.heed_facts(&rows)?;
        let notes = self.import.notes.len();
        if !self.import.is_of_layout(path) {
            self.import.notes.push(rows.note(&(columns.note.clone() + &said)));
        }
        let all = columns.ends.iter().chain(&columns.relation).chain(&columns.data);
        rows.select(all.chain(&columns.kind).copied().collect::<Vec<_>>())?;
        let is_bare = !rows.file.named && rows.file.unit == "line";
        let nodes = self.new_names();
        let mut first = None;
        let mut kind = None;
        let mut sizes = (is_bare && nodes == 0).then(FirstRow::default);
        let mut count = 0;
        while rows.advance()? {
            if rows.begins_block() {
                tell(rows.bytes_read())?;
            }
            count += 1;
            let ids = match self.read_row(&rows, &columns) {
                Ok(Some(ids)) => ids,
                Ok(None) => continue,
                Err(error) => {
                    // An invalid field on the first line is most likely the name of a column.
                    let is_first = count == 1 && is_bare;
                    let error = if is_first { with_header_hint(error) } else { error };
                    match self.import.bad_rows {
                        Some(list) => list.take(error)?,
                        None => return Err(error),
                    }
                    continue;
                }
            };
            if count == 1 && is_bare && self.new_names() == nodes + 2 {
                first = Some(FirstEdge::new(&rows, ids));
            } else if first.as_ref().is_some_and(|first| self.occur_again(first.ids, ids)) {
                first = None;
            }
            if let Some(sizes) = &mut sizes {
                sizes.add(ids);
            }
            if columns.kind.is_some() {
                let at = 2 + columns.data.len() + usize::from(columns.relation.is_some());
                let is_undirected = is_undirected(rows.value(at));
                if *kind.get_or_insert(is_undirected) != is_undirected {
                    return Err(mixed(&rows, at));
                }
                if count == 1 && is_undirected {
                    self.note_undirected(&rows, at, notes);
                }
            }
        }
        self.import.notes.extend(sizes.and_then(|sizes| sizes.note(path, count)));
        if let Some(first) = first.filter(|_| count > FEW) {
            self.import.notes.push(first.note);
        }
        for (ntype, end) in self.ends.into_iter().zip(before) {
            self.import.spaces[ntype].has_read(path, rows.file.unit, end);
        }
        Ok(())
    }

    /// Returns an error for a file without column names if another file of the type names its columns in another order.
    fn check_order(&mut self, rows: &FileRows, columns: &EdgeFileColumns) -> Result<()> {
        let order = [&columns.ends[..], &columns.data].concat();
        let (path, is_named) = (rows.path().to_owned(), rows.file.named);
        let earlier = self.import.orders.entry(self.etype.clone());
        let earlier = earlier.or_insert((path, is_named, order.clone()));
        if earlier.1 != is_named && earlier.2 != order {
            let problem = "only one of them names its columns, which are not in the usual order";
            let problem = format!("continues {}, but {problem}", earlier.0.display());
            return Err(Error::input(rows.path(), "", problem)
                .with_hint("give both files the first line that names the columns"));
        }
        Ok(())
    }

    /// Uses a file's facts about the whole graph; returns text for a note.
    fn heed_facts(&mut self, rows: &FileRows) -> Result<String> {
        let facts = &rows.file.facts;
        if let Some(words) = facts.two_kinds.as_ref().filter(|_| self.etype.src == self.etype.dst) {
            let problem = format!("has two node types, which are numbered separately: {words:?}");
            return Err(Error::input(rows.path(), "", problem)
                .with_hint("give them types: ‹edges=SRC:REL:DST=FILE›"));
        }
        let from_one = facts.counts_from_one;
        for (end, ntype) in self.ends.into_iter().enumerate() {
            let space = &mut self.import.spaces[ntype];
            let nodes = facts.nodes.map(|nodes| nodes[end]);
            let nodes = nodes.filter(|_| !from_one || !space.is_listed());
            if let Some(nodes) = nodes {
                space.tell(nodes, rows.path().display().to_string())?;
            }
            if from_one || nodes.is_some() {
                space.count_from(from_one, from_one && nodes.is_some(), rows.path())?;
            }
        }
        if facts.both_directions {
            let path = rows.path().to_owned();
            self.import.both_directions.insert(self.etype.clone(), path);
        }
        let mut said = facts.undirected.as_deref().map(undirected).unwrap_or_default();
        if self.ends.iter().any(|ntype| self.import.spaces[*ntype].counts_from_one()) {
            said += "; nodes are counted from 1 in these files, and from 0 in the graph: node 1 has row 0 of node data, and is node 0 \
                     in predictions";
        }
        Ok(said)
    }

    /// Records that edges are undirected according to a column.
    fn note_undirected(&mut self, rows: &FileRows, at: usize, note: usize) {
        let kind = rows.value(at).name().unwrap_or_default();
        if let Some(note) = self.import.notes.get_mut(note) {
            *note += &undirected(&String::from_utf8_lossy(&kind));
        }
    }

    /// Number of nodes so far, of types whose names are not known in advance.
    fn new_names(&self) -> u64 {
        let count = |ntype: usize| self.import.spaces[ntype].new_names();
        let [src, dst] = self.ends;
        if src == dst { count(src) } else { count(src) + count(dst) }
    }

    /// Whether an edge has an end of the first one.
    fn occur_again(&self, first: [u64; 2], ids: [u64; 2]) -> bool {
        let same_type = self.ends[0] == self.ends[1];
        first[0] == ids[0]
            || first[1] == ids[1]
            || same_type && (first[0] == ids[1] || first[1] == ids[0])
    }

    /// Reads a row; returns the ends of its edge, or `None` for a node without edges. A bad row changes nothing.
    fn read_row(&mut self, rows: &FileRows, columns: &EdgeFileColumns) -> Result<Option<[u64; 2]>> {
        let (spaces, place) = (&mut self.import.spaces, rows.number());
        let [src, dst] = self.ends;
        let fail = |end: usize, problem: &str| fail(rows, columns.ends[end], problem);
        let source = spaces[src].find(rows.value(0), &|problem| fail(0, &problem))?;
        if rows.file.facts.has_lone_nodes && rows.value(1) == CellValue::Missing {
            spaces[src].take(source, place)?;
            return Ok(None);
        }
        let target = spaces[dst].find(rows.value(1), &|problem| fail(1, &problem))?;
        self.out.read(rows)?;
        let ids = [spaces[src].take(source, place)?, spaces[dst].take(target, place)?];
        self.out.push(ids)?;
        Ok(Some(ids))
    }
}

/// An error in a column of the current row.
fn fail(rows: &FileRows, column: usize, problem: &str) -> Error {
    if rows.file.named {
        rows.fail(format!("column {}: {problem}", rows.name(column)))
    } else {
        rows.fail(problem)
    }
}

/// Whether a value of Gephi's column of types says that an edge has no direction.
fn is_undirected(kind: CellValue<'_>) -> bool {
    matches!(kind, CellValue::Text(kind) if kind.eq_ignore_ascii_case(b"undirected"))
}

/// The part of the note about a file of undirected edges.
fn undirected(words: &str) -> String {
    format!("; it says {words:?}, so each edge stands for both directions: pass ‹undirected›")
}

/// The edge of a file's first line, if its nodes have new names that have not occurred again.
struct FirstEdge {
    ids: [u64; 2],
    note: String,
}

impl FirstEdge {
    fn new(rows: &FileRows, ids: [u64; 2]) -> Self {
        let name = |at| match rows.value(at) {
            CellValue::Text(word) => shown(word),
            other => other.shown(),
        };
        let note = format!(
            "{}: {} and {} on line {} occur on no other line: {HEADER}",
            rows.path().display(),
            name(0),
            name(1),
            rows.number()
        );
        FirstEdge { ids, note }
    }
}

/// The first row of a file without column names, which may contain the numbers of nodes and edges.
#[derive(Default)]
struct FirstRow {
    ids: Option<[u64; 2]>,
    /// The largest id of the other rows.
    largest: u64,
}

impl FirstRow {
    fn add(&mut self, ids: [u64; 2]) {
        match self.ids {
            None => self.ids = Some(ids),
            Some(_) => self.largest = self.largest.max(ids[0]).max(ids[1]),
        }
    }

    /// A note on the row, if it matches the numbers of nodes and of other rows.
    fn note(self, path: &Path, rows: u64) -> Option<String> {
        let [nodes, edges] = self.ids?;
        let are_nodes = nodes == self.largest || nodes == self.largest + 1;
        (rows > FEW && are_nodes && edges + 1 == rows).then(|| {
            format!(
                "{}: the first row, {nodes} {edges}, may be the numbers of nodes and edges, not an edge: then delete it",
                path.display()
            )
        })
    }
}

fn with_header_hint(error: Error) -> Error {
    let hint = error.marked_hint().map_or(HEADER.to_owned(), |hint| format!("{hint}; {HEADER}"));
    error.with_hint(hint)
}
