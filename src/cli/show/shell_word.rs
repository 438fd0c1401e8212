//! Words of command lines that messages show.

use std::path::Path;

/// A path as a word of a shell's command line.
pub(in crate::cli) fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
