//! The columns and rows of tables.

use std::path::Path;

use super::node_space::NodeSpace;
use crate::error::{Error, Result};
use crate::nn::Task;
use crate::prepare::import::{CLASS_NAMES, class_names_file, class_names_of, read_class_names};
use crate::run::config::Relations;
use crate::run::rank::{PredictConfig, Prediction, StoredForm};

/// Some rows of the table.
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
    pub(super) node: &'static str,
    /// Whether nodes have names.
    pub(super) named: bool,
    /// Names of the node types, whose column follows, if there are several.
    pub(super) types: Vec<String>,
    /// Headings of the columns after these.
    pub(super) headings: Vec<String>,
    /// Types of these columns.
    pub(super) form: StoredForm,
    /// Names of the classes in a single column of them; empty without names.
    pub(super) classes: Vec<String>,
}

/// A table that is being written.
pub(super) trait TableFile {
    /// Writes some rows.
    fn rows(&mut self, columns: &TableColumns, rows: &TableRows) -> Result<()>;

    /// Ends the table and gives the file its name.
    fn finish(self: Box<Self>) -> Result<()>;
}

impl TableColumns {
    /// The columns of a prediction of this width.
    pub(super) fn new(
        config: &PredictConfig,
        folder: &Path,
        space: &NodeSpace<'_>,
        form: StoredForm,
    ) -> Result<Self> {
        let run = &config.run;
        let of_classes = run.task.has_classes() && run.link.is_none();
        let names = match config.prediction {
            Prediction::Embeddings => Vec::new(),
            _ if !of_classes => Vec::new(),
            _ => class_names(config, folder, space, form.columns)?,
        };
        let prefix = match (config.prediction, run.task) {
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
        Ok(TableColumns { node, named, types, headings, form, classes })
    }

    /// The name of a class, if classes have names.
    pub(super) fn class(&self, number: i64) -> Option<&str> {
        let number = usize::try_from(number).ok()?;
        self.classes.get(number).map(String::as_str)
    }
}

/// The names of the predicted type's classes, if the partition directory has them.
fn class_names(
    config: &PredictConfig,
    folder: &Path,
    space: &NodeSpace<'_>,
    classes: Option<u64>,
) -> Result<Vec<String>> {
    let several = config.run.relations.as_ref().is_some_and(Relations::several_targets);
    let ntype = space.only_type();
    let of_type = ntype.map(|ntype| class_names_of(folder, ntype)).transpose()?.flatten();
    let (path, names) = match (of_type, ntype) {
        (Some(names), Some(ntype)) => (class_names_file(folder, ntype), names),
        // The names are those of one of the types.
        _ if several => return Ok(Vec::new()),
        _ => (folder.join(CLASS_NAMES), read_class_names(folder)?),
    };
    match classes {
        Some(classes) if !names.is_empty() && classes != names.len() as u64 => {
            let problem = format!("names {} classes, but the model has {classes}", names.len());
            Err(Error::input(&path, "", problem)
                .with_hint("write one name per line, or remove the file"))
        }
        _ => Ok(names),
    }
}
