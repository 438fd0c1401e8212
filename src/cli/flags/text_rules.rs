//! Flags for reading text files.

use clap::Args;

use crate::prepare::import::{Comment, TextRules};
use crate::words::error::{Error, Result};

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(in crate::cli) struct TextArgs {
    /// The first line of text files names their columns [default: if it holds no number, but others do]
    #[arg(long, conflicts_with_all = ["part_json", "no_header"])]
    header: bool,
    /// The first line of text files is a row
    #[arg(long, conflicts_with = "part_json")]
    no_header: bool,
    /// Character between the fields of text files: a character, tab or space [default: the one that gives all lines the same
    /// number of fields]
    #[arg(long, value_name = "CHAR", conflicts_with = "part_json")]
    separator: Option<String>,
    /// Character at the beginning of comments in text files, or none. The default is # and %, after the first row only on lines
    /// with a different number of fields
    #[arg(long, value_name = "CHAR|none", conflicts_with = "part_json")]
    comment: Option<String>,
}

impl TextArgs {
    pub(in crate::cli) fn rules(&self) -> Result<TextRules> {
        let separator = match self.separator.as_deref() {
            None => None,
            Some("tab" | "\\t") => Some('\t'),
            Some("space") => Some(' '),
            Some(text) => Some(only_char("--separator", text)?),
        };
        let comment = match self.comment.as_deref() {
            None => None,
            Some("none") => Some(Comment::None),
            Some(text) => Some(Comment::Char(only_char("--comment", text)?)),
        };
        let header = self.header.then_some(true).or(self.no_header.then_some(false));
        Ok(TextRules { header, separator, comment })
    }
}

fn only_char(flag: &str, text: &str) -> Result<char> {
    match text.chars().next().filter(|_| text.len() == 1) {
        Some(char) => Ok(char),
        None => Err(Error::config(flag, format!("{text:?} is not one ASCII character"))),
    }
}
