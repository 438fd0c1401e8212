//! Facts about a file before its rows are read.

use std::path::Path;
use std::rc::Rc;

use super::bad_rows::BadRowList;
use super::block::CellBlock;
use crate::error::Result;
use crate::formats::dgl::ArrayRef;
use crate::io::Dtype;

/// How text files are read where they are not to be recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextRules {
    /// Whether the first line names the columns.
    pub header: Option<bool>,
    /// The character between fields.
    pub separator: Option<char>,
    /// The character at the start of comments.
    pub comment: Option<Comment>,
}

/// The lines of text files that are comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comment {
    /// Lines that begin with a character, wherever they are.
    Char(char),
    /// None.
    None,
}

/// Purpose of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// Two columns of nodes.
    Edges,
    /// One column of nodes.
    List,
    /// A row per node or edge.
    Table,
}

/// Whether a word is the name of a node.
pub(crate) type IsNode<'a> = dyn Fn(&[u8]) -> bool + 'a;

/// A request to a file: the purpose of its rows, and the user's flags for it.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) wants: Wants,
    /// Names of columns that are chosen.
    pub(crate) names: &'a [&'a str],
    /// Whether nodes have names, which may be numbers.
    pub(crate) ids_are_names: bool,
    /// Whether edges have a third column of names, that of their types.
    pub(crate) has_relations: bool,
    /// Whether a word is that of a node, if all nodes are known.
    pub(crate) is_node: Option<&'a IsNode<'a>>,
    /// Whether the rules are those of other files, too.
    pub(crate) has_others: bool,
    /// Name of the array in an archive of several.
    pub(crate) array: Option<&'a str>,
    pub(crate) rules: TextRules,
    /// The list that takes bad rows; without it, the first is an error.
    pub(crate) bad_rows: Option<&'a Rc<BadRowList>>,
    /// Folder of temporary files.
    pub(crate) folder: &'a Path,
}

impl<'a> Ask<'a> {
    /// A question about a file of which the user has said nothing.
    pub(crate) fn new(wants: Wants, folder: &'a Path) -> Self {
        Ask {
            wants,
            names: &[],
            ids_are_names: false,
            has_relations: false,
            is_node: None,
            has_others: false,
            array: None,
            rules: TextRules::default(),
            bad_rows: None,
            folder,
        }
    }
}

/// The form of a column's values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    /// Texts, which may be words for other values.
    Text,
    /// Lists of texts, or of numbers in lists of several lengths, as JSON.
    List,
    /// Numbers.
    Number(Dtype),
    /// Times since 1970.
    Date { per_day: f64 },
    /// Values that are not read, with the reason and the remedy.
    Other { problem: String, hint: &'static str },
}

impl Form {
    /// Lists of lists.
    pub(crate) fn nested_lists() -> Self {
        Form::other("holds lists of lists", "write them as one list for each row")
    }

    /// Structures of several fields.
    pub(crate) fn structures() -> Self {
        Form::other("holds structures", "write each of their fields to a separate column")
    }

    /// Values that are not read.
    pub(crate) fn other(problem: &str, hint: &'static str) -> Self {
        Form::Other { problem: problem.to_owned(), hint }
    }
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// Name; empty if it has none.
    pub(crate) name: String,
    pub(crate) form: Form,
    /// Number of values of a row, if they are lists.
    pub(crate) width: Option<usize>,
}

impl Column {
    /// A column of plain values.
    pub(crate) fn new(name: &str, form: Form) -> Self {
        Column { name: name.to_owned(), form, width: None }
    }
}

/// Facts in a file about the graph as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GraphFacts {
    /// Numbers of sources and destinations.
    pub(crate) nodes: Option<[u64; 2]>,
    /// Whether each edge has a row for each direction.
    pub(crate) both_directions: bool,
    /// Whether each edge stands for both directions, and the words that say so.
    pub(crate) undirected: Option<String>,
    /// Whether a row without a target is a node without edges.
    pub(crate) has_lone_nodes: bool,
    /// Whether sources and destinations are numbered apart, and the words that say so.
    pub(crate) two_kinds: Option<String>,
}

/// A file whose columns are known.
pub(crate) struct Opened {
    pub(crate) columns: Vec<Column>,
    /// Whether the file names its columns.
    pub(crate) named: bool,
    pub(crate) facts: GraphFacts,
    pub(crate) reader: Box<dyn Reader>,
    /// The recognised format, such as `text, separated by commas`.
    pub(crate) kind: String,
    /// The unit of places in the file, and the place of the first row.
    pub(crate) unit: &'static str,
    pub(crate) first: u64,
    /// The array that all rows together are, if it can be read in place.
    pub(crate) array: Option<ArrayRef>,
    /// Sizes of the dimensions of a row, if the file says more than the number of values.
    pub(crate) row_shape: Option<Vec<u64>>,
}

impl Opened {
    /// A file of rows whose columns have names.
    pub(crate) fn new(columns: Vec<Column>, kind: &str, reader: Box<dyn Reader>) -> Self {
        Opened {
            columns,
            named: true,
            facts: GraphFacts::default(),
            reader,
            kind: kind.to_owned(),
            unit: "row",
            first: 0,
            array: None,
            row_shape: None,
        }
    }
}

/// A reader of rows.
pub(crate) trait Reader {
    /// Fills `block` with the next rows of columns; leaves it empty at the end.
    fn read(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()>;

    /// Bytes of the file read so far, about.
    fn bytes_read(&self) -> u64;
}
