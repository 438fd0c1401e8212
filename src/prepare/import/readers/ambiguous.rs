//! First lines of text files that may be rows, or something else.

use super::graph_texts::is_lgl;
use super::input::Input;
use super::lines::Lines;
use super::look::Wants;
use super::sample::{Comments, Sample, SampleLine};
use super::values::parse_id;
use crate::words::error::{Error, Result};

/// Returns an error for a file of another program that would be read as rows: a graph of LGL, or a list whose first line is
/// its length.
pub(super) fn check_lines(
    input: &Input,
    sample: &Sample,
    rule: Comments,
    wants: Wants,
) -> Result<()> {
    let lines = sample.comments.iter().chain(&sample.lines).map(|line| line.text.as_str());
    if rule == Comments::Usual && wants == Wants::Edges && is_lgl(lines) {
        return Err(input.fail("is a graph of LGL, which is not read").with_hint(
            "convert it: awk '$1 == \"#\" {source = $2; next} {print source, $1}' FILE > edges.txt; its edges have no \
             direction: pass ‹undirected›; if lines that begin with # are comments, pass ‹comment=#›",
        ));
    }
    let [first, second, ..] = &sample.lines[..] else { return Ok(()) };
    let count = parse_id(first.text.trim_ascii().as_bytes());
    let count = count.filter(|_| second.text.split_ascii_whitespace().count() > 1);
    let Some(count) = count else { return Ok(()) };
    let mut all = Lines::open(input, b"")?;
    while all.advance()? {}
    if all.number().checked_sub(first.number) != Some(count) {
        return Ok(());
    }
    let problem = "is the number of lines after it, not a row";
    let hint = format!(
        "remove it: sed {}d FILE > NEW; in triples of OpenKE, the third column names the relation: ‹relation_column=3›",
        first.number
    );
    Err(Error::input(&input.path, &format!("line {}", first.number), problem).with_hint(hint))
}

/// Returns an error for a file of names whose first lines may be comments or rows: `#a,bob`.
pub(super) fn check_comments(
    input: &Input,
    sample: &Sample,
    fits: impl Fn(&str) -> bool,
) -> Result<()> {
    for SampleLine { number, text } in &sample.comments {
        let behind = text.chars().nth(1).unwrap_or(' ');
        if !behind.is_whitespace() && !"#%!".contains(behind) && fits(text) {
            let problem = format!("{text:?} may be a comment or the first row");
            return Err(Error::input(&input.path, &format!("line {number}"), problem).with_hint(
                "if it is a row, pass ‹comment=none›; if it is a comment, pass ‹comment=#›",
            ));
        }
    }
    Ok(())
}
