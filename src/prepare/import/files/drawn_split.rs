//! Splits drawn at random, or made by the order of a column.

use std::path::Path;
use std::str::FromStr;

use super::column_of::ColumnOf;
use crate::graph::CanonicalEtype;
use crate::words::error::{Error, Result};

/// Tolerance of the sum of shares above 1, for rounded decimal fractions.
const ROUNDING: f64 = 1e-9;

/// The shares of training, validation and test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitShares {
    /// Share of training.
    pub train: f64,
    /// Share of validation.
    pub val: f64,
    /// Share of the test.
    pub test: f64,
}

impl FromStr for SplitShares {
    type Err = Error;

    /// Parses `TRAIN,VAL,TEST`.
    fn from_str(text: &str) -> Result<Self> {
        SplitShares::of_field("split", "", text)
    }
}

impl SplitShares {
    /// The default shares of a split by a column.
    pub const USUAL: Self = SplitShares { train: 0.8, val: 0.1, test: 0.1 };

    /// Parses `TRAIN,VAL,TEST` of a field, after a prefix.
    fn of_field(field: &str, prefix: &str, text: &str) -> Result<Self> {
        let wrong = |problem: &str| {
            Error::config(field, format!("{text:?} {problem}")).with_hint(format!(
                "pass the shares of training, validation and test, such as {prefix}0.6,0.2,0.2"
            ))
        };
        let shares = text.split(',').map(|share| share.trim().parse().ok());
        let shares: Option<Vec<f64>> = shares.collect();
        let Some([train, val, test]) = shares.as_deref() else {
            return Err(wrong("does not hold three shares"));
        };
        let shares = [*train, *val, *test];
        if !shares.iter().all(|share| (0.0..=1.0).contains(share)) {
            return Err(wrong("holds a share that is not between 0 and 1"));
        }
        if shares.iter().sum::<f64>() > 1.0 + ROUNDING {
            return Err(wrong("holds shares whose sum is above 1"));
        }
        if *train == 0.0 {
            return Err(wrong("leaves nothing to train on"));
        }
        Ok(SplitShares { train: *train, val: *val, test: *test })
    }
}

/// The order in which training, validation and test follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitOrder {
    /// Random.
    Random {
        /// Seed of the order.
        seed: u64,
    },
    /// By the values of a column, such as times.
    Column(String),
}

/// A split of nodes or of edges by shares.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnSplit {
    /// Type of the nodes, or of the edges as `SRC:REL:DST`; `None` if the flag names none.
    pub ty: Option<String>,
    /// The order of the nodes or edges.
    pub order: SplitOrder,
    /// The shares that make masks.
    pub shares: SplitShares,
}

impl DrawnSplit {
    /// Parses `[TYPE=]random:TRAIN,VAL,TEST`; `None` for other texts.
    ///
    /// # Errors
    /// If the shares are not three numbers of sum 1 or less, or the text holds shares without `random:`.
    pub fn parse_random(text: &str, seed: u64) -> Result<Option<Self>> {
        let (ty, rest) = text.split_once('=').map_or((None, text), |(ty, rest)| (Some(ty), rest));
        let Some(shares) = rest.strip_prefix("random:") else {
            return if is_shares(text, rest) { Err(unknown_order(text)) } else { Ok(None) };
        };
        let (ty, order) = (ty.map(str::to_owned), SplitOrder::Random { seed });
        let shares = SplitShares::of_field("split", "random:", shares)?;
        Ok(Some(DrawnSplit { ty, order, shares }))
    }

    /// Parses `[TYPE=]COLUMN[:TRAIN,VAL,TEST]`. The text before the first `=` is a type if it is a name of an edge type, or
    /// if `is_type` says so.
    ///
    /// # Errors
    /// If the column has no name, or the shares are not three numbers of sum 1 or less.
    pub fn parse_column(text: &str, is_type: impl FnOnce(&str) -> bool) -> Result<Self> {
        let is_any = |ty: &str| CanonicalEtype::parse(ty).is_some() || is_type(ty);
        let ColumnOf { ty, column } = ColumnOf::parse(text, |ty| is_any(ty).then(|| ty.to_owned()));
        let shares = column.rsplit_once(':').filter(|(_, shares)| shares.contains(','));
        let (column, shares) = match shares {
            Some((column, shares)) => {
                (column, SplitShares::of_field("split_by", "COLUMN:", shares)?)
            }
            None => (column.as_str(), SplitShares::USUAL),
        };
        if column.is_empty() {
            return Err(Error::config("split_by", format!("{text:?} does not name a column")));
        }
        Ok(DrawnSplit { ty, order: SplitOrder::Column(column.to_owned()), shares })
    }

