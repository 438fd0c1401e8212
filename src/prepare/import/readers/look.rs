//! Facts about a file that are known before its rows are read.

use std::path::Path;
use std::rc::Rc;

use super::bad_rows::BadRowList;
use super::block::CellBlock;
use crate::formats::dgl::ArrayRef;
use crate::io::Dtype;
use crate::words::error::Result;

/// Rules for reading text files that replace automatic detection.
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

/// Shape of an array of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeShape {
    /// `(2, E)`: a row of sources and a row of destinations.
    TwoRows,
    /// `(E, 2)`: a row for each edge.
    TwoColumns,
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

/// A request to open a file: the purpose of its rows, and the user's flags.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) wants: Wants,
    /// Names of selected columns.
    pub(crate) names: &'a [&'a str],
    /// Whether nodes have names, which may be numbers.
    pub(crate) ids_are_names: bool,
    /// Whether edges have a third column with the names of their types.
    pub(crate) has_relations: bool,
    /// The node types of sources and destinations, if they are known.
    pub(crate) types: Option<[&'a str; 2]>,
    /// Shape of an array of edges, if it is known.
    pub(crate) edge_shape: Option<EdgeShape>,
    /// Whether a word is the name of a node, if all nodes are known.
    pub(crate) is_node: Option<&'a IsNode<'a>>,
    /// Whether the rules also apply to other files.
    pub(crate) has_others: bool,
    /// Columns of a table of which the file is a part; they decide on lists.
    pub(crate) columns: &'a [Column],
    /// Names of columns whose lists are sets or rows of labels, even if all have one length.
    pub(crate) lists: &'a [&'a str],
    /// Name of the array in an archive of several.
    pub(crate) array: Option<&'a str>,
    pub(crate) rules: TextRules,
    /// The list that takes bad rows; without it, the first is an error.
    pub(crate) bad_rows: Option<&'a Rc<BadRowList>>,
    /// Folder of temporary files.
    pub(crate) folder: &'a Path,
}

impl<'a> Ask<'a> {
    /// A request without any flags of the user.
    pub(crate) fn new(wants: Wants, folder: &'a Path) -> Self {
        Ask {
            wants,
            names: &[],
            ids_are_names: false,
            has_relations: false,
            types: None,
            edge_shape: None,
            is_node: None,
            has_others: false,
            columns: &[],
            lists: &[],
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
    /// Texts, some of which may represent other values.
    Text,
    /// Lists of texts, or lists of numbers with different lengths, as JSON.
    List,
    /// Numbers.
    Number(Dtype),
    /// Times since 1970.
    Date { per_day: f64 },
    /// Unsupported values, with reason and remedy.
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

    /// Unsupported values.
    pub(crate) fn other(problem: &str, hint: &'static str) -> Self {
        Form::Other { problem: problem.to_owned(), hint }
    }
}

/// Whether lists of several lengths may hold numbers of this type.
pub(super) fn lists_hold(dtype: Dtype) -> bool {
    dtype.is_integer() && ![Dtype::U32, Dtype::U64].contains(&dtype)
}

/// The element type that holds the values of all these: the only one, or one of 64 bits if need be.
pub(crate) fn holding_all(dtypes: &[Dtype]) -> Dtype {
    let is_small = |dtype: &Dtype| dtype.size() < 4 || *dtype == Dtype::F32;
    match dtypes {
        [first, rest @ ..] if rest.iter().all(|dtype| dtype == first) => *first,
        _ if dtypes.iter().all(|dtype| dtype.is_integer()) => Dtype::I64,
        _ if dtypes.iter().all(is_small) => Dtype::F32,
        _ => Dtype::F64,
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

    /// The column whose values are those of two parts of a table; `None` if they are of different kinds. Lists of several
    /// lengths have no width, and a part without lists has width 0.
    pub(super) fn with(&self, other: &Column) -> Option<Self> {
        let form = match (&self.form, &other.form) {
            (Form::Number(a), Form::Number(b)) if a != b => Form::Number(holding_all(&[*a, *b])),
            (Form::Number(dtype), Form::List) | (Form::List, Form::Number(dtype))
                if lists_hold(*dtype) && self.width.or(other.width).is_some() =>
            {
                Form::List
            }
            (a, b) if a == b => a.clone(),
            _ => return None,
        };
        let width = match (self.width, other.width) {
            _ if form == Form::List => None,
            (Some(0), width @ Some(_)) | (width @ Some(_), Some(0)) => width,
            (a, b) if a == b => a,
            (Some(_), Some(_)) if matches!(&form, Form::Number(dtype) if lists_hold(*dtype)) => {
                return Some(Column::new(&self.name, Form::List));
            }
            _ => return None,
        };
        Some(Column { name: self.name.clone(), form, width })
    }

    /// The columns of edges in a format that does not name them.
    pub(crate) fn ends(form: &Form) -> Vec<Self> {
        ["source", "target"].map(|name| Column::new(name, form.clone())).to_vec()
    }
}

/// Facts in a file about the whole graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GraphFacts {
    /// Numbers of sources and destinations.
    pub(crate) nodes: Option<[u64; 2]>,
    /// Whether there is a row for each direction of each edge.
    pub(crate) both_directions: bool,
    /// Whether each edge represents both directions, and the words that say so.
    pub(crate) undirected: Option<String>,
    /// Whether a row without a target is a node without edges.
    pub(crate) has_lone_nodes: bool,
    /// Whether nodes are counted from 1, as in KONECT's lists.
    pub(crate) counts_from_one: bool,
    /// Whether sources and destinations are numbered separately, and the words that say so.
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
    /// Unit of locations in the file, and location of the first row.
    pub(crate) unit: &'static str,
    pub(crate) first: u64,
    /// The array that all rows form, if it can be read in place.
    pub(crate) array: Option<ArrayRef>,
    /// Whether words such as `NA` stand for missing values, as in text.
    pub(crate) has_words_for_missing: bool,
    /// Dimensions of a row, if the file states more than the number of values.
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
            has_words_for_missing: false,
            row_shape: None,
        }
    }
}

/// A reader of rows.
pub(crate) trait Reader {
    /// Fills `block` with the next rows of columns; leaves it empty at the end.
    fn read(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()>;

    /// Approximate number of bytes of the file read so far.
    fn bytes_read(&self) -> u64;
}
