//! Names of columns that are usual for sources, destinations and ids.

/// Usual names for the two ends of an edge. Those of the second list can mean other things where the first list has names.
const ENDS: [&[[&str; 2]]; 2] = [
    &[
        ["source", "target"],
        ["source", "destination"],
        ["source", "dest"],
        ["src", "dst"],
        ["src", "dest"],
        ["src", "tgt"],
        ["from", "to"],
        ["head", "tail"],
    ],
    &[
        ["u", "v"],
        ["start", "end"],
        ["node1", "node2"],
        ["id1", "id2"],
        ["vertex1", "vertex2"],
        ["subject", "object"],
        ["citing", "cited"],
        ["parent", "child"],
        ["sender", "receiver"],
        ["follower", "followee"],
        ["row", "col"],
        ["i", "j"],
    ],
];

/// Usual names for a column of nodes.
const IDS: [&str; 10] =
    ["id", "ids", "node", "nodes", "nodeid", "nid", "nids", "vertex", "vertexid", "vid"];

/// A name in lower case, without separators between its words.
fn plain(name: &str) -> String {
    // neo4j writes `:START_ID(Person)`.
    let name = name.split_once('(').map_or(name, |(name, _)| name);
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The name of an end of an edge, without a word for nodes after it: `from` for `FromNodeId`.
fn plain_end(name: &str) -> String {
    let plain = plain(name);
    let ends = ["nodeid", "vertexid", "idx", "index", "ids", "id", "node", "vertex"];
    let short = ends.iter().find_map(|end| plain.strip_suffix(end));
    short.filter(|short| !short.is_empty()).map_or(plain.clone(), str::to_owned)
}

/// Places of the columns of sources and destinations that usual names show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsualEnds {
    /// No names are usual.
    None,
    /// Two are.
    Pair([usize; 2]),
    /// More than two are.
    Many,
}

/// Whether names are those of the ends of edges and of nothing else.
pub(crate) fn has_ends<'n>(names: impl Iterator<Item = &'n str>) -> bool {
    let names: Vec<String> = names.map(plain_end).collect();
    ENDS[0].iter().any(|pair| pair.iter().all(|end| names.iter().any(|name| name == end)))
}

/// Whether two columns of ends stand in the other order, as the name of one shows: `target, follower`.
pub(crate) fn are_turned([first, second]: [&str; 2]) -> bool {
    let is = |name: &str, end: usize| ENDS[0].iter().any(|pair| pair[end] == plain_end(name));
    is(first, 1) || is(second, 0)
}

/// Looks for usual names of sources and destinations.
pub(crate) fn usual_ends<'n>(names: impl Iterator<Item = &'n str>) -> UsualEnds {
    let names: Vec<String> = names.map(plain_end).collect();
    let places = |due: &str| (0..names.len()).filter(|&at| names[at] == due).collect::<Vec<_>>();
    for pairs in ENDS {
        let found = pairs.iter().map(|pair| pair.map(places));
        let found: Vec<_> = found.filter(|[a, b]| !a.is_empty() && !b.is_empty()).collect();
        match &found[..] {
            [] => {}
            [[source, target]] if source.len() == 1 && target.len() == 1 => {
                return UsualEnds::Pair([source[0], target[0]]);
            }
            _ => return UsualEnds::Many,
        }
    }
    UsualEnds::None
}

/// Whether a name is usual for a column of nodes.
pub(crate) fn is_usual_id(name: &str) -> bool {
    IDS.contains(&plain(name).as_str())
}

/// Whether a column has the name that pandas gives to the numbers of rows: none in text, or one of its own.
pub(crate) fn is_index(name: &str) -> bool {
    name.is_empty() || name.starts_with("__index_level_") || name.starts_with("Unnamed: ")
}

/// Names for a message.
pub(crate) fn listed(names: &[impl AsRef<str>]) -> String {
    /// Most of them.
    const LISTED: usize = 12;
    let shown: Vec<&str> = names.iter().take(LISTED).map(AsRef::as_ref).collect();
    let rest = names.len().saturating_sub(LISTED);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_known_in_any_case_and_order() {
        let ends = |names: &str| usual_ends(names.split(','));
        for names in
            ["source,target", "SRC_ID,x,dst_id", "# FromNodeId,ToNodeId", ":START_ID(A),:END_ID"]
        {
            assert!(matches!(ends(names), UsualEnds::Pair([0, _])), "{names}");
        }
        assert_eq!(ends("time,Target,Source"), UsualEnds::Pair([2, 1]));
        assert_eq!(ends("from,to,source,target"), UsualEnds::Many);
        assert_eq!(ends("ann,bob"), UsualEnds::None);
        assert!(is_usual_id("Node ID") && !is_usual_id("idea"));
    }
}
