//! NumPy archives of arrays, `.npz`.

use std::path::Path;

use super::archive::{Archive, is_archive};
use super::format::Format;
use super::input::Input;
use super::look::{Ask, Opened, Wants};
use super::npy::open_array;
use super::sparse_archive;
use crate::words::error::{Error, Result};

/// Names of edge arrays to try if an archive holds more than one array.
pub(crate) const USUAL_EDGES: [&str; 3] = ["edge_index", "edges", "edge_list"];

/// Splits, and the usual names of arrays that list their nodes.
pub(crate) const USUAL_LISTS: [(&str, &[&str]); 3] = [
    ("train", &["train_idx", "idx_train", "train_index", "train_ids"]),
    ("val", &["val_idx", "idx_val", "val_index", "val_ids", "valid_idx"]),
    ("test", &["test_idx", "idx_test", "test_index", "test_ids"]),
];

pub(crate) const FORMAT: Format =
    Format { name: "NumPy", needs_places: true, has: is_archive, open };

/// Opens an array of an archive, or the sparse matrix that the arrays make up.
fn open(input: &Input, ask: &Ask<'_>) -> Result<Opened> {
    let path = input.path.as_path();
    let mut archive = Archive::open(path)?;
    archive.check()?;
    if let Some(opened) = sparse_archive::open(&mut archive, input, ask) {
        return opened;
    }
    let member = choose(&archive, ask).ok_or_else(|| {
        let mut held: Vec<&str> = archive.names().collect();
        held.sort_unstable();
        let usual = || USUAL_EDGES.join(" or ");
        let wanted = if ask.wants == Wants::Edges { usual() } else { wanted(ask).to_owned() };
        let problem = format!("holds several arrays, but none named {wanted}");
        Error::input(path, "", problem).with_hint(format!(
            "it holds {}; save the one you need in a separate file",
            held.join(", ")
        ))
    })?;
    open_array(archive.read(&member, ask.folder)?, &Ask { array: Some(&member), ..*ask })
}

/// The name of the wanted array.
fn choose(archive: &Archive<'_>, ask: &Ask<'_>) -> Option<String> {
    let mut all = archive.names();
    if let (Some(only), None) = (all.next(), all.next()) {
        return Some(only.to_owned());
    }
    let own = (ask.wants != Wants::Edges).then(|| wanted(ask));
    let usual: &[&str] = match ask.wants {
        Wants::Edges => &USUAL_EDGES,
        Wants::List => usual_lists(wanted(ask)),
        Wants::Table => &[],
    };
    let mut names = own.iter().chain(usual);
    names.find(|name| archive.has(name)).map(|name| (*name).to_owned())
}

/// The names of a `.npz` file's arrays, or of another archive's members; empty for other files.
pub(crate) fn member_names(path: &Path) -> Result<Vec<String>> {
    if !is_archive(&Input::open(path)?) {
        return Ok(Vec::new());
    }
    Ok(Archive::open(path)?.names().map(str::to_owned).collect())
}

fn wanted<'a>(ask: &Ask<'a>) -> &'a str {
    ask.array.unwrap_or_default()
}

/// Usual names of arrays that list the nodes of a split: those with `train_idx` for `train`.
fn usual_lists(split: &str) -> &'static [&'static str] {
    let is_of_split = |name: &&str| name.strip_suffix("_idx") == Some(split);
    let mut lists = USUAL_LISTS.iter().map(|(_, names)| *names);
    lists.find(|names| names.iter().any(is_of_split)).unwrap_or_default()
}
