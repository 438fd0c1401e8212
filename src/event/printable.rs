//! Text from files on its way to a terminal.

/// The text on one line, with escapes in place of control characters and of characters that reorder their neighbours.
pub fn printable(text: &str) -> String {
    let shown = |c: char| {
        if is_harmful(c) { c.escape_default().to_string() } else { c.to_string() }
    };
    text.chars().map(shown).collect()
}

/// Turns text from a file into part of a file's name: letters, digits, `-`, `_` and `.` stay, and the result is neither
/// empty nor hidden.
pub fn file_name(text: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = text.chars().map(kept).take(MOST_CHARACTERS).collect();
    match name.trim_start_matches('.') {
        "" => "graph".to_owned(),
        name => name.to_owned(),
    }
}

/// Largest number of characters: a file's name may have 255 bytes, a character up to four.
const MOST_CHARACTERS: usize = 60;

fn is_harmful(c: char) -> bool {
    // Line and paragraph separators; marks, embeddings and isolates that change the direction of the text.
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_directions_are_escaped_and_other_text_stays() {
        assert_eq!(printable("a\u{1b}[2J\nb\u{202e}c\u{9b}"), "a\\u{1b}[2J\\nb\\u{202e}c\\u{9b}");
        assert_eq!(printable("naïve 図 \\n"), "naïve 図 \\n");
    }

    #[test]
    fn names_of_files_stay_in_their_folder() {
        let names = ["karate", "../../x", "a/b\u{1b}", "", "..", "図-1.2"].map(file_name);
        assert_eq!(names, ["karate", "_.._x", "a_b_", "graph", "graph", "図-1.2"]);
        assert!(file_name(&"図".repeat(1000)).len() < 250);
    }
}
