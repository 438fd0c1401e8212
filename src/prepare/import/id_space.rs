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
        }
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
                Err(Error::config(&origin, problem))
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
    pub(super) fn id_of(&mut self, field: &[u8]) -> Result<Result<u64, String>> {
        if let Some(names) = &mut self.names {
            if field.contains(&b'\n') {
                let problem = "holds a line break, but a file of names has one name per line";
                return Ok(Err(format!("the name {} {problem}", shown(field))));
            }
            let id = names.id(field)?;
            return Ok(id.ok_or_else(|| format!("{} is not the name of a node", shown(field))));
        }
        let Some(id) = parse_id(field) else {
            return Ok(Err(format!("{} is not a node id", shown(field))));
        };
        Ok(self.admit(id))
    }

    /// Notes an id; `Err` describes what is wrong with it.
    pub(super) fn admit(&mut self, id: u64) -> Result<u64, String> {
        match &self.known {
            Some((count, origin)) if id >= *count => {
                return Err(format!(
                    "node {id} is beyond the {count} nodes of type {} that {} states",
                    self.name,
                    mark(origin)
                ));
            }
            None if id >= MAX_IDS => return Err(format!("node {id} is beyond 2^40 nodes")),
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
