//! The page as a whole.

use std::fmt::Write;

use super::chart::Chart;
use super::confusion::confusion;
use super::differences::{differences, settings};
use super::escape::escaped;
use super::run_data::RunData;
use super::series::charts;
use super::summary::summary;
use super::timeline::timeline;

const STYLE: &str = include_str!("style.css");

/// Content of a page.
#[derive(Debug)]
pub struct Page {
    /// The runs, in the order of their colours.
    pub runs: Vec<RunData>,
    /// Name and version of the program.
    pub made_by: String,
    /// Seconds after which a browser reads the page again.
    pub again: Option<u64>,
}

/// The page as HTML, without scripts; it loads no other file. `wear` relates written bytes to the endurance of the
/// drive.
pub fn page(mut page: Page, wear: &dyn Fn(u64) -> Option<String>) -> String {
    tell_apart(&mut page.runs);
    let runs = &page.runs;
    let names: Vec<String> = runs.iter().map(|run| escaped(&run.name)).collect();
    let title = names.join(", ");
    let again = page.again.map_or_else(String::new, |seconds| {
        format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">")
    });
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">{again}<link rel=\"icon\" href=\"data:,\"><title>{title} · training report</title><style>{STYLE}</style></head><body><main>\n<h1>{title}</h1>\n"
    );
    for run in runs {
        let _ =
            writeln!(html, "<p class=\"path\">{}</p>", escaped(&run.folder.display().to_string()));
    }
    html.push_str(&summary(runs, wear));
    html.push_str(&differences(runs));
    if runs.iter().all(|run| run.epochs.is_empty()) {
        html.push_str("<p>No epoch is complete yet.</p>\n");
    }
    html.push_str("<h2>Epochs</h2><div class=\"cards\">\n");
    html.extend(charts(runs).iter().map(Chart::html));
    html.push_str("</div>\n");
    section(&mut html, "Turns", runs.iter().map(timeline));
    section(&mut html, "Predictions", runs.iter().map(confusion));
    html.push_str(&settings(runs));
    let _ = writeln!(html, "<footer>{}</footer></main></body></html>", escaped(&page.made_by));
    html
}

/// A section of cards, if there are any.
fn section(html: &mut String, title: &str, cards: impl Iterator<Item = String>) {
    let cards: String = cards.collect();
    if !cards.is_empty() {
        let _ = write!(html, "<h2>{title}</h2><div class=\"cards\">\n{cards}</div>\n");
    }
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
