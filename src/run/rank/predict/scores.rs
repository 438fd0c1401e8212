//! How good predictions are, where labels exist.

use tch::{Kind, Tensor};

use super::own_prediction::{OwnPart, OwnPrediction};
use crate::engine::spill::PointerTensor;
use crate::engine::tensor;
use crate::event::{Event, PredictionScores};
use crate::load::{has_labels, read_mask};
use crate::nn::Task;
use crate::run::config::RunConfig;
use crate::run::rank::labels::labels_of_task;
use crate::run::rank::setup::RankSetup;
use crate::train::PredictionSums;
use crate::words::error::Result;

/// Labels of a rank's predicted nodes.
pub(super) struct Truth {
    task: Task,
    /// In the form that the task's loss takes; without rows if this partition has no labels.
    labels: PointerTensor,
    /// The sets that each node belongs to, a bit each, `uint8`; 0 for nodes without label.
    sets: PointerTensor,
}

/// The bit of nodes with a label, which follows those of the masks.
const LABELLED: u8 = 8;

impl Truth {
    /// Reads labels and masks of the predicted nodes; `None` if the graph has no labels, or none that outputs can be compared
    /// with. One collective.
    pub(super) fn load(
        own: &OwnPrediction<'_>,
        outputs: i64,
        layer: Option<usize>,
    ) -> Result<Option<Self>> {
        let OwnPrediction { setup, here, work, parts } = own;
        let run = &work.config.run;
        if layer.is_some() || run.link.is_some() {
            return Ok(None);
        }
        let partition = &setup.partition;
        let key = run.keys.labels.as_deref();
        let (mut labels, mut of_nodes) =
            (none(run.task, outputs)?, tensor::zeros(&[0], Kind::Uint8)?);
        let (mut width, mut unknown) = (outputs, 0);
        let exists = has_labels(partition, key);
        if exists {
            let all = labels_of_task(partition, run.task, key)?;
            let of_parts = parts.iter().map(|part| {
                let OwnPart { labelled, .. } = part;
                part.pick(&all.f_narrow(0, labelled.first_row, labelled.nodes.own as i64)?)
            });
            labels = joined(of_parts.collect::<Result<_>>()?)?.f_contiguous()?;
            let known = if run.task == Task::Classification {
                unknown = count(&labels.f_ge(outputs)?)?;
                labels.f_ge(0)?.f_logical_and(&labels.f_lt(outputs)?)?
            } else {
                width = labels.size()[1];
                labels.f_isnan()?.f_any_dim(1, false)?.f_logical_not()?
            };
            let of_parts = parts.iter().map(|part| sets(setup, run, part));
            of_nodes =
                joined(of_parts.collect::<Result<_>>()?)?.f_mul(&known.f_to_kind(Kind::Uint8)?)?;
        }
        let manager = &setup.manager;
        let (labels, sets) = (manager.track("labels", labels), manager.track("sets", of_nodes));
        let sums = setup.sums(&[i64::from(exists), unknown, i64::from(width != outputs)])?;
        let note = match (sums[1], sums[2]) {
            (_, 1..) => format!(
                "labels are not rows of {outputs} numbers, so nothing is compared with them"
            ),
            (unknown @ 1.., _) => format!(
                "{unknown} nodes have a class outside the model's {outputs}; they are not compared"
            ),
            _ => String::new(),
        };
        if here.rank == 0 && !note.is_empty() {
            here.events.send(Event::Note(note))?;
        }
        Ok((sums[0] > 0 && sums[2] == 0).then_some(Truth { task: run.task, labels, sets }))
    }
}

/// Labels without rows.
fn none(task: Task, outputs: i64) -> Result<Tensor> {
    match task {
        Task::Classification => tensor::zeros(&[0], Kind::Int64),
        _ => tensor::zeros(&[0, outputs], Kind::Float),
    }
}

fn count(rows: &Tensor) -> Result<i64> {
    Ok(rows.f_sum(Kind::Int64)?.f_int64_value(&[])?)
}

/// Rows of several parts below one another.
fn joined(mut parts: Vec<Tensor>) -> Result<Tensor> {
    Ok(if parts.len() == 1 { parts.remove(0) } else { Tensor::f_cat(&parts, 0)? })
}

/// The sets of the predicted nodes of a part, whether they have labels or not.
fn sets(setup: &RankSetup, run: &RunConfig, part: &OwnPart) -> Result<Tensor> {
    let OwnPart { labelled, .. } = part;
    let mut all = vec![LABELLED; labelled.nodes.own];
    for (bit, (name, key)) in run.keys.masks().into_iter().enumerate() {
        if let Some(mask) = read_mask(&setup.partition, key, name)? {
            let mask = &mask[labelled.first_row as usize..];
            all.iter_mut().zip(mask).for_each(|(sets, inside)| *sets |= u8::from(*inside) << bit);
        }
    }
    part.pick(&Tensor::f_from_slice(&all)?)
}

/// Reports the scores of the predicted nodes' outputs, where they can be compared: one collective.
pub(super) fn tell_scores(
    own: &OwnPrediction<'_>,
    truth: Option<&Truth>,
    outputs: &[PointerTensor],
    corrected: bool,
) -> Result<()> {
    let Some(truth) = truth else { return Ok(()) };
    let OwnPrediction { setup, here, .. } = own;
    let sums = {
        let outputs = outputs.iter().map(|output| Ok(output.pin()?.shallow_clone()));
        let output = joined(outputs.collect::<Result<_>>()?)?;
        let (labels, sets) = (truth.labels.pin()?, truth.sets.pin()?);
        let sets = tensor::slice::<u8>(&sets);
        let logits = output.f_narrow(0, 0, sets.len() as i64)?;
        PredictionSums::new(truth.task, &logits, &labels, &sets)?
    };
    let sets = sums.over_ranks(&*setup.group, &*setup.manager)?;
    if here.rank == 0 {
        here.events.send(Event::Predicted(PredictionScores { corrected, sets }))?;
    }
    Ok(())
}
