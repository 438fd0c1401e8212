//! Nodes of one type while their number is unknown.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::node_names::NodeNames;
use crate::graph::MAX_IDS;
use crate::prepare::import::readers::{CellValue, is_missing, parse_id, shown};
use crate::words::error::{Error, Result};
use crate::words::fields::mark;

/// Number of nodes that is accepted for any number of edges, because they take little memory.
const USUAL: u64 = 1 << 24;
/// Maximum number of nodes per edge beyond that.
const FEWEST_EDGES: u64 = 100;

/// Hint for a list of nodes.
pub(crate) const LIST: &str = "a mask has a row of 0 or 1 for every node, ‹node_data=train_mask=FILE›; a list of nodes is ‹split=train=FILE›";

/// Hint for node data with a row too many or too few.
const ONE_MORE: &str = "every node has one row; if the first line of a text file is pandas' name of a column, such as 0, remove it";

/// Origin of the number of nodes of a graph to which nodes are added.
pub(crate) const WITH_NEW_NODES: &str = "the graph with its new nodes";

/// Hint for ids such as `17.0`, which tools write for integers in a column with missing values.
pub(super) const DECIMALS: &str = "write ids without decimals (in pandas: `astype(\"Int64\")`)";

/// Hint for an id that is one too large for node data.
const FROM_ONE: &str = "nodes are numbered from 0; if ids count from 1, list them in the order of the rows with ‹node_names=FILE› (seq 1 N > \
     FILE writes them); otherwise state more rows";

/// Whether an origin is node data.
fn is_data(origin: &str) -> bool {
    origin.starts_with("node_data=")
}

/// Whether an origin is node data that are a mask.
fn is_mask(origin: &str) -> bool {
    is_data(origin) && origin.ends_with("mask")
}

/// Makes the error for a mistake in a file's word for a node.
type Fail<'f> = &'f dyn Fn(String) -> Error;

/// The node that a value identifies.
pub(crate) enum FoundNode<'v> {
    /// The id of a node that has a number in files.
    Numbered(u64),
    /// The id of a node whose name is known.
    Named(u64),
    /// The name of a new node.
    New(Cow<'v, [u8]>),
}

/// The ids of one node type.
#[derive(Debug)]
pub(crate) struct IdSpace {
    /// Name of the type.
    pub(crate) name: String,
    /// Number of nodes and where it was stated, if known.
    known: Option<(u64, String)>,
    /// Number of the first node in files.
    first: u64,
    /// Whether a list of KONECT states the number of nodes.
    is_sized: bool,
    /// One more than the largest id that occurred, from 0.
    end: u64,
    /// Line or edge with the largest id, and its file once that has been read.
    largest: u64,
    largest_in: Option<(PathBuf, &'static str)>,
    names: Option<NodeNames>,
    /// The file that lists all nodes, if there is one.
    listed_in: Option<PathBuf>,
}

impl IdSpace {
    pub(crate) fn new(name: &str, names: Option<NodeNames>) -> Self {
        IdSpace {
            name: name.to_owned(),
            known: None,
            first: 0,
            is_sized: false,
            end: 0,
            largest: 0,
            largest_in: None,
            names,
            listed_in: None,
        }
    }

    /// Records the file that lists all nodes.
    pub(crate) fn is_listed_in(&mut self, path: &Path) {
        self.listed_in = Some(path.to_owned());
    }

    /// Records a number of nodes that `origin` states.
    pub(crate) fn tell(&mut self, count: u64, origin: String) -> Result<()> {
        if count > MAX_IDS {
            return Err(Error::config(&origin, format!("states {count} nodes, which is too many"))
                .with_hint("2^40 nodes are possible"));
        }
        match &self.known {
            Some((known, first)) if *known != count => {
                let problem = format!(
                    "states {count} nodes of type {}, but {} states {known}",
                    self.name,
                    mark(first)
                );
                let error = Error::config(&origin, problem);
                let is_mask = is_mask(first) || is_mask(&origin);
                let has_data = is_data(first) || is_data(&origin);
                Err(error.with_hint(match () {
                    () if is_mask => LIST,
                    () if has_data && known.abs_diff(count) == 1 => ONE_MORE,
                    () => "every node has one row",
                }))
            }
            Some(_) => Ok(()),
            None => {
                self.known = Some((count, origin));
                Ok(())
            }
        }
    }

