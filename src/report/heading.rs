//! The top of the page: what ran, when, and how it ended.

use std::fmt::Write;
use std::path::Path;

use super::date::date;
use super::escape::escaped;
use crate::event::duration;
use crate::run::{Ending, RunData};
use crate::words::choice::Choice;
use crate::words::size::number;

/// The title of the page in a browser's tab.
pub(super) fn title(runs: &[RunData]) -> String {
    match runs {
        [run] => {
            let parts = [Some(run.name.clone()), graph_file(run), model(run)];
            parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
        }
        runs => runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>().join(", "),
    }
}

/// The names of the runs, and for each its graph, model, date, duration and end. `flags` spells marked fields in messages.
pub(super) fn heading(runs: &[RunData], flags: fn(&str) -> String) -> String {
    let names: Vec<&str> = runs.iter().map(|run| &*run.name).collect();
    let mut html = format!("<h1>{}</h1>\n", escaped(&names.join(", ")));
    for run in runs {
        let name = match runs {
            [_] => String::new(),
            _ => format!("<b>{}</b>: ", escaped(&run.name)),
        };
        let facts = [graph(run), model(run), task(run), time(run)].into_iter().flatten();
        let facts = escaped(&facts.collect::<Vec<_>>().join(" · "));
        let _ = writeln!(html, "<p class=\"facts\">{name}{facts}</p>");
        html.push_str(&end(run, flags));
        let path = run.folder.display().to_string();
        if path != run.name {
            let _ = writeln!(html, "<p class=\"path\">{}</p>", escaped(&path));
        }
    }
    html
}

/// The graph's file with its folder, which most often tells more than the name alone.
fn graph_file(run: &RunData) -> Option<String> {
    let path = Path::new(run.configuration.as_ref()?.settings.get("part_json")?);
    let file = path.file_name()?.to_string_lossy();
    let folder = path.parent().and_then(Path::file_name);
    Some(
        folder
            .map_or_else(|| file.to_string(), |name| format!("{}/{file}", name.to_string_lossy())),
    )
}

fn graph(run: &RunData) -> Option<String> {
    let mut text = graph_file(run)?;
    if let Some(graph) = &run.graph {
        let book = graph.book();
        let _ = write!(
            text,
            ": {} nodes, {} edges, {} partitions",
            number(book.num_nodes()),
            number(book.num_edges()),
            book.num_parts()
        );
    }
    Some(text)
}

fn model(run: &RunData) -> Option<String> {
    let model = &run.config()?.model;
    let spec = model.kind.spec();
    Some(match (spec.hidden_layers, model.layers) {
        (false, _) => spec.name.to_owned(),
        (true, 1) => format!("{}, 1 layer", spec.name),
        (true, layers) => format!("{}, {layers} layers, {} wide", spec.name, model.hidden),
    })
}

fn task(run: &RunData) -> Option<String> {
    let config = run.config()?;
    let task = if config.link.is_some() { "link" } else { config.task.name()? };
    Some(if config.sampling.is_some() { format!("{task} on samples") } else { task.to_owned() })
}

/// The date of the end, or of the last line, and the duration.
fn time(run: &RunData) -> Option<String> {
    let ended = run.ended.as_ref();
    let when = ended.and_then(|run| run.ended).or(run.measured).map(date)?;
    let took = ended.and_then(|run| run.seconds);
    Some(took.map_or_else(|| when.clone(), |seconds| format!("{when}, took {}", duration(seconds))))
}

/// How a run has ended, unless it is done; and a warning of losses that are not finite.
fn end(run: &RunData, flags: fn(&str) -> String) -> String {
    let mut html = String::new();
    let ended = run.ended.as_ref();
    // The epoch in which a run has diverged has a line, too.
    let diverged = ended.filter(|ended| ended.ending == Ending::Diverged);
    let epochs = run.epochs.len();
    let complete = diverged.map_or(epochs, |ended| ended.epoch as usize);
    let planned = run.config().map_or_else(String::new, |config| format!(" of {}", config.epochs));
    let how = match ended.map(|ended| ended.ending) {
        _ if run.is_running => Some("Running"),
        Some(Ending::Interrupted) => Some("Interrupted"),
        Some(Ending::Failed) => Some("Failed"),
        Some(Ending::Diverged) => Some("Diverged"),
        Some(Ending::Killed) => Some("Ended without a record (killed, or its disk was full)"),
        Some(Ending::Done) | None => None,
    };
    if let Some(how) = how {
        let (preposition, kind) = if run.is_running { ("with", "") } else { ("after", " bad") };
        let _ = write!(
            html,
            "<p class=\"note{kind}\"><b>{how}</b> {preposition} {complete}{planned} epochs"
        );
        for part in ended.into_iter().flat_map(|ended| [&ended.error, &ended.hint]).flatten() {
            let _ = write!(html, "<br>{}", escaped(&flags(part)));
        }
        html.push_str("</p>\n");
    }
    let lost: Vec<_> = run.epochs.iter().filter(|line| line["loss"].is_null()).collect();
    if let Some(first) = lost.first() {
        let _ = writeln!(
            html,
            "<p class=\"note bad\">The loss is not finite in {} of {epochs} epochs, first in epoch {}.</p>",
            lost.len(),
            first["epoch"]
        );
    }
    html
}
