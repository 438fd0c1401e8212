//! Graphs of other programs as text, recognised by their first lines.

/// Kinds of problems in graphs of DIMACS.
const PROBLEMS: [&[u8]; 7] = [b"sp", b"edge", b"edges", b"col", b"max", b"min", b"asn"];

/// The words of each line that has any.
fn lines(head: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    head.split(|byte| *byte == b'\n').map(words_of).filter(|words| !words.is_empty())
}

fn words_of(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
}

/// Whether the text is a graph of DIMACS: `p sp 6 8` after comments, which begin with `c`.
pub(super) fn is_dimacs(head: &[u8]) -> bool {
    let line = lines(head).find(|words| words[0] != b"c").unwrap_or_default();
    let is_number = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
    match line[..] {
        [p, kind, nodes, edges] => {
            p == b"p" && PROBLEMS.contains(&kind) && is_number(nodes) && is_number(edges)
        }
        _ => false,
    }
}

/// Whether the text is a graph of UCINET: `dl n=3 format=edgelist1`.
pub(super) fn is_ucinet(head: &[u8]) -> bool {
    let Some((word, rest)) = head.trim_ascii_start().split_at_checked(2) else { return false };
    let bare = rest.iter().take(32).filter(|byte| !byte.is_ascii_whitespace());
    let bare: Vec<u8> = bare.map(u8::to_ascii_lowercase).collect();
    word.eq_ignore_ascii_case(b"dl")
        && rest.first().is_some_and(u8::is_ascii_whitespace)
        && [&b"n="[..], b"nr=", b"nm=", b"format="].iter().any(|start| bare.starts_with(start))
}

/// The words of the first statement of RDF.
fn statement(head: &[u8]) -> Vec<&[u8]> {
    lines(head).find(|words| !words[0].starts_with(b"#")).unwrap_or_default()
}

/// Whether a line is a triple of RDF: `<http://a/b> <http://c> "d" .`
pub(super) fn is_n_triples(head: &[u8]) -> bool {
    let words = statement(head);
    let is_name =
        |word: &[u8]| word.starts_with(b"<") && word.ends_with(b">") && word.contains(&b':');
    match words[..] {
        [subject, predicate, .., last] => {
            (is_name(subject) || subject.starts_with(b"_:"))
                && is_name(predicate)
                && last.ends_with(b".")
        }
        _ => false,
    }
}

/// Whether the text is RDF in Turtle: `@prefix a: <http://a/> .`
pub(super) fn is_turtle(head: &[u8]) -> bool {
    let words = statement(head);
    words.first().is_some_and(|word| matches!(*word, b"@prefix" | b"@base"))
        && words[1..].iter().any(|word| word.contains(&b'<'))
}

/// Whether the text lists edges as LINQS does: `DIRECTED cites`.
pub(super) fn is_linqs_edges(head: &[u8]) -> bool {
    let [first, second] = first_words(head);
    matches!(first, b"DIRECTED" | b"UNDIRECTED") && second == b"NO_FEATURES"
}

/// Whether the text lists nodes as LINQS does: `NODE paper`, and a line of columns and their types.
pub(super) fn is_linqs_nodes(head: &[u8]) -> bool {
    let [first, second] = first_words(head);
    first == b"NODE" && [&b"cat="[..], b"numeric:"].iter().any(|start| second.starts_with(start))
}

/// The first words of the first two lines.
fn first_words(head: &[u8]) -> [&[u8]; 2] {
    let mut lines = lines(head);
    [(); 2].map(|()| lines.next().map_or(&[][..], |words| words[0]))
}

/// Whether lines are a graph of LGL: `# source`, then a line for each target, perhaps with a weight. Other lines that begin
/// with `#` are comments, so a source has to be another's target.
pub(super) fn is_lgl<'t>(lines: impl Iterator<Item = &'t str>) -> bool {
    let (mut sources, mut targets): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for line in lines {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            [] => {}
            ["#", source] => sources.push(source),
            [target, ref weight @ ..]
                if sources.last().is_some_and(|source| *source != target)
                    && weight.len() < 2
                    && weight.iter().all(|weight| weight.parse::<f64>().is_ok()) =>
            {
                targets.push(target);
            }
            _ => return false,
        }
    }
    sources.len() > 1 && sources.iter().any(|source| targets.contains(source))
}
