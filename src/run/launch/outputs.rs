//! Number of a model's outputs, from the labels of a partition.

use crate::engine::tensor;
use crate::formats::dgl::Partition;
use crate::load::{label_columns, load_labels};
use crate::nn::Task;
use crate::run::config::RunConfig;
use crate::run::rank::USUAL_CLASSES;
use crate::words::error::{Error, Result};

/// Number of classes up to the highest one in a partition, or number of columns of its labels.
pub(in crate::run) fn num_outputs(partition: &Partition, run: &RunConfig) -> Result<u64> {
    let key = run.keys.labels.as_deref();
    if run.task != Task::Classification {
        return label_columns(partition, key);
    }
    // The launcher must be single-threaded when it forks, and libtorch starts threads for large copies.
    tch::set_num_threads(1);
    let labels = load_labels(partition, key)?;
    let highest = tensor::slice::<i64>(&labels).iter().copied().max().unwrap_or(-1);
    let most = USUAL_CLASSES.max(partition.book().num_nodes() as i64);
    if highest >= most {
        let path = partition.node_features().path();
        let problem = format!("holds {highest}, which is too large for a class");
        return Err(Error::input(path, key.unwrap_or("label"), problem)
            .with_hint(format!("classes are numbered from 0; a number must be below {most}")));
    }
    Ok((highest + 1).max(0) as u64)
}