    /// Counts nodes from 1 or from 0 in all files, as a file does that may state their number. Ids that a file lists, and names,
    /// remain as they are.
    pub(crate) fn count_from(&mut self, one: bool, is_sized: bool, path: &Path) -> Result<()> {
        let first = u64::from(one && !self.is_listed());
        self.is_sized |= is_sized;
        if self.end > 0 && self.first != first {
            let problem = "counts nodes from another number than the files before it";
            return Err(Error::input(path, "", problem).with_hint(
                "if all files count from 1, begin each with the first line of KONECT's lists, such as % asym unweighted; otherwise \
                 delete that line from all lists, so that all count from 0",
            ));
        }
        self.first = first;
        Ok(())
    }

    /// Whether files count nodes from 1.
    pub(crate) fn counts_from_one(&self) -> bool {
        self.first == 1
    }

    /// The number in files of an id, which counts from 0.
    pub(crate) fn number_of(&self, id: u64) -> u64 {
        id + self.first
    }

    /// Whether a file lists all nodes, or they have names.
    pub(crate) fn is_listed(&self) -> bool {
        self.is_named() || self.listed_in.is_some()
    }

    /// Whether nodes are identified by strings.
    pub(crate) fn is_named(&self) -> bool {
        self.names.is_some()
    }

    /// The node with this name, if it was listed before.
    pub(crate) fn listed(&self, word: &[u8]) -> Option<u64> {
        self.names.as_ref().filter(|names| !names.is_open())?.known(word)
    }

    /// The file that lists the names of all nodes, in the order of rows of node data.
    pub(crate) fn list_of_names(&self) -> Option<&Path> {
        self.listed_in.as_deref().filter(|_| self.is_named())
    }

    /// Refuses a file of node data without ids, if a table has the ids from 0 in another order.
    pub(crate) fn check_order(&self, data: &Path) -> Result<()> {
        let of_table = self.known.as_ref().filter(|(_, by)| by.starts_with("node_table="));
        let names = of_table.and(self.names.as_ref());
        let (Some(names), Some(table)) = (names, &self.listed_in) else { return Ok(()) };
        let place = |id: u64| names.known(id.to_string().as_bytes());
        let mut ids = 0..names.len();
        let are_in_order = ids.try_fold(true, |so_far, id| Some(place(id)? == id && so_far));
        if are_in_order != Some(false) {
            return Ok(());
        }
        let problem = format!("has the ids from 0 out of order, and {} has no ids", data.display());
        Err(Error::input(table, "", problem).with_hint(
            "if the first row of the other file is that of node 0, sort the table by its ids; if its rows are in the order of the \
             table, sort both by the ids, or, if it is a text, add them to the table as columns",
        ))
    }

    /// The id of a value. `fail` makes the error for a mistake in the value.
    pub(crate) fn id_of(&mut self, value: CellValue<'_>, fail: Fail<'_>) -> Result<u64> {
        let found = self.find(value, fail)?;
        self.take(found, 0)
    }

    /// The id of a node that was found on a line, or at an edge, of a file.
    pub(crate) fn take(&mut self, found: FoundNode<'_>, place: u64) -> Result<u64> {
        match found {
            FoundNode::Numbered(id) => {
                if id >= self.end {
                    (self.end, self.largest) = (id + 1, place);
                }
                Ok(id)
            }
            FoundNode::Named(id) => Ok(id),
            FoundNode::New(name) => {
                let id = self.names.as_mut().map(|names| names.id(&name)).transpose()?.flatten();
                id.ok_or_else(|| Error::internal("a name among nodes without names"))
            }
        }
    }

