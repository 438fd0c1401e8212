//! Detection of a text file's format from its first lines.

use super::ambiguous::{check_comments, check_lines};
use super::fields::Separator;
use super::input::Input;
use super::look::{Ask, Comment, GraphFacts, Wants};
use super::names::{UsualEnds, is_usual_id, listed, typed_ends, usual_ends};
use super::sample::{Comments, MOST_COLUMNS, Sample};
use super::separators::guess;
use super::values::{CellValue, is_missing, is_value, parse_id};
use crate::words::error::{Error, Result};

/// How a text file represents rows.
#[derive(Debug, PartialEq)]
pub(crate) struct Dialect {
    pub(crate) separator: Separator,
    /// Names of the columns, if the file has them, and their location.
    pub(crate) names: Option<Vec<String>>,
    names_in: &'static str,
    /// Number of columns.
    pub(crate) width: usize,
    /// Number of lines before the first row.
    pub(crate) skip: u64,
    pub(crate) comments: Comments,
    /// Facts in the comments at the beginning.
    pub(crate) facts: GraphFacts,
}

impl Dialect {
    /// Examines the beginning of a text file.
    pub(crate) fn of(input: &Input, ask: &Ask<'_>) -> Result<Self> {
        let comments = match ask.rules.comment {
            None => Comments::Usual,
            Some(Comment::None) => Comments::None,
            Some(Comment::Char(char)) => Comments::Char(char as u8),
        };
        let mut sample = Sample::of(input, comments)?;
        check_lines(input, &sample, comments, ask.wants)?;
        let is_unsure = comments == Comments::Usual && ask.ids_are_names;
        if sample.lines.is_empty() && is_unsure {
            check_comments(input, &sample, |_| true)?;
        }
        if sample.lines.is_empty() && !ask.names.is_empty() {
            return Err(input.fail("is empty").with_hint("the first line names the columns"));
        }
        let separator = match ask.rules.separator {
            Some(' ') => Separator::Blank,
            Some(char) => Separator::Byte(char as u8),
            None => sample.separator().unwrap_or_else(|| guess(&mut sample, ask.wants)),
        };
        let mut records = sample.records(separator);
        let mut facts = GraphFacts::default();
        for comment in &sample.comments {
            heed(&comment.text, &mut facts);
        }
        let mut skip = sample.skip;
        let width = records.first().map_or(if ask.wants == Wants::Edges { 2 } else { 1 }, Vec::len);
        if width > MOST_COLUMNS {
            let problem = format!("a row has more than {MOST_COLUMNS} columns");
            return Err(input.fail(problem).with_hint("save wide tables with numpy.save"));
        }
        let (mut names, mut names_in) = (None, "the first line");
        if let Some(first) = records.first()
            && is_header(input, &sample, separator, &records, ask)?
        {
            let mut header = first.clone();
            // R omits the name of the column of row numbers.
            let rest = &records[1..];
            let is_numbered = |(at, record): (usize, &Vec<String>)| {
                let number = record.first().and_then(|word| parse_id(word.as_bytes()));
                record.len() == header.len() + 1 && number == Some(at as u64 + 1)
            };
            if !rest.is_empty() && rest.iter().enumerate().all(is_numbered) {
                header.insert(0, String::new());
            }
            skip = sample.first_lines;
            names = Some(header);
            records.remove(0);
        } else if let Some(comment) = sample.comments.last() {
            // SNAP's lists have the names of columns in a comment.
            let text = comment.text.trim_ascii_start();
            let text = text.trim_start_matches(['#', '%']);
            let fields = Sample::fields(separator, text);
            let words = fields.iter().map(String::as_str);
            // Of tables, too: `#string_protein_id<TAB>preferred_name`. Blanks may separate the words of a sentence.
            let is_asked = |name: &String| {
                ask.names.contains(&name.as_str())
                    || separator != Separator::Blank && is_usual_id(name)
            };
            let names_columns = matches!(usual_ends(words), UsualEnds::Pair(_))
                || are_types(&fields, ask)
                || ask.wants == Wants::Table && fields.iter().any(is_asked);
            if ask.rules.header != Some(false) && fields.len() == width && names_columns {
                (names, names_in) = (Some(fields), "a comment");
            }
        }
        let width = names.as_ref().map_or(width, Vec::len);
        if is_unsure && names.is_none() {
            check_comments(input, &sample, |line| Sample::fields(separator, line).len() == width)?;
        }
        Ok(Dialect { separator, names, names_in, width, skip, comments, facts })
    }

    /// Description of the file for a note.
    pub(crate) fn describe(&self) -> String {
        let separator = match self.separator {
            _ if self.width == 1 => String::new(),
            Separator::None => String::new(),
            Separator::Blank => ", separated by white space".to_owned(),
            Separator::Byte(b',') => ", separated by commas".to_owned(),
            Separator::Byte(b';') => ", separated by semicolons".to_owned(),
            Separator::Byte(b'\t') => ", separated by tabs".to_owned(),
            Separator::Byte(byte) => format!(", separated by {}", char::from(byte)),
        };
        let holder = if self.names.is_some() { self.names_in } else { "no line" };
        format!("text{separator}, {holder} names the columns")
    }
}

