//! The settings of runs: those that differ between runs, those that are not the defaults, and all.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::escape::escaped;
use super::table::none;
use crate::run::RunData;

/// Settings of places of files, without effect on results.
const PLACES: [&str; 2] = ["out", "spill_dir"];

/// A table of the settings that differ between runs; a sentence if none do, and nothing for one run.
pub(super) fn differences(runs: &[RunData]) -> String {
    if runs.len() < 2 {
        return String::new();
    }
    let keys: Vec<&str> = keys(runs).into_iter().filter(|key| differ(runs, key)).collect();
    if keys.is_empty() {
        return "<h2>What differs</h2><p>The runs have the same settings.</p>\n".to_owned();
    }
    format!("<h2>What differs</h2>{}", table(runs, &keys))
}

/// The settings that are not the defaults, and behind a summary all of them.
pub(super) fn settings(runs: &[RunData]) -> String {
    let all: Vec<&str> = keys(runs).into_iter().collect();
    if all.is_empty() {
        return String::new();
    }
    // Those that differ between the runs have their own table.
    let others = all.iter().filter(|key| !differ(runs, key));
    let unusual: Vec<&str> = others.copied().filter(|key| is_unusual(runs, key)).collect();
    let first = match &unusual[..] {
        [] => "<p>None differs from its default.</p>".to_owned(),
        unusual => format!("<p class=\"path\">Not the defaults:</p>{}", table(runs, unusual)),
    };
    format!(
        "<h2>Settings</h2>{first}<details><summary>All {} settings</summary>{}</details>\n",
        all.len(),
        table(runs, &all)
    )
}

fn of(run: &RunData) -> Option<&BTreeMap<String, String>> {
    run.configuration.as_ref().map(|configuration| &configuration.settings)
}

fn keys(runs: &[RunData]) -> BTreeSet<&str> {
    runs.iter().filter_map(of).flat_map(|settings| settings.keys().map(String::as_str)).collect()
}

/// Whether a setting differs between the runs.
fn differ(runs: &[RunData], key: &str) -> bool {
    let value = |run| of(run).and_then(|settings| settings.get(key));
    !PLACES.contains(&key) && runs.iter().any(|run| value(run) != value(&runs[0]))
}

/// Whether a run has another value than the default.
fn is_unusual(runs: &[RunData], key: &str) -> bool {
    let mut configurations = runs.iter().filter_map(|run| run.configuration.as_ref());
    configurations.any(|all| all.settings.get(key) != all.defaults.get(key))
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
            let value = of(run).and_then(|settings| settings.get(*key));
            let value = value.map_or_else(none, |value| escaped(value));
            let _ = write!(html, "<td>{value}</td>");
        }
        html.push_str("</tr>");
    }
    html + "</table></div>\n"
}