    /// Finds the node that a value identifies, and records nothing. `fail` makes the error for a mistake in the value.
    pub(crate) fn find<'v>(&self, value: CellValue<'v>, fail: Fail<'_>) -> Result<FoundNode<'v>> {
        let number = match (value, &self.names) {
            (CellValue::Missing, _) => return Err(missing("nothing", fail)),
            (CellValue::Text(word), Some(names)) => {
                return self.find_name(names, Cow::Borrowed(word), fail);
            }
            (CellValue::Whole(number), Some(names)) => {
                return self.find_name(names, Cow::Owned(number.to_string().into_bytes()), fail);
            }
            (CellValue::Text(word), None) => parse_id(word).ok_or_else(|| not_an_id(word, fail))?,
            (CellValue::Whole(number), None) => {
                u64::try_from(number).map_err(|_| not_an_id(number.to_string().as_bytes(), fail))?
            }
            (CellValue::Real(number), _) => {
                return Err(not_an_id(format!("{number:?}").as_bytes(), fail));
            }
            (CellValue::Truth(_) | CellValue::Date(_), _) => {
                let hint = "nodes are numbered or have names; choose another column";
                return Err(fail(format!("{} is not a node", value.shown())).with_hint(hint));
            }
        };
        let id = number.checked_sub(self.first).ok_or_else(|| {
            let error = fail("node 0 does not exist in lists of KONECT".to_owned());
            error.with_hint("if nodes count from 0, delete the first line of the list: % asym …")
        })?;
        self.check_id(id, fail)?;
        Ok(FoundNode::Numbered(id))
    }

