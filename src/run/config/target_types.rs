//! The node types that a model predicts.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::graph::PartitionBook;
use crate::words::error::{Error, Result};

/// Names of the predicted node types, one or more. In text they are separated by commas; in a configuration file, one
/// name is a string and several are a list.
///
/// ```
/// use sar::run::config::TargetTypes;
///
/// let types: TargetTypes = "author,paper".parse()?;
/// assert_eq!(types, TargetTypes::new(["author", "paper"]));
/// assert_eq!(types.to_string(), "author,paper");
/// # Ok::<(), std::convert::Infallible>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OneOrSeveral", into = "OneOrSeveral")]
pub struct TargetTypes(Vec<String>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrSeveral {
    One(String),
    Several(Vec<String>),
}

impl From<OneOrSeveral> for TargetTypes {
    fn from(names: OneOrSeveral) -> Self {
        match names {
            OneOrSeveral::One(name) => TargetTypes(vec![name]),
            OneOrSeveral::Several(names) => TargetTypes(names),
        }
    }
}

impl From<TargetTypes> for OneOrSeveral {
    fn from(TargetTypes(mut names): TargetTypes) -> Self {
        match names.len() {
            1 => OneOrSeveral::One(names.remove(0)),
            _ => OneOrSeveral::Several(names),
        }
    }
}

impl FromStr for TargetTypes {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        Ok(TargetTypes::new(text.split(',')))
    }
}

impl fmt::Display for TargetTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

impl TargetTypes {
    /// The types with these names.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        TargetTypes(names.into_iter().map(Into::into).collect())
    }

    /// The names.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Whether there are several types.
    pub fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// The ids of the types, ascending.
    pub(in crate::run) fn ids(&self, book: &PartitionBook) -> Result<Vec<usize>> {
        if self.0.is_empty() {
            return Err(Error::config("target", "names no node types")
                .with_hint("leave it out for the type with labels"));
        }
        let ids = self.0.iter().map(|name| type_id(book, name));
        let mut ids: Vec<usize> = ids.collect::<Result<_>>()?;
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            let problem = format!("names node type {:?} twice", book.ntypes()[twice[0]]);
            return Err(Error::config("target", problem).with_hint("name each type once"));
        }
        Ok(ids)
    }
}

/// The id of a node type.
pub(in crate::run) fn type_id(book: &PartitionBook, name: &str) -> Result<usize> {
    book.ntype_id(name).ok_or_else(|| {
        Error::config("relations.target", format!("the graph has no node type {name:?}"))
            .with_hint(format!("its node types are {}", book.ntypes().join(", ")))
    })
}
