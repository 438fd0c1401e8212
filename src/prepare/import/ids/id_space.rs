//! Nodes of one type while their number is unknown.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::node_names::NodeNames;
use crate::error::{Error, Result};
use crate::fields::mark;
use crate::graph::MAX_IDS;
use crate::prepare::import::readers::{CellValue, is_missing, parse_id, shown};

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

/// The reason why a file's word for a node is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    problem: String,
    hint: Option<String>,
}

impl Refusal {
    fn new(problem: String) -> Self {
        Refusal { problem, hint: None }
    }

    fn with_hint(self, hint: &str) -> Self {
        Refusal { hint: Some(hint.to_owned()), ..self }
    }

    /// The refusal as an error, which `fail` makes.
    pub(crate) fn error(self, fail: impl FnOnce(String) -> Error) -> Error {
        let error = fail(self.problem);
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// A value that identifies a node: its number or its name.
enum NodeKey<'v> {
    Id(u64),
    Name(Cow<'v, [u8]>),
}

impl<'v> NodeKey<'v> {
    /// Interprets a value as a name or a number.
    fn of(value: CellValue<'v>, is_named: bool) -> Result<Self, Refusal> {
        match value {
            CellValue::Missing => Err(missing("nothing")),
            CellValue::Text(word) if is_named => Ok(NodeKey::Name(Cow::Borrowed(word))),
            CellValue::Whole(number) if is_named => {
                Ok(NodeKey::Name(Cow::Owned(number.to_string().into_bytes())))
            }
            CellValue::Text(word) => parse_id(word).map(NodeKey::Id).ok_or_else(|| not_an_id(word)),
            CellValue::Whole(number) => match u64::try_from(number) {
                Ok(id) => Ok(NodeKey::Id(id)),
                Err(_) => Err(not_an_id(number.to_string().as_bytes())),
            },
            CellValue::Real(number) => Err(not_an_id(format!("{number:?}").as_bytes())),
            CellValue::Truth(_) | CellValue::Date(_) => {
                let hint = "nodes are numbered or have names; choose another column";
                Err(Refusal::new(format!("{} is not a node", value.shown())).with_hint(hint))
            }
        }
    }
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
    /// Number of the line or edge that is being read.
    place: u64,
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
            place: 0,
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

    /// The id, from 0, of a node's number in files.
    fn counted(&self, number: u64) -> Result<u64, Refusal> {
        number.checked_sub(self.first).ok_or_else(|| {
            let refusal = Refusal::new("node 0 does not exist in lists of KONECT".to_owned());
            refusal.with_hint("if nodes count from 0, delete the first line of the list: % asym …")
        })
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

    /// Whether a word is the name of a node that was listed before.
    pub(crate) fn lists(&self, word: &[u8]) -> bool {
        let names = self.names.as_ref().filter(|names| !names.is_open());
        names.is_some_and(|names| names.known(word).is_some())
    }

    /// The id of a value; the inner `Err` describes a mistake in the value.
    pub(crate) fn id_of(&mut self, value: CellValue<'_>) -> Result<Result<u64, Refusal>> {
        match NodeKey::of(value, self.is_named()) {
            Ok(NodeKey::Id(number)) => Ok(self.counted(number).and_then(|id| self.admit(id))),
            Ok(NodeKey::Name(name)) => self.id_of_name(&name),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// The refusal of a value, if it is invalid. Unlike [`id_of`](Self::id_of), records nothing.
    pub(crate) fn refusal(&self, value: CellValue<'_>) -> Option<Refusal> {
        match NodeKey::of(value, self.is_named()) {
            Ok(NodeKey::Id(number)) => match self.counted(number) {
                Ok(id) => self.refusal_of_id(id),
                Err(refusal) => Some(refusal),
            },
            Ok(NodeKey::Name(name)) => {
                let names = self.names.as_ref().filter(|names| names.known(&name).is_none())?;
                self.refusal_of_name(names, &name)
            }
            Err(refusal) => Some(refusal),
        }
    }

    fn id_of_name(&mut self, word: &[u8]) -> Result<Result<u64, Refusal>> {
        let Some(names) = &self.names else { return Ok(Err(not_an_id(word))) };
        if let Some(id) = names.known(word) {
            return Ok(Ok(id));
        }
        if let Some(refusal) = self.refusal_of_name(names, word) {
            return Ok(Err(refusal));
        }
        let id = self.names.as_mut().map(|names| names.id(word)).transpose()?.flatten();
        Ok(id.ok_or_else(|| not_an_id(word)))
    }

    /// The refusal of a name that no node has.
    fn refusal_of_name(&self, names: &NodeNames, word: &[u8]) -> Option<Refusal> {
        if is_missing(word.trim_ascii()) {
            return Some(missing(&shown(word)));
        }
        if word.contains(&b'\n') {
            let problem = "holds a line break, but a file of names has one name per line";
            return Some(Refusal::new(format!("the name {} {problem}", shown(word))));
        }
        if names.is_open() {
            return None;
        }
        let refusal = Refusal::new(format!("{} is not the name of a node", shown(word)));
        let listed = self.listed_in.as_ref().map(|path| path.display().to_string());
        let twin = with_or_without_decimals(word);
        if let Some(path) = &listed
            && names.known(&twin).is_some()
        {
            return Some(refusal.with_hint(&format!("{path} lists {}; {DECIMALS}", shown(&twin))));
        }
        let near = names.nearest(word).map(|near| format!("did you mean {near}?"));
        let listed = listed.map(|path| format!("{path} lists all nodes"));
        let hints: Vec<String> = near.into_iter().chain(listed).collect();
        Some(if hints.is_empty() { refusal } else { refusal.with_hint(&hints.join(" ")) })
    }

    /// The refusal of an id, if it is invalid.
    fn refusal_of_id(&self, id: u64) -> Option<Refusal> {
        let number = self.number_of(id);
        match &self.known {
            Some((count, origin)) if id >= *count && origin == WITH_NEW_NODES => {
                let problem = format!("node {number} of type {} does not exist", self.name);
                let refusal = Refusal::new(problem);
                Some(refusal.with_hint("each new node has a row in the file of ‹add_nodes›"))
            }
            Some((count, origin)) if id >= *count => {
                let refusal = Refusal::new(format!(
                    "node {number} is beyond the {count} nodes of type {} that {} states",
                    self.name,
                    mark(origin)
                ));
                Some(refusal.with_hint(match () {
                    () if is_mask(origin) => LIST,
                    () if id == *count && number == id && is_data(origin) => FROM_ONE,
                    () if self.counts_from_one() => "state more rows or a larger number",
                    () => "nodes are numbered from 0; state more rows or a larger number",
                }))
            }
            None if id >= MAX_IDS => {
                let refusal = Refusal::new(format!("node {number} is beyond 2^40 nodes"));
                Some(
                    refusal.with_hint("for other numbers than those from 0 pass ‹node_ids=string›"),
                )
            }
            _ => None,
        }
    }

    /// Records an id; `Err` describes a mistake in it.
    pub(crate) fn admit(&mut self, id: u64) -> Result<u64, Refusal> {
        if let Some(refusal) = self.refusal_of_id(id) {
            return Err(refusal);
        }
        if id >= self.end {
            (self.end, self.largest) = (id + 1, self.place);
        }
        Ok(id)
    }

    /// Sets the line or edge in which the next ids occur.
    pub(crate) fn at(&mut self, place: u64) {
        self.place = place;
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

/// The refusal of a missing value, or of a word for one.
fn missing(word: &str) -> Refusal {
    let problem = format!("the node is missing: {word}");
    Refusal::new(problem)
        .with_hint("every edge has a source and a destination, and every list names nodes")
}

fn not_an_id(word: &[u8]) -> Refusal {
    if is_missing(word.trim_ascii()) {
        return missing(&shown(word));
    }
    let refusal = Refusal::new(format!("{} is not a node id", shown(word)));
    refusal.with_hint(if parse_id(&with_or_without_decimals(word)).is_some() {
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
