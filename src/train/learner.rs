//! The trained model with its data.

use std::rc::Rc;

use super::link_trainer::{LinkLoaders, LinkTrainer};
use super::sampled::SampledTrainer;
use super::trained_set::{TrainedSet, trained_sets};
use super::trainer::Trainer;
use crate::engine::comm::{ProcessGroup, Ranks};
use crate::engine::spill::PartitionDataManager;
use crate::event::{Evaluation, Metric};
use crate::words::error::Result;

/// A model with the data that it is trained on.
#[derive(Clone, Copy)]
pub(super) enum Learner<'a> {
    /// A model for node-level tasks, on the full graph or on samples.
    Nodes(&'a Trainer<'a>, Option<SampledTrainer<'a>>),
    /// A model for link prediction.
    Links(&'a LinkTrainer<'a>, &'a LinkLoaders),
}

impl<'a> Learner<'a> {
    pub(super) fn manager(self) -> &'a Rc<PartitionDataManager> {
        match self {
            Learner::Nodes(trainer, _) => trainer.manager,
            Learner::Links(trainer, _) => trainer.manager,
        }
    }

    pub(super) fn group(self) -> &'a dyn ProcessGroup {
        match self {
            Learner::Nodes(trainer, _) => trainer.group,
            Learner::Links(trainer, _) => trainer.group,
        }
    }

    /// The ranks, for functions that run collectives.
    pub(super) fn ranks(self) -> Ranks<'a> {
        Ranks { group: self.group(), hooks: &**self.manager() }
    }

    pub(super) fn sets(self) -> Vec<TrainedSet<'a>> {
        match self {
            Learner::Nodes(Trainer { parameters, forward, .. }, _) => {
                trained_sets(parameters, forward.learned(), forward.stored())
            }
            Learner::Links(LinkTrainer { parameters, model, .. }, _) => {
                trained_sets(parameters, Vec::new(), model.stored())
            }
        }
    }

    /// The metric that compares epochs.
    pub(super) fn metric(self) -> Metric {
        match self {
            Learner::Nodes(trainer, _) => trainer.loss.task().metric(),
            Learner::Links(..) => Metric::MeanReciprocalRank,
        }
    }

    /// All metrics. `epoch` is the epoch that produced the weights.
    pub(super) fn evaluate(self, epoch: u32) -> Result<Evaluation> {
        match self {
            Learner::Nodes(trainer, _) => trainer.evaluate(epoch),
            Learner::Links(trainer, loaders) => trainer.evaluate_all(loaders, epoch),
        }
    }
}
