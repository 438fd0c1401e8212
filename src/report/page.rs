//! The page as a whole.

use std::fmt::Write;

use super::chart::Chart;
use super::confusion::confusion;
use super::costs;
use super::differences::{differences, settings};
use super::escape::escaped;
use super::heading::{heading, title};
use super::scores::scores;
use super::series;
use super::timeline::timeline;
use crate::run::RunData;

const STYLE: &str = include_str!("style.css");

/// Content of a page.
pub struct Page<'p> {
    /// The runs, in the order of their colours.
    pub runs: Vec<RunData>,
    /// Name and version of the program.
    pub made_by: String,
    /// Seconds after which a browser reads the page again.
    pub again: Option<u64>,
    /// Relates written bytes to the endurance of the drive.
    pub wear: &'p dyn Fn(u64) -> Option<String>,
    /// Spells the fields of configurations that messages mark.
    pub flags: fn(&str) -> String,
}

/// The page as HTML, without scripts; it loads no other file.
pub fn page(mut page: Page<'_>) -> String {
    tell_apart(&mut page.runs);
    let runs = &page.runs;
    let title = escaped(&title(runs));
    let again = page.again.map_or_else(String::new, |seconds| {
        format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">")
    });
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">{again}<link rel=\"icon\" href=\"data:,\"><title>{title}</title><style>{STYLE}</style></head><body><main>\n"
    );
    html.push_str(&heading(runs, page.flags));
    if runs.iter().all(|run| run.epochs.is_empty()) {
        html.push_str("<p class=\"note\">No epoch is complete yet.</p>\n");
    } else {
        let learning = cards("large", &series::learning(runs));
        let _ = write!(html, "<h2>Learning curves</h2>{learning}");
        html.push_str(&cards("", &[series::learning_rate(runs)]));
        if runs.iter().any(series::is_link_without_curve) {
            let way = escaped(&(page.flags)("‹evaluation.every=1›"));
            let _ = writeln!(
                html,
                "<p class=\"path\">Links are scored by evaluations: with {way} the metric has a curve.</p>"
            );
        }
        html.push_str(&scores(runs));
        html.push_str(&grid("", runs.iter().map(confusion)));
        html.push_str(&differences(runs));
        html.push_str("<h2>Time and memory</h2>");
        html.push_str(&costs::time_and_memory(runs));
        html.push_str(&cards("", &series::time_and_memory(runs)));
        html.push_str("<h2>Turns and bytes</h2>");
        html.push_str(&costs::turns_and_bytes(runs, page.wear));
        html.push_str(&grid("", runs.iter().map(timeline)));
        html.push_str(&cards("", &series::moved(runs)));
    }
    html.push_str(&settings(runs));
    let _ = writeln!(html, "<footer>{}</footer></main></body></html>", escaped(&page.made_by));
    html
}

/// Charts side by side.
fn cards(size: &str, charts: &[Chart]) -> String {
    grid(size, charts.iter().map(Chart::html))
}

/// Figures in a grid, if there are any.
fn grid(size: &str, figures: impl Iterator<Item = String>) -> String {
    let figures: String = figures.collect();
    if figures.is_empty() {
        return figures;
    }
    format!("<div class=\"cards {size}\">\n{figures}</div>\n")
}

/// Gives runs whose folders have the same name their whole paths as names.
fn tell_apart(runs: &mut [RunData]) {
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    for run in runs {
        if names.iter().filter(|name| **name == run.name).count() > 1 {
            run.name = run.folder.display().to_string();
        }
    }
}
