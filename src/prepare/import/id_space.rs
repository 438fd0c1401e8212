//! The nodes of one type while their number is not known yet.

use std::path::{Path, PathBuf};

use super::node_names::NodeNames;
use super::raw_edges::MAX_IDS;
use super::text::{parse_id, shown};
use crate::error::{Error, Result};
use crate::fields::mark;

/// Number of nodes that is accepted for any number of edges: they take little memory.
const USUAL: u64 = 1 << 24;
/// Largest number of nodes per edge, for more nodes than that.
const FEWEST_EDGES: u64 = 100;

/// What to do with a list of nodes.
pub(super) const LIST: &str =
    "a mask has a row of 0 or 1 for every node; pass a list of nodes as ‹split=train=FILE›";

/// What to do with ids such as `17.0`, which are what a column of whole numbers becomes where a value is missing.
const DECIMALS: &str = "write ids without decimals (in pandas: `astype(\"Int64\")`)";

/// Whether node data with such a description is a mask.
fn is_mask(origin: &str) -> bool {
    origin.starts_with("node_data=") && origin.ends_with("mask")
}

/// The reason why a file's word for a node is refused.
#[derive(Debug)]
pub(super) struct Refusal {
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

    /// The error that `fail` makes of it.
    pub(super) fn error(self, fail: impl FnOnce(String) -> Error) -> Error {
        let error = fail(self.problem);
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// The ids of one node type.
#[derive(Debug)]
pub(super) struct IdSpace {
    /// Name of the type.
    pub(super) name: String,
    /// The number of nodes and its origin, once it is known.
    known: Option<(u64, String)>,
    /// One above the largest id that occurred.
    end: u64,
    /// Number of the line or edge that is being read.
    place: u64,
    /// Place of the largest id, and its file once that has been read.
    largest: u64,
    largest_in: Option<(PathBuf, &'static str)>,
    names: Option<NodeNames>,
    /// The file that lists all nodes, if there is one.
    listed_in: Option<PathBuf>,
}

impl IdSpace {
    pub(super) fn new(name: &str, names: Option<NodeNames>) -> Self {
        IdSpace {
            name: name.to_owned(),
            known: None,
            end: 0,
            place: 0,
            largest: 0,
            largest_in: None,
            names,
            listed_in: None,
        }
    }

    /// Notes the file that lists all nodes.
    pub(super) fn is_listed_in(&mut self, path: &Path) {
        self.listed_in = Some(path.to_owned());
    }

    /// Notes a number of nodes that `origin` states.
    ///
    /// # Errors
    /// If another number was stated before.
    pub(super) fn tell(&mut self, count: u64, origin: String) -> Result<()> {
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
                Err(if is_mask(first) || is_mask(&origin) { error.with_hint(LIST) } else { error })
            }
            Some(_) => Ok(()),
            None => {
                self.known = Some((count, origin));
                Ok(())
            }
        }
    }

    /// Whether nodes are identified by strings.
    pub(super) fn is_named(&self) -> bool {
        self.names.is_some()
    }

    /// The id that a field of text stands for; `Err` describes what is wrong with it.
    pub(super) fn id_of(&mut self, field: &[u8]) -> Result<Result<u64, Refusal>> {
        if let Some(names) = &mut self.names {
            if field.contains(&b'\n') {
                let problem = "holds a line break, but a file of names has one name per line";
                return Ok(Err(Refusal::new(format!("the name {} {problem}", shown(field)))));
            }
            if let Some(id) = names.id(field)? {
                return Ok(Ok(id));
            }
            let refusal = Refusal::new(format!("{} is not the name of a node", shown(field)));
            let twin = with_or_without_decimals(field);
            let is_listed = names.id(&twin)?.is_some();
            return Ok(Err(match &self.listed_in {
                Some(path) if is_listed => {
                    let listed = format!("{} lists {}", path.display(), shown(&twin));
                    refusal.with_hint(&format!("{listed}; {DECIMALS}"))
                }
                Some(path) => refusal.with_hint(&format!("{} lists all nodes", path.display())),
                None => refusal,
            }));
        }
        let Some(id) = parse_id(field) else {
            let refusal = Refusal::new(format!("{} is not a node id", shown(field)));
            return Ok(Err(refusal.with_hint(
                if parse_id(&with_or_without_decimals(field)).is_some() {
                    DECIMALS
                } else {
                    "nodes are numbered from 0; if they have names or other numbers, pass \
                 ‹node_ids=string›"
                },
            )));
        };
        Ok(self.admit(id))
    }

    /// The id that a number in a file stands for; where nodes have names, it is the name. `Err` describes what is wrong with it.
    pub(super) fn id_of_number(&mut self, number: u64) -> Result<Result<u64, Refusal>> {
        if self.is_named() {
            self.id_of(number.to_string().as_bytes())
        } else {
            Ok(self.admit(number))
        }
    }

    /// Notes an id; `Err` describes what is wrong with it.
    pub(super) fn admit(&mut self, id: u64) -> Result<u64, Refusal> {
        match &self.known {
            Some((count, origin)) if id >= *count => {
                let refusal = Refusal::new(format!(
                    "node {id} is beyond the {count} nodes of type {} that {} states",
                    self.name,
                    mark(origin)
                ));
                return Err(if is_mask(origin) { refusal.with_hint(LIST) } else { refusal });
            }
            None if id >= MAX_IDS => {
                return Err(Refusal::new(format!("node {id} is beyond 2^40 nodes")));
            }
            _ => {}
        }
        if id >= self.end {
            (self.end, self.largest) = (id + 1, self.place);
        }
        Ok(id)
    }

    /// Sets the line or edge in which the next ids occur.
    pub(super) fn at(&mut self, place: u64) {
        self.place = place;
    }

    /// One above the largest id so far.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Notes that a file has been read after which the largest id was no longer below `end`; places are its lines, or edges.
    pub(super) fn has_read(&mut self, path: &Path, unit: &'static str, end: u64) {
        if self.end > end {
            self.largest_in = Some((path.to_owned(), unit));
        }
    }

    /// Checks that the number of nodes is credible if only the edges determine it.
    ///
    /// # Errors
    /// If the largest id is far beyond what the number of edges suggests.
    pub(super) fn check_largest(&self, edges: u64) -> Result<()> {
        let Some((path, unit)) = &self.largest_in else { return Ok(()) };
        if self.known.is_some() || self.names.is_some() {
            return Ok(());
        }
        if self.end <= USUAL || self.end / FEWEST_EDGES <= edges {
            return Ok(());
        }
        let problem = format!(
            "node {} would be one of {} nodes, but there are {edges} edges",
            self.end - 1,
            self.end
        );
        let hint = "nodes are numbered from 0 without gaps. For other numbers give ‹node_ids=string›; \
                    if there are so many nodes, say so with ‹num_nodes=N›";
        Err(Error::input(path, &format!("{unit} {}", self.largest), problem).with_hint(hint))
    }

    /// Number of nodes with names so far, if names are not known beforehand; otherwise 0.
    pub(super) fn new_names(&self) -> u64 {
        self.names.as_ref().filter(|names| names.is_open()).map_or(0, NodeNames::len)
    }

    /// Whether the number of nodes is known already.
    pub(super) fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// The number of nodes, once all edges have been read.
    pub(super) fn count(&self) -> u64 {
        let named = self.names.as_ref().map(NodeNames::len);
        self.known.as_ref().map(|(count, _)| *count).or(named).unwrap_or(self.end)
    }

    /// Ends the reading of edges: from here on the nodes that have occurred are all nodes.
    pub(super) fn settle(&mut self) {
        let count = self.count();
        self.known.get_or_insert((count, "the largest id of the edges".to_owned()));
        if let Some(names) = &mut self.names {
            names.close();
        }
    }

    /// The names, if nodes are identified by strings.
    pub(super) fn into_names(self) -> Option<NodeNames> {
        self.names
    }
}

/// The same number as other programs write it: `17.0` for `17`, and `17` for `17.0`.
fn with_or_without_decimals(field: &[u8]) -> Vec<u8> {
    field.strip_suffix(b".0").map_or_else(|| [field, b".0"].concat(), <[u8]>::to_vec)
}
