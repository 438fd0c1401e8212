//! Number files with a row per node or edge.

use std::collections::BTreeSet;
use std::path::Path;

use super::array_writer::ConvertedArray;
use super::row_numbers::RowNumbers;
use crate::formats::dgl::ArrayRef;
use crate::io::Dtype;
use crate::prepare::import::ids::{IdSpace, LIST};
use crate::prepare::import::readers::{
    Ask, CellValue, Column, FileRows, Form, has_ends, holding_all, is_index, is_like_id,
    is_usual_id, listed, parse_id,
};
use crate::words::error::{Error, Result};

const STRINGS: &str =
    "a table with strings, or with a column of ids, is read with ‹node_table=FILE› and ‹id=COLUMN›";

const GAPS: &str = "write a number in each row (in pandas: df.fillna(0)); a ‹node_table› may have gaps, with ‹fill_missing=mean›";

const SEVERAL_COLUMNS: &str = "labels have one column of class numbers, or a column of 0 and 1 for each class; a table with a column of ids is read \
     with ‹node_table=FILE›";

/// Hint for ids out of order in a file without names.
const NAMELESS: &str = "write a first line with names of columns: a table with ids is read with ‹node_table=FILE› and ‹id=NAME›, and a column with \
     another name than one of ids is data";

/// Number of rows whose first values differ before the first column of a file without names may hold ids.
const DIFFERENT: usize = 9;

/// Opens the array in a file; `name` is the data's name.
pub(crate) fn open_array(path: &Path, name: &str, ask: &Ask<'_>) -> Result<ArrayRef> {
    let (mut arrays, _) = open_arrays(&[(path, ask.array)], name, None, ask)?;
    arrays.pop().ok_or_else(|| Error::internal("a file without an array"))
}

/// Opens the arrays in files, given with the name of each in its archive; also returns notes on how they were read. Files in
/// formats other than NumPy's are converted to unnamed files. Rows of node data have the order of `nodes`.
/// Consecutive files that state no type of numbers, such as texts, make one array.
pub(crate) fn open_arrays(
    files: &[(&Path, Option<&str>)],
    name: &str,
    nodes: Option<&IdSpace>,
    ask: &Ask<'_>,
) -> Result<(Vec<ArrayRef>, Vec<String>)> {
    let (mut arrays, mut notes, mut open) = (Vec::new(), Vec::new(), None);
    let finish = |(out, shape): (ConvertedArray, Vec<u64>)| out.finish(&shape);
    for (path, array) in files {
        let ask = Ask { array: *array, ..*ask };
        let mut rows = FileRows::open(path, &ask)?;
        let mut table = ArrayColumns::of(&rows)?;
        table.find_row_numbers(&rows, &ask)?;
        if let Some(nodes) = nodes.filter(|_| table.id.is_none()) {
            nodes.check_order(path)?;
        }
        if let Some(array) = rows.file.array.take() {
            arrays.extend(open.take().map(finish).transpose()?);
            arrays.push(array);
            continue;
        }
        let shape = table.row_shape(&rows);
        let is_label = name.starts_with("label");
        // Whole numbers with gaps need another type, and most columns of Parquet may have gaps.
        let may_have_gaps = |dtype: &Dtype| is_label && shape.is_empty() && dtype.is_integer();
        let dtype = table.dtype(&rows).filter(|dtype| !may_have_gaps(dtype));
        let continues = |(out, due): &(ConvertedArray, Vec<u64>)| {
            dtype.is_none() && !out.has_type() && *due == shape
        };
        let (mut out, shape) = match open.take() {
            Some(before) if continues(&before) => before,
            before => {
                arrays.extend(before.map(finish).transpose()?);
                let out = ConvertedArray::create(path, ask.folder, dtype)?;
                (if is_label { out.taking_missing() } else { out }, shape)
            }
        };
        table.convert(&mut rows, name, nodes, &mut out)?;
        notes.push(table.note(&rows, name));
        open = Some((out, shape));
    }
    arrays.extend(open.map(finish).transpose()?);
    Ok((arrays, notes))
}

/// Columns of a file that become an array.
struct ArrayColumns {
    /// The column of ids, which must equal the names of the nodes, or the row numbers.
    id: Option<usize>,
    data: Vec<usize>,
    /// Columns of pandas' index.
    index: Vec<usize>,
}