    /// The edge type, if the split names one.
    pub(crate) fn etype(&self) -> Option<CanonicalEtype> {
        self.ty.as_deref().and_then(CanonicalEtype::parse)
    }

    /// The column of node tables by which nodes are ordered, if the split may divide nodes.
    pub(crate) fn column_of_nodes(&self) -> Option<ColumnOf<String>> {
        let column = self.column().filter(|_| self.etype().is_none())?;
        Some(ColumnOf { ty: self.ty.clone(), column: column.to_owned() })
    }

    /// Whether the split may divide edges of a type. Without a type, only a split by column may.
    pub(crate) fn is_of_edges(&self, etype: &CanonicalEtype) -> bool {
        match &self.ty {
            Some(_) => self.etype().as_ref() == Some(etype),
            None => self.column().is_some(),
        }
    }

    /// The flag that makes the split.
    pub(crate) fn field(&self) -> &'static str {
        if self.column().is_some() { "split_by" } else { "split" }
    }

    /// An error about the flag of the split.
    pub(crate) fn fail(&self, problem: impl Into<String>) -> Error {
        Error::config(self.field(), problem)
    }

    /// The error if nothing has the column of the split.
    pub(crate) fn missing_column(&self) -> Error {
        let column = self.column().unwrap_or_default();
        self.fail(format!("no nodes or edges have a column {column}")).with_hint(
            "name a column of a node table or of a file of edges, or an array of ‹node_data›",
        )
    }

    /// The column whose values order nodes or edges.
    pub(crate) fn column(&self) -> Option<&str> {
        match &self.order {
            SplitOrder::Random { .. } => None,
            SplitOrder::Column(column) => Some(column),
        }
    }
}

/// Whether a text holds shares of nodes or edges, such as `0.8,0.1,0.1`, `train=0.8` or `val=5%,test=10%`, and does not name
/// a file. A whole number may be the name of a column.
fn is_shares(text: &str, file: &str) -> bool {
    let is_number = |part: &str| {
        let value = part.rsplit('=').next().unwrap_or(part).trim();
        value.strip_suffix('%').unwrap_or(value).parse::<f64>().is_ok_and(f64::is_finite)
    };
    let has_shares = text.contains([',', '.', '%']) && text.split(',').all(is_number);
    text == "random" || has_shares && !Path::new(file).exists()
}

/// The error for shares without the order in which nodes or edges are divided.
fn unknown_order(text: &str) -> Error {
    let problem = format!("{text:?} is neither a file nor a column");
    Error::config("split", problem).with_hint(
        "for random masks, pass ‹split=random:0.8,0.1,0.1›; to hold out edges, train with ‹link›; a column with this name needs its \
         type, ‹split=TYPE=COLUMN›",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_three_numbers_up_to_one() {
        let parse = |text: &str| DrawnSplit::parse_random(text, 0);
        let split = parse("paper=random:0.6,0.2,0.2").unwrap().unwrap();
        assert_eq!((split.ty.as_deref(), split.shares.val), (Some("paper"), 0.2));
        for other in ["train=x.csv", "paper=1", "2020", "year,month", "Random"] {
            assert!(parse(other).unwrap().is_none(), "{other}");
        }
        for wrong in ["random", "0.8,0.1,0.1", "train=0.8", "val=5%,test=10%", "paper=.5,.25,.25"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0.6,0.2", "0.6,0.3,0.2", "0,0.5,0.5", "a,b,c", "-0.1,0.5,0.5", "nan,0,0"] {
            assert!(parse(&format!("random:{wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn columns_may_hold_colons() {
        let parse = |text| DrawnSplit::parse_column(text, |ty| ty == "a").unwrap();
        let split = parse("a=wdt:P5:0.5,0.25,0.25");
        assert_eq!((split.column(), split.shares.train), (Some("wdt:P5"), 0.5));
        assert_eq!(parse("b=wdt:P5").column(), Some("b=wdt:P5"));
    }
}
