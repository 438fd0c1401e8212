//! The source files, as the tests of this folder read them.

use std::fs;
use std::path::{Path, PathBuf};

/// The Rust files below a folder of the repository: path from the root, and content.
pub(crate) fn files(folder: &str) -> Vec<(String, String)> {
    files_of(folder, "rs")
}

/// As [`files`], with another extension.
pub(crate) fn files_of(folder: &str, extension: &str) -> Vec<(String, String)> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    collect(&root.join(folder), &mut found);
    found.retain(|path| path.extension().is_some_and(|found| found == extension));
    found.sort();
    let relative = |path: &PathBuf| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    found.iter().map(|path| (relative(path), fs::read_to_string(path).unwrap())).collect()
}

/// Lines of code, with line comments cut off.
pub(crate) fn code(content: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = content.lines().map(|line| line.split("//").next().unwrap());
    lines.enumerate().map(|(i, line)| (i + 1, line))
}

/// The program of a file: without comments, without its unit tests, and with empty string literals.
pub(crate) fn program(content: &str) -> String {
    let content = content.split("#[cfg(test)]\nmod ").next().unwrap();
    let content = content.split("#[cfg(all(test, ").next().unwrap();
    let mut program = String::new();
    for (_, line) in code(content) {
        // A literal over several lines stays as it is; none of them looks like code that these tests look for.
        for (i, part) in line.replace("\\\"", "").split('"').enumerate() {
            if i % 2 == 0 {
                program.push_str(part);
            } else {
                program.push_str("\"\"");
            }
        }
        program.push('\n');
    }
    program
}

/// The parts between the commas of a list, up to the bracket that closes it.
pub(crate) fn split_at_depth_0(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut last) = (Vec::new(), 0, 0, ' ');
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if last == '-' || last == '=' => {}
            ')' | ']' | '}' | '>' => {
                depth -= 1;
                if depth < 0 {
                    parts.push(&text[begin..i]);
                    break;
                }
            }
            ',' if depth == 0 => {
                parts.push(&text[begin..i]);
                begin = i + 1;
            }
            _ => {}
        }
        last = c;
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}
