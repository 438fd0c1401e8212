//! The edge type whose edges are predicted.

use crate::graph::{CanonicalEtype, PartitionBook};
use crate::words::error::{Error, Result};

/// Prefix of the names of reverse relations, as DGL's `AddReverse` names them.
const REVERSE: &str = "rev_";

/// The edge type whose edges are predicted, and the type of their reverses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetEdges {
    /// Id of the predicted edge type.
    pub etype: usize,
    /// Id of the edge type with the reverse edges, if there is one.
    pub reverse: Option<usize>,
}

impl TargetEdges {
    /// The edge type with this name, `rel` or `src:rel:dst`. Its reverse is the named type or, by default, `rev_<rel>`
    /// (for `rev_<rel>`: `rel`).
    ///
    /// # Errors
    /// If a name is unknown or ambiguous, or the reverse does not join the same node types.
    pub fn find(book: &PartitionBook, target: &str, reverse: Option<&str>) -> Result<Self> {
        let etype = named(book, target, "link.target_etype")?;
        let CanonicalEtype { src, rel, dst } = &book.etypes()[etype];
        let Some(reverse) = reverse else {
            let name = rel.strip_prefix(REVERSE);
            let name = name.map_or_else(|| format!("{REVERSE}{rel}"), ToOwned::to_owned);
            let reverse = book.etype_id(&CanonicalEtype::new(dst, &name, src));
            return Ok(TargetEdges { etype, reverse });
        };
        let field = "link.reverse_etype";
        let reverse = named(book, reverse, field)?;
        let found = &book.etypes()[reverse];
        if reverse == etype || (&found.src, &found.dst) != (dst, src) {
            let problem = format!("{found} does not hold the reverses of {}", book.etypes()[etype]);
            return Err(Error::config(field, problem).with_hint(format!(
                "name another edge type from {dst} to {src}, or leave it out"
            )));
        }
        Ok(TargetEdges { etype, reverse: Some(reverse) })
    }

    /// Edge types that are held back: the predicted type and its reverse.
    pub fn etypes(self) -> impl Iterator<Item = usize> {
        std::iter::once(self.etype).chain(self.reverse)
    }

    /// Edge types that are predicted if none is named, ascending: all except those from [a column's
    /// values](CanonicalEtype::of_column), which receive no messages.
    pub fn usual(book: &PartitionBook) -> Vec<usize> {
        let receives = |ntype: &str| book.etypes().iter().any(|etype| etype.dst == ntype);
        let is_usual = |etype: &CanonicalEtype| {
            *etype != CanonicalEtype::of_column(&etype.src, &etype.dst) || receives(&etype.src)
        };
        let all = 0..book.etypes().len();
        let usual: Vec<usize> = all.clone().filter(|i| is_usual(&book.etypes()[*i])).collect();
        if usual.is_empty() { all.collect() } else { usual }
    }

    /// Whether edges of each type are held back: those of `target`, or of the [usual](Self::usual) types.
    pub(super) fn held_back(target: Option<Self>, book: &PartitionBook) -> Vec<bool> {
        let held = target.map_or_else(|| TargetEdges::usual(book), |of| of.etypes().collect());
        let mut marks = vec![false; book.etypes().len()];
        for etype in held {
            marks[etype] = true;
        }
        marks
    }
}

fn named(book: &PartitionBook, name: &str, field: &str) -> Result<usize> {
    book.get_etype_id(name).map_err(|error| {
        let known: Vec<String> = book.etypes().iter().map(ToString::to_string).collect();
        error.with_hint(format!("‹{field}› names one of: {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_from_values_of_columns_are_not_predicted_by_default() {
        let etype = CanonicalEtype::new;
        let [of_city, of_tag] = ["city", "tag"].map(|name| CanonicalEtype::of_column(name, "n"));
        let knows = || etype("n", "knows", "n");
        for (etypes, usual) in [
            (vec![of_city.clone(), knows(), of_tag.clone()], vec![1]),
            (vec![of_city.clone(), knows(), etype("n", "likes", "n")], vec![1, 2]),
            (vec![of_city.clone(), etype("n", "in", "city")], vec![0, 1]),
            (vec![of_city.clone(), of_tag], vec![0, 1]),
            (vec![of_city], vec![0]),
            (vec![knows()], vec![0]),
        ] {
            let names = ["city", "n", "tag"].map(str::to_owned).to_vec();
            let edges = vec![0; etypes.len()];
            let book = PartitionBook::new(names, etypes, &[vec![1, 1, 1]], &[edges]).unwrap();
            assert_eq!(TargetEdges::usual(&book), usual);
        }
    }

    #[test]
    fn reverses_are_found_by_their_name_or_named() {
        let etype = CanonicalEtype::new;
        let etypes = vec![
            etype("item", "rev_buys", "user"),
            etype("user", "buys", "item"),
            etype("user", "knows", "user"),
            etype("user", "knows", "item"),
        ];
        let names = vec!["item".to_owned(), "user".to_owned()];
        let book = PartitionBook::new(names, etypes, &[vec![1, 1]], &[vec![0; 4]]).unwrap();
        let find = |target: &str, reverse| TargetEdges::find(&book, target, reverse);
        let (buys, back) = (1, Some(0));
        assert_eq!(find("buys", None).unwrap(), TargetEdges { etype: buys, reverse: back });
        assert_eq!(find("rev_buys", None).unwrap(), TargetEdges { etype: 0, reverse: Some(1) });
        let alone = find("user:knows:user", None).unwrap();
        assert_eq!(alone, TargetEdges { etype: 2, reverse: None });
        let named = find("user:knows:item", Some("rev_buys")).unwrap();
        assert_eq!(named, TargetEdges { etype: 3, reverse: Some(0) });
        let error = find("user:knows:user", Some("user:knows:user")).unwrap_err();
        assert!(error.to_string().contains("does not hold the reverses"), "{error}");
    }
}