/// Whether the first record names the columns: it contains neither values nor nodes, but other records do.
fn is_header(
    input: &Input,
    sample: &Sample,
    separator: Separator,
    records: &[Vec<String>],
    ask: &Ask<'_>,
) -> Result<bool> {
    let Some((words, rest)) = records.split_first() else { return Ok(false) };
    // `--header` for edge files does not apply to lists. In tables, a first line of numbers may still be a row.
    let forced = ask.rules.header.filter(|header| !header || ask.wants != Wants::List);
    let has_others = ask.has_others || ask.wants == Wants::Table;
    if let Some(header) = forced.filter(|header| !header || !has_others) {
        return Ok(header);
    }
    let has_numbers = ask.names.is_empty() && numbers_columns(words);
    let has_index = has_numbers && words[0].is_empty();
    let has_row_index = || rest.iter().filter_map(|row| row.first()).all(|word| !word.is_empty());
    if ask.wants == Wants::Edges && has_index && has_row_index() {
        return Ok(true);
    }
    if ask.wants == Wants::Table && has_numbers {
        let is_whole =
            |word: &String| matches!(CellValue::of(word.as_bytes()), CellValue::Whole(_));
        // pandas separates by commas.
        if has_index || separator == Separator::Blank || rest.iter().flatten().all(is_whole) {
            return Ok(has_index);
        }
        let problem = format!("{} may number the columns, or be the first row", listed(words));
        return Err(Error::input(&input.path, &format!("line {}", sample.skip + 1), problem)
            .with_hint("if it numbers the columns, write the file without it (in pandas, header=False); if it is a row, write its first number with a decimal point: 0.0"));
    }
    Ok(is_header_of_words(words, rest, ask, forced))
}

/// Whether the words number the columns, as pandas does if these have no names: `0,1,2` or, with its index, `,0,1,2`.
fn numbers_columns(words: &[String]) -> bool {
    let of_index = usize::from(words.len() > 1 && words[0].is_empty());
    let is_number = |(at, word): (u64, &String)| parse_id(word.as_bytes()) == Some(at);
    words.len() > 1 && (0..).zip(&words[of_index..]).all(is_number)
}

/// Whether two of the words are the types of sources and destinations.
fn are_types(words: &[String], ask: &Ask<'_>) -> bool {
    let ends = ask.types.and_then(|types| typed_ends(words.iter().map(String::as_str), types));
    ends.is_some()
}

/// Whether other records have one of the words as a node's name, so that they are names, too.
fn occur_again(words: &[String], rest: &[Vec<String>], ask: &Ask<'_>) -> bool {
    ask.ids_are_names && rest.iter().flatten().any(|word| words.contains(word))
}

/// Whether these words are names of columns, judging by them and by other records.
fn is_header_of_words(
    words: &[String],
    rest: &[Vec<String>],
    ask: &Ask<'_>,
    forced: Option<bool>,
) -> bool {
    if let Some(is_node) = ask.is_node {
        let count =
            |record: &[String]| record.iter().filter(|word| is_node(word.as_bytes())).count();
        match (count(words), rest.first().map_or(0, |second| count(second))) {
            (0, 2..) => return true,
            (0 | 1, _) => {}
            _ => return false,
        }
    }
    if words.iter().any(|word| ask.names.contains(&word.as_str())) {
        return true;
    }
    // pandas leaves the name of its index empty, and a separator at the end of lines makes a column without a name.
    let is_named = |word: &String| !word.is_empty();
    let begin = usize::from(words.len() > 1 && words[0].is_empty());
    let Some(last) = words.iter().rposition(is_named).filter(|last| *last >= begin) else {
        return false;
    };
    if words[begin..=last].iter().any(|word| is_value(word.as_bytes())) {
        return false;
    }
    let is_usual = match ask.wants {
        Wants::Edges => {
            usual_ends(words.iter().map(String::as_str)) != UsualEnds::None
                || are_types(words, ask) && !occur_again(words, rest, ask)
        }
        Wants::List
            if words.len() == 1 && matches!(&*words[0].to_lowercase(), "name" | "names") =>
        {
            true
        }
        Wants::List | Wants::Table => words.iter().any(|word| is_usual_id(word)),
    };
    // A few names of nodes may be numbers, or begin like one.
    let are_names = ask.ids_are_names && words.len() <= 2 + usize::from(ask.has_relations);
    let fewest = if are_names { 3 } else { 1 };
    let is_number = |word: &[u8]| {
        if are_names {
            CellValue::of(word).number().is_some()
        } else {
            !word.is_empty() && is_value(word)
        }
    };
    let is_numeric = |column: usize| {
        let mut words = rest.iter().filter_map(|record| Some(record.get(column)?.as_bytes()));
        words.clone().any(&is_number) && words.all(|word| is_number(word) || is_missing(word))
    };
    forced == Some(true)
        || is_usual
        || !ask.names.is_empty()
        || rest.len() >= fewest && (0..words.len()).any(is_numeric)
}

/// Uses comments in KONECT's and SNAP's lists: `% bip unweighted`, `# Undirected graph: ...`.
fn heed(comment: &str, facts: &mut GraphFacts) {
    if comment.contains("ndirected graph") {
        facts.undirected = Some("undirected graph".to_owned());
    }
    let mut words = comment.trim_ascii().trim_start_matches('%').split_ascii_whitespace();
    if facts.counts_from_one && facts.nodes.is_none() {
        // The numbers of edges, of sources, and of destinations.
        let sizes: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
        if let Some([_, sources, destinations]) = sizes.as_deref()
            && (facts.two_kinds.is_some() || sources == destinations)
        {
            facts.nodes = Some([*sources, *destinations]);
        }
        return;
    }
    let weights = ["unweighted", "positive", "posweighted", "signed", "multisigned", "weighted"];
    let more = ["multiweighted", "multiposweighted", "dynamic"];
    let kind = words.next();
    if !comment.trim_ascii_start().starts_with('%')
        || !words.next().is_some_and(|word| weights.contains(&word) || more.contains(&word))
    {
        return;
    }
    match kind {
        Some("bip") => facts.two_kinds = Some(comment.trim_ascii().to_owned()),
        Some("sym") => facts.undirected = Some(comment.trim_ascii().to_owned()),
        Some("asym") => {}
        _ => return,
    }
    facts.counts_from_one = true;
}
