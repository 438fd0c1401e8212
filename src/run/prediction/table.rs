//! A prediction as a table: a row per node with its id or name.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::csv::CsvTable;
use super::node_space::{NodeNameLines, NodeSpace};
use super::parquet::ParquetTable;
use crate::error::{Error, Result};
use crate::io::{AtomicFile, read_input};
use crate::nn::Task;
use crate::platform::signals;
use crate::run::rank::{PredictConfig, Prediction, PredictionFormat, StoredForm};

/// Bytes of rows that are held at a time.
const BLOCK: usize = 4 << 20;
/// Most rows that are held at a time: names are held with them.
const MOST_ROWS: usize = 64 << 10;

/// Name of the file of classes' names, one per line, next to a partition directory's JSON file.
pub(super) const CLASS_NAMES: &str = "class_names.txt";

/// What the user calls the nodes of the rows, in the order of rows.
pub(super) enum NodeLabels {
    /// All names, or those of some places, ascending.
    Names(NodeNameLines, Option<Vec<u64>>),
    /// Names as a list has them.
    Listed(Vec<Vec<u8>>),
    /// Consecutive ids, or some.
    Ids(Option<Vec<u64>>),
}

/// Some rows of the table.
pub(super) struct Rows {
    /// Ids of their nodes, if nodes have no names.
    pub(super) ids: Vec<u64>,
    /// Names of their nodes, if they have names.
    pub(super) names: Vec<Vec<u8>>,
    /// The rows as they are stored.
    pub(super) values: Vec<u8>,
}

/// Headings and types of a table's columns.
pub(super) struct Columns {
    /// Whether nodes have names.
    pub(super) named: bool,
    /// Headings of the columns behind the node.
    pub(super) headings: Vec<String>,
    /// Types of these columns.
    pub(super) form: StoredForm,
    /// Names of the classes in a single column of them; empty without names.
    pub(super) classes: Vec<String>,
}

/// A table that is being written.
pub(super) trait TableFile {
    /// Writes some rows.
    fn rows(&mut self, columns: &Columns, rows: &Rows) -> Result<()>;

    /// Ends the table and gives the file its name.
    fn finish(self: Box<Self>) -> Result<()>;
}

impl Columns {
    /// The columns of a prediction of this width.
    pub(super) fn new(
        config: &PredictConfig,
        folder: &Path,
        named: bool,
        form: StoredForm,
    ) -> Result<Self> {
        let run = &config.run;
        let of_classes = run.task.has_classes() && run.link.is_none();
        let names = match config.prediction {
            Prediction::Embeddings => Vec::new(),
            _ if !of_classes => Vec::new(),
            _ => class_names(folder, form.columns)?,
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
        Ok(Columns { named, headings, form, classes })
    }

    /// The name of a class, if classes have names.
    pub(super) fn class(&self, number: i64) -> Option<&str> {
        let number = usize::try_from(number).ok()?;
        self.classes.get(number).map(String::as_str)
    }
}

/// The names of classes, if the partition directory has them.
fn class_names(folder: &Path, classes: Option<u64>) -> Result<Vec<String>> {
    let path = folder.join(CLASS_NAMES);
    let text = match read_input(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|e| Error::unreadable(&path, &e))?,
    };
    let names: Vec<String> = text.lines().map(str::to_owned).collect();
    match classes {
        Some(classes) if classes != names.len() as u64 => {
            let problem = format!("names {} classes, but the model has {classes}", names.len());
            Err(Error::input(&path, "", problem)
                .with_hint("write one name per line, or remove the file"))
        }
        _ => Ok(names),
    }
}

/// Makes a table of the rows that the ranks have written.
pub(super) fn write_table(
    rows: &Path,
    config: &PredictConfig,
    format: PredictionFormat,
    columns: &Columns,
    mut labels: NodeLabels,
) -> Result<()> {
    let unreadable = |e| Error::io("read", rows, e);
    let mut file = File::open(rows).map_err(unreadable)?;
    let row_bytes = columns.form.row_bytes() as u64;
    let total = file.metadata().map_err(unreadable)?.len() / row_bytes.max(1);
    let out = AtomicFile::create(&config.output)?;
    let mut table: Box<dyn TableFile> = match format {
        PredictionFormat::Parquet => Box::new(ParquetTable::new(out, &config.output, columns)?),
        _ => Box::new(CsvTable::new(out, &config.output, columns)?),
    };
    let at_once = (BLOCK as u64 / row_bytes.max(1)).clamp(1, MOST_ROWS as u64);
    let mut done = 0;
    while done < total {
        signals::check()?;
        let count = at_once.min(total - done);
        let mut values = vec![0; (count * row_bytes) as usize];
        file.read_exact(&mut values).map_err(unreadable)?;
        let (ids, names) = labels.of_rows(done, count)?;
        table.rows(columns, &Rows { ids, names, values })?;
        done += count;
    }
    table.finish()
}

impl NodeLabels {
    /// The labels of nodes of a selection in ascending order, or of all nodes.
    pub(super) fn ascending(space: &NodeSpace<'_>, places: Option<Vec<u64>>) -> Self {
        match space.has_names() {
            true => NodeLabels::Names(space.names(), places),
            false => NodeLabels::Ids(places),
        }
    }

    /// Ids or names of some rows; rows are asked for one after the other.
    fn of_rows(&mut self, first: u64, count: u64) -> Result<(Vec<u64>, Vec<Vec<u8>>)> {
        let rows = first..first + count;
        let range = first as usize..(first + count) as usize;
        Ok(match self {
            NodeLabels::Ids(None) => (rows.collect(), Vec::new()),
            NodeLabels::Ids(Some(ids)) => (ids[range].to_vec(), Vec::new()),
            NodeLabels::Listed(words) => (Vec::new(), words[range].to_vec()),
            NodeLabels::Names(lines, places) => {
                let mut names = Vec::with_capacity(count as usize);
                for row in rows {
                    let place = places.as_ref().map_or(row, |places| places[row as usize]);
                    while lines.count() < place {
                        lines.advance()?;
                    }
                    names.push(lines.advance()?.to_vec());
                }
                (Vec::new(), names)
            }
        })
    }
}