impl ArrayColumns {
    fn of(rows: &FileRows) -> Result<Self> {
        let columns = rows.columns();
        if rows.file.named && has_ends(columns.iter().map(|column| column.name.as_str())) {
            let problem =
                "has columns for the ends of edges, but rows are in the order of nodes or edges";
            return Err(Error::input(rows.path(), "", problem).with_hint(
                "pass it as ‹edges=FILE›, and its other columns as ‹edge_columns=NAME›; rename the columns if they are data",
            ));
        }
        let all: Vec<usize> = (0..columns.len()).collect();
        let is_left =
            |at: &usize| rows.file.named && columns.len() > 1 && is_index(&columns[*at].name);
        let (left, mut data): (Vec<usize>, Vec<usize>) = all.into_iter().partition(is_left);
        let ids = data.iter().filter(|at| data.len() > 1 && is_usual_id(&columns[**at].name));
        let id = ids.copied().next();
        data.retain(|at| Some(*at) != id);
        if data.is_empty() {
            return Err(Error::input(rows.path(), "", "holds numbers of rows, but no data"));
        }
        Ok(ArrayColumns { id, data, index: left })
    }

    /// Appends all rows of the file to an array.
    fn convert(
        &self,
        rows: &mut FileRows,
        name: &str,
        nodes: Option<&IdSpace>,
        out: &mut ConvertedArray,
    ) -> Result<()> {
        let index = self.index.first().copied();
        let index = index.filter(|at| self.index.len() == 1 && may_count(rows, *at));
        let others = self.id.into_iter().chain(index);
        rows.select(self.data.iter().copied().chain(others))?;
        let index = index.map(|index| rows.name(index));
        // A first column of ids looks like a class number.
        let may_have_ids = name.starts_with("label") && !rows.file.named && self.data.len() > 1;
        let mut number = None;
        let (mut count, mut order) = (0, IndexOrder::default());
        while rows.advance()? {
            let mut place = self.data.len();
            if let Some(id) = self.id {
                check_id(rows, place, &rows.name(id), nodes, count)?;
                place += 1;
            }
            if let Some(index) = &index {
                order.check(rows, place, index)?;
            }
            for (at, column) in self.data.iter().enumerate() {
                for element in 0..rows.columns()[*column].width.unwrap_or(1) {
                    let value = rows.element(at, element);
                    if may_have_ids
                        && number.is_none()
                        && ![Some(0.0), Some(1.0)].contains(&value.parsed().number())
                    {
                        let problem =
                            format!("{} in one of {} columns", value.shown(), self.data.len());
                        number = Some(rows.fail(problem));
                    }
                    if let Some(problem) = out.push(value)? {
                        let error = rows.fail(format!("column {}: {problem}", rows.name(*column)));
                        return Err(error.with_hint(match value.parsed() {
                            _ if name.ends_with("mask") => LIST,
                            CellValue::Missing => GAPS,
                            _ => STRINGS,
                        }));
                    }
                }
            }
            count += 1;
        }
        let error = number.filter(|_| out.is_whole());
        error.map_or(Ok(()), |error| Err(error.with_hint(SEVERAL_COLUMNS)))
    }

    /// The dimensions of a row.
    fn row_shape(&self, rows: &FileRows) -> Vec<u64> {
        match (&rows.file.row_shape, &self.data[..]) {
            (Some(shape), _) => shape.clone(),
            (None, [column]) if rows.columns()[*column].width.is_none() => Vec::new(),
            (None, all) => {
                let width = |at: &usize| rows.columns()[*at].width.unwrap_or(1) as u64;
                vec![all.iter().map(width).sum()]
            }
        }
    }

    /// A note on how the file was read.
    fn note(&self, rows: &FileRows, name: &str) -> String {
        let columns = rows.columns();
        let of_index = |at: &usize| match columns[*at].name.as_str() {
            "" => "a column without a name".to_owned(),
            name => format!("{name}, pandas' index"),
        };
        let of_id = |at| format!("{}, the numbers of the rows", rows.name(at));
        let left: Vec<String> = self.index.iter().map(of_index).chain(self.id.map(of_id)).collect();
        let mut more = String::new();
        if rows.file.named {
            let names: Vec<String> = self.data.iter().map(|at| rows.name(*at)).collect();
            more = format!("; {name} is {}", listed(&names));
        }
        for at in &self.data {
            if matches!(columns[*at].form, Form::Date { .. }) {
                more.extend(["; ", &rows.name(*at), " is in days since 1970"]);
            }
        }
        if !left.is_empty() {
            more.extend(["; left out: ", &left.join(", ")]);
        }
        rows.note(&more)
    }

