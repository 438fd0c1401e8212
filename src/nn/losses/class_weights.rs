//! Weights of classes in a loss.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use super::task::Task;
use crate::io::read_input;
use crate::words::error::{Error, Result};

const FIELD: &str = "class_weights";

/// The weights of classes; see [`Loss::weighted`](crate::nn::Loss::weighted).
///
/// ```
/// use sar::nn::{ClassWeights, Task};
///
/// let balanced = ClassWeights::parse("balanced")?;
/// assert_eq!(balanced.resolve(Task::Classification, 6, &[4, 1, 1])?, [0.5, 2.0, 2.0]);
/// let given = ClassWeights::parse("1,2.5")?;
/// assert_eq!(given.resolve(Task::Classification, 6, &[4, 2])?, [1.0, 2.5]);
/// # Ok::<(), sar::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClassWeights {
    /// Weights from the training nodes. Classification: nodes / (classes · nodes of the class), as scikit-learn's
    /// `class_weight="balanced"`. Several labels: negatives / positives of the class, as PyTorch suggests for
    /// `pos_weight`. Classes without training nodes (or positives) have 1.
    Balanced,
    /// Explicit weights, by class.
    Values(Vec<f64>),
}

impl ClassWeights {
    /// Parses a text: `balanced`, numbers separated by commas, or the name of a file of numbers.
    ///
    /// # Errors
    /// If the text is none of these, or a number is negative.
    pub fn parse(text: &str) -> Result<Self> {
        if text == "balanced" {
            return Ok(ClassWeights::Balanced);
        }
        if let Some(values) = numbers(text) {
            return check(values).map_err(|problem| Error::config(FIELD, problem));
        }
        let path = Path::new(text);
        let content = read_input(path).map_err(|e| {
            let problem = format!("{text} is neither numbers nor a file that can be read: {e}");
            Error::config(FIELD, problem)
                .with_hint("pass `balanced`, a list such as 1,2.5,1, or a text file of numbers")
        })?;
        let values = numbers(&content).ok_or_else(|| {
            Error::input(path, "", "holds something other than numbers")
                .with_hint("write a number per class, separated by spaces, commas or line ends")
        })?;
        check(values).map_err(|problem| Error::input(path, "", problem))
    }

    /// Weight of each class, from the number of training nodes and their number per class.
    ///
    /// # Errors
    /// If the task has no classes, or the number of weights differs from the number of classes.
    pub fn resolve(&self, task: Task, nodes: i64, of_class: &[i64]) -> Result<Vec<f64>> {
        if !task.has_classes() {
            return Err(Error::config(FIELD, "a regression has no classes")
                .with_hint("leave ‹class_weights› out, or pass another ‹task›"));
        }
        let classes = of_class.len();
        let balanced = |count: i64| match (task, count) {
            (_, 0) => 1.0,
            (Task::Multilabel, _) => (nodes - count) as f64 / count as f64,
            _ => nodes as f64 / (classes as f64 * count as f64),
        };
        match self {
            ClassWeights::Balanced => Ok(of_class.iter().map(|count| balanced(*count)).collect()),
            ClassWeights::Values(values) if values.len() == classes => Ok(values.clone()),
            ClassWeights::Values(values) => {
                let problem = format!("{} weights for {classes} classes", values.len());
                Err(Error::config(FIELD, problem).with_hint("pass one weight per class"))
            }
        }
    }
}

/// Number of rows of `mask` in each class, `int64 [classes]`. Labels have the form that [`Loss`](crate::nn::Loss) takes.
///
/// # Errors
/// If the shapes or types do not fit (`Tensor`).
pub fn class_counts(task: Task, labels: &Tensor, mask: &Tensor, classes: i64) -> Result<Tensor> {
    Ok(match task {
        Task::Classification => {
            labels.f_masked_select(mask)?.f_bincount(None::<&Tensor>, classes)?
        }
        Task::Multilabel | Task::Regression => {
            let rows = labels.f_index_select(0, &mask.f_nonzero()?.f_squeeze_dim(1)?)?;
            rows.f_ne(0)?.f_sum_dim_intlist([0_i64].as_slice(), false, Kind::Int64)?
        }
    })
}

fn numbers(text: &str) -> Option<Vec<f64>> {
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|w| !w.is_empty());
    let values: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
    values.filter(|values| !values.is_empty())
}

fn check(values: Vec<f64>) -> std::result::Result<ClassWeights, String> {
    match values.iter().find(|value| !(**value >= 0.0 && value.is_finite())) {
        Some(value) => Err(format!("a weight must be 0 or more, not {value}")),
        None => Ok(ClassWeights::Values(values)),
    }
}
