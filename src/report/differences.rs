//! The settings of runs, and those that differ.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::escape::escaped;
use super::run_data::RunData;

/// Settings of places of files, without effect on results.
const PLACES: [&str; 2] = ["out", "spill_dir"];

/// A table of the settings that differ; a sentence if none do, and nothing for one run.
pub(super) fn differences(runs: &[RunData]) -> String {
    if runs.len() < 2 {
        return String::new();
    }
    let differ = |key: &&str| {
        let first = runs[0].settings.get(*key);
        !PLACES.contains(key) && runs.iter().any(|run| run.settings.get(*key) != first)
    };
    let keys: Vec<&str> = keys(runs).into_iter().filter(differ).collect();
    if keys.is_empty() {
        return "<h2>What differs</h2><p>The runs have the same settings.</p>\n".to_owned();
    }
    format!("<h2>What differs</h2>{}", table(runs, &keys))
}

/// A table of all settings, behind a summary that opens it.
pub(super) fn settings(runs: &[RunData]) -> String {
    let keys: Vec<&str> = keys(runs).into_iter().collect();
    if keys.is_empty() {
        return String::new();
    }
    let open = if runs.len() == 1 { " open" } else { "" };
    format!("<details{open}><summary>Configuration</summary>{}</details>\n", table(runs, &keys))
}

fn keys(runs: &[RunData]) -> BTreeSet<&str> {
    runs.iter().flat_map(|run| run.settings.keys().map(String::as_str)).collect()
}

fn table(runs: &[RunData], keys: &[&str]) -> String {
    let mut html =
        "<div class=\"scroll\"><table class=\"settings\"><tr><th scope=\"col\">setting</th>"
            .to_owned();
    for run in runs {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escaped(&run.name));
    }
    html.push_str("</tr>");
    for key in keys {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escaped(key));
        for run in runs {
            let value = run.settings.get(*key).map_or("–", String::as_str);
            let _ = write!(html, "<td>{}</td>", escaped(value));
        }
        html.push_str("</tr>");
    }
    html + "</table></div>\n"
}