    /// Takes a column as ids whose values number the rows, if its name is like one of ids, or if it may hold ids in a file
    /// without names.
    fn find_row_numbers(&mut self, rows: &FileRows, ask: &Ask<'_>) -> Result<()> {
        let columns = rows.columns();
        if self.id.is_some() || self.data.len() < 2 {
            return Ok(());
        }
        let is_like = |at: &usize| is_like_id(&columns[*at].name) && columns[*at].width.is_none();
        let like = if rows.file.named {
            self.data.iter().copied().find(is_like)
        } else {
            may_begin_with_ids(rows.path(), ask)?.then_some(0)
        };
        let Some(like) = like else { return Ok(()) };
        let (mut rows, mut numbers) = (FileRows::open(rows.path(), ask)?, RowNumbers::default());
        rows.select([like])?;
        while rows.advance()? {
            numbers.add(rows.value(0).parsed().number());
        }
        if numbers.are_all() {
            self.id = Some(like);
            self.data.retain(|at| *at != like);
        }
        Ok(())
    }

    /// The element type, if the file states types: the only type, or one that holds all.
    fn dtype(&self, rows: &FileRows) -> Option<Dtype> {
        let dtypes = self.data.iter().map(|at| match rows.columns()[*at].form {
            Form::Number(dtype) => Some(dtype),
            _ => None,
        });
        let dtypes: Vec<Dtype> = dtypes.collect::<Option<_>>()?;
        (!dtypes.is_empty()).then(|| holding_all(&dtypes))
    }
}

/// Whether the first rows of a file without names have different whole numbers before other columns with fractions, as files of
/// embeddings do.
fn may_begin_with_ids(path: &Path, ask: &Ask<'_>) -> Result<bool> {
    let mut rows = FileRows::open(path, ask)?;
    let width = rows.columns().len();
    rows.select(0..width)?;
    let (mut ids, mut has_fractions) = (BTreeSet::new(), false);
    while ids.len() < DIFFERENT && rows.advance()? {
        match rows.value(0).parsed() {
            CellValue::Whole(id) if ids.insert(id) => {}
            _ => return Ok(false),
        }
        let is_real = |at| matches!(rows.value(at).parsed(), CellValue::Real(_));
        has_fractions |= (1..width).any(is_real);
    }
    Ok(has_fractions && ids.len() == DIFFERENT)
}

/// Whether a column of pandas' index may count the rows. Others, such as hashes or bytes, need not even be readable.
fn may_count(rows: &FileRows, column: usize) -> bool {
    match &rows.columns()[column] {
        Column { width: None, form: Form::Number(dtype), .. } => *dtype != Dtype::U64,
        Column { form: Form::Text, .. } => rows.file.has_words_for_missing,
        _ => false,
    }
}

/// The values of pandas' index so far: whole numbers, unless the first is another word.
#[derive(Default)]
struct IndexOrder {
    /// The first number and the last.
    ends: Option<[i64; 2]>,
    /// Whether the first is another word.
    has_words: bool,
}

impl IndexOrder {
    /// Checks that the index counts the rows, from any number. It may begin again, as in the parts of a folder.
    fn check(&mut self, rows: &FileRows, place: usize, name: &str) -> Result<()> {
        let CellValue::Whole(number) = rows.value(place).parsed() else {
            self.has_words |= self.ends.is_none();
            return Ok(());
        };
        let [first, last] = self.ends.unwrap_or([number; 2]);
        self.ends = Some([first, number]);
        if self.has_words || number == first || last.checked_add(1) == Some(number) {
            return Ok(());
        }
        let problem = format!(
            "the index (column {name}) is {number} after {last}, but rows are in the order of nodes or edges from 0"
        );
        Err(rows.fail(problem).with_hint(
            "before saving, call df.sort_index() if rows are out of order, or df.reset_index(drop=True) if their order is right",
        ))
    }
}

/// Checks that the column of ids, which is selected as number `place`, has the name of node `due`, or counts the rows.
fn check_id(
    rows: &FileRows,
    place: usize,
    name: &str,
    nodes: Option<&IdSpace>,
    due: u64,
) -> Result<()> {
    let value = rows.value(place);
    let id = |word: &[u8]| nodes.and_then(|nodes| nodes.listed(word)).or_else(|| parse_id(word));
    if value.name().and_then(|word| id(&word)) == Some(due) {
        return Ok(());
    }
    let value = value.shown();
    if let Some(list) = nodes.and_then(IdSpace::list_of_names) {
        let list = list.display();
        let problem = format!("column {name}: {value}, but rows are in the order of {list}");
        let hint = "sort both files by their ids, or add these columns to a ‹node_table›";
        return Err(rows.fail(problem).with_hint(hint));
    }
    let problem =
        format!("column {name}: {value}, but rows are in the order of nodes or edges from 0");
    Err(rows.fail(problem).with_hint(if rows.file.named {
        format!(
            "a table whose column {name} has ids is read with ‹node_table=FILE› and ‹id={name}›; of \
             edges, with ‹edge_columns=NAME› from the file of edges; rename the column if it is data"
        )
    } else {
        NAMELESS.to_owned()
    }))
}
