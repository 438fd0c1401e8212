//! Number files with a row per node or edge.

use std::path::Path;

use super::array_writer::ConvertedArray;
use super::row_numbers::RowNumbers;
use crate::error::{Error, Result};
use crate::formats::dgl::ArrayRef;
use crate::io::Dtype;
use crate::prepare::import::ids::LIST;
use crate::prepare::import::readers::{
    Ask, CellValue, FileRows, Form, has_ends, is_index, is_like_id, is_usual_id, listed, parse_id,
};

const STRINGS: &str =
    "a table with strings, or with a column of ids, is read with ‹node_table=FILE› and ‹id=COLUMN›";

/// An array, and a note on how its file was read.
pub(crate) struct OpenedArray {
    pub(crate) array: ArrayRef,
    pub(crate) note: Option<String>,
}

/// Opens the array in a file; `name` is the data's name. Files in formats other than NumPy's are converted to unnamed
/// files.
pub(crate) fn open_array(path: &Path, name: &str, ask: &Ask<'_>) -> Result<OpenedArray> {
    let mut rows = FileRows::open(path, ask)?;
    if let Some(array) = rows.file.array.take() {
        return Ok(OpenedArray { array, note: None });
    }
    let mut table = ArrayColumns::of(&rows)?;
    table.find_row_numbers(&rows, ask)?;
    rows.select(table.id.into_iter().chain(table.data.iter().copied()))?;
    let mut out = ConvertedArray::create(path, ask.folder, table.dtype(&rows))?;
    if name.starts_with("label") {
        out = out.taking_missing();
    }
    let first = usize::from(table.id.is_some());
    // A first column of ids looks like a class number.
    let may_have_ids = name.starts_with("label") && !rows.file.named && table.data.len() > 1;
    let mut number = None;
    let mut count = 0;
    while rows.advance()? {
        if let Some(id) = table.id {
            check_id(&rows, &rows.name(id), count)?;
        }
        for (at, column) in (first..).zip(&table.data) {
            for element in 0..rows.columns()[*column].width.unwrap_or(1) {
                let value = rows.element(at, element);
                if may_have_ids
                    && number.is_none()
                    && ![Some(0.0), Some(1.0)].contains(&value.parsed().number())
                {
                    let problem =
                        format!("{} in one of {} columns", value.shown(), table.data.len());
                    number = Some(rows.fail(problem));
                }
                if let Some(problem) = out.push(value)? {
                    let error = rows.fail(format!("column {}: {problem}", rows.name(*column)));
                    let is_mask = name.ends_with("mask");
                    return Err(error.with_hint(if is_mask { LIST } else { STRINGS }));
                }
            }
        }
        count += 1;
    }
    if let Some(error) = number.filter(|_| out.is_whole()) {
        return Err(error.with_hint(
            "labels have one column of class numbers, or a column of 0 and 1 for each class; a table with a column of ids \
             is read with ‹node_table=FILE›",
        ));
    }
    if let Some(id) = table.id {
        let problem = format!("{}, the numbers of the rows", rows.name(id));
        table.left_out.push(problem);
    }
    let row_shape = match (&rows.file.row_shape, &table.data[..]) {
        (Some(shape), _) => shape.clone(),
        (None, [column]) if rows.columns()[*column].width.is_none() => Vec::new(),
        (None, all) => {
            let width = |at: &usize| rows.columns()[*at].width.unwrap_or(1) as u64;
            vec![all.iter().map(width).sum()]
        }
    };
    let mut more = String::new();
    if rows.file.named {
        let names: Vec<String> = table.data.iter().map(|at| rows.name(*at)).collect();
        more = format!("; {name} is {}", listed(&names));
    }
    for at in &table.data {
        if matches!(rows.columns()[*at].form, Form::Date { .. }) {
            more.extend(["; ", &rows.name(*at), " is in days since 1970"]);
        }
    }
    if !table.left_out.is_empty() {
        more.extend(["; left out: ", &table.left_out.join(", ")]);
    }
    let note = Some(rows.note(&more));
    Ok(OpenedArray { array: out.finish(&row_shape)?, note })
}

/// Columns of a file that become an array.
struct ArrayColumns {
    /// The column of ids, which must equal the row numbers.
    id: Option<usize>,
    data: Vec<usize>,
    left_out: Vec<String>,
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
        let name = |at: &usize| match columns[*at].name.as_str() {
            "" => "the first column, which has no name".to_owned(),
            name => format!("{name}, pandas' index"),
        };
        Ok(ArrayColumns { id, data, left_out: left.iter().map(name).collect() })
    }

    /// Takes a column as ids whose name is like one of ids, and whose values number the rows.
    fn find_row_numbers(&mut self, rows: &FileRows, ask: &Ask<'_>) -> Result<()> {
        let columns = rows.columns();
        let is_like = |at: &usize| is_like_id(&columns[*at].name) && columns[*at].width.is_none();
        let like = self.data.iter().copied().find(is_like).filter(|_| self.data.len() > 1);
        let Some(like) = like.filter(|_| rows.file.named && self.id.is_none()) else {
            return Ok(());
        };
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
        let first = *dtypes.first()?;
        let is_small = |dtype: &Dtype| dtype.size() < 4 || *dtype == Dtype::F32;
        Some(if dtypes.iter().all(|dtype| *dtype == first) {
            first
        } else if dtypes.iter().all(|dtype| dtype.is_integer()) {
            Dtype::I64
        } else if dtypes.iter().all(is_small) {
            Dtype::F32
        } else {
            Dtype::F64
        })
    }
}

/// Checks that a column of ids counts the rows.
fn check_id(rows: &FileRows, name: &str, due: u64) -> Result<()> {
    let found = match rows.value(0) {
        CellValue::Whole(number) => u64::try_from(number).ok(),
        CellValue::Text(word) => parse_id(word),
        _ => None,
    };
    if found == Some(due) {
        return Ok(());
    }
    let value = rows.value(0).shown();
    let problem =
        format!("column {name}: {value}, but rows are in the order of nodes or edges from 0");
    Err(rows.fail(problem).with_hint(format!(
        "a table whose column {name} has ids is read with ‹node_table=FILE› and ‹id={name}›; of \
         edges, with ‹edge_columns=NAME› from the file of edges; rename the column if it is data"
    )))
}
