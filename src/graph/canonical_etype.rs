//! The full name of an edge type.

use std::fmt;

/// An edge type: a relation with the node types at its ends. Relation names may repeat in a graph; this triple is
/// unique.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    fn a_short_name_is_not_canonical() {
        assert_eq!(CanonicalEtype::parse("writes"), None);
        assert_eq!(CanonicalEtype::parse("a:b:c:d"), None);
    }
}
