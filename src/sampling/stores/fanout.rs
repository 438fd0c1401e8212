//! The number of in-edges that are drawn per node.

use crate::graph::PartitionBook;
use crate::words::error::{Error, Result};

/// A layer's fan-out: number of in-edges drawn per node, over all edge types together or per type. Negative numbers
/// mean all in-edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fanout {
    /// Over all edge types together.
    Total(i64),
    /// Per edge type, by id.
    PerEtype(Vec<i64>),
}

impl Fanout {
    /// The fan-out that takes all in-edges.
    pub const ALL: Fanout = Fanout::Total(-1);

    /// Fan-outs by edge type, from the types' names, like DGL's dictionaries; every type must be named.
    ///
    /// # Errors
    /// If a type is unknown, missing or named twice.
    pub fn per_etype(book: &PartitionBook, fanouts: &[(&str, i64)]) -> Result<Self> {
        let mut by_type = vec![None; book.etypes().len()];
        for (name, fanout) in fanouts {
            if by_type[book.get_etype_id(name)?].replace(*fanout).is_some() {
                return Err(Error::config("fan-outs", format!("edge type {name} is named twice")));
            }
        }
        let named = by_type.into_iter().zip(book.etypes()).map(|(fanout, etype)| {
            fanout.ok_or_else(|| Error::config("fan-outs", format!("edge type {etype} is missing")))
        });
        Ok(Fanout::PerEtype(named.collect::<Result<_>>()?))
    }
}

impl From<i64> for Fanout {
    fn from(fanout: i64) -> Self {
        Fanout::Total(fanout)
    }
}
