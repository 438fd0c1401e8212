//! The full name of an edge type.

use std::cmp::Ordering;
use std::fmt;

/// An edge type: a relation with the node types at its ends. Relation names may repeat in a graph; this triple is
/// unique. Partitions number edge types in the order of `Ord`: by source type, relation and destination type, as text;
/// relations that are whole numbers come first, by value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CanonicalEtype {
    /// Type of the source nodes.
    pub src: String,
    /// Name of the relation.
    pub rel: String,
    /// Type of the destination nodes.
    pub dst: String,
}

impl CanonicalEtype {
    /// Makes a triple from three names.
    pub fn new(src: &str, rel: &str, dst: &str) -> Self {
        CanonicalEtype { src: src.to_owned(), rel: rel.to_owned(), dst: dst.to_owned() }
    }

    /// The relation from the values of a column, which are nodes of a type with its name, to the nodes of a type that have them.
    pub fn of_column(column: &str, ntype: &str) -> Self {
        CanonicalEtype::new(column, &format!("{column}_of"), ntype)
    }

    /// Parses `src:rel:dst`. `None` unless there are exactly three parts.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        match parts[..] {
            [src, rel, dst] => Some(Self::new(src, rel, dst)),
            _ => None,
        }
    }

    /// The order of edge types. Of numbers without leading zeros, those with fewer digits are smaller.
    fn sort_key(&self) -> impl Ord + '_ {
        let CanonicalEtype { src, rel, dst } = self;
        let is_number = !rel.is_empty() && rel.bytes().all(|byte| byte.is_ascii_digit());
        let digits = if is_number { rel.trim_start_matches('0') } else { "" };
        (src, !is_number, digits.len(), digits, rel, dst)
    }
}

impl Ord for CanonicalEtype {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sort_key().cmp(&other.sort_key())
    }
}

impl PartialOrd for CanonicalEtype {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for CanonicalEtype {
    /// Writes `src:rel:dst`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.src, self.rel, self.dst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canonical_name_survives_the_way_through_text() {
        let etype = CanonicalEtype::new("author", "writes", "paper");
        assert_eq!(CanonicalEtype::parse(&etype.to_string()), Some(etype));
    }

    #[test]
    fn relations_that_are_numbers_are_ordered_by_value() {
        let due = ["0", "02", "2", "9", "10", "18446744073709551616", "+1", "1a", "a10", "a9"];
        let mut found = due.map(|rel| CanonicalEtype::new("a", rel, "b"));
        found.reverse();
        found.sort();
        assert_eq!(found.map(|etype| etype.rel), due);
        assert!(CanonicalEtype::new("a", "x", "b") < CanonicalEtype::new("b", "1", "a"));
    }

    #[test]
    fn a_short_name_is_not_canonical() {
        assert_eq!(CanonicalEtype::parse("writes"), None);
        assert_eq!(CanonicalEtype::parse("a:b:c:d"), None);
    }
}
