//! Phrases that CONTRIBUTING.md asks not to write. The list holds the worst only; plain English needs a reader.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// Files of these kinds are looked at. Add "rs" when the sources are clean.
const KINDS: [&str; 1] = ["md"];

/// Folders that hold no text of ours.
const SKIPPED: [&str; 1] = ["target"];

/// Parts of sentences that read as if translated, in lower case.
const PHRASES: [&str; 9] = [
    "is no ", "are no ", "are none", "tells of", "tell of ", "told of ", "foretell", "foretold",
    "for who ",
];

/// Good English that has one of the phrases in it.
const GOOD: [&str; 5] =
    ["there is no ", "there are no ", "is no longer ", "are no longer ", "is no more "];

/// Beginnings of documentation comments that have no noun.
const BARE: [&str; 6] =
    ["/// Of ", "/// Those ", "/// They ", "/// They,", "/// Them ", "/// Them."];

/// Places that may have a phrase, because they quote it: file, and a part of the line.
const ALLOWED: [(&str, &str); 4] = [
    ("CONTRIBUTING.md", "`\"u090\" is no number`"),
    ("CONTRIBUTING.md", "`x is no node type of the graph`"),
    ("CONTRIBUTING.md", "| tells of, foretells |"),
    ("CONTRIBUTING.md", "| For who wants to change this. |"),
];

/// What is wrong with a line.
fn phrase(line: &str) -> Option<&'static str> {
    let text = line.trim_start();
    let bare = BARE.iter().find(|start| text.starts_with(**start));
    // `/// These of a rank.`: a whole sentence without a verb is short.
    let these =
        text.starts_with("/// These ") && text.ends_with('.') && text.split(' ').count() < 6;
    if these {
        return Some("/// These");
    }
    let mut text = line.to_lowercase();
    for good in GOOD {
        text = text.replace(good, "");
    }
    let starts_word = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    let phrase =
        PHRASES.iter().find(|phrase| text.match_indices(**phrase).any(|(at, _)| starts_word(at)));
    bare.or(phrase).copied()
}

/// The files below a folder that are looked at, from the root of the repository on.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                files(&path, found);
            }
        } else if path.extension().is_some_and(|kind| KINDS.iter().any(|known| kind == *known)) {
            found.push(path);
        }
    }
}

#[test]
fn nobody_writes_the_worst_phrases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    files(root, &mut found);
    let (mut wrong, mut used) = (Vec::new(), [false; ALLOWED.len()]);
    for path in found {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        for (i, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let Some(phrase) = phrase(line) else { continue };
            let allowed =
                ALLOWED.iter().position(|(file, part)| *file == name && line.contains(part));
            match allowed {
                Some(place) => used[place] = true,
                None => wrong.push(format!("{name}:{}: {phrase:?} in {line}", i + 1)),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(used.iter().all(|used| *used), "no longer needed: {ALLOWED:?}, {used:?}");
}

#[test]
fn phrases_are_told_from_good_english() {
    for wrong in ["x is no number", "/// Of both.", "/// Those of a rank.", "/// These of a rank."]
    {
        assert!(phrase(wrong).is_some(), "{wrong}");
    }
    for good in ["There is no number", "this is normal", "/// These numbers are read once a day."] {
        assert!(phrase(good).is_none(), "{good}");
    }
}
