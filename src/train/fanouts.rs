//! Fan-outs as users write them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::graph::PartitionBook;
use crate::sampling::stores::Fanout;
use crate::words::error::{Error, Result};

/// Fan-outs: number of in-edges drawn per node, one per layer, the input layer's first; negative numbers mean all.
///
/// Text form: `15,10`, or by edge type `writes=15,10;author:cites:paper=5,-1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fanouts {
    /// The same numbers for all edge types: per type if each type has its own layer (as in DGL), otherwise for all
    /// types together.
    Same(Vec<i64>),
    /// Numbers by edge type, `rel` or `src:rel:dst`; every type must be named.
    ByEtype(BTreeMap<String, Vec<i64>>),
}

impl Fanouts {
    /// Checks that the fan-outs are for `layers` layers. `field` is their name in messages.
    pub(super) fn check(&self, layers: usize, field: &str) -> Result<()> {
        let lists: Vec<(String, &Vec<i64>)> = match self {
            Fanouts::Same(list) => vec![(String::new(), list)],
            Fanouts::ByEtype(lists) => {
                lists.iter().map(|(name, list)| (format!(" of {name}"), list)).collect()
            }
        };
        let Some((name, list)) = lists.into_iter().find(|(_, list)| list.len() != layers) else {
            return Ok(());
        };
        let problem = format!("{} fan-outs{name} for {layers} layers", list.len());
        Err(Error::config(field, problem)
            .with_hint(format!("name one per layer, the input layer's first: ‹{field}=15,10,5›")))
    }

    /// Fan-out of each of `layers` layers, the input layer's first. `by_etype` says whether each edge type has its own
    /// layer; errors name `field`.
    ///
    /// # Errors
    /// If an edge type is unknown or missing.
    pub fn by_layer(
        &self,
        layers: usize,
        book: &PartitionBook,
        by_etype: bool,
        field: &str,
    ) -> Result<Vec<Fanout>> {
        let of_layer = |layer: usize| match self {
            Fanouts::Same(list) if by_etype => {
                Ok(Fanout::PerEtype(vec![list[layer]; book.etypes().len()]))
            }
            Fanouts::Same(list) => Ok(Fanout::Total(list[layer])),
            Fanouts::ByEtype(lists) => {
                let pairs: Vec<(&str, i64)> =
                    lists.iter().map(|(name, list)| (&**name, list[layer])).collect();
                Fanout::per_etype(book, &pairs).map_err(|error| {
                    let known: Vec<String> =
                        book.etypes().iter().map(ToString::to_string).collect();
                    let known = known.join(", ");
                    error.with_hint(format!(
                        "‹{field}› names each edge type once: {known}; 0 draws none"
                    ))
                })
            }
        };
        self.check(layers, field)?;
        (0..layers).map(of_layer).collect()
    }
}

/// The text that is parsed.
impl fmt::Display for Fanouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |list: &[i64]| list.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        match self {
            Fanouts::Same(same) => f.write_str(&list(same)),
            Fanouts::ByEtype(lists) => {
                let lists =
                    lists.iter().map(|(etype, fanouts)| format!("{etype}={}", list(fanouts)));
                f.write_str(&lists.collect::<Vec<_>>().join(";"))
            }
        }
    }
}

impl FromStr for Fanouts {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let list = |text: &str| -> Result<Vec<i64>> {
            let numbers = text.split(',').map(|number| number.trim().parse());
            numbers.collect::<std::result::Result<_, _>>().map_err(|_| {
                Error::config("sampling.fanouts", format!("{text:?} is not a list of numbers"))
                    .with_hint("write 15,10 or writes=15,10;cites=5,5")
            })
        };
        if !text.contains('=') {
            return list(text).map(Fanouts::Same);
        }
        let mut lists = BTreeMap::new();
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            let (name, numbers) = part.split_once('=').unwrap_or(("", part));
            if name.trim().is_empty() {
                return Err(Error::config(
                    "sampling.fanouts",
                    format!("{part:?} does not name an edge type"),
                )
                .with_hint("write writes=15,10;cites=5,5"));
            }
            if lists.insert(name.trim().to_owned(), list(numbers)?).is_some() {
                let problem = format!("edge type {} is named twice", name.trim());
                return Err(Error::config("sampling.fanouts", problem));
            }
        }
        Ok(Fanouts::ByEtype(lists))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::CanonicalEtype;

    #[test]
    fn one_list_is_for_all_edge_types_and_names_are_for_each() {
        let etypes = vec![CanonicalEtype::new("a", "r", "a"), CanonicalEtype::new("a", "s", "a")];
        let book = PartitionBook::new(vec!["a".into()], etypes, &[vec![1]], &[vec![0, 0]]).unwrap();
        let read = |text: &str, by_etype| {
            text.parse::<Fanouts>().unwrap().by_layer(2, &book, by_etype, "sampling.fanouts")
        };
        let same = read("15,-1", false).unwrap();
        assert_eq!(same, [Fanout::Total(15), Fanout::ALL]);
        let each = [Fanout::PerEtype(vec![15, 15]), Fanout::PerEtype(vec![-1, -1])];
        assert_eq!(read("15,-1", true).unwrap(), each);
        let named = [Fanout::PerEtype(vec![1, 3]), Fanout::PerEtype(vec![2, -1])];
        for text in ["r=1,2;s=3,-1", "a:s:a = 3, -1; r = 1, 2;"] {
            assert_eq!(read(text, true).unwrap(), named);
            assert_eq!(read(text, false).unwrap(), named);
        }
        assert!(read("r=1,2;t=1,2", true).unwrap_err().to_string().contains("t is unknown"));
        let error = read("r=1,2", true).unwrap_err();
        assert!(error.to_string().contains("a:s:a is missing"), "{error}");
        assert!(error.hint().unwrap_or_default().contains("a:r:a, a:s:a"));
        let twice = read("r=1,2;a:r:a=1,2;s=1,2", true).unwrap_err();
        assert!(twice.to_string().contains("is named twice"), "{twice}");
        assert!(read("1", true).unwrap_err().to_string().contains("1 fan-outs for 2 layers"));
        assert!(read("r=1,2;s=1", true).unwrap_err().to_string().contains("1 fan-outs of s"));
        for wrong in ["", "a,b", "r=1;r=2", "=1", "r=1;2", "r="] {
            assert!(wrong.parse::<Fanouts>().is_err(), "{wrong}");
        }
    }
}
