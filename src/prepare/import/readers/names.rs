//! Usual column names of sources, destinations and ids.

/// Usual names of an edge's two ends. The second list's names can mean other things if the first list has a match.
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

/// Usual names of a column of nodes.
const IDS: [&str; 10] =
    ["id", "ids", "node", "nodes", "nodeid", "nid", "nids", "vertex", "vertexid", "vid"];

/// The name in lower case, without separators between words.
fn plain(name: &str) -> String {
    // neo4j writes `:START_ID(Person)`.
    let name = name.split_once('(').map_or(name, |(name, _)| name);
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The name of an edge's end, without a trailing word for nodes: `from` for `FromNodeId`.
fn plain_end(name: &str) -> String {
    let plain = plain(name);
    let ends = ["nodeid", "vertexid", "idx", "index", "ids", "id", "node", "vertex"];
    let short = ends.iter().find_map(|end| plain.strip_suffix(end));
    short.filter(|short| !short.is_empty()).map_or(plain.clone(), str::to_owned)
}

/// Columns of sources and destinations, as found by usual names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsualEnds {
    /// No column has a usual name.
    None,
    /// Two columns have one.
    Pair([usize; 2]),
    /// More than two columns have one.
    Many,
}

/// Whether the names are edge ends' names and nothing else.
pub(crate) fn has_ends<'n>(names: impl Iterator<Item = &'n str>) -> bool {
    let names: Vec<String> = names.map(plain_end).collect();
    ENDS[0].iter().any(|pair| pair.iter().all(|end| names.iter().any(|name| name == end)))
}

/// The columns of sources and destinations: those with usual names, those called like the node types, or the only two of
/// `others`. Of these, one name may show that they are in reverse order: `target, follower`.
pub(crate) fn ends_of(
    names: &[&str],
    others: &[usize],
    types: Option<[&str; 2]>,
) -> Option<[usize; 2]> {
    let typed = types.and_then(|types| typed_ends(names.iter().copied(), types));
    match (usual_ends(names.iter().copied()), typed, others) {
        (UsualEnds::Pair(ends), ..) => Some(ends),
        (UsualEnds::None, Some(ends), _) if ends.iter().all(|at| others.contains(at)) => Some(ends),
        (UsualEnds::None, _, &[first, second]) => {
            let is = |at: usize, end: usize| {
                ENDS[0].iter().any(|pair| pair[end] == plain_end(names[at]))
            };
            let are_turned = is(first, 1) || is(second, 0);
            Some(if are_turned { [second, first] } else { [first, second] })
        }
        _ => None,
    }
}

/// The columns that are called like the node types of sources and destinations: `paper_id, author` for the types author
/// and paper.
pub(crate) fn typed_ends<'n>(
    names: impl Iterator<Item = &'n str>,
    types: [&str; 2],
) -> Option<[usize; 2]> {
    let names: Vec<String> = names.map(plain_end).collect();
    let place = |ty: &str| {
        let due = plain_end(ty);
        let mut places = (0..names.len()).filter(|at| names[*at] == due);
        places.next().filter(|_| places.next().is_none())
    };
    let [source, target] = [place(types[0])?, place(types[1])?];
    (source != target).then_some([source, target])
}

/// Finds usual names of sources and destinations.
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

/// Whether the name is usual for a column of nodes.
pub(crate) fn is_usual_id(name: &str) -> bool {
    // neo4j writes `personId:ID(Person)`.
    let of_neo4j = name.split_once('(').map_or(name, |(name, _)| name).ends_with(":ID");
    of_neo4j || IDS.contains(&plain(name).as_str())
}

/// Whether a column with this name holds ids, if it numbers the rows: `index`, `paper_id`, `PaperID`.
pub(crate) fn is_like_id(name: &str) -> bool {
    let last = name.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    ["id", "ids", "idx", "index", "nid"].into_iter().any(|end| {
        let at = last.len().checked_sub(end.len());
        let parts = at.and_then(|at| last.split_at_checked(at));
        parts.is_some_and(|(before, tail)| {
            let is_word = before.is_empty() || tail.starts_with(char::is_uppercase);
            tail.eq_ignore_ascii_case(end) && is_word && !before.ends_with(char::is_uppercase)
        })
    })
}

/// Whether the name is one that pandas or Dask gives to row numbers: none in text, or a special one.
pub(crate) fn is_index(name: &str) -> bool {
    let starts = ["__index_level_", "__null_dask_index__", "Unnamed: "];
    name.is_empty() || starts.iter().any(|start| name.starts_with(start))
}

/// Joins names for a message.
pub(crate) fn listed(names: &[impl AsRef<str>]) -> String {
    /// Number of names shown at most.
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
        assert!(["Node ID", ":ID", "personId:ID(Person)"].into_iter().all(is_usual_id));
        assert!(!["idea", "userid", ":START_ID(Person)"].into_iter().any(is_usual_id));
        assert!(["index", "paper_id", "PaperID", "userIdx"].into_iter().all(is_like_id));
        assert!(!["valid", "GRID", "covid", "id_of", ""].into_iter().any(is_like_id));
    }

    #[test]
    fn types_of_nodes_are_names_of_ends() {
        let ends = |names: [&str; 3], types| ends_of(&names, &[1, 2], Some(types));
        let types = ["author", "paper"];
        assert_eq!(ends(["", "Paper_ID", "author"], types), Some([2, 1]));
        assert_eq!(ends(["", "papers", "author"], types), Some([1, 2]));
        assert_eq!(ends(["author", "paper", "x"], types), Some([1, 2]));
        assert_eq!(ends(["", "paper", "author"], ["paper"; 2]), Some([1, 2]));
        assert_eq!(ends(["paper", "target", "source"], ["source", "paper"]), Some([2, 1]));
    }
}
