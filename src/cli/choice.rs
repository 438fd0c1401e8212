//! Flags whose values are those of a library's enum.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::choice::Choice;
use crate::error::Error;

/// A parser of the names of an enum's values. Help lists them with their descriptions.
pub(super) fn choice<T: Choice>() -> impl TypedValueParser<Value = T> {
    let values = T::VALUES.iter().map(|named| PossibleValue::new(named.name).help(named.help));
    PossibleValuesParser::new(values)
        .try_map(|name| T::named(&name).ok_or_else(|| Error::internal("a value has no name")))
}