    fn find_name<'v>(
        &self,
        names: &NodeNames,
        word: Cow<'v, [u8]>,
        fail: Fail<'_>,
    ) -> Result<FoundNode<'v>> {
        if let Some(id) = names.known(&word) {
            return Ok(FoundNode::Named(id));
        }
        if is_missing(word.trim_ascii()) {
            return Err(missing(&shown(&word), fail));
        }
        if word.contains(&b'\n') {
            let problem = "holds a line break, but a file of names has one name per line";
            return Err(fail(format!("the name {} {problem}", shown(&word))));
        }
        if names.is_open() {
            return Ok(FoundNode::New(word));
        }
        let error = fail(format!("{} is not the name of a node", shown(&word)));
        let listed = self.listed_in.as_ref().map(|path| path.display().to_string());
        let twin = with_or_without_decimals(&word);
        if let Some(path) = &listed
            && names.known(&twin).is_some()
        {
            return Err(error.with_hint(format!("{path} lists {}; {DECIMALS}", shown(&twin))));
        }
        let near = names.nearest(&word).map(|near| format!("did you mean {near}?"));
        let listed = listed.map(|path| format!("{path} lists all nodes"));
        let hints: Vec<String> = near.into_iter().chain(listed).collect();
        Err(if hints.is_empty() { error } else { error.with_hint(hints.join(" ")) })
    }

    fn check_id(&self, id: u64, fail: Fail<'_>) -> Result<()> {
        let number = self.number_of(id);
        match &self.known {
            Some((count, origin)) if id >= *count && origin == WITH_NEW_NODES => {
                let problem = format!("node {number} of type {} does not exist", self.name);
                Err(fail(problem).with_hint("each new node has a row in the file of ‹add_nodes›"))
            }
            Some((count, origin)) if id >= *count => {
                let error = fail(format!(
                    "node {number} is beyond the {count} nodes of type {} that {} states",
                    self.name,
                    mark(origin)
                ));
                Err(error.with_hint(match () {
                    () if is_mask(origin) => LIST,
                    () if id == *count && number == id && is_data(origin) => FROM_ONE,
                    () if self.counts_from_one() => "state more rows or a larger number",
                    () => "nodes are numbered from 0; state more rows or a larger number",
                }))
            }
            None if id >= MAX_IDS => {
                let error = fail(format!("node {number} is beyond 2^40 nodes"));
                Err(error.with_hint("for other numbers than those from 0 pass ‹node_ids=string›"))
            }
            _ => Ok(()),
        }
    }

    /// One more than the largest id so far.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Records that a file has been read in which the largest id became at least `end`; places in it are lines or
    /// edges.
    pub(crate) fn has_read(&mut self, path: &Path, unit: &'static str, end: u64) {
        if self.end > end {
            self.largest_in = Some((path.to_owned(), unit));
        }
    }

    /// Checks that the number of nodes is plausible if it is known from edges only, or from rows for nodes counted from 1.
    pub(crate) fn check_largest(&self, edges: u64) -> Result<()> {
        if let Some((count, origin)) = &self.known
            && self.counts_from_one()
            && !self.is_sized
            && is_data(origin)
            && *count != self.end
        {
            let problem = format!(
                "states {count} nodes of type {}, but a list of KONECT numbers them from 1 to {}",
                self.name, self.end
            );
            return Err(Error::config(origin, problem).with_hint(
                "the first row is that of node 1: delete a row for node 0, which does not exist; if the last nodes have no \
                 edges, state their number with ‹num_nodes=N›",
            ));
        }
        let Some((path, unit)) = &self.largest_in else { return Ok(()) };
        if !self.is_counted_by_edges() {
            return Ok(());
        }
        if self.end <= USUAL || self.end / FEWEST_EDGES <= edges {
            return Ok(());
        }
        let problem = format!(
            "node id {} implies {} nodes, but there are only {edges} edges",
            self.number_of(self.end - 1),
            self.end
        );
        let hint = format!(
            "nodes are numbered from {} without gaps. For other numbers give ‹node_ids=string›; if the graph has more nodes, say so \
             with ‹num_nodes=N›",
            self.first
        );
        Err(Error::input(path, &format!("{unit} {}", self.largest), problem).with_hint(hint))
    }

    /// Whether the number of nodes is known only from the largest id in edges.
    pub(crate) fn is_counted_by_edges(&self) -> bool {
        self.known.is_none() && self.names.is_none()
    }

    /// Number of nodes with names so far, if names are not known in advance; otherwise 0.
    pub(crate) fn new_names(&self) -> u64 {
        self.names.as_ref().filter(|names| names.is_open()).map_or(0, NodeNames::len)
    }

    /// The error for names that exceed memory, if that ended the reading after `read` of `total` bytes of edges.
    pub(crate) fn too_many(&self, read: u64, total: u64) -> Option<Error> {
        let names = self.names.as_ref().filter(|names| names.is_full())?;
        Some(names.too_many_after(read, total))
    }

    /// Whether the number of nodes is known already.
    pub(crate) fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// The number of nodes, once all edges have been read.
    pub(crate) fn count(&self) -> u64 {
        let named = self.names.as_ref().map(NodeNames::len);
        self.known.as_ref().map(|(count, _)| *count).or(named).unwrap_or(self.end)
    }

    /// Ends the reading of edges: the nodes that have occurred are all nodes.
    pub(crate) fn settle(&mut self) {
        let count = self.count();
        self.known.get_or_insert((count, "the largest id of the edges".to_owned()));
        if let Some(names) = &mut self.names {
            names.close();
        }
    }

    /// The names, if nodes are identified by strings.
    pub(crate) fn into_names(self) -> Option<NodeNames> {
        self.names
    }
}

/// The error for a missing value, or for a word that stands for one.
fn missing(word: &str, fail: Fail<'_>) -> Error {
    fail(format!("the node is missing: {word}"))
        .with_hint("every edge has a source and a destination, and every list names nodes")
}

fn not_an_id(word: &[u8], fail: Fail<'_>) -> Error {
    if is_missing(word.trim_ascii()) {
        return missing(&shown(word), fail);
    }
    let error = fail(format!("{} is not a node id", shown(word)));
    error.with_hint(if parse_id(&with_or_without_decimals(word)).is_some() {
        DECIMALS
    } else if matches!(CellValue::of(word), CellValue::Real(number) if number >= 0.0 && number.fract() == 0.0)
    {
        "write ids as whole numbers: numpy.savetxt(FILE, edges, fmt=\"%d\"), or options(scipen=99) in R"
    } else {
        "nodes are numbered from 0; if they have names or other numbers, pass ‹node_ids=string›"
    })
}

/// The same number in the notation of other programs: `17.0` for `17`, and `17` for `17.0`.
fn with_or_without_decimals(field: &[u8]) -> Vec<u8> {
    field.strip_suffix(b".0").map_or_else(|| [field, b".0"].concat(), <[u8]>::to_vec)
}
