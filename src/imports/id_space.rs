//! The nodes of one type while their number is not known yet.

use super::node_names::NodeNames;
use super::raw_edges::MAX_IDS;
use super::text::{parse_id, shown, unquoted};
use crate::error::{Error, Result};

/// The ids of one node type.
#[derive(Debug)]
pub(super) struct IdSpace {
    /// The type.
    pub(super) name: String,
    /// How many there are and who says so, once that is known.
    known: Option<(u64, String)>,
    /// One above the largest id that occurred.
    end: u64,
    names: Option<NodeNames>,
}

impl IdSpace {
    pub(super) fn new(name: &str, names: Option<NodeNames>) -> Self {
        IdSpace { name: name.to_owned(), known: None, end: 0, names }
    }

    /// Takes note of a number of nodes that `origin` tells.
    ///
    /// # Errors
    /// Another number was told before.
    pub(super) fn tell(&mut self, count: u64, origin: String) -> Result<()> {
        if count > MAX_IDS {
            return Err(Error::config(
                &origin,
                format!("tells of {count} nodes, which is too many"),
            )
            .with_hint("2^40 nodes are possible"));
        }
        match &self.known {
            Some((known, first)) if *known != count => {
                let problem =
                    format!("tells of {count} nodes of type {}, but {first} of {known}", self.name);
                Err(Error::config(&origin, problem))
            }
            Some(_) => Ok(()),
            None => {
                self.known = Some((count, origin));
                Ok(())
            }
        }
    }

    /// Whether nodes are named by strings.
    pub(super) fn is_named(&self) -> bool {
        self.names.is_some()
    }

    /// The id that a field of text stands for; `Err` holds what is wrong with it.
    pub(super) fn id_of(&mut self, field: &[u8]) -> Result<Result<u64, String>> {
        let field = unquoted(field);
        if let Some(names) = &mut self.names {
            let id = names.id(&field)?;
            return Ok(id.ok_or_else(|| format!("{} is the name of no node", shown(&field))));
        }
        let Some(id) = parse_id(&field) else {
            return Ok(Err(format!("{} is no node id", shown(&field))));
        };
        Ok(self.admit(id))
    }

    /// Takes note of an id; `Err` holds what is wrong with it.
    pub(super) fn admit(&mut self, id: u64) -> Result<u64, String> {
        match &self.known {
            Some((count, origin)) if id >= *count => {
                return Err(format!(
                    "node {id} is beyond the {count} nodes of type {} that {origin} tells of",
                    self.name
                ));
            }
            None if id >= MAX_IDS => return Err(format!("node {id} is beyond 2^40 nodes")),
            _ => {}
        }
        self.end = self.end.max(id + 1);
        Ok(id)
    }

    /// Whether the number of nodes need not be found out.
    pub(super) fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// The number of nodes, once all edges have been read.
    pub(super) fn count(&self) -> u64 {
        let named = self.names.as_ref().map(NodeNames::len);
        self.known.as_ref().map(|(count, _)| *count).or(named).unwrap_or(self.end)
    }

    /// Ends the reading of edges: from here on there are as many nodes as those named.
    pub(super) fn settle(&mut self) {
        let count = self.count();
        self.known.get_or_insert((count, "the largest id of the edges".to_owned()));
        if let Some(names) = &mut self.names {
            names.close();
        }
    }

    /// The names, if nodes have some.
    pub(super) fn into_names(self) -> Option<NodeNames> {
        self.names
    }
}
