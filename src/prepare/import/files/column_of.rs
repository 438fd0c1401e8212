//! Columns selected by name, for one type or all.

use crate::words::error::{Error, Result};

/// The name of a column in the tables of one type, or of all types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnOf<T> {
    /// Type of nodes or edges; `None` for all types without a selection of their own.
    pub ty: Option<T>,
    /// Name of the column.
    pub column: String,
}

impl<T: PartialEq> ColumnOf<T> {
    /// Parses `COLUMN` or `TYPE=COLUMN`. The text before the first `=` is a type if `parse` accepts it.
    pub fn parse(text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Self {
        let typed = text.split_once('=').and_then(|(ty, column)| Some((parse(ty)?, column)));
        let (ty, column) = typed.map_or((None, text), |(ty, column)| (Some(ty), column));
        ColumnOf { ty, column: column.to_owned() }
    }

    /// Whether the choice is for a type.
    pub(crate) fn is_for(&self, ty: &T) -> bool {
        self.ty.as_ref().is_none_or(|own| own == ty)
    }

    /// The column that `choices`, the values of `field`, select for a type; a selection for the type precedes one for
    /// all types.
    pub(crate) fn one<'c>(field: &str, choices: &'c [Self], ty: &T) -> Result<Option<&'c str>> {
        for own in [true, false] {
            let of = |choice: &&Self| choice.ty.is_some() == own && choice.is_for(ty);
            let mut found = choices.iter().filter(of);
            if let Some(first) = found.next() {
                return match found.next() {
                    None => Ok(Some(&first.column)),
                    Some(second) => {
                        let problem =
                            format!("names two columns: {} and {}", first.column, second.column);
                        Err(Error::config(field, problem).with_hint("name one"))
                    }
                };
            }
        }
        Ok(None)
    }
}
