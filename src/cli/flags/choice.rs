//! Flags whose values are an enum of the library.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::words::choice::Choice;
use crate::words::error::Error;

/// A parser of an enum's value names. Help lists them with their descriptions.
pub(in crate::cli) fn choice<T: Choice>() -> impl TypedValueParser<Value = T> {
    let values = T::VALUES.iter().map(|named| PossibleValue::new(named.name).help(named.help));
    PossibleValuesParser::new(values)
        .try_map(|name| T::named(&name).ok_or_else(|| Error::internal("a value has no name")))
}
