//! The columns and rows of tables.

use std::path::Path;

use super::cells::{ColumnKind, OutputCells, OutputColumn};
use super::node_space::NodeSpace;
use crate::io::Dtype;
use crate::nn::Task;
use crate::prepare::import::{class_names_of, read_class_names};
use crate::run::config::Relations;
use crate::run::rank::{PredictConfig, Prediction, StoredForm};
use crate::words::error::{Error, Result};

pub(super) struct TableRows {
    /// Ids of their nodes, if nodes have no names.
    pub(super) ids: Vec<u64>,
    /// Names of their nodes, if they have names.
    pub(super) names: Vec<Vec<u8>>,
    /// Types of their nodes, if there are several.
    pub(super) types: Vec<usize>,
    /// The rows as they are stored.
    pub(super) values: Vec<u8>,
}

/// Headings and types of a table's columns.
pub(super) struct TableColumns {
    /// Heading of the column of nodes.
    node: &'static str,
    /// Whether nodes have names.
    named: bool,
    /// Names of the node types, whose column follows, if there are several.
    types: Vec<String>,
    /// Headings of the columns after these.
    headings: Vec<String>,
    /// Types of these columns.
    pub(super) form: StoredForm,
    /// Names of the classes in a single column of them; empty without names.
    classes: Vec<String>,
}

impl TableColumns {
    /// The columns of a prediction of this width. `names` are those of its classes.
    pub(super) fn new(
        config: &PredictConfig,
        names: Vec<String>,
        space: &NodeSpace<'_>,
        form: StoredForm,
    ) -> Self {
        let prefix = match (config.prediction, config.run.task) {
            (Prediction::Classes, _) => "class",
            (Prediction::Probabilities, _) => "probability",
            (Prediction::Embeddings, _) => "embedding",
            (Prediction::Logits, Task::Regression) => "value",
            (Prediction::Logits, _) if config.correct_and_smooth.is_some() => "score",
            (Prediction::Logits, _) => "logit",
        };
        let heading = |column: u64| match names.get(column as usize) {
            Some(name) => format!("{prefix}_{name}"),
            None => format!("{prefix}_{column}"),
        };
        let headings = match form.columns {
            Some(columns) => (0..columns).map(heading).collect(),
            None => vec![prefix.to_owned()],
        };
        let classes = if form.columns.is_none() { names } else { Vec::new() };
        let named = space.has_names();
        let node = if named { "node" } else { space.numbering.heading("node", "partition_node") };
        let types = if space.has_types() { space.book().ntypes().to_vec() } else { Vec::new() };
        TableColumns { node, named, types, headings, form, classes }
    }

    /// The columns of the file.
    pub(super) fn columns(&self) -> Vec<OutputColumn> {
        let kind = match self.form.dtype {
            _ if !self.classes.is_empty() => ColumnKind::Text,
            Dtype::F32 => ColumnKind::Float32,
            Dtype::I64 => ColumnKind::Int64,
            _ => ColumnKind::Int32,
        };
        let mut columns = vec![OutputColumn::of_nodes(self.node, self.named)];
        columns
            .extend((!self.types.is_empty()).then(|| OutputColumn::new("type", ColumnKind::Text)));
        columns.extend(self.headings.iter().map(|heading| OutputColumn::new(heading, kind)));
        columns
    }

    /// The cells of some rows, column by column.
    pub(super) fn cells(&self, rows: TableRows) -> Result<Vec<OutputCells>> {
        let TableRows { ids, names, types, values } = rows;
        let mut cells = vec![if self.named {
            OutputCells::Text(names)
        } else {
            OutputCells::Int64(ids.into_iter().map(|id| id as i64).collect())
        }];
        if !self.types.is_empty() {
            let names = types.into_iter().map(|ntype| self.types[ntype].clone().into_bytes());
            cells.push(OutputCells::Text(names.collect()));
        }
        let (size, row_bytes) = (self.form.dtype.size(), self.form.row_bytes().max(1));
        for index in 0..self.headings.len() {
            let rows = values.chunks(row_bytes);
            let column = rows.flat_map(|row| row[index * size..][..size].iter().copied());
            cells.push(self.numbers(&column.collect::<Vec<u8>>())?);
        }
        Ok(cells)
    }

    /// The cells of a column of numbers, or of the names of classes with these numbers.
    fn numbers(&self, bytes: &[u8]) -> Result<OutputCells> {
        let dtype = self.form.dtype;
        let count = bytes.len() / dtype.size();
        if dtype == Dtype::F32 {
            let mut values = vec![0.0; count];
            dtype.to_f32(bytes, &mut values);
            return Ok(OutputCells::Float32(values));
        }
        let mut values = vec![0; count];
        let converted = dtype.to_i64(bytes, &mut values);
        converted.map_err(|_| Error::internal("a prediction is not a number"))?;
        Ok(if !self.classes.is_empty() {
            OutputCells::Text(
                values.into_iter().map(|number| self.class(number).into_bytes()).collect(),
            )
        } else if dtype == Dtype::I64 {
            OutputCells::Int64(values)
        } else {
            OutputCells::Int32(values.into_iter().map(|value| value as i32).collect())
        })
    }

    /// The name of a class, or its number if it has none.
    fn class(&self, number: i64) -> String {
        let name = usize::try_from(number).ok().and_then(|number| self.classes.get(number));
        name.map_or_else(|| number.to_string(), String::clone)
    }
}

/// The names of the predicted type's classes, if the partition directory has them and classes are predicted. A class beyond them
/// has its number.
pub(super) fn class_names(
    config: &PredictConfig,
    folder: &Path,
    space: &NodeSpace<'_>,
) -> Result<Vec<String>> {
    let run = &config.run;
    let of_classes = run.task.has_classes() && run.link.is_none();
    if !of_classes || config.prediction == Prediction::Embeddings {
        return Ok(Vec::new());
    }
    let several = run.relations.as_ref().is_some_and(Relations::several_targets);
    let of_type = space.only_type().map(|ntype| class_names_of(folder, ntype)).transpose()?;
    match of_type.flatten() {
        Some(names) => Ok(names),
        // The names are those of one of the types.
        None if several => Ok(Vec::new()),
        None => read_class_names(folder),
    }
}
