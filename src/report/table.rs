//! Tables of numbers.

use std::fmt::Write;

use super::escape::escaped;

/// A table with a row of headings and, where there are several rows, a heading in front of each: its first cell. On a phone each
/// row becomes a list.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let named = rows.len() > 1;
    let first = usize::from(!named);
    let mut html = "<table class=\"rows\"><thead><tr>".to_owned();
    for heading in &headings[first..] {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escaped(heading));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for (i, (heading, cell)) in headings.iter().zip(row).enumerate().skip(first) {
            let cell = escaped(cell);
            let _ = match i {
                0 => write!(html, "<th scope=\"row\">{cell}</th>"),
                _ => write!(html, "<td data-name=\"{}\">{cell}</td>", escaped(heading)),
            };
        }
        html.push_str("</tr>");
    }
    html + "</tbody></table>\n"
}

/// A number that a run does not have.
pub(super) fn none() -> String {
    "–".to_owned()
}
