//! Phrases that CONTRIBUTING.md asks not to write. The list holds the worst only; plain English needs a reader.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// Kinds of files that are checked, by extension.
const KINDS: [&str; 3] = ["md", "py", "rs"];

/// Folders that are not checked: what is built, and notebooks, which stay as they were written.
const SKIPPED: [&str; 2] = ["target", "lab"];

/// This file, which is full of the phrases.
const LIST: &str = "tests/wording.rs";

/// Parts of sentences that read as if translated, in lower case.
const PHRASES: [&str; 43] = [
    "is no ",
    "are no ",
    "are none",
    "tells of",
    "tell of ",
    "told of ",
    "foretell",
    "foretold",
    "for who ",
    "beside the",
    "beside it",
    "beside them",
    "anew",
    "by lot,",
    "to be had",
    "hears of ",
    "hear of ",
    "is there already",
    "what there is of",
    "which of both",
    "something else than",
    "so many",
    "nobody",
    "somebody",
    "can be had",
    "such a ",
    "such an ",
    "in the midst of",
    "of your own",
    "of the user's own",
    "system does not say",
    "is taken for",
    "are taken for",
    "was taken for",
    "which is what",
    "so that there ",
    "by itself",
    "that are free",
    "from here on",
    "one behind the other",
    "when they are asked for",
    "goes on from",
    "it shall ",
];

/// Good English that has one of the phrases in it.
const GOOD: [&str; 7] = [
    "there is no ",
    "there are no ",
    "there are none",
    "is no longer ",
    "are no longer ",
    "is no more ",
    "are no better ",
];

/// First words of a documentation comment that has no noun to stand on in the index of `cargo doc`.
const BARE: [&str; 15] = [
    "Of", "Those", "They", "They,", "Them", "Them.", "Their", "Its", "It", "Likewise", "What",
    "That", "When", "Where", "Which",
];

/// Places that may have a phrase, because they quote it: file, and a part of the line.
const ALLOWED: [(&str, &str); 6] = [
    ("CONTRIBUTING.md", "`\"u090\" is no number`"),
    ("CONTRIBUTING.md", "`x is no node type of the graph`"),
    ("CONTRIBUTING.md", "| tells of, foretells |"),
    ("CONTRIBUTING.md", "| For who wants to change this. |"),
    ("CONTRIBUTING.md", "| so many nodes, nobody reads it, such a file, can be had |"),
    ("CONTRIBUTING.md", "| a file of your own, by itself, is taken for |"),
];

/// The first phrase of a line that should not be there.
fn phrase(line: &str) -> Option<&'static str> {
    let mut text = line.to_lowercase() + " ";
    for good in GOOD {
        text = text.replace(good, "");
    }
    let starts_word = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    let found = |phrase: &&&str| text.match_indices(**phrase).any(|(at, _)| starts_word(at));
    PHRASES.iter().find(found).copied()
}

/// The text of a line of documentation; `None` for other lines.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["///", "//!", "\"\"\""].iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim_start)
}

/// The word with which a documentation comment begins, if it should not. `before` is the line before.
fn bare(before: &str, line: &str) -> Option<&'static str> {
    let text = documentation(line).filter(|_| documentation(before).is_none())?;
    let first = text.split(' ').next().unwrap_or_default();
    // `/// These of a rank.`: a short sentence with "these" has no verb.
    if first == "These" && text.ends_with('.') && text.split(' ').count() < 5 {
        return Some("These");
    }
    BARE.into_iter().find(|word| *word == first)
}

/// The files of a folder that are checked, with those of its folders.
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
fn the_worst_phrases_are_not_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    files(root, &mut found);
    let (mut wrong, mut used) = (Vec::new(), [false; ALLOWED.len()]);
    for path in found {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        if name == LIST {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut before = "";
        for (i, line) in text.lines().enumerate() {
            let found = phrase(line).or_else(|| bare(before, line));
            before = line;
            let Some(phrase) = found else { continue };
            let allowed =
                ALLOWED.iter().position(|(file, part)| *file == name && line.contains(part));
            match allowed {
                Some(place) => used[place] = true,
                None => wrong.push(format!("{name}:{}: {phrase:?} in {line}", i + 1)),
            }
        }
    }
    assert!(wrong.is_empty(), "see `Style of words` in CONTRIBUTING.md: {wrong:#?}");
    assert!(used.iter().all(|used| *used), "no longer needed: {ALLOWED:?}, {used:?}");
}

#[test]
fn phrases_are_told_from_good_english() {
    for wrong in ["x is no number", "There are nodes, but it tells of edges", "as many as such a"] {
        assert!(phrase(wrong).is_some(), "{wrong}");
    }
    for good in ["There is no number", "this is normal", "there are none of them"] {
        assert!(phrase(good).is_none(), "{good}");
    }
    for wrong in
        ["/// Of both.", "    /// Those of a rank.", "//! They, too.", "\"\"\"What it is.\"\"\""]
    {
        assert!(bare("", wrong).is_some(), "{wrong}");
    }
    let good = ["/// These numbers are read once a day.", "// They stay.", "/// Offset of both."];
    for good in good {
        assert!(bare("", good).is_none(), "{good}");
    }
    assert!(bare("/// Numbers of nodes.", "/// They are counted from 0.").is_none());
}
